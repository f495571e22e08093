//! Graphs drawn from a seed: those of the benchmark that the Graph Transformer was measured on (V.
//! Dwivedi et al., "Benchmarking graph neural networks", 2020).
//!
//! The published sets were drawn without a seed, so that these are others of the same distribution. Every
//! graph is a function of the seed and its number, drawn from a generator of its own (PCG XSL RR
//! 128/64); the numbers are the same on every machine.
//!
//! ```
//! use regard_data::graphs::generate::{cluster, csl};
//!
//! let graphs = cluster(7, [3, 1, 1])?;
//! assert_eq!((graphs.len(), graphs.node_features().type_names().len()), (5, 7));
//! assert_eq!(csl(7)?.len(), 150);
//! # Ok::<(), regard_data::Error>(())
//! ```

mod blocks;
mod sbm;
mod skip_links;

pub use self::sbm::{PatternSizes, cluster, pattern};
pub use self::skip_links::{CSL_LINKS, csl};

//! Graphs: read from files, made of molecules or generated, and their preparation for training.
//!
//! [`Graphs`] hold nodes, directed edges by target and targets; [`Batch`] is the disjoint
//! union of some of them. [`formats`] reads and writes them, [`molecules`] makes them of SMILES,
//! [`generate`] draws those of the published experiments, and [`positions`] computes positional encodings.
//! [`crate::metrics`] measures predictions.
//!
//! ```
//! use regard_data::graphs::formats::{ReadOptions, jsonl};
//! use regard_data::graphs::positions::{Encoding, Nulls, Positions};
//!
//! let text = "{\"x\": [0, 0, 1], \"e\": [[0, 1, 1], [1, 2, 2]], \"y\": 0.5}\n";
//! let graphs = jsonl::parse(text, "g.jsonl".as_ref(), &ReadOptions::default())?;
//! let laplacian = Encoding::Laplacian { k: 2, nulls: Nulls::SkipFirst };
//! let positions = Positions::compute(&graphs, &laplacian, &|_done, _all| ());
//! let batch = graphs.batch(&[0]);
//! assert_eq!((batch.nodes(), batch.edges(), positions.of(&graphs, &[0]).len()), (3, 4, 6));
//! # Ok::<(), regard_data::Error>(())
//! ```

mod batch;
mod data_set;
mod features;
pub mod formats;
pub mod generate;
mod graph;
pub mod molecules;
pub mod positions;
mod targets;

pub use self::batch::Batch;
pub use self::data_set::{Census, Graphs, Skipped};
pub use self::features::{Features, Kinds, MOST_TYPES};
pub use self::graph::Graph;
pub use self::targets::{Level, Part, Parts, TargetClasses, Targets, Values};

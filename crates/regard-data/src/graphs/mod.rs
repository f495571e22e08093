//! Graphs: read from files, made of molecules or generated, and what learning from them needs besides
//! a network.
//!
//! [`Graphs`] hold nodes, directed edges by target and what is to be predicted; [`Batch`] is the disjoint
//! union of some of them. [`formats`] reads and writes them, [`molecules`] makes them of SMILES,
//! [`generate`] draws those of the published experiments.
//! How well answers fit is measured by [`crate::metrics`].

mod batch;
mod data_set;
mod features;
pub mod formats;
pub mod generate;
mod graph;
pub mod molecules;
mod part;
mod targets;

pub use self::batch::{Batch, BySource};
pub use self::data_set::{Census, Graphs, Skipped};
pub use self::features::{Features, Kinds, MOST_TYPES};
pub use self::graph::Graph;
pub use self::part::{Part, Parts};
pub use self::targets::{Level, TargetClasses, Targets, Values};

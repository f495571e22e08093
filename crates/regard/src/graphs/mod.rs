//! Graphs: nodes that attend to their neighbours, and an answer for each graph, or each node (Graph
//! Transformer, Dwivedi & Bresson 2021).

pub mod attribution;
mod base;
pub mod cross_validation;
pub mod examples;
pub mod experiment;
mod explain;
mod family;
pub mod import;
pub mod input;
mod layout;
pub mod measure;
pub mod model;
pub mod predict;
pub mod source;
pub mod task;

pub use experiment::GraphExperiment;
pub use explain::Spectrum;
pub use family::Graphs;
pub use layout::layout;
pub use model::{GraphTransformer, GraphTransformerConfig};
pub use predict::GraphModel;

/// A network on graphs in training.
pub type GraphLearner = crate::supervised::Learner<Graphs>;

//! Graphs: nodes that attend to their neighbours, and an answer for each graph, or each node (Graph
//! Transformer, Dwivedi & Bresson 2021).

pub mod cross_validation;
pub mod examples;
pub mod experiment;
pub mod input;
pub mod measure;
pub mod model;
pub mod predict;
pub mod remarks;
pub mod source;
pub mod task;
pub mod train;

pub use experiment::GraphExperiment;
pub use model::{GraphTransformer, GraphTransformerConfig};

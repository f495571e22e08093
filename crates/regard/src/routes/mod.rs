//! Routing by networks: the Attention Model, its training and decoding, and solving with local search after it.
//!
//! The problems themselves, without tensors, are in [`regard_routing`].

pub mod decode;
pub mod environment;
pub mod evaluate;
pub mod experiment;
mod explain;
pub mod import;
pub mod laws;
pub mod model;
pub mod solve;
pub mod train;

pub use experiment::RouteExperiment;
pub use model::{AttentionModelConfig, ModelDir};

//! Sets: items in any order and any number, and one answer for them all, or for each
//! (Set Transformer, Lee et al. 2019; Deep Sets, Zaheer et al. 2017).

mod attribution;
mod base;
pub mod cross_validation;
pub mod examples;
pub mod experiment;
mod explain;
mod family;
pub mod import;
pub mod measure;
pub mod mixture;
pub mod model;
pub mod predict;
pub mod source;
pub mod task;

pub use experiment::SetExperiment;
pub use family::{SetTrainingData, Sets};
pub use model::{Answers, SetTransformer, SetTransformerConfig};
pub use predict::SetModel;

/// A network on sets in training.
pub type SetLearner = crate::supervised::Learner<Sets>;

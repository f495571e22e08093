//! Sets: items in any order and any number, and one answer for them all, or for each
//! (Set Transformer, Lee et al. 2019; Deep Sets, Zaheer et al. 2017).

pub mod cross_validation;
pub mod examples;
pub mod experiment;
pub mod measure;
pub mod mixture;
pub mod model;
pub mod predict;
pub mod source;
pub mod task;
pub mod train;

pub use experiment::SetExperiment;
pub use model::{Answers, SetTransformer, SetTransformerConfig};

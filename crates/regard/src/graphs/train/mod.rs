//! Learning on graphs, with its folder or without.

mod consistency;
mod learner;
mod rate;

use burn::tensor::Device;

use super::experiment::GraphExperiment;
use crate::Result;
use crate::experiment::Sections;
use crate::train::{Observer, Trained, train_with};
pub use learner::GraphLearner;

/// What is to be trained, and how far.
pub type Training = crate::train::Training<GraphExperiment>;

/// Trains until all epochs are done, the rate has fallen to its end, or a limit is reached; the folder
/// then holds the model as it stands, and a checkpoint to go on from.
///
/// # Errors
/// As [`routes::train::train`](crate::routes::train::train), and what reading the data gives.
pub fn train(training: &Training, device: &Device, observer: &mut dyn Observer) -> Result<Trained> {
    Sections::validate(&training.experiment)?;
    train_with::<GraphLearner>(training, device, observer)
}

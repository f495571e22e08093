//! Learning on time series, with its folder or without.

mod begin;
mod intervals;
mod learner;
mod learning;
mod lessons;
mod rate;
mod share;
mod shortcut;

use burn::tensor::Device;

use super::experiment::SeriesExperiment;
use crate::Result;
use crate::experiment::Sections;
use crate::train::{Observer, Trained, train_with};
pub(in crate::series) use intervals::half_width;
pub use learner::SeriesLearner;
pub use lessons::Lessons;
pub use rate::{Place, Rates, SeriesSchedule, StepRate};

/// What is to be trained, and how far.
pub type Training = crate::train::Training<SeriesExperiment>;

/// Trains until all epochs are done, the validation loss no longer falls, or a limit is reached; the folder
/// then holds the model as it stands, and a checkpoint to go on from.
///
/// # Errors
/// As [`routes::train::train`](crate::routes::train::train), and what reading the data gives.
pub fn train(training: &Training, device: &Device, observer: &mut dyn Observer) -> Result<Trained> {
    Sections::validate(&training.experiment)?;
    train_with::<SeriesLearner>(training, device, observer)
}

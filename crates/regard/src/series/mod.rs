//! Time series: patches of a window that attend to each other, and what comes next (PatchTST, Nie et al.
//! 2023).

pub mod attribution;
pub mod back_test;
pub mod base;
pub mod batch;
pub mod classify;
pub mod evaluate;
pub mod experiment;
mod explain;
mod family;
pub mod import;
mod intervals;
mod linear_skip;
pub mod local_forecast;
pub mod measure;
pub mod model;
pub mod predict;
mod rebuild;
pub mod scaled;
pub mod source;
pub mod task;

pub use experiment::SeriesExperiment;
pub use family::{TimeSeries, TrainingData};
pub use model::{PatchTst, PatchTstConfig};
pub use predict::SeriesModel;
pub use task::{distance, pinball};

/// A network on time series in training.
pub type SeriesLearner = crate::supervised::Learner<TimeSeries>;

//! Time series: patches of a window that attend to each other, and what comes next (PatchTST, Nie et al.
//! 2023).

pub mod asked;
pub mod back_test;
pub mod batch;
pub mod classify;
pub mod evaluate;
pub mod experiment;
mod loss;
pub mod measure;
pub mod model;
pub mod predict;
mod rebuild;
pub mod scaled;
pub mod source;
pub mod spot;
pub mod task;
pub mod train;

pub use experiment::SeriesExperiment;
pub use loss::{distance, pinball};
pub use model::{PatchTst, PatchTstConfig};

//! Time series: patches of a window that attend to each other, and what comes next (PatchTST, Nie et al.
//! 2023).

pub mod model;
pub mod task;

pub use model::{PatchTst, PatchTstConfig};

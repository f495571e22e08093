//! Classes of whole series: each series is one example, of which a network sees the values at its end.

mod cross_validation;
mod labelled;
mod predict;

pub use cross_validation::cross_validate;
pub use labelled::{Labelled, read_whole};

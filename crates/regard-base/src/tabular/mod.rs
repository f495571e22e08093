//! Predictions from rows of numbers: linear, kernel and tree learners, and their stack.
//!
//! A [`View`] is a matrix of features; several views describe the same examples. A [`Learner`] is fitted to one view; a
//! [`Stack`] cross-validates [`Candidate`]s and mixes the best of them.

mod bins;
mod boosting;
mod calibration;
mod counts;
mod descent;
mod forest;
mod kernel;
mod learner;
mod linear;
mod sample;
mod scaling;
mod simplex;
mod smoother;
mod stack;
mod target;
#[cfg(test)]
mod tests;
mod tree;
mod view;

pub use self::boosting::BoostingConfig;
pub use self::forest::{ColumnShare, ForestConfig};
pub use self::kernel::{Kernel, KernelConfig};
pub use self::learner::{Learner, Model, Options, Pooling};
pub use self::linear::LinearConfig;
pub use self::simplex::{Blend, blend};
pub use self::stack::{Candidate, LeftOut, MemberReport, Metrics, Stack, StackFit, StackOptions, candidates};
pub use self::target::Target;
pub use self::view::View;

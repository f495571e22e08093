//! Routing problems: instances, exact costs, independent checkers, files, generators.

mod check;
pub mod formats;
pub mod generate;
pub mod matrix;
pub mod metric;
pub mod paper;
mod places;
mod scaling;
pub mod tsp;

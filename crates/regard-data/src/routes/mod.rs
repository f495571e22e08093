//! Routing problems: instances, exact costs, independent checkers, files, generators.

mod check;
pub mod cvrp;
mod depot;
pub mod drawn;
pub mod formats;
pub mod generate;
pub mod instance;
pub mod matrix;
pub mod metric;
pub mod orienteering;
pub mod paper;
mod places;
pub mod prize_collecting;
mod scaling;
pub mod tsp;

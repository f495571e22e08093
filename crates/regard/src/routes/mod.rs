//! Routing problems: the network, the search after it, and their evaluation.

pub mod cvrp;
pub mod decode;
pub mod evaluate;
pub mod improve;
pub mod model;
pub mod op;
pub mod pctsp;
pub mod problem;
mod recourse;
pub mod registry;
pub mod sdvrp;
pub mod solvable;
pub mod solve;
pub mod train;
pub mod tsp;

//! Routing problems: the network, the search after it, and their evaluation.

pub mod decode;
pub mod evaluate;
pub mod improve;
pub mod model;
pub mod problem;
pub mod solve;
pub mod train;
pub mod tsp;

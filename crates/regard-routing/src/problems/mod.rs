//! The routing problems, one folder each; see [`registry`](crate::registry) for their list.

pub mod cvrp;
pub mod cvrptw;
pub mod op;
pub mod pctsp;
pub mod pdp;
pub mod sdvrp;
pub mod spctsp;
pub mod tsp;

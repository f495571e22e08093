//! Features for base learners: sets, graphs and nodes as rows of numbers.

pub mod graphs;
pub mod sets;

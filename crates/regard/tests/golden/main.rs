//! The networks, environments and statistics against the original projects, by their recorded values.

mod attention_model;
mod checkpoints;
mod graph_transformer;
mod import;
mod kool;
mod patchtst;
mod problems;
mod reinforce;
mod set_transformer;
mod support;

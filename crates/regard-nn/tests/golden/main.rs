//! The layers against the original projects, by their recorded values.

mod attention_layer;
mod graph_layers;
mod set_blocks;

//! Layers of the Graph Transformer (Dwivedi & Bresson 2021).

mod layer;
mod stream;

pub use layer::{GraphLayer, GraphLayerConfig, GraphRows};
pub use stream::{Drop, Norms, Stream, StreamConfig};

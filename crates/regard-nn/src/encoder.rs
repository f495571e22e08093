//! The transformer encoder of routing policies (Kool et al. 2019, §3.1, eq. 2 and 3).
//!
//! Each layer computes `h' = norm(h + MHA(h))` and `h'' = norm(h' + FF(h'))`.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::{EncoderLayer, EncoderLayerConfig};

/// Sizes of an [`Encoder`].
#[derive(Config, Debug)]
pub struct EncoderConfig {
    /// Number of layers.
    pub layers: usize,
    /// Configuration of each layer.
    pub layer: EncoderLayerConfig,
}

/// A stack of [`EncoderLayer`]s.
#[derive(Module, Debug)]
pub struct Encoder {
    /// The layers, first to last.
    pub layers: Vec<EncoderLayer>,
}

impl EncoderConfig {
    /// Initialises the weights.
    ///
    /// # Panics
    /// If the heads do not divide the width.
    pub fn init(&self, device: &Device) -> Encoder {
        let layers = (0..self.layers).map(|_| self.layer.init(device)).collect();
        Encoder { layers }
    }
}

impl Encoder {
    /// Embeddings of `x [batch, nodes, width]`, in the same shape.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        self.layers.iter().fold(x, |x, layer| layer.forward(x))
    }
}

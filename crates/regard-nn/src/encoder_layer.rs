//! One layer of the encoder (Kool et al. 2019, §3.1, eq. 2 and 3).
//!
//! `h' = norm(h + MHA(h))`, `h'' = norm(h' + FF(h'))`.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::ops::{Activation, NormKind, attention_sublayer, residual_norm};
use crate::{
    AttentionInput, FeedForward, FeedForwardConfig, MultiHeadAttention, MultiHeadAttentionConfig, Normalization,
    NormalizationConfig, ProjectionInit,
};

/// Sizes of an [`EncoderLayer`].
#[derive(Config, Debug)]
pub struct EncoderLayerConfig {
    /// Width of a node's embedding.
    pub width: usize,
    /// Number of attention heads.
    pub heads: usize,
    /// Hidden width of the feed-forward half.
    pub hidden: usize,
    /// What both norms run over. Default: batch.
    #[config(default = "NormKind::Batch")]
    pub norm: NormKind,
    /// Nonlinearity of the feed-forward half. Default: ReLU.
    #[config(default = "Activation::Relu")]
    pub activation: Activation,
    /// Whether the attention's projections have biases. Default: false.
    #[config(default = false)]
    pub bias: bool,
    /// How fresh projections are drawn. Default: as Kool et al.
    #[config(default = "ProjectionInit::PerHead")]
    pub init: ProjectionInit,
}

/// Self-attention and feed-forward, each with a residual and a norm after it.
#[derive(Module, Debug)]
pub struct EncoderLayer {
    /// Self-attention of the nodes.
    pub attention: MultiHeadAttention,
    /// Norm after the attention.
    pub attention_norm: Normalization,
    /// The network every node passes by itself.
    pub feed_forward: FeedForward,
    /// Norm after the feed-forward half.
    pub feed_forward_norm: Normalization,
}

impl EncoderLayerConfig {
    /// Fresh weights.
    ///
    /// # Panics
    /// If the heads do not divide the width.
    pub fn init(&self, device: &Device) -> EncoderLayer {
        let attention = MultiHeadAttentionConfig::new(self.width, self.heads).with_bias(self.bias).with_init(self.init);
        let feed_forward = FeedForwardConfig::new(self.width, self.hidden).with_activation(self.activation);
        let norm = NormalizationConfig::new(self.norm, self.width);
        EncoderLayer {
            attention: attention.init(device),
            attention_norm: norm.init(device),
            feed_forward: feed_forward.init(device),
            feed_forward_norm: norm.init(device),
        }
    }
}

impl EncoderLayer {
    /// New embeddings of `x [batch, nodes, width]`, in the same shape.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let device = x.device();
        let args = self.attention_norm.args(&device);
        let normed = match self.attention.weights() {
            Some(weights) => attention_sublayer(x, weights, self.attention.heads, args),
            None => {
                let y = self.attention.forward(AttentionInput::to_itself(x.clone()));
                residual_norm(x, y, args)
            }
        };
        let x = self.attention_norm.observe(normed);
        let normed = self.feed_forward.residual(x, self.feed_forward_norm.args(&device));
        self.feed_forward_norm.observe(normed)
    }
}

//! One layer of the encoder (Kool et al. 2019, §3.1, eq. 2 and 3).
//!
//! `h' = norm(h + MHA(h))`, `h'' = norm(h' + FF(h'))`.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::graph::Drop;
use crate::ops::{Activation, NormKind, attention_sublayer};
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
        let x = match self.attention.weights() {
            Some(weights) => {
                let args = self.attention_norm.args(&device);
                self.attention_norm.observe(attention_sublayer(x, weights, self.attention.heads, args))
            }
            None => {
                let y = self.attention.forward(AttentionInput::to_itself(x.clone()));
                self.attention_norm.residual(x, y)
            }
        };
        let normed = self.feed_forward.residual(x, self.feed_forward_norm.args(&device));
        self.feed_forward_norm.observe(normed)
    }

    /// As [`Self::forward`], with numbers left out by `drop` of what attention and network give, before
    /// the residuals.
    pub fn forward_with_dropout(&self, x: Tensor<3>, drop: &mut Drop<'_>) -> Tensor<3> {
        let y = self.attention.forward(AttentionInput::to_itself(x.clone()));
        let x = self.attention_norm.residual(x, dropped(y, drop));
        let y = self.feed_forward.forward(x.clone());
        self.feed_forward_norm.residual(x, dropped(y, drop))
    }
}

/// `x [batch, nodes, width]` with numbers left out, row by row.
pub(crate) fn dropped(x: Tensor<3>, drop: &mut Drop<'_>) -> Tensor<3> {
    let shape = x.dims();
    let [batch, nodes, width] = shape;
    drop(x.reshape([batch * nodes, width])).reshape(shape)
}

//! The transformer encoder of routing policies (Kool et al. 2019, §3.1, eq. 2 and 3).
//!
//! Each layer computes `h' = norm(h + MHA(h))` and `h'' = norm(h' + FF(h'))`.

use burn::{
    config::Config,
    module::{Module, Param},
    tensor::{Device, Tensor},
};

use crate::{
    AttentionInput, FeedForward, FeedForwardConfig, MultiHeadAttention, MultiHeadAttentionConfig, Normalization,
    NormalizationConfig, ProjectionInit,
    graph::DropoutFn,
    ops::{Activation, NormKind, PairBias, attention_sublayer},
    trace,
};

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
        self.forward_with_pairs(x, None)
    }

    /// As [`Self::forward`], where the attention of the layers also sees the `pairs [batch, pair_features, nodes, nodes]` of
    /// a query and a key; see [`EncoderLayer::pair_bias`].
    ///
    /// # Panics
    /// If layers have no weights for the numbers of pairs.
    pub fn forward_with_pairs(&self, x: Tensor<3>, pairs: Option<Tensor<4>>) -> Tensor<3> {
        let layers = self.layers.iter().enumerate();
        layers.fold(x, |x, (at, layer)| {
            trace::scope(|| format!("encoder.{at}"), || layer.forward_with_pairs(x, pairs.clone()))
        })
    }
}

/// Sizes of an [`EncoderLayer`].
#[derive(Config, Debug)]
pub struct EncoderLayerConfig {
    /// Width of a node's embedding.
    pub width: usize,
    /// Number of attention heads.
    pub heads: usize,
    /// Hidden width of the feed-forward network.
    pub hidden: usize,
    /// Kind of both norms. Default: batch.
    #[config(default = "NormKind::Batch")]
    pub norm: NormKind,
    /// Activation function of the feed-forward network. Default: ReLU.
    #[config(default = "Activation::Relu")]
    pub activation: Activation,
    /// If true, the projections of the attention have biases. Default: false.
    #[config(default = false)]
    pub bias: bool,
    /// Initialisation of the projections. Default: as in the code of Kool et al.
    #[config(default = "ProjectionInit::PerHead")]
    pub init: ProjectionInit,
    /// Numbers that describe a pair of nodes, which the scores of the attention have a bias from. Default: 0, no bias.
    #[config(default = 0)]
    pub pair_features: usize,
}

/// Self-attention and a feed-forward network, each followed by a residual sum and a norm.
#[derive(Module, Debug)]
pub struct EncoderLayer {
    /// Self-attention of the nodes.
    pub attention: MultiHeadAttention,
    /// Norm after the attention.
    pub attention_norm: Normalization,
    /// Feed-forward network, applied to every node separately.
    pub feed_forward: FeedForward,
    /// Norm after the feed-forward network.
    pub feed_forward_norm: Normalization,
    /// Weights of the numbers of a pair of nodes in the score of each head, `[heads, pair_features]`: the bias of query `i`
    /// and key `j` in head `h` is `Σ_k weight[h, k] · pairs[k, i, j]`. They begin as zeros.
    pub pair_bias: Option<Param<Tensor<2>>>,
}

impl EncoderLayerConfig {
    /// Initialises the weights.
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
            pair_bias: (self.pair_features > 0)
                .then(|| Param::from_tensor(Tensor::zeros([self.heads, self.pair_features], device))),
        }
    }
}

impl EncoderLayer {
    /// Embeddings of `x [batch, nodes, width]` after this layer, in the same shape.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        self.forward_with_pairs(x, None)
    }

    /// As [`Self::forward`], with a bias of the scores from `pairs [batch, pair_features, nodes, nodes]`; see
    /// [`Self::pair_bias`].
    ///
    /// # Panics
    /// If the layer has no weights for them.
    pub fn forward_with_pairs(&self, x: Tensor<3>, pairs: Option<Tensor<4>>) -> Tensor<3> {
        let device = x.device();
        let pairs = pairs.map(|values| match self.pair_bias.as_ref().map(Param::val) {
            Some(weights) => PairBias { values, weights },
            None => panic!("encoder: numbers of pairs, but no weights for them"),
        });
        let x = match self.attention.weights() {
            Some(weights) => {
                let args = self.attention_norm.args(&device);
                self.attention_norm.update_running(attention_sublayer(x, weights, self.attention.heads, pairs, args))
            }
            None => {
                let input = AttentionInput::self_attention(x.clone());
                let input = match pairs {
                    Some(pairs) => input.with_bias(pairs.of_scores()),
                    None => input,
                };
                let y = self.attention.forward(input);
                self.attention_norm.residual(x, y)
            }
        };
        let args = self.feed_forward_norm.args(&device);
        let normed = trace::scope(|| "feed_forward".into(), || self.feed_forward.residual(x, args));
        self.feed_forward_norm.update_running(normed)
    }

    /// As [`Self::forward`], with `drop` applied to the results of the attention and of the feed-forward
    /// network before the residual sums.
    pub fn forward_with_dropout(&self, x: Tensor<3>, drop: &mut DropoutFn<'_>) -> Tensor<3> {
        let y = self.attention.forward(AttentionInput::self_attention(x.clone()));
        let x = self.attention_norm.residual(x, apply_dropout(y, drop));
        let y = self.feed_forward.forward(x.clone());
        self.feed_forward_norm.residual(x, apply_dropout(y, drop))
    }
}

/// Applies `drop` to `x [batch, nodes, width]`, whose rows it receives as `[batch · nodes, width]`.
pub(crate) fn apply_dropout(x: Tensor<3>, drop: &mut DropoutFn<'_>) -> Tensor<3> {
    let shape = x.dims();
    let [batch, nodes, width] = shape;
    drop(x.reshape([batch * nodes, width])).reshape(shape)
}

//! One encoder layer of PatchTST (Nie et al. 2023, §3.1): attention among patches, then a feed-forward
//! network, with the variants of the authors' code.

use burn::config::Config;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

use crate::ops::{
    Activation, Dropout, FeedForwardLayers, NormArgs, NormKind, Projection, ResidualScores, SequenceAttentionOptions,
    SequenceFeedForwardOptions, SequenceProjections, sequence_attention, sequence_feed_forward,
};
use crate::trace;
use crate::{FeedForward, FeedForwardConfig, Normalization, NormalizationConfig};

/// Sizes and options of a [`PatchLayer`].
#[derive(Config, Copy, Debug)]
pub struct PatchLayerConfig {
    /// Width of a patch embedding.
    pub width: usize,
    /// Number of heads; must divide the width.
    pub heads: usize,
    /// Hidden width of the feed-forward network.
    pub hidden: usize,
    /// Kind of the norms. Default: batch, each channel over all patches.
    #[config(default = "NormKind::Batch")]
    pub norm: NormKind,
    /// Placement of the norms. Default: after each residual sum.
    #[config(default = "NormPlacement::Post")]
    pub norm_placement: NormPlacement,
    /// If true, the scores of earlier layers are added to those of this one (RealFormer, He et al. 2021).
    /// Default: true.
    #[config(default = true)]
    pub residual_scores: bool,
}

/// Placement of the norm of a sub-layer.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// After the residual sum: `norm(x + f(x))`.
    Post,
    /// Before the sub-layer and its residual: `y + f(y)` with `y = norm(x)`, as `pre_norm` in the authors'
    /// code.
    PreSummed,
    /// Before the sub-layer, but not on the residual: `x + f(norm(x))` (Xiong et al. 2020).
    Pre,
}

/// Attention among patches, followed by a feed-forward network.
#[derive(Module, Debug)]
pub struct PatchLayer {
    /// `[width, width]`
    pub query: Linear,
    /// `[width, width]`
    pub key: Linear,
    /// `[width, width]`
    pub value: Linear,
    /// `[width, width]`
    pub out: Linear,
    /// Norm of the attention sub-layer.
    pub attention_norm: Normalization,
    /// Feed-forward network.
    pub feed: FeedForward,
    /// Norm of the feed-forward sub-layer.
    pub feed_norm: Normalization,
    /// Number of heads.
    pub heads: usize,
    /// Placement of the norms.
    #[module(skip)]
    pub norm_placement: NormPlacement,
    /// If true, the scores of earlier layers are added.
    pub residual_scores: bool,
}

/// Dropout rates of a layer during training.
#[derive(Clone, Copy, Debug)]
pub struct PatchDropout {
    /// Rate for attention weights.
    pub weights: f32,
    /// Rate for the result of the attention.
    pub attention: f32,
    /// Rate for the hidden layer of the feed-forward network.
    pub hidden: f32,
    /// Rate for the result of the feed-forward network.
    pub feed: f32,
    /// Seed of the dropout masks.
    pub seed: u64,
}

impl PatchLayerConfig {
    /// Initialises the weights, uniform in ±1/√inputs.
    ///
    /// # Panics
    /// If the heads do not divide the width.
    pub fn init(&self, device: &Device) -> PatchLayer {
        let Self { width, heads, .. } = *self;
        assert!(heads > 0 && width.is_multiple_of(heads), "patch layer: {heads} heads in {width}");
        let linear = || LinearConfig::new(width, width).init(device);
        let norm = || NormalizationConfig::new(self.norm, width).init(device);
        PatchLayer {
            query: linear(),
            key: linear(),
            value: linear(),
            out: linear(),
            attention_norm: norm(),
            feed: FeedForwardConfig::new(width, self.hidden).with_activation(Activation::Gelu).init(device),
            feed_norm: norm(),
            heads,
            norm_placement: self.norm_placement,
            residual_scores: self.residual_scores,
        }
    }
}

impl PatchLayer {
    /// New embeddings of `x [sequences, patches, width]`, and the scores for the next layer. The first layer
    /// receives the default `earlier`.
    pub fn forward(
        &self,
        x: Tensor<3>,
        earlier: ResidualScores,
        drop: Option<PatchDropout>,
    ) -> (Tensor<3>, ResidualScores) {
        let dropout = |rate: fn(&PatchDropout) -> f32, place: u64| {
            let drop = drop.filter(|drop| rate(drop) > 0.0)?;
            Some(Dropout { rate: rate(&drop), seed: drop.seed.wrapping_add(place) })
        };
        let options = SequenceAttentionOptions {
            heads: self.heads,
            scale: 1.0 / ((self.query.weight.dims()[1] / self.heads) as f32).sqrt(),
            weights_dropout: dropout(|drop| drop.weights, 0),
            residual_dropout: dropout(|drop| drop.attention, 1),
            norm_first: self.norm_placement == NormPlacement::Pre,
        };
        let earlier = self.residual_scores.then_some(earlier);
        let (x, norm) = self.placed(x, &self.attention_norm);
        let (normed, earlier) = sequence_attention(x, self.projections(), earlier, norm, &options);
        let x = self.attention_norm.update_running(normed);
        let options = SequenceFeedForwardOptions {
            hidden_dropout: dropout(|drop| drop.hidden, 2),
            residual_dropout: dropout(|drop| drop.feed, 3),
            norm_first: self.norm_placement == NormPlacement::Pre,
        };
        let maps = FeedForwardLayers {
            first: Projection::of(&self.feed.inner),
            second: Projection::of(&self.feed.outer),
            activation: self.feed.activation,
        };
        let (x, norm) = self.placed(x, &self.feed_norm);
        let normed = trace::scope(|| "feed_forward".into(), || sequence_feed_forward(x, maps, norm, &options));
        (self.feed_norm.update_running(normed), earlier.unwrap_or_default())
    }

    /// The input of a sub-layer, and the norm that the sub-layer still has to apply.
    fn placed(&self, x: Tensor<3>, norm: &Normalization) -> (Tensor<3>, Option<NormArgs>) {
        match self.norm_placement {
            NormPlacement::PreSummed => {
                let normed = trace::scope_with(String::new, &[("batch", "sequence")], || norm.forward(x));
                (normed, None)
            }
            NormPlacement::Post | NormPlacement::Pre => {
                let args = norm.args(&x.device());
                (x, Some(args))
            }
        }
    }

    fn projections(&self) -> SequenceProjections {
        let [query, key, value, out] = [&self.query, &self.key, &self.value, &self.out].map(Projection::of);
        SequenceProjections { query, key, value, out }
    }
}

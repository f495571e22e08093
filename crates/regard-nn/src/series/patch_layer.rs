//! One layer of PatchTST's encoder: patches attend to each other, then each passes a feed-forward part
//! (Nie et al. 2023, §3.1), in the forms of the published codes.

use burn::config::Config;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

use crate::ops::{
    Activation, Carried, Dropout, FeedForwardMaps, NormArgs, NormKind, Projection, SequenceAttentionOptions,
    SequenceFeedForwardOptions, SequenceProjections, sequence_attention, sequence_feed_forward,
};
use crate::{FeedForward, FeedForwardConfig, Normalization, NormalizationConfig};

/// Sizes and switches of a [`PatchLayer`].
#[derive(Config, Copy, Debug)]
pub struct PatchLayerConfig {
    /// Width of a patch's row.
    pub width: usize,
    /// Heads; they divide the width.
    pub heads: usize,
    /// Width inside the feed-forward part.
    pub hidden: usize,
    /// What a norm's mean and variance run over. Default: batch, every channel over all patches.
    #[config(default = "NormKind::Batch")]
    pub norm: NormKind,
    /// Where norms stand. Default: behind each sum.
    #[config(default = "NormPlace::Behind")]
    pub norm_place: NormPlace,
    /// Whether the scores of earlier layers are added to those of this one (He et al. 2021, RealFormer).
    /// Default: true.
    #[config(default = true)]
    pub residual_scores: bool,
}

/// Where the norm of a half of a layer stands.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum NormPlace {
    /// Behind the sum: `norm(x + f(x))`.
    Behind,
    /// Before the half, which adds to what is normed: `y + f(y)` with `y = norm(x)`, as the authors' code has
    /// its `pre_norm`.
    Before,
    /// In the branch alone: `x + f(norm(x))` (Xiong et al. 2020).
    Inside,
}

/// Attention among patches, and a feed-forward part.
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
    /// Norm of the attention half.
    pub attention_norm: Normalization,
    /// The feed-forward part.
    pub feed: FeedForward,
    /// Norm of the feed-forward half.
    pub feed_norm: Normalization,
    /// Number of heads.
    pub heads: usize,
    /// Where norms stand.
    #[module(skip)]
    pub norm_place: NormPlace,
    /// Whether the scores of earlier layers are added.
    pub residual_scores: bool,
}

/// What a layer leaves out at random in training.
#[derive(Clone, Copy, Debug)]
pub struct PatchDropout {
    /// Share of attention weights.
    pub weights: f32,
    /// Share of what attention adds.
    pub attention: f32,
    /// Share of the numbers inside the feed-forward part.
    pub hidden: f32,
    /// Share of what the feed-forward part adds.
    pub feed: f32,
    /// Decides which.
    pub seed: u64,
}

impl PatchLayerConfig {
    /// Fresh weights, uniform in ±1/√inputs.
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
            norm_place: self.norm_place,
            residual_scores: self.residual_scores,
        }
    }
}

impl PatchLayer {
    /// The new rows of `x [sequences, patches, width]`, and what carries scores on to the next layer; the
    /// first layer is given nothing.
    pub fn forward(&self, x: Tensor<3>, carried: Carried, drop: Option<PatchDropout>) -> (Tensor<3>, Carried) {
        let dropout = |rate: fn(&PatchDropout) -> f32, place: u64| {
            let drop = drop.filter(|drop| rate(drop) > 0.0)?;
            Some(Dropout { rate: rate(&drop), seed: drop.seed.wrapping_add(place) })
        };
        let options = SequenceAttentionOptions {
            heads: self.heads,
            scale: 1.0 / ((self.query.weight.dims()[1] / self.heads) as f32).sqrt(),
            weights_dropout: dropout(|drop| drop.weights, 0),
            residual_dropout: dropout(|drop| drop.attention, 1),
            norm_first: self.norm_place == NormPlace::Inside,
        };
        let carried = self.residual_scores.then_some(carried);
        let (x, norm) = self.placed(x, &self.attention_norm);
        let (normed, carried) = sequence_attention(x, self.projections(), carried, norm, &options);
        let x = self.attention_norm.observe(normed);
        let options = SequenceFeedForwardOptions {
            hidden_dropout: dropout(|drop| drop.hidden, 2),
            residual_dropout: dropout(|drop| drop.feed, 3),
            norm_first: self.norm_place == NormPlace::Inside,
        };
        let maps = FeedForwardMaps {
            first: Projection::of(&self.feed.inner),
            second: Projection::of(&self.feed.outer),
            activation: self.feed.activation,
        };
        let (x, norm) = self.placed(x, &self.feed_norm);
        let normed = sequence_feed_forward(x, maps, norm, &options);
        (self.feed_norm.observe(normed), carried.unwrap_or_default())
    }

    /// What a half begins with, and the norm that is left to it.
    fn placed(&self, x: Tensor<3>, norm: &Normalization) -> (Tensor<3>, Option<NormArgs>) {
        match self.norm_place {
            NormPlace::Before => (norm.forward(x), None),
            NormPlace::Behind | NormPlace::Inside => {
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

//! Attention in two stages, over time and over channels (Zhang & Yan 2023, Crossformer, §3.2), as
//! Time-Series-Library's `TwoStageAttentionLayer` has it.
//!
//! Over time every channel is a sequence of segments: `z = norm(x + MHA(x))`, `z' = norm(z + MLP(z))`.
//! Then at every segment a few learnt routers `R` ask all channels, and the channels ask the routers:
//! `B = MHA(R, z', z')`, `y = norm(z' + MHA(z', B, B))`, `y' = norm(y + MLP(y))`. Channels exchange
//! messages at a cost linear in their number.

use burn::config::Config;
use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor};

use crate::encoder_layer::dropped;
use crate::graph::Drop;
use crate::ops::{Activation, NormKind};
use crate::{
    AttentionInput, EncoderLayer, EncoderLayerConfig, FeedForward, FeedForwardConfig, MultiHeadAttention,
    MultiHeadAttentionConfig, Normalization, NormalizationConfig, ProjectionInit,
};

/// Sizes of a [`TwoStageAttention`].
#[derive(Config, Debug)]
pub struct TwoStageAttentionConfig {
    /// Width of a segment's embedding.
    pub width: usize,
    /// Heads of the three attentions; they divide the width.
    pub heads: usize,
    /// Number of segments of a channel.
    pub segments: usize,
    /// Number of routers at each segment (`factor` in the original).
    pub routers: usize,
    /// Hidden width of the two feed-forward parts; four times the width when not given.
    pub hidden: Option<usize>,
}

/// Attention over the segments of each channel, then over the channels of each segment.
///
/// Channels that change places change the places of their results, and nothing else.
#[derive(Module, Debug)]
pub struct TwoStageAttention {
    /// The stage over time.
    pub time: EncoderLayer,
    /// Routers `[segments, routers, width]`.
    pub router: Param<Tensor<3>>,
    /// From the channels to the routers.
    pub sender: MultiHeadAttention,
    /// From the routers to the channels.
    pub receiver: MultiHeadAttention,
    /// Norm after the receiver.
    pub receiver_norm: Normalization,
    /// The network every segment passes by itself after the stage over channels.
    pub feed_forward: FeedForward,
    /// Norm after that network.
    pub feed_forward_norm: Normalization,
}

impl TwoStageAttentionConfig {
    /// Fresh weights, uniform in ±1/√inputs; routers from the standard normal distribution.
    ///
    /// # Panics
    /// If the heads do not divide the width.
    pub fn init(&self, device: &Device) -> TwoStageAttention {
        let Self { width, heads, segments, routers, .. } = *self;
        let hidden = self.hidden.unwrap_or(4 * width);
        let time = EncoderLayerConfig::new(width, heads, hidden)
            .with_norm(NormKind::Layer)
            .with_activation(Activation::Gelu)
            .with_bias(true)
            .with_init(ProjectionInit::Linear);
        let attention = MultiHeadAttentionConfig::new(width, heads);
        let norm = NormalizationConfig::new(NormKind::Layer, width);
        let normal = Initializer::Normal { mean: 0.0, std: 1.0 };
        TwoStageAttention {
            time: time.init(device),
            router: normal.init([segments, routers, width], device),
            sender: attention.init(device),
            receiver: attention.init(device),
            receiver_norm: norm.init(device),
            feed_forward: FeedForwardConfig::new(width, hidden).with_activation(Activation::Gelu).init(device),
            feed_forward_norm: norm.init(device),
        }
    }
}

impl TwoStageAttention {
    /// New embeddings of `x [batch, channels, segments, width]`, in the same shape.
    ///
    /// # Panics
    /// If `x` has not the segments and the width the block is made for.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        self.attend(x, None)
    }

    /// As [`Self::forward`], with numbers left out by `drop` of what every attention over time, receiver
    /// and network gives, before the residuals. The original can leave out weights of the attentions
    /// beside that; nothing does here.
    ///
    /// # Panics
    /// As [`Self::forward`].
    pub fn forward_with_dropout(&self, x: Tensor<4>, drop: &mut Drop<'_>) -> Tensor<4> {
        self.attend(x, Some(drop))
    }

    fn attend(&self, x: Tensor<4>, drop: Option<&mut Drop<'_>>) -> Tensor<4> {
        let shape = x.dims();
        let [batch, channels, segments, width] = shape;
        let [expected, _, of_router] = self.router.dims();
        assert_eq!([segments, width], [expected, of_router], "two-stage attention: segments and width");
        if shape.contains(&0) {
            return x;
        }
        let x = x.reshape([batch * channels, segments, width]);
        let by_segment = |x: Tensor<3>| x.reshape(shape).swap_dims(1, 2).reshape([batch * segments, channels, width]);
        let x = match drop {
            None => {
                let x = self.exchanged(by_segment(self.time.forward(x)), batch, |y| y);
                let args = self.feed_forward_norm.args(&x.device());
                self.feed_forward_norm.observe(self.feed_forward.residual(x, args))
            }
            Some(drop) => {
                let x = by_segment(self.time.forward_with_dropout(x, drop));
                let x = self.exchanged(x, batch, |y| dropped(y, drop));
                let y = self.feed_forward.forward(x.clone());
                self.feed_forward_norm.residual(x, dropped(y, drop))
            }
        };
        x.reshape([batch, segments, channels, width]).swap_dims(1, 2)
    }

    /// What channels `x [batch * segments, channels, width]` are after an exchange of messages through the
    /// routers, in the same shape; `before_residual` is done to what the receiver gives.
    fn exchanged(&self, x: Tensor<3>, batch: usize, before_residual: impl FnOnce(Tensor<3>) -> Tensor<3>) -> Tensor<3> {
        let [segments, routers, width] = self.router.dims();
        let router = self.router.val().unsqueeze::<4>().expand([batch, segments, routers, width]);
        let router = router.reshape([batch * segments, routers, width]);
        let messages = self.sender.forward(AttentionInput::new(router, x.clone(), x.clone()));
        let received = self.receiver.forward(AttentionInput::new(x.clone(), messages.clone(), messages));
        self.receiver_norm.residual(x, before_residual(received))
    }
}

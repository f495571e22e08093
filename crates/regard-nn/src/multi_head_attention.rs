//! Multi-head attention (Vaswani et al. 2017, §3.2.2), for self-attention and cross-attention, with the
//! de-stationary factors of Liu et al. 2022 (Non-stationary Transformers, §3.3).
//!
//! `MHA(q, k, v) = concat_h(softmax(scale · (τ q_h k_hᵀ + δ)) v_h) W_out`, where `q_h` is the part of
//! `q W_query` that belongs to head `h`, and likewise for keys and values.

use burn::config::Config;
use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

use crate::ops::{self, AttentionOptions, AttentionWeights, Mask, attention, attention_weights};
use crate::trace::{self, Operation};

/// Initialisation of the projections.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum ProjectionInit {
    /// Uniform in ±1/√inputs, also for biases: the default of `torch.nn.Linear`.
    Linear,
    /// Uniform in ±1/√(last axis of the original tensors `[heads, width, head_width]` and
    /// `[heads, head_width, width]`), as in the code of Kool et al. 2019.
    PerHead,
}

/// Sizes of a [`MultiHeadAttention`].
#[derive(Config, Debug)]
pub struct MultiHeadAttentionConfig {
    /// Width of the inputs and of the result.
    pub width: usize,
    /// Number of heads.
    pub heads: usize,
    /// Width of a query or key in one head. Default: `width / heads`.
    pub key_width: Option<usize>,
    /// Width of a value in one head. Default: `width / heads`.
    pub value_width: Option<usize>,
    /// If true, the four projections have biases. Default: true.
    #[config(default = true)]
    pub bias: bool,
    /// Initialisation of the projections. Default: as `torch.nn.Linear`.
    #[config(default = "ProjectionInit::Linear")]
    pub init: ProjectionInit,
}

/// Multi-head attention with its four linear projections; all heads are side by side in the width.
///
/// # A worked example
///
/// There are two tokens and two heads of width 2, and every projection is the identity. In each head
/// the score of a token with itself is `1/√2` and with the other token 0. So its attention weight on
/// itself is `e^(1/√2) / (e^(1/√2) + 1) = 0.66976155`, and on the other token `0.33023845`:
///
/// ```
/// use burn::{module::Param, tensor::{Device, Tensor}};
/// use regard_nn::{AttentionInput, MultiHeadAttentionConfig};
///
/// let device = Device::flex();
/// let mut attention = MultiHeadAttentionConfig::new(4, 2).with_bias(false).init(&device);
/// let identity = || Param::from_tensor(Tensor::eye(4, &device));
/// attention.query.weight = identity();
/// attention.key.weight = identity();
/// attention.value.weight = identity();
/// attention.out.weight = identity();
///
/// let x = Tensor::<3>::from_floats([[[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]], &device);
/// let (y, weights) = attention.forward_with_weights(AttentionInput::self_attention(x));
///
/// let (own, other) = (0.66976155_f32, 0.33023845_f32);
/// let close = |found: Vec<f32>, expected: &[f32]| {
///     found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6)
/// };
/// assert_eq!(weights.dims(), [1, 2, 2, 2]); // item, head, query, key
/// let rows = [own, other, other, own];
/// assert!(close(weights.try_into_vec_as().unwrap(), &[rows, rows].concat()));
/// let y = y.try_into_vec_as().unwrap();
/// assert!(close(y, &[own, other, own, other, other, own, other, own]));
/// ```
#[derive(Module, Debug)]
pub struct MultiHeadAttention {
    /// `[width, heads * key_width]`
    pub query: Linear,
    /// `[width, heads * key_width]`
    pub key: Linear,
    /// `[width, heads * value_width]`
    pub value: Linear,
    /// `[heads * value_width, width]`
    pub out: Linear,
    /// Number of heads.
    pub heads: usize,
    /// Width of a query or key in one head.
    pub key_width: usize,
}

/// Inputs of one call of [`MultiHeadAttention`].
#[derive(Clone, Debug)]
pub struct AttentionInput {
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    bias: Option<Tensor<4>>,
    mask: Mask,
    scale: Option<f32>,
    destationary: Option<(Tensor<2>, Tensor<2>)>,
}

impl AttentionInput {
    /// Cross attention: `query [batch, queries, width]`, `key` and `value [batch, keys, width]`.
    pub fn new(query: Tensor<3>, key: Tensor<3>, value: Tensor<3>) -> Self {
        Self { query, key, value, bias: None, mask: Mask::None, scale: None, destationary: None }
    }

    /// Self-attention of `x [batch, length, width]`.
    pub fn self_attention(x: Tensor<3>) -> Self {
        Self::new(x.clone(), x.clone(), x)
    }

    /// Sets the mask of keys.
    pub fn with_mask(mut self, mask: Mask) -> Self {
        self.mask = mask;
        self
    }

    /// Sets the factor of the dot products. Default: `1 / √(key width)`.
    pub fn with_scale(mut self, scale: f32) -> Self {
        self.scale = Some(scale);
        self
    }

    /// Sets a bias of the scores, broadcastable to `[batch, heads, queries, keys]`, added after the scale.
    pub fn with_bias(mut self, bias: Tensor<4>) -> Self {
        self.bias = Some(bias);
        self
    }

    /// Sets the de-stationary factors: scores become `(q·k) τ + δ` before the scale, with `tau [batch, 1]`
    /// and `delta [batch, keys]`.
    pub fn with_destationary(mut self, tau: Tensor<2>, delta: Tensor<2>) -> Self {
        self.destationary = Some((tau, delta));
        self
    }
}

impl MultiHeadAttentionConfig {
    /// Initialises the weights.
    ///
    /// # Panics
    /// If there is no head, or a head width is not given and the heads do not divide the width.
    pub fn init(&self, device: &Device) -> MultiHeadAttention {
        let (width, heads) = (self.width, self.heads);
        assert!(heads > 0, "multi-head attention: at least one head");
        let per_head = |given: Option<usize>| {
            given.unwrap_or_else(|| {
                assert_eq!(width % heads, 0, "multi-head attention: {heads} heads in {width}");
                width / heads
            })
        };
        let (key_width, value_width) = (per_head(self.key_width), per_head(self.value_width));
        let linear = |from: usize, to: usize, last_axis: usize| {
            let config = LinearConfig::new(from, to).with_bias(self.bias);
            match self.init {
                ProjectionInit::Linear => config.init(device),
                ProjectionInit::PerHead => {
                    let bound = 1.0 / (last_axis as f64).sqrt();
                    let uniform = Initializer::Uniform { min: -bound, max: bound };
                    config.with_initializer(uniform).init(device)
                }
            }
        };
        MultiHeadAttention {
            query: linear(width, heads * key_width, key_width),
            key: linear(width, heads * key_width, key_width),
            value: linear(width, heads * value_width, value_width),
            out: linear(heads * value_width, width, width),
            heads,
            key_width,
        }
    }
}

impl MultiHeadAttention {
    /// Attention of the queries over the keys, `[batch, queries, width]`.
    pub fn forward(&self, input: AttentionInput) -> Tensor<3> {
        let Projected { query, key, value, bias, options } = self.project(input);
        let heads = attention(query, key, value, bias, &options);
        let output = project(&self.out, heads.clone());
        trace::linear("output", &self.out, &heads, ["batch", "query", "channel"], &output);
        output
    }

    /// The result `[batch, queries, width]` and the attention weights `[batch, heads, queries, keys]`.
    pub fn forward_with_weights(&self, input: AttentionInput) -> (Tensor<3>, Tensor<4>) {
        let Projected { query, key, value, bias, options } = self.project(input);
        let (heads, weights) = attention_weights(query, key, value, bias, &options);
        (project(&self.out, heads), weights)
    }

    /// The weights of the four projections; `None` if they have biases.
    pub fn weights(&self) -> Option<AttentionWeights> {
        let linears = [&self.query, &self.key, &self.value, &self.out];
        linears.iter().all(|linear| linear.bias.is_none()).then(|| AttentionWeights {
            query: self.query.weight.val(),
            key: self.key.weight.val(),
            value: self.value.weight.val(),
            out: self.out.weight.val(),
        })
    }

    pub(crate) fn project(&self, input: AttentionInput) -> Projected {
        let mut options = AttentionOptions::new(self.heads, self.key_width).with_mask(input.mask);
        options.scale = input.scale.unwrap_or(options.scale);
        let projected = |name: &str, linear: &Linear, x: Tensor<3>, row: &'static str| {
            let y = project(linear, x.clone());
            // With projections that change nothing, an input has the numbers of what was made of it before.
            trace::step(name, Operation::Linear)
                .from_which(&x, |name| !["query", "key", "value"].contains(&name))
                .parameter("weight", || linear.weight.val())
                .optional_parameter("bias", || linear.bias.as_ref().map(Param::val))
                .values(["batch", row, "channel"], &y);
            y
        };
        let mut query = projected("query", &self.query, input.query, "query");
        let key = projected("key", &self.key, input.key, "key");
        let value = projected("value", &self.value, input.value, "key");
        let mut bias = input.bias;
        if let Some((tau, delta)) = input.destationary {
            const SOURCE: &str = "Liu et al. 2022, §3.3";
            let [batch, keys] = delta.dims();
            let stretched = query.clone() * tau.clone().reshape([batch, 1, 1]);
            trace::step("stretched_query", Operation::Product)
                .source(SOURCE)
                .from(&query)
                .from(&tau)
                .values(["batch", "query", "channel"], &stretched);
            query = stretched;
            let scaled = delta.clone().mul_scalar(options.scale);
            trace::step("scaled_delta", Operation::Scale { factor: options.scale })
                .source(SOURCE)
                .from(&delta)
                .values(["batch", "key"], &scaled);
            let scaled = scaled.reshape([batch, 1, 1, keys]);
            bias = Some(match bias {
                Some(bias) => {
                    let sum = bias.clone() + scaled.clone();
                    trace::step("score_bias_and_delta", Operation::Sum)
                        .from(&bias)
                        .from(&scaled)
                        .values(["batch", "head", "query", "key"], &sum);
                    sum
                }
                None => scaled,
            });
        }
        Projected { query, key, value, bias, options }
    }
}

/// Projected queries, keys and values, and the options of the attention.
pub(crate) struct Projected {
    pub(crate) query: Tensor<3>,
    pub(crate) key: Tensor<3>,
    pub(crate) value: Tensor<3>,
    pub(crate) bias: Option<Tensor<4>>,
    pub(crate) options: AttentionOptions,
}

/// Applies a linear layer to all rows. An empty batch stays empty; matrix products do not guarantee this.
pub(crate) fn project(linear: &Linear, x: Tensor<3>) -> Tensor<3> {
    let [batch, length, width] = x.dims();
    let columns = linear.weight.dims()[1];
    if batch * length == 0 {
        return Tensor::zeros([batch, length, columns], &x.device());
    }
    let rows = x.reshape([batch * length, width]);
    ops::linear(linear, rows).reshape([batch, length, columns])
}

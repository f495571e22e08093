//! The attention half of an encoder layer over many short sequences, as PatchTST stacks it (Nie et al.
//! 2023, §3.1; scores carried from layer to layer: He et al. 2021, RealFormer, §3).
//!
//! `norm(x + drop(MHA(x)))`, or `x + drop(MHA(norm(x)))` with the norm first, where
//! `MHA(x) = concat_h(drop(softmax(S_h)) v_h) W_out + b_out` and `S_h = scale · q_h k_hᵀ`, plus the `S_h`
//! of earlier layers where scores are carried.
//!
//! Carried scores are never made: a sum of products is one product of rows side by side,
//! `S = [q₁|q₂|…] · [k₁|k₂|…]ᵀ`. So [`Carried`] holds queries and keys, which are smaller than scores by
//! about `patches / (2 · head width)`, and gradients flow back through them.

use burn::tensor::{Tensor, activation};

use super::attention::{join_heads, split_heads};
use super::dropout::dropped;
use super::{Dropout, NormArgs, Normed, Projection, norm_composed};

/// The four maps of a multi-head self-attention.
#[derive(Clone, Debug)]
pub struct SequenceProjections {
    /// `[width, heads * key_width]`
    pub query: Projection,
    /// `[width, heads * key_width]`
    pub key: Projection,
    /// `[width, heads * value_width]`
    pub value: Projection,
    /// `[heads * value_width, width]`
    pub out: Projection,
}

/// Sizes and switches of [`sequence_attention`].
#[derive(Clone, Debug)]
pub struct SequenceAttentionOptions {
    /// Heads; they divide the widths of queries, keys and values.
    pub heads: usize,
    /// Factor of this layer's scores, `1 / √(width of a head)` in the paper.
    pub scale: f32,
    /// Attention weights left out, by rows `(sequence · heads + head) · patches + query` and columns `key`.
    pub weights_dropout: Option<Dropout>,
    /// Numbers left out before the residual, by rows `sequence · patches + patch`.
    pub residual_dropout: Option<Dropout>,
    /// Whether the norm stands before the attention instead of behind the residual.
    pub norm_first: bool,
}

impl SequenceAttentionOptions {
    /// Scale `1 / √(width / heads)`, no dropout, the norm behind the residual.
    pub fn new(width: usize, heads: usize) -> Self {
        let scale = 1.0 / ((width / heads.max(1)) as f32).sqrt();
        Self { heads, scale, weights_dropout: None, residual_dropout: None, norm_first: false }
    }
}

/// Scaled queries and keys of earlier layers, whose scores are added to those of a layer.
///
/// The default is none: what the first layer of a stack is given.
#[derive(Clone, Debug, Default)]
pub struct Carried(Vec<Tensor<3>>);

impl Carried {
    /// Number of layers before.
    pub fn layers(&self) -> usize {
        self.0.len()
    }
}

/// One attention sub-layer of `x [sequences, patches, width]`, each patch looking at all patches of its
/// sequence.
///
/// With `carried`, scores of all layers before are added, and the queries and keys of this layer are
/// handed on. Without, nothing is carried. `norm: None` leaves the norm out.
///
/// # Panics
/// If the shapes do not fit together, or a dropout's rate is not in `[0, 1)`.
pub fn sequence_attention(
    x: Tensor<3>,
    projections: SequenceProjections,
    carried: Option<Carried>,
    norm: Option<NormArgs>,
    options: &SequenceAttentionOptions,
) -> (Normed, Option<Carried>) {
    sequence_attention_composed(x, projections, carried, norm, options)
}

/// [`sequence_attention`] in ordinary tensor operations.
///
/// # Panics
/// As there.
pub fn sequence_attention_composed(
    x: Tensor<3>,
    projections: SequenceProjections,
    carried: Option<Carried>,
    norm: Option<NormArgs>,
    options: &SequenceAttentionOptions,
) -> (Normed, Option<Carried>) {
    if x.dims().contains(&0) {
        return (Normed { y: x, statistics: None }, carried);
    }
    let SequenceProjections { query, key, value, out } = projections;
    let (first, last) = if options.norm_first { (norm, None) } else { (None, norm) };
    let Normed { y: tokens, statistics } = normed(x.clone(), first);
    let query = linear(tokens.clone(), query).mul_scalar(options.scale);
    let key = linear(tokens.clone(), key);
    let own = scores(query.clone(), key.clone(), options.heads);
    let earlier = carried.iter().flat_map(|carried| carried.0.iter().cloned());
    let sum = earlier.fold(own, |sum, pair| sum + scores_of_pair(pair, options.heads));
    let weights = dropped(activation::softmax(sum, 3), options.weights_dropout);
    let attended = join_heads(weights.matmul(split_heads(linear(tokens, value), options.heads)));
    let y = x + dropped(linear(attended, out), options.residual_dropout);
    let carried = carried.map(|Carried(mut layers)| {
        layers.push(Tensor::cat(vec![query, key], 2));
        Carried(layers)
    });
    let result = normed(y, last);
    (Normed { y: result.y, statistics: result.statistics.or(statistics) }, carried)
}

/// `norm(x)`, or `x` where there is none.
pub(super) fn normed(x: Tensor<3>, norm: Option<NormArgs>) -> Normed {
    match norm {
        Some(norm) => norm_composed(x, norm),
        None => Normed { y: x, statistics: None },
    }
}

/// `x · weight + bias` of `[sequences, patches, in]`.
pub(super) fn linear(x: Tensor<3>, map: Projection) -> Tensor<3> {
    let [sequences, patches, inputs] = x.dims();
    let outputs = map.weight.dims()[1];
    let y = x.reshape([sequences * patches, inputs]).matmul(map.weight);
    let y = map.bias.into_iter().fold(y, |y, bias| y + bias.unsqueeze());
    y.reshape([sequences, patches, outputs])
}

fn scores(query: Tensor<3>, key: Tensor<3>, heads: usize) -> Tensor<4> {
    split_heads(query, heads).matmul(split_heads(key, heads).swap_dims(2, 3))
}

fn scores_of_pair(pair: Tensor<3>, heads: usize) -> Tensor<4> {
    let half = pair.dims()[2] / 2;
    scores(pair.clone().narrow(2, 0, half), pair.narrow(2, half, half), heads)
}

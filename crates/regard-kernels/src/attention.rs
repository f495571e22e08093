//! Scaled dot-product attention of many heads, forward and backward.
//!
//! `out_i = Σ_j softmax_j(clamp(scale · q_i·k_j + bias_ij) masked) · v_j`, per head
//! (Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1). Scores are computed in blocks
//! of rows that stay in cache and are not stored. The backward pass recomputes them from the saved
//! log-sum-exp of each row, as FlashAttention does (Dao et al. 2022), so no array of size
//! `queries × keys` is allocated.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Lhs, Rhs, Size, Store, gemm},
    simd,
    transpose::transpose,
    vector::{MASKED, abs, exp, exponentials, maximum, scale, split_mut},
};

/// Sizes and options of an attention call.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of instances in the batch.
    pub batch: usize,
    /// Number of queries of an instance.
    pub queries: usize,
    /// Number of keys (and values) of an instance.
    pub keys: usize,
    /// Number of heads.
    pub heads: usize,
    /// Width of one head of queries and keys.
    pub key_width: usize,
    /// Width of one head of values.
    pub value_width: usize,
    /// Factor of the scores, usually 1/√key_width.
    pub scale: f32,
    /// If given, scores are clamped to [−clamp, clamp].
    pub clamp: Option<f32>,
}

/// Queries, keys and values of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// `[batch, queries, heads·key_width]`.
    pub query: &'a [f32],
    /// `[batch, keys, heads·key_width]`.
    pub key: &'a [f32],
    /// `[batch, keys, heads·value_width]`.
    pub value: &'a [f32],
}

/// A bias added to the scores; element `(b, h, i, j)` is at `b·batch + h·head + i·query + j`.
#[derive(Clone, Copy, Debug)]
pub struct BiasView<'a> {
    /// The values, in rows of `keys` floats.
    pub data: &'a [f32],
    /// Stride from one instance to the next, in floats (0 if shared).
    pub batch: usize,
    /// Stride from one head to the next, in floats (0 if shared).
    pub head: usize,
    /// Stride from one query to the next, in floats (0 if shared).
    pub query: usize,
}

/// Values saved by the forward pass for the backward pass: the log-sum-exp of every row,
/// `[batch, heads, queries]`.
#[derive(Debug)]
pub struct Saved(Workspace);

fn instance<'a>(
    shape: &Shape,
    inputs: Inputs<'a>,
    mask: Mask<'a>,
    bias: Option<BiasView<'a>>,
    b: usize,
) -> Instance<'a> {
    let Shape { queries, keys, heads, key_width, value_width, scale, clamp, .. } = *shape;
    let Inputs { query, key, value } = inputs;
    let (wide, value_wide) = (heads * key_width, heads * value_width);
    Instance {
        query: &query[b * queries * wide..][..queries * wide],
        key: &key[b * keys * wide..][..keys * wide],
        value: &value[b * keys * value_wide..][..keys * value_wide],
        query_ld: wide,
        key_ld: wide,
        value_ld: value_wide,
        queries,
        keys,
        heads,
        key_width,
        value_width,
        scale,
        clamp,
        mask: mask.of_instance(b),
        bias: bias.map(|bias| BiasView { data: &bias.data[b * bias.batch..], ..bias }),
    }
}

/// Attention of a batch: `query [batch, queries, heads·key_width]`,
/// `key [batch, keys, heads·key_width]`, `value [batch, keys, heads·value_width]`; returns
/// `[batch, queries, heads·value_width]`. The output of a fully masked query is zero.
pub fn forward(shape: &Shape, inputs: Inputs<'_>, mask: Mask<'_>, bias: Option<BiasView<'_>>) -> (Vec<f32>, Saved) {
    let row = shape.heads * shape.value_width;
    let mut out = vec![0.0; shape.batch * shape.queries * row];
    let mut lse = Workspace::lease(shape.batch * shape.heads * shape.queries);
    out.par_chunks_mut((shape.queries * row).max(1))
        .zip(lse.par_chunks_mut((shape.heads * shape.queries).max(1)))
        .enumerate()
        .for_each(|(b, (out, lse))| {
            simd::run(AttentionForward {
                instance: &instance(shape, inputs, mask, bias, b),
                out,
                out_ld: row,
                lse: Some(lse),
            });
        });
    (out, Saved(lse))
}

/// Gradients of [`forward`].
#[derive(Debug)]
pub struct Gradients {
    /// Gradient of the queries, in their shape.
    pub query: Vec<f32>,
    /// Gradient of the keys, in their shape.
    pub key: Vec<f32>,
    /// Gradient of the values, in their shape.
    pub value: Vec<f32>,
    /// Gradient of the scores after the bias, `[batch, heads, queries, keys]`, if it was requested.
    pub scores: Option<Vec<f32>>,
}

/// Gradients of [`forward`] for `grad`, the gradient of its result. If `scores` is true, the gradient
/// of every score, which is also the gradient of an additive bias, is returned too.
pub fn backward(
    shape: &Shape,
    inputs: Inputs<'_>,
    mask: Mask<'_>,
    bias: Option<BiasView<'_>>,
    saved: &Saved,
    grad: &[f32],
    scores: bool,
) -> Gradients {
    let (queries, keys) = (shape.queries, shape.keys);
    let (wide, value_wide) = (shape.heads * shape.key_width, shape.heads * shape.value_width);
    let cells = shape.heads * queries * keys;
    let mut gradients = Gradients {
        query: vec![0.0; shape.batch * queries * wide],
        key: vec![0.0; shape.batch * keys * wide],
        value: vec![0.0; shape.batch * keys * value_wide],
        scores: scores.then(|| vec![0.0; shape.batch * cells]),
    };
    let mut none = Vec::new();
    let mut score_parts: Vec<Option<&mut [f32]>> = match &mut gradients.scores {
        Some(all) if cells > 0 => all.chunks_mut(cells).map(Some).collect(),
        _ => {
            none.resize_with(shape.batch, || None);
            std::mem::take(&mut none)
        }
    };
    score_parts.resize_with(shape.batch, || None);
    gradients
        .query
        .par_chunks_mut((queries * wide).max(1))
        .zip(gradients.key.par_chunks_mut((keys * wide).max(1)))
        .zip(gradients.value.par_chunks_mut((keys * value_wide).max(1)))
        .zip(score_parts.par_iter_mut())
        .enumerate()
        .for_each(|(b, (((query, key), value), scores))| {
            simd::run(AttentionBackward {
                instance: &instance(shape, inputs, mask, bias, b),
                lse: &saved.0[b * shape.heads * queries..][..shape.heads * queries],
                grad: &grad[b * queries * value_wide..][..queries * value_wide],
                grad_ld: value_wide,
                into: GradientsMut {
                    query,
                    key,
                    value,
                    query_ld: wide,
                    key_ld: wide,
                    value_ld: value_wide,
                    scores: scores.as_deref_mut(),
                },
            });
        });
    gradients
}

/// The keys that a query may attend to.
#[derive(Clone, Copy, Debug, Default)]
pub enum Mask<'a> {
    /// All keys.
    #[default]
    None,
    /// The first `lengths[b]` keys of instance `b`; the rest is padding.
    Lengths(&'a [u32]),
    /// Query `i` attends to keys `0..=i`.
    Causal,
    /// Query `i` attends to keys `i..`. With the nodes sorted in tour order, query `i` is step `i` and
    /// these keys are the nodes that are not visited yet.
    Remaining,
    /// An arbitrary mask: `allowed` is `[batch, queries, keys]`, and one instance uses `cells` values.
    Dense {
        /// True where a query may attend to a key.
        allowed: &'a [bool],
        /// Number of queries times number of keys.
        cells: usize,
    },
}

/// The mask of one instance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InstanceMask<'a> {
    None,
    Length(usize),
    Causal,
    Remaining,
    Dense(&'a [bool]),
}

impl<'a> Mask<'a> {
    pub(crate) fn of_instance(&self, b: usize) -> InstanceMask<'a> {
        match *self {
            Self::None => InstanceMask::None,
            Self::Lengths(lengths) => InstanceMask::Length(lengths[b] as usize),
            Self::Causal => InstanceMask::Causal,
            Self::Remaining => InstanceMask::Remaining,
            Self::Dense { allowed, cells } => InstanceMask::Dense(&allowed[b * cells..][..cells]),
        }
    }
}

impl InstanceMask<'_> {
    /// Range of keys that query `i` may attend to. A dense mask gives all keys.
    #[inline(always)]
    pub(crate) fn range(&self, i: usize, keys: usize) -> (usize, usize) {
        match *self {
            Self::None | Self::Dense(_) => (0, keys),
            Self::Length(length) => (0, length.min(keys)),
            Self::Causal => (0, (i + 1).min(keys)),
            Self::Remaining => (i.min(keys), keys),
        }
    }
}

/// Views of the queries, keys and values of one instance, with the options of the call. `*_ld` are
/// the strides between rows, in floats.
#[derive(Clone, Copy)]
pub(crate) struct Instance<'a> {
    pub(crate) query: &'a [f32],
    pub(crate) key: &'a [f32],
    pub(crate) value: &'a [f32],
    pub(crate) query_ld: usize,
    pub(crate) key_ld: usize,
    pub(crate) value_ld: usize,
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) heads: usize,
    pub(crate) key_width: usize,
    pub(crate) value_width: usize,
    pub(crate) scale: f32,
    pub(crate) clamp: Option<f32>,
    pub(crate) mask: InstanceMask<'a>,
    pub(crate) bias: Option<BiasView<'a>>,
}

/// Number of scores in a block. A block fits into the first-level cache beside keys and values.
const BLOCK: usize = 4096;

impl<'a> Instance<'a> {
    /// Number of keys, rounded up to whole registers.
    #[inline(always)]
    pub(crate) fn padded<S: Simd>(&self) -> usize {
        self.keys.next_multiple_of(S::F32_LANES)
    }

    /// Number of query rows in a block.
    #[inline(always)]
    pub(crate) fn block<S: Simd>(&self) -> usize {
        (BLOCK / self.padded::<S>().max(1) / 12 * 12).clamp(12, 96)
    }

    /// True if the raw products are the scores: no scale, clamp, bias or mask.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.scale == 1.0 && self.clamp.is_none() && self.bias.is_none() && matches!(self.mask, InstanceMask::None)
    }

    /// Scores of `rows` queries starting at `first` for head `h`; masked scores become −∞.
    /// `keys` holds the keys of the head transposed, `[key_width, padded]`.
    #[inline(always)]
    pub(crate) fn scores<S: Simd>(&self, simd: S, h: usize, first: usize, rows: usize, keys: &[f32], out: &mut [f32]) {
        let padded = self.padded::<S>();
        let query = Lhs::rows(&self.query[first * self.query_ld + h * self.key_width..], self.query_ld);
        let size = Size { m: rows, n: padded, k: self.key_width };
        gemm(simd, size, query, Rhs::rows::<S>(keys, padded), out, padded, Store);
        for (r, row) in out.chunks_exact_mut(padded).take(rows).enumerate() {
            self.finish_row(simd, h, first + r, row);
        }
    }

    /// Applies scale, bias, clamp and mask to one row of raw scores.
    #[inline(always)]
    fn finish_row<S: Simd>(&self, simd: S, h: usize, i: usize, row: &mut [f32]) {
        let lanes = S::F32_LANES;
        if self.is_plain() {
            // Only the padding is masked.
            let whole = self.keys / lanes;
            if let Some(last) = split_mut::<S>(row).0.get_mut(whole) {
                let unmasked = lane_range(simd, 0, self.keys - whole * lanes);
                *last = simd.select_f32s(unmasked, *last, simd.splat_f32s(f32::NEG_INFINITY));
            }
            return;
        }
        let bias = self.bias.map(|bias| &bias.data[h * bias.head + i * bias.query..][..self.keys]);
        let (low, high) = self.mask.range(i, self.keys);
        let scale = simd.splat_f32s(self.scale);
        let masked = simd.splat_f32s(f32::NEG_INFINITY);
        for (v, score) in split_mut::<S>(row).0.iter_mut().enumerate() {
            let start = v * lanes;
            if start >= high || start + lanes <= low {
                *score = masked;
                continue;
            }
            let mut value = simd.mul_f32s(*score, scale);
            if let Some(bias) = bias {
                let end = (start + lanes).min(self.keys);
                value = simd.add_f32s(value, simd.partial_load_f32s(&bias[start..end]));
            }
            if let Some(clamp) = self.clamp {
                let (low, high) = (simd.splat_f32s(-clamp), simd.splat_f32s(clamp));
                value = simd.min_f32s(simd.max_f32s(value, low), high);
            }
            if start < low || start + lanes > high {
                let unmasked = lane_range(simd, low.saturating_sub(start), high - start);
                value = simd.select_f32s(unmasked, value, masked);
            }
            *score = value;
        }
        if let InstanceMask::Dense(allowed) = self.mask {
            let allowed = &allowed[i * self.keys..][..self.keys];
            for (score, &allowed) in row.iter_mut().zip(allowed) {
                if !allowed {
                    *score = f32::NEG_INFINITY;
                }
            }
        }
    }
}

/// A mask of the lanes `low..high` of a register.
#[inline(always)]
fn lane_range<S: Simd>(simd: S, low: usize, high: usize) -> S::m32s {
    let mut lane = simd.splat_u32s(0);
    for (i, lane) in bytes_of_lanes::<S>(&mut lane).iter_mut().enumerate() {
        *lane = i as u32;
    }
    let above = simd.greater_than_or_equal_u32s(lane, simd.splat_u32s(low as u32));
    simd.and_m32s(above, simd.less_than_u32s(lane, simd.splat_u32s(high as u32)))
}

#[inline(always)]
fn bytes_of_lanes<S: Simd>(register: &mut S::u32s) -> &mut [u32] {
    pulp::bytemuck::cast_slice_mut(std::slice::from_mut(register))
}

/// True if `max`, the largest score of a row, is masked: then all keys of the row are masked.
#[inline(always)]
pub(crate) fn is_empty_row(max: f32) -> bool {
    max <= MASKED
}

/// Log-sum-exp stored for a fully masked row: it makes every weight of the row 0 in the backward pass.
const EMPTY: f32 = 1e30;

struct AttentionForward<'a> {
    instance: &'a Instance<'a>,
    out: &'a mut [f32],
    out_ld: usize,
    lse: Option<&'a mut [f32]>,
}

impl WithSimd for AttentionForward<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let padded = self.instance.padded::<S>();
        let mut scratch = Workspace::lease((self.instance.key_width + self.instance.block::<S>()) * padded);
        attend(simd, self.instance, self.out, self.out_ld, self.lse, &mut scratch);
    }
}

/// Computes attention of all heads of one instance into `out` (rows `out_ld` floats apart). `lse`
/// receives the log-sum-exp of each row, `[heads, queries]`. `scratch` holds at least
/// `(key_width + block) · padded` floats.
#[inline(always)]
pub(crate) fn attend<S: Simd>(
    simd: S,
    x: &Instance<'_>,
    out: &mut [f32],
    out_ld: usize,
    mut lse: Option<&mut [f32]>,
    scratch: &mut [f32],
) {
    let (padded, block) = (x.padded::<S>(), x.block::<S>());
    let (keys, scores) = scratch.split_at_mut(x.key_width * padded);
    for h in 0..x.heads {
        transpose(&x.key[h * x.key_width..], x.key_ld, x.keys, x.key_width, padded, keys);
        for first in (0..x.queries).step_by(block) {
            let rows = block.min(x.queries - first);
            x.scores(simd, h, first, rows, keys, scores);
            let out = &mut out[first * out_ld + h * x.value_width..];
            let mut inverse = [0.0; 96];
            for (r, row) in scores.chunks_exact_mut(padded).take(rows).enumerate() {
                let max = maximum(simd, row);
                let sum = exponentials(simd, row, max);
                let empty = is_empty_row(max);
                inverse[r] = if empty { 0.0 } else { 1.0 / sum };
                if let Some(lse) = lse.as_deref_mut() {
                    lse[h * x.queries + first + r] = if empty { EMPTY } else { max + sum.ln() };
                }
            }
            let value = Rhs::rows::<S>(&x.value[h * x.value_width..], x.value_ld);
            let size = Size { m: rows, n: x.value_width, k: x.keys };
            gemm(simd, size, Lhs::rows(scores, padded), value, out, out_ld, Store);
            for (r, row) in out.chunks_mut(out_ld).take(rows).enumerate() {
                scale(simd, inverse[r], &mut row[..x.value_width]);
            }
        }
    }
}

/// Destinations of the gradients of one instance. The query gradient is overwritten; the key and
/// value gradients are added to.
pub(crate) struct GradientsMut<'a> {
    pub(crate) query: &'a mut [f32],
    pub(crate) key: &'a mut [f32],
    pub(crate) value: &'a mut [f32],
    pub(crate) query_ld: usize,
    pub(crate) key_ld: usize,
    pub(crate) value_ld: usize,
    /// `[heads, queries, keys]`.
    pub(crate) scores: Option<&'a mut [f32]>,
}

struct AttentionBackward<'a> {
    instance: &'a Instance<'a>,
    lse: &'a [f32],
    grad: &'a [f32],
    grad_ld: usize,
    into: GradientsMut<'a>,
}

impl WithSimd for AttentionBackward<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut scratch = Workspace::lease(backward_scratch::<S>(self.instance));
        attend_backward(simd, self.instance, self.lse, self.grad, self.grad_ld, self.into, &mut scratch);
    }
}

/// Floats of scratch that [`attend_backward`] needs.
#[inline(always)]
pub(crate) fn backward_scratch<S: Simd>(x: &Instance<'_>) -> usize {
    (x.key_width + x.value_width + 2 * x.block::<S>()) * x.padded::<S>()
}

/// Gradients of all heads of one instance.
#[inline(always)]
pub(crate) fn attend_backward<S: Simd>(
    simd: S,
    x: &Instance<'_>,
    lse: &[f32],
    grad: &[f32],
    grad_ld: usize,
    mut into: GradientsMut<'_>,
    scratch: &mut [f32],
) {
    let (padded, block) = (x.padded::<S>(), x.block::<S>());
    let (keys, rest) = scratch.split_at_mut(x.key_width * padded);
    let (values, rest) = rest.split_at_mut(x.value_width * padded);
    let (weights, deltas) = rest.split_at_mut(block * padded);
    for h in 0..x.heads {
        let (key_at, value_at) = (h * x.key_width, h * x.value_width);
        transpose(&x.key[key_at..], x.key_ld, x.keys, x.key_width, padded, keys);
        transpose(&x.value[value_at..], x.value_ld, x.keys, x.value_width, padded, values);
        for first in (0..x.queries).step_by(block) {
            let rows = block.min(x.queries - first);
            x.scores(simd, h, first, rows, keys, weights);
            let grad = Lhs::rows(&grad[first * grad_ld + value_at..], grad_ld);
            let size = Size { m: rows, n: padded, k: x.value_width };
            gemm(simd, size, grad, Rhs::rows::<S>(values, padded), deltas, padded, Store);
            let pairs = weights.chunks_exact_mut(padded).zip(deltas.chunks_exact_mut(padded));
            for (r, (weights, deltas)) in pairs.take(rows).enumerate() {
                let row = h * x.queries + first + r;
                score_gradients(simd, x.clamp, lse[row], weights, deltas);
                if let Some(scores) = into.scores.as_deref_mut() {
                    scores[row * x.keys..][..x.keys].copy_from_slice(&deltas[..x.keys]);
                }
                crate::vector::scale(simd, x.scale, deltas);
            }
            // dV += Pᵀ·dO
            let size = Size { m: x.keys, n: x.value_width, k: rows };
            let right = Rhs::rows::<S>(grad.data, grad_ld);
            gemm(
                simd,
                size,
                Lhs::transposed(weights, padded),
                right,
                &mut into.value[value_at..],
                into.value_ld,
                Accumulate,
            );
            // dK += dSᵀ·Q
            let size = Size { m: x.keys, n: x.key_width, k: rows };
            let query = Rhs::rows::<S>(&x.query[first * x.query_ld + key_at..], x.query_ld);
            gemm(simd, size, Lhs::transposed(deltas, padded), query, &mut into.key[key_at..], into.key_ld, Accumulate);
            // dQ = dS·K
            let size = Size { m: rows, n: x.key_width, k: x.keys };
            let key = Rhs::rows::<S>(&x.key[key_at..], x.key_ld);
            let out = &mut into.query[first * into.query_ld + key_at..];
            gemm(simd, size, Lhs::rows(deltas, padded), key, out, into.query_ld, Store);
        }
    }
}

/// Attention weight of a score, given the log-sum-exp of its row; 0 for a masked score.
#[inline(always)]
fn weight<S: Simd>(simd: S, score: S::f32s, lse: S::f32s) -> S::f32s {
    let unmasked = simd.less_than_f32s(simd.splat_f32s(MASKED), score);
    simd.select_f32s(unmasked, exp(simd, simd.sub_f32s(score, lse)), simd.splat_f32s(0.0))
}

/// Turns one row of scores (`weights`) into attention weights, and the gradient of the weights, dP
/// (`deltas`), into the gradient of the scores, dS.
#[inline(always)]
fn score_gradients<S: Simd>(simd: S, clamp: Option<f32>, lse: f32, weights: &mut [f32], deltas: &mut [f32]) {
    let (lse, zero) = (simd.splat_f32s(lse), simd.splat_f32s(0.0));
    let (weights, deltas) = (split_mut::<S>(weights).0, split_mut::<S>(deltas).0);
    let (mut sum, mut total) = (zero, zero);
    for (score, delta) in weights.iter().zip(deltas.iter()) {
        let weight = weight(simd, *score, lse);
        sum = simd.mul_add_f32s(weight, *delta, sum);
        total = simd.add_f32s(total, weight);
    }
    // The log-sum-exp of large scores has few digits, so the weights are scaled to sum to one
    // again; otherwise the gradients of a row would not sum to zero. All weights of a fully masked
    // row are zero.
    let total = simd.reduce_sum_f32s(total);
    let unit = if total > 0.0 { 1.0 / total } else { 0.0 };
    let mean = simd.splat_f32s(simd.reduce_sum_f32s(sum) * unit);
    let unit = simd.splat_f32s(unit);
    // A score beyond the clamp does not change with its input, so its gradient is zero.
    let limit = simd.splat_f32s(clamp.unwrap_or(f32::INFINITY));
    for (score, delta) in weights.iter_mut().zip(deltas) {
        let weight = simd.mul_f32s(unit, weight(simd, *score, lse));
        let free = simd.less_than_f32s(abs(simd, *score), limit);
        let gradient = simd.mul_f32s(weight, simd.sub_f32s(*delta, mean));
        *delta = simd.select_f32s(free, gradient, zero);
        *score = weight;
    }
}

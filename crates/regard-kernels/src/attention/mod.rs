//! Scaled dot-product attention of many heads, forward and backward.
//!
//! `out_i = Σ_j softmax_j(clamp(scale · q_i·k_j + bias_ij) masked) · v_j`, per head
//! (Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1). Scores are computed in blocks
//! of rows that stay in cache and are not stored. The backward pass recomputes them from the saved
//! log-sum-exp of each row, as FlashAttention does (Dao et al. 2022), so no array of size
//! `queries × keys` is allocated.

mod backward;
mod forward;
mod mask;
mod rows;

use rayon::prelude::*;

pub(crate) use backward::{Cotangents, attend_backward, backward_scratch};
pub(crate) use forward::attend;
pub(crate) use mask::InstanceMask;
pub use mask::Mask;
pub(crate) use rows::Instance;

use crate::{buffer::Workspace, simd};

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
    (query, key, value): (&'a [f32], &'a [f32], &'a [f32]),
    mask: Mask<'a>,
    bias: Option<BiasView<'a>>,
    b: usize,
) -> Instance<'a> {
    let Shape { queries, keys, heads, key_width, value_width, scale, clamp, .. } = *shape;
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
pub fn forward(
    shape: &Shape,
    qkv: (&[f32], &[f32], &[f32]),
    mask: Mask<'_>,
    bias: Option<BiasView<'_>>,
) -> (Vec<f32>, Saved) {
    let row = shape.heads * shape.value_width;
    let mut out = vec![0.0; shape.batch * shape.queries * row];
    let mut lse = Workspace::lease(shape.batch * shape.heads * shape.queries);
    out.par_chunks_mut((shape.queries * row).max(1))
        .zip(lse.par_chunks_mut((shape.heads * shape.queries).max(1)))
        .enumerate()
        .for_each(|(b, (out, lse))| {
            simd::run(forward::Attend {
                instance: &instance(shape, qkv, mask, bias, b),
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
    qkv: (&[f32], &[f32], &[f32]),
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
            simd::run(backward::AttendBackward {
                instance: &instance(shape, qkv, mask, bias, b),
                lse: &saved.0[b * shape.heads * queries..][..shape.heads * queries],
                grad: &grad[b * queries * value_wide..][..queries * value_wide],
                grad_ld: value_wide,
                into: Cotangents {
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

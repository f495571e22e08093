//! Backward pass of attention for one instance.
//!
//! With `P` the weights and `dO` the gradient of the result, per head:
//! `dV = Pᵀ·dO`, `dP = dO·Vᵀ`, `dS = P∘(dP − rowsum(P∘dP))`, `dQ = scale·dS·K`,
//! `dK = scale·dSᵀ·Q`. `P` is recomputed from the saved log-sum-exp of each row.

use pulp::{Simd, WithSimd};

use super::rows::Instance;
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Lhs, Rhs, Size, Store, gemm},
    transpose::transpose,
    vector::{BARRED, abs, exp, split_mut},
};

/// Destinations of the gradients of one instance. The query gradient is overwritten; the key and
/// value gradients are added to.
pub(crate) struct Cotangents<'a> {
    pub(crate) query: &'a mut [f32],
    pub(crate) key: &'a mut [f32],
    pub(crate) value: &'a mut [f32],
    pub(crate) query_ld: usize,
    pub(crate) key_ld: usize,
    pub(crate) value_ld: usize,
    /// `[heads, queries, keys]`.
    pub(crate) scores: Option<&'a mut [f32]>,
}

pub(super) struct AttendBackward<'a> {
    pub(super) instance: &'a Instance<'a>,
    pub(super) lse: &'a [f32],
    pub(super) grad: &'a [f32],
    pub(super) grad_ld: usize,
    pub(super) into: Cotangents<'a>,
}

impl WithSimd for AttendBackward<'_> {
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
    mut into: Cotangents<'_>,
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
    let open = simd.less_than_f32s(simd.splat_f32s(BARRED), score);
    simd.select_f32s(open, exp(simd, simd.sub_f32s(score, lse)), simd.splat_f32s(0.0))
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
        let moved = simd.mul_f32s(weight, simd.sub_f32s(*delta, mean));
        *delta = simd.select_f32s(free, moved, zero);
        *score = weight;
    }
}

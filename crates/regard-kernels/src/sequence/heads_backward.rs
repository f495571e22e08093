//! Attention of one head of one sequence, backward pass.
//!
//! With `P` the attention weights, `D` the dropout factors and `dO` the gradient of the result:
//! `dV = (P∘D)ᵀ·dO`, `dP = (dO·Vᵀ)∘D`, `dS = P∘(dP − rowsum(P∘dP))`, `dQ = dS·K`, `dK = dSᵀ·Q`, and
//! `rowsum(P∘dP) = rowsum(dO∘O)` (Dao et al. 2022, appendix B.2).

use pulp::Simd;

use super::heads::{Head, row_draws};
use crate::{
    dropout::Draws,
    gemm::{Accumulate, Lhs, Rhs, Size, Store, gemm},
    vector::{exp, split, split_mut},
};

/// Saved values and gradient of the result of a head.
pub(super) struct Given<'a> {
    /// Result of the head, `[value_width, positions]`.
    pub(super) attended: &'a [f32],
    /// Gradient of the result, `[value_width, positions]`.
    pub(super) grad: &'a [f32],
    /// Largest score and 1 / sum of exponentials of each query, `[2, patches]`.
    pub(super) softmax: &'a [f32],
    /// Keys, `[positions, depth]`, rows `key_ld` floats apart.
    pub(super) keys: &'a [f32],
    pub(super) key_ld: usize,
}

/// Destinations of the gradients of one head.
pub(super) struct Cotangents<'a> {
    /// `[positions, depth]`, rows `query_ld` floats apart.
    pub(super) query: &'a mut [f32],
    pub(super) query_ld: usize,
    /// `[depth, positions]`.
    pub(super) key: &'a mut [f32],
    /// `[value_width, positions]`.
    pub(super) value: &'a mut [f32],
}

/// Number of floats of a block of scores that stays in the first-level cache.
const BLOCK: usize = 4096;

impl Head<'_> {
    fn padded(&self) -> usize {
        self.patches.next_multiple_of(16)
    }

    /// Number of queries in a block.
    fn rows(&self) -> usize {
        (BLOCK / self.padded() / 12 * 12).clamp(12, 96).min(self.patches)
    }

    /// Number of floats of scratch memory for [`Self::backward`].
    pub(super) fn backward_scratch(&self) -> usize {
        (2 * self.rows() + 2) * self.padded()
    }

    /// Computes the gradients of queries, keys and values.
    #[inline(always)]
    pub(super) fn backward<S: Simd>(&self, simd: S, given: &Given<'_>, into: Cotangents<'_>, scratch: &mut [f32]) {
        let (padded, rows, patches, ld) = (self.padded(), self.rows(), self.patches, self.ld);
        let (weights, rest) = scratch.split_at_mut(rows * padded);
        let (deltas, rest) = rest.split_at_mut(rows * padded);
        let (means, factors) = rest.split_at_mut(padded);
        given.means(simd, self, &mut means[..patches]);
        let (largest, inverse) = given.softmax.split_at(patches);
        for first in (0..patches).step_by(rows) {
            let count = rows.min(patches - first);
            let size = Size { m: count, n: patches, k: self.depth };
            let query = Lhs::transposed(&self.query[first..], ld);
            gemm(simd, size, query, Rhs::rows::<S>(self.key, ld), weights, padded, Store);
            let size = Size { m: count, n: patches, k: self.value_width };
            let grad = Lhs::transposed(&given.grad[first..], ld);
            gemm(simd, size, grad, Rhs::rows::<S>(self.value, ld), deltas, padded, Store);
            let draws = self.dropout.map(|(dropout, row)| {
                let mut rows = [0; 96];
                row_draws(&dropout, row + first, &mut rows[..count]);
                (dropout.draws(), rows)
            });
            let pairs = weights.chunks_exact_mut(padded).zip(deltas.chunks_exact_mut(padded));
            for (i, (weights, deltas)) in pairs.take(count).enumerate() {
                let at = first + i;
                let row = Row { largest: largest[at], inverse: inverse[at], mean: means[at] };
                match &draws {
                    None => row.gradients(simd, weights, deltas),
                    Some((draws, rows)) => row.dropped_gradients(simd, (draws, rows[i]), weights, deltas, factors),
                }
            }
            let size = Size { m: count, n: self.depth, k: patches };
            let keys = Rhs::rows::<S>(given.keys, given.key_ld);
            let out = &mut into.query[first * into.query_ld..];
            gemm(simd, size, Lhs::rows(deltas, padded), keys, out, into.query_ld, Store);
            let products = [
                (self.value_width, &given.grad[first..], &*weights, &mut *into.value),
                (self.depth, &self.query[first..], &*deltas, &mut *into.key),
            ];
            for (channels, left, right, out) in products {
                let (left, right) = (Lhs::rows(left, ld), Rhs::rows::<S>(right, padded));
                let size = Size { m: channels, n: patches, k: count };
                match first {
                    0 => gemm(simd, size, left, right, out, ld, Store),
                    _ => gemm(simd, size, left, right, out, ld, Accumulate),
                }
            }
        }
    }
}

impl Given<'_> {
    /// `Σ dO∘O` of every query.
    #[inline(always)]
    fn means<S: Simd>(&self, simd: S, head: &Head<'_>, means: &mut [f32]) {
        means.fill(0.0);
        for channel in 0..head.value_width {
            let at = channel * head.ld..channel * head.ld + means.len();
            let (a, a_rest) = split::<S>(&self.attended[at.clone()]);
            let (g, g_rest) = split::<S>(&self.grad[at]);
            let (m, m_rest) = split_mut::<S>(means);
            for ((a, g), m) in a.iter().zip(g).zip(m) {
                *m = simd.mul_add_f32s(*a, *g, *m);
            }
            for ((a, g), m) in a_rest.iter().zip(g_rest).zip(m_rest) {
                *m = a.mul_add(*g, *m);
            }
        }
    }
}

/// Softmax statistics of one query and the mean gradient of its weights.
#[derive(Clone, Copy)]
struct Row {
    largest: f32,
    inverse: f32,
    mean: f32,
}

impl Row {
    /// Turns `weights` from scores to attention weights and `deltas` from dP to the gradient of the scores.
    #[inline(always)]
    fn gradients<S: Simd>(self, simd: S, weights: &mut [f32], deltas: &mut [f32]) {
        let [largest, inverse, mean] = [self.largest, self.inverse, self.mean].map(|x| simd.splat_f32s(x));
        for (weight, delta) in split_mut::<S>(weights).0.iter_mut().zip(split_mut::<S>(deltas).0) {
            *weight = simd.mul_f32s(exp(simd, simd.sub_f32s(*weight, largest)), inverse);
            *delta = simd.mul_f32s(*weight, simd.sub_f32s(*delta, mean));
        }
    }

    /// As [`Self::gradients`], with dropout of the weights.
    #[inline(always)]
    fn dropped_gradients<S: Simd>(
        self,
        simd: S,
        (draws, row): (&Draws, u32),
        weights: &mut [f32],
        deltas: &mut [f32],
        factors: &mut [f32],
    ) {
        draws.along_row(row, 0, factors);
        let [largest, inverse, mean] = [self.largest, self.inverse, self.mean].map(|x| simd.splat_f32s(x));
        let pairs = split_mut::<S>(weights).0.iter_mut().zip(split_mut::<S>(deltas).0);
        for ((weight, delta), factor) in pairs.zip(split::<S>(factors).0) {
            let kept = simd.mul_f32s(exp(simd, simd.sub_f32s(*weight, largest)), inverse);
            *delta = simd.mul_f32s(kept, simd.sub_f32s(simd.mul_f32s(*delta, *factor), mean));
            *weight = simd.mul_f32s(kept, *factor);
        }
    }
}

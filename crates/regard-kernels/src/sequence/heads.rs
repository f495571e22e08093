//! Attention of one head of one sequence, forward and backward.
//!
//! With `P` the attention weights, `D` the dropout factors and `dO` the gradient of the result:
//! `dV = (P∘D)ᵀ·dO`, `dP = (dO·Vᵀ)∘D`, `dS = P∘(dP − rowsum(P∘dP))`, `dQ = dS·K`, `dK = dSᵀ·Q`, and
//! `rowsum(P∘dP) = rowsum(dO∘O)` (Dao et al. 2022, appendix B.2).

use pulp::Simd;

use crate::{
    dropout::{Dropout, DropoutSampler},
    gemm::{Accumulate, Lhs, Rhs, ScaleColumns, Size, Store, gemm},
    vector::{MASKED, exp, split, split_mut},
};

/// Number of queries whose scores are computed at a time: four of the widest registers.
pub(super) const QUERIES: usize = 64;

/// Queries, keys and values of one head of one sequence, one channel a row.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    /// `[depth, positions]`.
    pub(super) query: &'a [f32],
    /// `[depth, positions]`.
    pub(super) key: &'a [f32],
    /// `[value_width, positions]`.
    pub(super) value: &'a [f32],
    /// Stride from channel to channel, in floats.
    pub(super) ld: usize,
    /// Number of positions.
    pub(super) patches: usize,
    /// Number of channels of queries and keys.
    pub(super) depth: usize,
    pub(super) value_width: usize,
    /// Dropout of the attention weights, and the index of the head's first row in the dropout mask.
    pub(super) dropout: Option<(Dropout, usize)>,
}

/// Random states of the dropout mask for the rows from `row` on.
#[inline(always)]
pub(super) fn row_states(dropout: &Dropout, row: usize, sampler: &mut [u32]) {
    for (i, draw) in sampler.iter_mut().enumerate() {
        *draw = dropout.row(row + i);
    }
}

impl Head<'_> {
    /// Computes the attended values into `out [value_width, positions]`, whose channels are `ld` floats
    /// apart. `softmax [2, patches]` receives the largest score and 1 / sum of exponentials of each query.
    /// `scratch` holds `patches · QUERIES` floats.
    #[inline(always)]
    pub(super) fn attend<S: Simd>(&self, simd: S, out: &mut [f32], softmax: &mut [f32], scratch: &mut [f32]) {
        let (largest, inverse) = softmax.split_at_mut(self.patches);
        let scratch = &mut scratch[..self.patches * QUERIES];
        for first in (0..self.patches).step_by(QUERIES) {
            let wide = QUERIES.min(self.patches - first);
            let size = Size { m: self.patches, n: wide, k: self.depth };
            let query = Rhs::rows::<S>(&self.query[first..], self.ld);
            gemm(simd, size, Lhs::transposed(self.key, self.ld), query, scratch, QUERIES, Store);
            let mut factors = [[0.0; QUERIES]; 2];
            let sampler = self.dropout.map(|(dropout, row)| {
                let mut rows = [0; QUERIES];
                row_states(&dropout, row + first, &mut rows[..wide]);
                (dropout.sampler(), rows)
            });
            exponentials(simd, scratch, wide, &mut factors);
            if let Some((sampler, rows)) = sampler {
                for (key, row) in scratch.chunks_exact_mut(QUERIES).enumerate() {
                    let mut factors_of_key = [0.0; QUERIES];
                    sampler.along_column(&rows, key, &mut factors_of_key);
                    row.iter_mut().zip(factors_of_key).for_each(|(weight, factors_of_key)| *weight *= factors_of_key);
                }
            }
            largest[first..first + wide].copy_from_slice(&factors[0][..wide]);
            inverse[first..first + wide].copy_from_slice(&factors[1][..wide]);
            let size = Size { m: self.value_width, n: wide, k: self.patches };
            let weights = Rhs::rows::<S>(scratch, QUERIES);
            let scale = ScaleColumns(&factors[1][..wide]);
            gemm(simd, size, Lhs::rows(self.value, self.ld), weights, &mut out[first..], self.ld, scale);
        }
    }
}

/// Turns the columns of `scores` into exponentials. `factors` receives the largest score and 1 / sum of
/// each column. Columns from `wide` on are not used.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, scores: &mut [f32], wide: usize, factors: &mut [[f32; QUERIES]; 2]) {
    let stride = QUERIES / S::F32_LANES;
    let registers = split_mut::<S>(scores).0;
    let [largest, inverse] = factors;
    let (largest, inverse) = (split_mut::<S>(largest).0, split_mut::<S>(inverse).0);
    for v in 0..wide.div_ceil(S::F32_LANES) {
        let mut max = simd.splat_f32s(MASKED);
        for score in registers[v..].iter().step_by(stride) {
            max = simd.max_f32s(max, *score);
        }
        let mut sum = simd.splat_f32s(0.0);
        for score in registers[v..].iter_mut().step_by(stride) {
            *score = exp(simd, simd.sub_f32s(*score, max));
            sum = simd.add_f32s(sum, *score);
        }
        largest[v] = max;
        inverse[v] = simd.div_f32s(simd.splat_f32s(1.0), sum);
    }
}

/// Saved values and gradient of the result of a head.
pub(super) struct HeadSaved<'a> {
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
pub(super) struct GradientsMut<'a> {
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
    pub(super) fn backward<S: Simd>(
        &self,
        simd: S,
        given: &HeadSaved<'_>,
        into: GradientsMut<'_>,
        scratch: &mut [f32],
    ) {
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
            let sampler = self.dropout.map(|(dropout, row)| {
                let mut rows = [0; 96];
                row_states(&dropout, row + first, &mut rows[..count]);
                (dropout.sampler(), rows)
            });
            let pairs = weights.chunks_exact_mut(padded).zip(deltas.chunks_exact_mut(padded));
            for (i, (weights, deltas)) in pairs.take(count).enumerate() {
                let at = first + i;
                let row = Row { largest: largest[at], inverse: inverse[at], mean: means[at] };
                match &sampler {
                    None => row.gradients(simd, weights, deltas),
                    Some((sampler, rows)) => row.dropped_gradients(simd, sampler, rows[i], weights, deltas, factors),
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

impl HeadSaved<'_> {
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
        sampler: &DropoutSampler,
        row: u32,
        weights: &mut [f32],
        deltas: &mut [f32],
        factors: &mut [f32],
    ) {
        sampler.along_row(row, 0, factors);
        let [largest, inverse, mean] = [self.largest, self.inverse, self.mean].map(|x| simd.splat_f32s(x));
        let pairs = split_mut::<S>(weights).0.iter_mut().zip(split_mut::<S>(deltas).0);
        for ((weight, delta), factor) in pairs.zip(split::<S>(factors).0) {
            let probability = simd.mul_f32s(exp(simd, simd.sub_f32s(*weight, largest)), inverse);
            *delta = simd.mul_f32s(probability, simd.sub_f32s(simd.mul_f32s(*delta, *factor), mean));
            *weight = simd.mul_f32s(probability, *factor);
        }
    }
}

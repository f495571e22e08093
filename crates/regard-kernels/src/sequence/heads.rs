//! Attention of one head of one sequence, forward pass.

use pulp::Simd;

use crate::{
    dropout::Dropout,
    gemm::{Lhs, Rhs, ScaleColumns, Size, Store, gemm},
    vector::{BARRED, exp, split_mut},
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
pub(super) fn row_draws(dropout: &Dropout, row: usize, draws: &mut [u32]) {
    for (i, draw) in draws.iter_mut().enumerate() {
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
            let draws = self.dropout.map(|(dropout, row)| {
                let mut rows = [0; QUERIES];
                row_draws(&dropout, row + first, &mut rows[..wide]);
                (dropout.draws(), rows)
            });
            exponentials(simd, scratch, wide, &mut factors);
            if let Some((draws, rows)) = draws {
                for (key, row) in scratch.chunks_exact_mut(QUERIES).enumerate() {
                    let mut kept = [0.0; QUERIES];
                    draws.along_column(&rows, key, &mut kept);
                    row.iter_mut().zip(kept).for_each(|(weight, kept)| *weight *= kept);
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
        let mut max = simd.splat_f32s(BARRED);
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

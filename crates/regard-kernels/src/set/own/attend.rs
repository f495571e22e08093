//! Attention of some query rows of a set over all its keys, forward and backward.

use pulp::Simd;

use crate::{
    buffer::Workspace,
    gemm::{Accumulate, AddResidual, Lhs, Rhs, Size, Store, gemm},
    transpose::transpose,
    vector::{BARRED, exp, exponentials, maximum, scale, split_mut},
};

/// Number of scores in a block. A block fits into the first-level cache beside keys and values.
const SCORES: usize = 4096;

/// Number, width and score factor of the heads.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) count: usize,
    /// Width of one head.
    pub(super) width: usize,
    pub(super) scale: f32,
}

/// Keys and values of the current set, and their transposes, which are computed once per set.
pub(super) struct SetKeys<'a> {
    heads: Heads,
    /// Keys and values, `[keys, 2 · width]`.
    kv: &'a [f32],
    keys: usize,
    padded: usize,
    /// Keys transposed and times the factor of the scores, `[heads, head width, padded]`.
    transposed: Workspace,
    /// Values transposed, for the backward pass.
    values: Workspace,
}

impl<'a> SetKeys<'a> {
    #[inline(always)]
    pub(super) fn of<S: Simd>(simd: S, heads: Heads, kv: &'a [f32], backward: bool) -> Self {
        let (width, ld) = (heads.width, 2 * heads.count * heads.width);
        let keys = kv.len() / ld;
        let padded = keys.next_multiple_of(S::F32_LANES);
        let size = heads.count * width * padded;
        let mut transposed = Workspace::lease(size);
        let mut values = Workspace::lease(if backward { size } else { 0 });
        for h in 0..if keys > 0 { heads.count } else { 0 } {
            let to = h * width * padded;
            transpose(&kv[h * width..], ld, keys, width, padded, &mut transposed[to..]);
            if backward {
                transpose(&kv[ld / 2 + h * width..], ld, keys, width, padded, &mut values[to..]);
            }
        }
        scale(simd, heads.scale, &mut transposed);
        Self { heads, kv, keys, padded, transposed, values }
    }

    fn ld(&self) -> usize {
        2 * self.heads.count * self.heads.width
    }

    /// Number of query rows in a block.
    fn block(&self) -> usize {
        (SCORES / self.padded / 12 * 12).clamp(12, 120)
    }

    /// Raw scores of `rows` query rows of head `h`.
    #[inline(always)]
    fn scores<S: Simd>(&self, simd: S, h: usize, rows: usize, q: &[f32], out: &mut [f32]) {
        let Heads { count, width, .. } = self.heads;
        let size = Size { m: rows, n: self.padded, k: width };
        let right = Rhs::rows::<S>(&self.transposed[h * width * self.padded..], self.padded);
        gemm(simd, size, Lhs::rows(&q[h * width..], count * width), right, out, self.padded, Store);
    }

    /// `out = residual + attention` of the rows of `q [rows, width]`; `stats [rows, heads, 2]`
    /// receives the largest score and the inverse sum of exponentials.
    #[inline(always)]
    pub(super) fn attend<S: Simd>(
        &self,
        simd: S,
        q: &[f32],
        residual: Option<&[f32]>,
        out: &mut [f32],
        stats: &mut [f32],
    ) {
        let Heads { count, width, .. } = self.heads;
        let d = count * width;
        if self.keys == 0 {
            stats.fill(0.0);
            return alone(residual, out);
        }
        let (block, padded, rows) = (self.block(), self.padded, q.len() / d);
        let mut scores = Workspace::lease(block * padded);
        for first in (0..rows).step_by(block) {
            let rows = block.min(rows - first);
            for h in 0..count {
                let at = first * d + h * width;
                self.scores(simd, h, rows, &q[first * d..], &mut scores);
                for (r, row) in scores.chunks_exact_mut(padded).take(rows).enumerate() {
                    row[self.keys..].fill(f32::NEG_INFINITY);
                    let max = maximum(simd, row);
                    let inverse = 1.0 / exponentials(simd, row, max);
                    scale(simd, inverse, row);
                    if let Some(stats) =
                        stats.get_mut(2 * ((first + r) * count + h)..).and_then(|stats| stats.get_mut(..2))
                    {
                        stats.copy_from_slice(&[max, inverse]);
                    }
                }
                let values = Rhs::rows::<S>(&self.kv[d + h * width..], self.ld());
                let size = Size { m: rows, n: width, k: self.keys };
                let weights = Lhs::rows(&scores, padded);
                match residual {
                    Some(x) => {
                        let residual = AddResidual { x: &x[at..], ldx: d };
                        gemm(simd, size, weights, values, &mut out[at..], d, residual);
                    }
                    None => gemm(simd, size, weights, values, &mut out[at..], d, Store),
                }
            }
        }
    }

    /// Computes the gradients of the queries (plus `residual`) and adds those of keys and values to `kv_grad
    /// [keys, 2 · width]`, for `grad`, the gradient of the attention.
    #[inline(always)]
    pub(super) fn attend_backward<S: Simd>(
        &self,
        simd: S,
        (q, stats, grad): (&[f32], &[f32], &[f32]),
        residual: Option<&[f32]>,
        into: &mut [f32],
        kv_grad: &mut [f32],
    ) {
        let Heads { count, width, .. } = self.heads;
        let d = count * width;
        if self.keys == 0 {
            return alone(residual, into);
        }
        let (block, padded, rows, ld) = (self.block(), self.padded, q.len() / d, self.ld());
        let mut scratch = Workspace::lease(2 * block * padded);
        let (weights, deltas) = scratch.split_at_mut(block * padded);
        for first in (0..rows).step_by(block) {
            let rows = block.min(rows - first);
            for h in 0..count {
                let at = first * d + h * width;
                self.scores(simd, h, rows, &q[first * d..], weights);
                let size = Size { m: rows, n: padded, k: width };
                let values = Rhs::rows::<S>(&self.values[h * width * padded..], padded);
                gemm(simd, size, Lhs::rows(&grad[at..], d), values, deltas, padded, Store);
                let pairs = weights.chunks_exact_mut(padded).zip(deltas.chunks_exact_mut(padded));
                for (r, (weights, deltas)) in pairs.take(rows).enumerate() {
                    let stats = &stats[2 * ((first + r) * count + h)..];
                    score_gradients(simd, (stats[0], stats[1], self.heads.scale), weights, deltas);
                }
                let size = Size { m: self.keys, n: width, k: rows };
                let (q, grad) = (Rhs::rows::<S>(&q[at..], d), Rhs::rows::<S>(&grad[at..], d));
                gemm(simd, size, Lhs::transposed(deltas, padded), q, &mut kv_grad[h * width..], ld, Accumulate);
                gemm(simd, size, Lhs::transposed(weights, padded), grad, &mut kv_grad[d + h * width..], ld, Accumulate);
                let size = Size { m: rows, n: width, k: self.keys };
                let (left, keys) = (Lhs::rows(deltas, padded), Rhs::rows::<S>(&self.kv[h * width..], ld));
                match residual {
                    Some(x) => {
                        let residual = AddResidual { x: &x[at..], ldx: d };
                        gemm(simd, size, left, keys, &mut into[at..], d, residual);
                    }
                    None => gemm(simd, size, left, keys, &mut into[at..], d, Store),
                }
            }
        }
    }
}

/// The result for a set without keys.
fn alone(residual: Option<&[f32]>, out: &mut [f32]) {
    match residual {
        Some(residual) => out.copy_from_slice(residual),
        None => out.fill(0.0),
    }
}

/// Turns one row of `weights` from scores into attention weights, and `deltas` from the gradient of the
/// weights into that of the products of query and keys. The deltas of padded columns are zero, so they
/// do not change the mean.
#[inline(always)]
fn score_gradients<S: Simd>(simd: S, (max, inverse, scale): (f32, f32, f32), weights: &mut [f32], deltas: &mut [f32]) {
    let (max, inverse) = (simd.splat_f32s(max.max(BARRED)), simd.splat_f32s(inverse));
    let (weights, deltas) = (split_mut::<S>(weights).0, split_mut::<S>(deltas).0);
    let mut sum = simd.splat_f32s(0.0);
    for (weight, delta) in weights.iter_mut().zip(deltas.iter()) {
        *weight = simd.mul_f32s(exp(simd, simd.sub_f32s(*weight, max)), inverse);
        sum = simd.mul_add_f32s(*weight, *delta, sum);
    }
    let mean = simd.splat_f32s(simd.reduce_sum_f32s(sum));
    let scale = simd.splat_f32s(scale);
    for (weight, delta) in weights.iter().zip(deltas) {
        *delta = simd.mul_f32s(simd.mul_f32s(*weight, scale), simd.sub_f32s(*delta, mean));
    }
}

//! Forward pass over key rows: scores, and the partial softmax of each piece of a set.

use pulp::{Simd, WithSimd};

use super::{Form, Gathers};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Lhs, Panels, Rhs, Size, Store, gemm},
    set::{
        keys::KeyProjection,
        plan::{BLOCK, Task},
    },
    vector::{BARRED, exp, scale, split, split_mut},
};

/// Key rows in the form that the queries are multiplied with: projected keys and values side by side, or
/// the rows themselves.
#[derive(Clone, Copy)]
pub(super) struct Features<'a> {
    pub(super) keys: &'a [f32],
    pub(super) values: &'a [f32],
    pub(super) ld: usize,
}

impl<'a> Features<'a> {
    /// Features of a block of rows; `scratch` receives the projections, if the form has them.
    #[inline(always)]
    pub(super) fn of<S: Simd>(
        simd: S,
        form: &Form,
        projection: Option<&KeyProjection>,
        y: &'a [f32],
        scratch: &'a mut [f32],
    ) -> Self {
        let Some(projection) = projection else { return Self { keys: y, values: y, ld: form.layer.key_width } };
        let ld = 2 * form.layer.width;
        let scratch = &mut scratch[..y.len() / form.layer.key_width * ld];
        projection.rows(simd, y, scratch);
        Self { keys: scratch, values: &scratch[form.layer.width..], ld }
    }
}

/// Scores of all columns for a block of rows, `[rows, padded]`.
#[inline(always)]
pub(super) fn scores<S: Simd>(
    simd: S,
    form: &Form,
    folds: &[Panels],
    rows: usize,
    keys: Features<'_>,
    out: &mut [f32],
) {
    let Gathers { queries, feature, .. } = form.gathers();
    let size = Size { m: rows, n: form.score_columns(), k: feature };
    for (h, fold) in folds.iter().enumerate() {
        let left = Lhs::rows(&keys.keys[h * feature..], keys.ld);
        gemm(simd, size, left, fold.rhs(), &mut out[h * queries..], form.padded(), Store);
    }
}

/// `into[h] += weights_hᵀ · features_h`: `[columns, feature]`.
#[inline(always)]
pub(super) fn gather<S: Simd>(
    simd: S,
    form: &Form,
    rows: usize,
    weights: &[f32],
    (features, ld): (&[f32], usize),
    into: &mut [f32],
) {
    let Gathers { heads, queries, feature } = form.gathers();
    let size = Size { m: queries, n: feature, k: rows };
    for h in 0..heads {
        let left = Lhs::transposed(&weights[h * queries..], form.padded());
        let right = Rhs::rows::<S>(&features[h * feature..], ld);
        gemm(simd, size, left, right, &mut into[h * queries * feature..], feature, Accumulate);
    }
}

impl Form {
    /// Number of floats of a partial result: maxima and sums of exponentials of all columns, weighted sums of
    /// features.
    pub(super) fn slot(&self) -> usize {
        2 * self.padded() + self.pooled()
    }
}

pub(super) struct Gather<'a> {
    pub(super) form: &'a Form,
    pub(super) folds: &'a [Panels],
    pub(super) projection: Option<&'a KeyProjection>,
    pub(super) y: &'a [f32],
    pub(super) task: &'a Task,
    /// One partial result for each piece of the task.
    pub(super) slots: &'a mut [f32],
}

impl WithSimd for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { form, folds, projection, y, task, slots } = self;
        let (padded, wide, size) = (form.padded(), form.layer.key_width, form.slot());
        for slot in slots.chunks_exact_mut(size) {
            slot.fill(0.0);
            slot[..padded].fill(BARRED);
        }
        // With several heads the padding columns are not written: zeros keep them finite.
        let mut found = Workspace::zeros(BLOCK * padded);
        let mut scratch = Workspace::lease(if form.folded { 0 } else { BLOCK * 2 * form.layer.width });
        let first = task.pieces[0].slot;
        for block in task.blocks() {
            let y = &y[block.start * wide..block.end * wide];
            let features = Features::of(simd, form, projection, y, &mut scratch);
            scores(simd, form, folds, block.len(), features, &mut found);
            for piece in task.pieces_of(block.clone()) {
                let (from, rows) = (piece.rows.start - block.start, piece.rows.len());
                let weights = &mut found[from * padded..][..rows * padded];
                let slot = &mut slots[(piece.slot - first) * size..][..size];
                let (stats, pooled) = slot.split_at_mut(2 * padded);
                soften(simd, weights, stats, pooled, form.gathers().feature);
                gather(simd, form, rows, weights, (&features.values[from * features.ld..], features.ld), pooled);
            }
        }
    }
}

/// One step of an online softmax: turns the scores of some rows into exponentials relative to the running
/// maximum of each column, and rescales the earlier sums to that maximum.
#[inline(always)]
fn soften<S: Simd>(simd: S, scores: &mut [f32], stats: &mut [f32], pooled: &mut [f32], feature: usize) {
    let padded = stats.len() / 2;
    let (max, sums) = stats.split_at_mut(padded);
    let fresh = sums[0] == 0.0;
    let mut factors = Workspace::lease(padded);
    let registers = split_mut::<S>(max).0.iter_mut().zip(split_mut::<S>(sums).0).zip(split_mut::<S>(&mut factors).0);
    for (c, ((max, sum), factor)) in registers.enumerate() {
        let mut highest = *max;
        for row in scores.chunks_exact(padded) {
            highest = simd.max_f32s(highest, split::<S>(row).0[c]);
        }
        *factor = exp(simd, simd.sub_f32s(*max, highest));
        *max = highest;
        *sum = simd.mul_f32s(*sum, *factor);
        for row in scores.chunks_exact_mut(padded) {
            let score = &mut split_mut::<S>(row).0[c];
            *score = exp(simd, simd.sub_f32s(*score, highest));
            *sum = simd.add_f32s(*sum, *score);
        }
    }
    if !fresh {
        for (pooled, factor) in pooled.chunks_exact_mut(feature).zip(factors.iter()) {
            if *factor != 1.0 {
                scale(simd, *factor, pooled);
            }
        }
    }
}

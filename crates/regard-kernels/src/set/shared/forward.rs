//! Forward pass for shared queries: the partial softmax of each piece of a set, which a pass over key rows computes,
//! and the result of each set, which merges its pieces.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Form, QueryTables, Saved, ScoreShape};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Bias, Lhs, Panels, Rhs, Size, Store, gemm},
    set::{
        Layer, Sets, Weights,
        keys::KeyProjection,
        plan::{BLOCK, Plan, Task, parts},
        tail::Tail,
    },
    simd,
    vector::{MASKED, add_assign, axpy, exp, scale, split, split_mut},
};

/// Partial weighted sums of every piece of the plan.
fn partial_sums(form: &Form, weights: &Weights<'_>, tables: &QueryTables, y: &[f32], plan: &Plan) -> Workspace {
    let projection = (!form.folded).then(|| KeyProjection::of(&form.layer, weights));
    let mut partials = Workspace::lease(plan.pieces() * form.partial_len());
    let partial_parts = parts(&mut partials, plan.tasks.iter().map(|task| task.pieces.len() * form.partial_len()));
    plan.tasks.par_iter().zip(partial_parts).for_each(|(task, partials)| {
        let (folds, projection) = (&tables.scores[..], projection.as_ref());
        simd::run(PartialSums { form, folds, projection, y, task, partials });
    });
    partials
}

pub(in crate::set) fn forward(
    layer: &Layer,
    weights: &Weights<'_>,
    queries: &[f32],
    keys: Sets<'_>,
    save: bool,
) -> (Vec<f32>, Option<Saved>) {
    let form = Form::of(layer, queries, keys);
    let tables = QueryTables::of(&form, weights, queries, false);
    let plan = Plan::of(keys.offsets);
    let partials = partial_sums(&form, weights, &tables, keys.rows, &plan);
    let tail = Tail::of(layer.width, weights, false);
    let (row, sets, group) = (form.queries * layer.width, form.sets, form.group());
    let kept = |keep: bool| if save && keep { row } else { 0 };
    let (attended_row, o_row) = (kept(tail.projects()), kept(tail.feeds()));
    let mut pooled = Workspace::lease(sets * form.pooled());
    let mut stats = Workspace::lease(sets * 2 * form.padded());
    let (mut attended, mut o) = (Workspace::lease(sets * attended_row), Workspace::lease(sets * o_row));
    let words = if save && tail.feeds() { form.gate_words() } else { 0 };
    let mut gates = vec![0; sets.div_ceil(group) * words];
    let mut out = vec![0.0; sets * row];
    let residual = tables.residual(layer, queries);
    let shared = FinishShared { form, weights, tail, residual, partials: &partials, of_sets: &plan.set_pieces };
    let groups: Vec<usize> = (0..sets).step_by(group).map(|first| group.min(sets - first)).collect();
    let cut = |all, size: usize| parts(all, groups.iter().map(|count| count * size));
    cut(&mut out, row)
        .into_par_iter()
        .zip(cut(&mut pooled, form.pooled()))
        .zip(cut(&mut stats, 2 * form.padded()))
        .zip(cut(&mut attended, attended_row))
        .zip(cut(&mut o, o_row))
        .zip(parts(&mut gates, groups.iter().map(|_| words)))
        .enumerate()
        .for_each(|(g, (((((out, pooled), stats), attended), o), gates))| {
            simd::run(FinishGroup { shared: &shared, first: g * group, pooled, stats, attended, o, gates, out });
        });
    (out, save.then_some(Saved { pooled, stats, attended, o, gates }))
}

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
    let ScoreShape { queries, feature, .. } = form.score_shape();
    let size = Size { m: rows, n: form.score_columns(), k: feature };
    for (h, fold) in folds.iter().enumerate() {
        let left = Lhs::rows(&keys.keys[h * feature..], keys.ld);
        gemm(simd, size, left, fold.rhs(), &mut out[h * queries..], form.padded(), Store);
    }
}

/// `into[h] += weights_hᵀ · features_h`: `[columns, feature]`.
#[inline(always)]
pub(super) fn weighted_features<S: Simd>(
    simd: S,
    form: &Form,
    rows: usize,
    weights: &[f32],
    features: &[f32],
    ld: usize,
    into: &mut [f32],
) {
    let ScoreShape { heads, queries, feature } = form.score_shape();
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
    pub(super) fn partial_len(&self) -> usize {
        2 * self.padded() + self.pooled()
    }
}

pub(super) struct PartialSums<'a> {
    pub(super) form: &'a Form,
    pub(super) folds: &'a [Panels],
    pub(super) projection: Option<&'a KeyProjection>,
    pub(super) y: &'a [f32],
    pub(super) task: &'a Task,
    /// One partial result for each piece of the task.
    pub(super) partials: &'a mut [f32],
}

impl WithSimd for PartialSums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { form, folds, projection, y, task, partials } = self;
        let (padded, wide, size) = (form.padded(), form.layer.key_width, form.partial_len());
        for partial in partials.chunks_exact_mut(size) {
            partial.fill(0.0);
            partial[..padded].fill(MASKED);
        }
        // With several heads the padding columns are not written: zeros keep them finite.
        let mut score_rows = Workspace::zeros(BLOCK * padded);
        let mut scratch = Workspace::lease(if form.folded { 0 } else { BLOCK * 2 * form.layer.width });
        let first = task.pieces[0].index;
        for block in task.blocks() {
            let y = &y[block.start * wide..block.end * wide];
            let features = Features::of(simd, form, projection, y, &mut scratch);
            scores(simd, form, folds, block.len(), features, &mut score_rows);
            for piece in task.pieces_of(block.clone()) {
                let (from, rows) = (piece.rows.start - block.start, piece.rows.len());
                let weights = &mut score_rows[from * padded..][..rows * padded];
                let partial = &mut partials[(piece.index - first) * size..][..size];
                let (stats, pooled) = partial.split_at_mut(2 * padded);
                online_softmax(simd, weights, stats, pooled, form.score_shape().feature);
                weighted_features(
                    simd,
                    form,
                    rows,
                    weights,
                    &features.values[from * features.ld..],
                    features.ld,
                    pooled,
                );
            }
        }
    }
}

/// One step of an online softmax: turns the scores of some rows into exponentials relative to the running
/// maximum of each column, and rescales the earlier sums to that maximum.
#[inline(always)]
fn online_softmax<S: Simd>(simd: S, scores: &mut [f32], stats: &mut [f32], pooled: &mut [f32], feature: usize) {
    let padded = stats.len() / 2;
    let (max, sums) = stats.split_at_mut(padded);
    let is_first = sums[0] == 0.0;
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
    if !is_first {
        for (pooled, factor) in pooled.chunks_exact_mut(feature).zip(factors.iter()) {
            if *factor != 1.0 {
                scale(simd, *factor, pooled);
            }
        }
    }
}

/// Data shared by all groups.
pub(super) struct FinishShared<'a> {
    pub(super) form: Form,
    pub(super) weights: &'a Weights<'a>,
    pub(super) tail: Tail<'a>,
    pub(super) residual: Option<&'a [f32]>,
    pub(super) partials: &'a [f32],
    /// Indices of the pieces of each set.
    pub(super) of_sets: &'a [Range<usize>],
}

/// Forward pass of one group of sets; `attended`, `o` and `gates` are empty if they are not saved.
pub(super) struct FinishGroup<'a> {
    pub(super) shared: &'a FinishShared<'a>,
    pub(super) first: usize,
    pub(super) pooled: &'a mut [f32],
    pub(super) stats: &'a mut [f32],
    pub(super) attended: &'a mut [f32],
    pub(super) o: &'a mut [f32],
    pub(super) gates: &'a mut [u32],
    pub(super) out: &'a mut [f32],
}

impl WithSimd for FinishGroup<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { shared, first, pooled, stats, attended, o, gates, out } = self;
        let FinishShared { form, tail, residual, .. } = shared;
        let row = form.queries * form.layer.width;
        let count = out.len() / row;
        for (i, stats) in stats.chunks_exact_mut(2 * form.padded()).enumerate() {
            shared.merge(simd, first + i, i, count, pooled, stats);
        }
        let mut attended_own = Workspace::lease(if attended.is_empty() && tail.projects() { out.len() } else { 0 });
        let mut o_own = Workspace::lease(if o.is_empty() && tail.feeds() { out.len() } else { 0 });
        let attended = if attended.is_empty() { &mut attended_own[..] } else { attended };
        let kept = if o.is_empty() { &mut o_own[..] } else { o };
        let o = if tail.feeds() { &mut *kept } else { &mut *out };
        let into = if tail.projects() { &mut *attended } else { &mut *o };
        shared.values(simd, pooled, into);
        for (set, rows) in into.chunks_exact_mut(row).enumerate() {
            if shared.of_sets[first + set].is_empty() {
                rows.fill(0.0);
            }
        }
        tail.project(simd, attended, None, o);
        for rows in o.chunks_exact_mut(row) {
            residual.iter().for_each(|residual| add_assign(simd, residual, rows));
        }
        if tail.feeds() {
            tail.feed(simd, kept, out, gates);
        }
    }
}

impl FinishShared<'_> {
    /// Merges the partial results of the pieces of a set, in their order, into the weighted means of its
    /// features and the maximum and inverse sum of each column. The set is number `i` of `count` in its group.
    #[inline(always)]
    fn merge<S: Simd>(&self, simd: S, set: usize, i: usize, count: usize, pooled: &mut [f32], stats: &mut [f32]) {
        let (form, size) = (&self.form, self.form.partial_len());
        let (padded, queries, feature) = (form.padded(), form.queries, form.score_shape().feature);
        let partials =
            || self.of_sets[set].clone().map(|partial| self.partials[partial * size..][..size].split_at(2 * padded));
        let mut means = Workspace::zeros(form.pooled());
        let mut factors = Workspace::lease(padded);
        let (max, inverse) = stats.split_at_mut(padded);
        max.fill(MASKED);
        inverse.fill(0.0);
        for (stats, _) in partials() {
            for (max, stats) in max.iter_mut().zip(stats) {
                *max = max.max(*stats);
            }
        }
        for (stats, sums) in partials() {
            for ((factor, stats), max) in factors.iter_mut().zip(stats).zip(&*max) {
                *factor = stats - max;
            }
            split_mut::<S>(&mut factors).0.iter_mut().for_each(|factor| *factor = exp(simd, *factor));
            for ((sum, stats), factor) in inverse.iter_mut().zip(&stats[padded..]).zip(&*factors) {
                *sum += factor * stats;
            }
            let rows = means.chunks_exact_mut(feature).zip(sums.chunks_exact(feature));
            for ((mean, sum), factor) in rows.zip(&*factors) {
                axpy(simd, *factor, sum, mean);
            }
        }
        inverse.iter_mut().for_each(|sum| *sum = if *sum > 0.0 { 1.0 / *sum } else { 0.0 });
        for (h, means) in means.chunks_exact_mut(queries * feature).enumerate() {
            let to = &mut pooled[(h * count + i) * queries * feature..][..queries * feature];
            to.fill(0.0);
            let rows = to.chunks_exact_mut(feature).zip(means.chunks_exact(feature));
            for ((to, mean), inverse) in rows.zip(&inverse[h * queries..]) {
                axpy(simd, *inverse, mean, to);
            }
        }
    }

    /// Computes the attended values of a group, `[sets · queries, width]`.
    #[inline(always)]
    fn values<S: Simd>(&self, simd: S, pooled: &[f32], out: &mut [f32]) {
        let Self { form, weights, .. } = self;
        let (d, head, ScoreShape { feature, .. }) = (form.layer.width, form.layer.head(), form.score_shape());
        let rows = out.len() / d;
        for (h, pooled) in pooled.chunks_exact(rows * feature).enumerate() {
            if form.folded {
                let size = Size { m: rows, n: head, k: feature };
                let right = Rhs::rows::<S>(&weights.value.weight[h * head..], d);
                let bias = Bias(&weights.value.bias[h * head..]);
                gemm(simd, size, Lhs::rows(pooled, feature), right, &mut out[h * head..], d, bias);
            } else {
                for (out, pooled) in out.chunks_exact_mut(d).zip(pooled.chunks_exact(head)) {
                    out[h * head..][..head].copy_from_slice(pooled);
                }
            }
        }
    }
}

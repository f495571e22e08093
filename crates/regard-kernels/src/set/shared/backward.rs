//! Backward pass for shared queries: from the result to the weighted means of each set, then over the key rows.
//!
//! With `P` the attention weights and `U` the gradient of the weighted means: `dS = P∘(f·Uᵀ − centre)`, a row of
//! features receives `dS·F + P·U`, and the folded queries `F` receive `dSᵀ·f`.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Form, QueryTables, Saved, ScoreShape,
    forward::{Features, scores, weighted_features},
    product,
};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Lhs, Panels, Rhs, Size, Store, gemm},
    set::{
        Gradients, Layer, LinearGradients, RequiresGrad, Residual, Sets, Sums, Weights,
        keys::{KEY_SUMS, KeyProjection, KeyProjectionBackward},
        plan::{BLOCK, Piece, Plan, Task, parts},
        tail::{FeedForwardRows, TAIL_SUMS, Tail},
    },
    simd,
    transpose::transpose,
    vector::{add, add_assign, column_sums, dot, exp, split, split_mut},
};

pub(in crate::set) fn backward(
    layer: &Layer,
    weights: &Weights<'_>,
    queries: &[f32],
    keys: Sets<'_>,
    saved: &Saved,
    grad: &[f32],
    requires_grad: RequiresGrad,
) -> Gradients {
    let form = Form::of(layer, queries, keys);
    assert_eq!(grad.len(), form.sets * form.queries * layer.width, "length of the gradient");
    let tables = QueryTables::of(&form, weights, queries, true);
    let plan = Plan::of(keys.offsets);
    let mut means = Workspace::lease(form.sets * form.pooled());
    let mut centres = Workspace::lease(form.sets * form.padded());
    let [wo, bo, wf, bf, wv, bv, residual] = finish(&form, weights, saved, grad, &plan, &mut means, &mut centres);
    let projection = (!form.folded)
        .then(|| (KeyProjection::of(layer, weights), KeyProjectionBackward::of(layer, weights, requires_grad.keys)));
    let (tables, stats) = (&tables, &saved.stats);
    let shared = KeysShared { form, tables, projection, y: keys.rows, stats, means: &means, centres: &centres };
    let mut dy = vec![0.0; if requires_grad.keys { keys.rows.len() } else { 0 }];
    let wide = if requires_grad.keys { layer.key_width } else { 0 };
    let dy_parts = parts(&mut dy, plan.tasks.iter().map(|task| task.rows.len() * wide));
    let tasks = plan.tasks.par_iter().zip(dy_parts);
    let sums: Vec<Sums<{ KEY_ROW_SUMS }>> =
        tasks.map(|(task, dy)| simd::run(KeysTask { shared: &shared, task, dy })).collect();
    let [matrix, bias, mut fold] = Sums::total(&sums, shared.sizes());
    drop(sums);
    fold.iter_mut().for_each(|fold| *fold *= layer.scale);
    let (mut q, key) = unfold(&form, weights, &tables.q, &fold);
    let linear = |weight, bias| LinearGradients { weight, bias };
    let (key, value) = match (&shared.projection, key) {
        (Some((_, back)), _) => back.split(&matrix, &bias),
        (None, key) => (linear(key, vec![0.0; layer.width]), linear(wv, bv)),
    };
    if layer.residual == Residual::Projected {
        add(&residual, &mut q);
    }
    let (queries, query) = project_back(&form, weights, queries, &q, &residual, requires_grad.queries);
    Gradients {
        queries,
        keys: requires_grad.keys.then_some(dy),
        query,
        key,
        value,
        out: weights.out.map(|_| linear(wo, bo)),
        feed: weights.feed.map(|_| linear(wf, bf)),
    }
}

/// Backward pass from the result to the weighted means of every set.
fn finish(
    form: &Form,
    weights: &Weights<'_>,
    saved: &Saved,
    grad: &[f32],
    plan: &Plan,
    means: &mut [f32],
    centres: &mut [f32],
) -> [Vec<f32>; FINISH_SUMS] {
    let layer = &form.layer;
    let tail = Tail::of(layer.width, weights, true);
    let value = form.folded.then(|| Panels::of_transposed(weights.value.weight, layer.width, layer.key_width));
    let shared = FinishShared { form: *form, tail, value, saved, grad, of_sets: &plan.set_pieces };
    let group = form.group();
    let groups = means
        .par_chunks_mut((group * form.pooled()).max(1))
        .zip(centres.par_chunks_mut((group * form.padded()).max(1)))
        .enumerate();
    let sums: Vec<Sums<{ FINISH_SUMS }>> = groups
        .map(|(g, (means, centres))| simd::run(FinishGroup { shared: &shared, first: g * group, means, centres }))
        .collect();
    Sums::total(&sums, shared.sizes())
}

/// Gradients of the projected queries and, in the folded form, of the key projection, from that
/// of the folded queries `[columns, feature]`.
fn unfold(form: &Form, weights: &Weights<'_>, q: &[f32], fold: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let Form { layer, queries: m, .. } = *form;
    let (d, head, ScoreShape { feature, .. }) = (layer.width, layer.head(), form.score_shape());
    let mut dq = vec![0.0; m * d];
    let mut dk = vec![0.0; if form.folded { feature * d } else { 0 }];
    for (h, fold) in fold.chunks_exact(m * feature).enumerate() {
        if form.folded {
            let size = Size { m, n: head, k: feature };
            let key = &weights.key.weight[h * head..];
            product(size, Lhs::rows(fold, feature), key, d, &mut dq[h * head..], d, Store);
            let size = Size { m: feature, n: head, k: m };
            product(size, Lhs::transposed(fold, feature), &q[h * head..], d, &mut dk[h * head..], d, Store);
        } else {
            for (dq, fold) in dq.chunks_exact_mut(d).zip(fold.chunks_exact(head)) {
                dq[h * head..][..head].copy_from_slice(fold);
            }
        }
    }
    (dq, dk)
}

/// Gradients of the queries and of their projection, from that of the projected queries.
fn project_back(
    form: &Form,
    weights: &Weights<'_>,
    x: &[f32],
    dq: &[f32],
    residual: &[f32],
    requires_grad: bool,
) -> (Option<Vec<f32>>, LinearGradients) {
    let Form { layer, queries: m, .. } = *form;
    let (d, wide) = (layer.width, layer.query_width);
    let mut weight = vec![0.0; wide * d];
    product(Size { m: wide, n: d, k: m }, Lhs::transposed(x, wide), dq, d, &mut weight, d, Store);
    let mut bias = vec![0.0; d];
    dq.chunks_exact(d).for_each(|row| add(row, &mut bias));
    let dx = requires_grad.then(|| {
        let mut dx = if layer.residual == Residual::Raw { residual.to_vec() } else { vec![0.0; m * wide] };
        let transposed: Vec<f32> = (0..d * wide).map(|at| weights.query.weight[at % wide * d + at / wide]).collect();
        product(Size { m, n: wide, k: d }, Lhs::rows(dq, d), &transposed, wide, &mut dx, wide, Accumulate);
        dx
    });
    (dx, LinearGradients { weight, bias })
}

/// Data shared by all groups.
pub(super) struct FinishShared<'a> {
    pub(super) form: Form,
    pub(super) tail: Tail<'a>,
    /// Transposed value projection in the folded form, `[width, key_width]`.
    pub(super) value: Option<Panels>,
    pub(super) saved: &'a Saved,
    pub(super) grad: &'a [f32],
    pub(super) of_sets: &'a [Range<usize>],
}

/// Backward pass of one group of sets.
pub(super) struct FinishGroup<'a> {
    pub(super) shared: &'a FinishShared<'a>,
    pub(super) first: usize,
    /// Gradient of the weighted means, `[sets, columns, feature]`.
    pub(super) means: &'a mut [f32],
    /// Mean gradient of the weights of each column, `[sets, padded]`.
    pub(super) centres: &'a mut [f32],
}

/// Number of sums of a group: those of the tail, value projection, its bias, residual.
pub(super) const FINISH_SUMS: usize = TAIL_SUMS + 3;

impl FinishShared<'_> {
    pub(super) fn sizes(&self) -> [usize; FINISH_SUMS] {
        let Form { layer, queries, folded, .. } = self.form;
        let [wo, bo, wf, bf] = self.tail.sizes();
        let value = if folded { layer.width } else { 0 };
        let residual = if layer.residual == Residual::None { 0 } else { queries * layer.width };
        [wo, bo, wf, bf, layer.key_width * value, value, residual]
    }

    /// Computes the gradient of the weighted means `[heads, sets · queries, feature]` from that of the
    /// attended values; adds to the sums of the value projection.
    #[inline(always)]
    fn values<S: Simd>(&self, simd: S, pooled: &[f32], grad: &[f32], out: &mut [f32], sums: &mut Sums<FINISH_SUMS>) {
        let (d, head) = (self.form.layer.width, self.form.layer.head());
        let feature = self.form.score_shape().feature;
        let rows = grad.len() / d;
        for (h, out) in out.chunks_exact_mut(rows * feature).enumerate() {
            let Some(value) = &self.value else {
                for (out, grad) in out.chunks_exact_mut(head).zip(grad.chunks_exact(d)) {
                    out.copy_from_slice(&grad[h * head..][..head]);
                }
                continue;
            };
            let pooled = Lhs::transposed(&pooled[h * rows * feature..], feature);
            let size = Size { m: feature, n: head, k: rows };
            let right = Rhs::rows::<S>(&grad[h * head..], d);
            gemm(simd, size, pooled, right, &mut sums.0[TAIL_SUMS][h * head..], d, Accumulate);
            let size = Size { m: rows, n: feature, k: head };
            gemm(simd, size, Lhs::rows(&grad[h * head..], d), value.slice(h * head, 0), out, feature, Store);
        }
    }
}

impl WithSimd for FinishGroup<'_> {
    type Output = Sums<FINISH_SUMS>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums<FINISH_SUMS> {
        let Self { shared, first, means, centres } = self;
        let FinishShared { form, tail, saved, grad, of_sets, .. } = shared;
        let (d, m, padded) = (form.layer.width, form.queries, form.padded());
        let ScoreShape { feature, .. } = form.score_shape();
        let count = centres.len() / padded;
        let span = first * m * d..(first + count) * m * d;
        let mut sums = Sums::zeros(shared.sizes());
        let size = span.len();
        let mut scratch = Workspace::lease(2 * size + means.len());
        let (o_scratch, rest) = scratch.split_at_mut(size);
        let (attended_scratch, by_head) = rest.split_at_mut(size);
        let mut o_grad = &grad[span.clone()];
        if tail.feeds() {
            let gates = &saved.gates[first / form.group() * form.gate_words()..];
            let rows = FeedForwardRows { o: &saved.o[span.clone()], gates, grad: o_grad };
            tail.feed_backward(simd, rows, o_scratch, &mut sums, 0);
            o_grad = o_scratch;
        }
        let mut attended_grad = o_grad;
        if tail.projects() {
            tail.project_backward(simd, &saved.attended[span], o_grad, attended_scratch, &mut sums, 0);
            attended_grad = attended_scratch;
        }
        if form.layer.residual != Residual::None {
            o_grad.chunks_exact(m * d).for_each(|rows| add_assign(simd, rows, &mut sums.0[TAIL_SUMS + 2]));
        }
        if form.folded {
            for (i, rows) in attended_grad.chunks_exact(m * d).enumerate() {
                if !of_sets[first + i].is_empty() {
                    column_sums(simd, rows, d, m, &mut sums.0[TAIL_SUMS + 1]);
                }
            }
        }
        let pooled = &saved.pooled[first * form.pooled()..][..means.len()];
        shared.values(simd, pooled, attended_grad, by_head, &mut sums);
        centres.fill(0.0);
        let cells = by_head.chunks_exact(feature).zip(pooled.chunks_exact(feature)).enumerate();
        for (row, (grad, mean)) in cells {
            // Rows are ordered [heads, sets, queries] and are written set by set.
            let (h, i, q) = (row / (count * m), row / m % count, row % m);
            let column = h * m + q;
            means[(i * form.columns() + column) * feature..][..feature].copy_from_slice(grad);
            centres[i * padded + column] = dot(simd, grad, mean);
        }
        sums
    }
}

/// Data shared by all tasks.
pub(super) struct KeysShared<'a> {
    pub(super) form: Form,
    pub(super) tables: &'a QueryTables,
    /// Both projections, unless they are folded into the queries.
    pub(super) projection: Option<(KeyProjection, KeyProjectionBackward)>,
    pub(super) y: &'a [f32],
    /// `[sets, 2, padded]`.
    pub(super) stats: &'a [f32],
    /// `[sets, columns, feature]`.
    pub(super) means: &'a [f32],
    /// `[sets, padded]`.
    pub(super) centres: &'a [f32],
}

pub(super) struct KeysTask<'a> {
    pub(super) shared: &'a KeysShared<'a>,
    pub(super) task: &'a Task,
    /// Gradient of the rows; empty if it is not required.
    pub(super) dy: &'a mut [f32],
}

/// Number of sums of a task: projections of keys and values, unless folded, and the folded queries,
/// transposed.
pub(super) const KEY_ROW_SUMS: usize = KEY_SUMS + 1;

impl KeysShared<'_> {
    pub(super) fn sizes(&self) -> [usize; KEY_ROW_SUMS] {
        let [matrix, bias] = self.projection.as_ref().map_or([0, 0], |(_, back)| back.sizes());
        [matrix, bias, self.form.pooled()]
    }

    /// Turns the scores of a piece into weights and computes the gradients of its scores.
    #[inline(always)]
    fn gradients<S: Simd>(
        &self,
        simd: S,
        piece: &Piece,
        features: (&[f32], usize),
        transposed: &[f32],
        weights: &mut [f32],
        deltas: &mut [f32],
    ) {
        let padded = self.form.padded();
        let ScoreShape { heads, queries, feature } = self.form.score_shape();
        let size = Size { m: piece.rows.len(), n: self.form.score_columns(), k: feature };
        for h in 0..heads {
            let left = Lhs::rows(&features.0[h * feature..], features.1);
            let right = Rhs::rows::<S>(&transposed[h * feature * padded..], padded);
            gemm(simd, size, left, right, &mut deltas[h * queries..], padded, Store);
        }
        let stats = &self.stats[piece.set * 2 * padded..][..2 * padded];
        let (max, inverse) = stats.split_at(padded);
        let centre = split::<S>(&self.centres[piece.set * padded..][..padded]).0;
        let (max, inverse) = (split::<S>(max).0, split::<S>(inverse).0);
        for (weights, deltas) in weights.chunks_exact_mut(padded).zip(deltas.chunks_exact_mut(padded)) {
            let cells = split_mut::<S>(weights).0.iter_mut().zip(split_mut::<S>(deltas).0);
            for ((weight, delta), ((max, inverse), centre)) in cells.zip(max.iter().zip(inverse).zip(centre)) {
                *weight = simd.mul_f32s(exp(simd, simd.sub_f32s(*weight, *max)), *inverse);
                *delta = simd.mul_f32s(*weight, simd.sub_f32s(*delta, *centre));
            }
        }
    }

    /// Transposes the gradients of the means of a set, `[heads, feature, padded]`.
    #[inline(always)]
    fn transpose_means(&self, set: usize, out: &mut [f32]) {
        let ScoreShape { heads, queries, feature } = self.form.score_shape();
        let padded = self.form.padded();
        for h in 0..heads {
            let means = &self.means[set * self.form.pooled() + h * queries * feature..];
            transpose(means, feature, queries, feature, padded, &mut out[h * feature * padded..]);
        }
    }

    /// `out (+)= P·U` of a piece.
    #[inline(always)]
    fn values<S: Simd>(&self, simd: S, piece: &Piece, weights: &[f32], out: &mut [f32], ld: usize) {
        let ScoreShape { heads, queries, feature } = self.form.score_shape();
        let size = Size { m: piece.rows.len(), n: feature, k: queries };
        for h in 0..heads {
            let left = Lhs::rows(&weights[h * queries..], self.form.padded());
            let means = &self.means[piece.set * self.form.pooled() + h * queries * feature..];
            let (right, out) = (Rhs::rows::<S>(means, feature), &mut out[h * feature..]);
            if self.form.folded {
                gemm(simd, size, left, right, out, ld, Accumulate);
            } else {
                gemm(simd, size, left, right, out, ld, Store);
            }
        }
    }

    /// `out = dS·F` of a block.
    #[inline(always)]
    fn keys<S: Simd>(&self, simd: S, rows: usize, deltas: &[f32], out: &mut [f32], ld: usize) {
        let ScoreShape { queries, feature, .. } = self.form.score_shape();
        let size = Size { m: rows, n: feature, k: queries };
        for (h, fold) in self.tables.back.iter().enumerate() {
            let left = Lhs::rows(&deltas[h * queries..], self.form.padded());
            gemm(simd, size, left, fold.rhs(), &mut out[h * feature..], ld, Store);
        }
    }
}

impl WithSimd for KeysTask<'_> {
    type Output = Sums<KEY_ROW_SUMS>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums<KEY_ROW_SUMS> {
        let Self { shared, task, dy } = self;
        let form = &shared.form;
        let (padded, wide, pair) = (form.padded(), form.layer.key_width, 2 * form.layer.width);
        let ScoreShape { heads, feature, .. } = form.score_shape();
        let mut sums = Sums::zeros(shared.sizes());
        let mut transposed = Workspace::lease(heads * feature * padded);
        // With several heads the padding columns are not written: zeros keep them finite.
        let mut score_rows = Workspace::zeros(2 * BLOCK * padded);
        let (weights, deltas) = score_rows.split_at_mut(BLOCK * padded);
        let mut scratch: [Workspace; 2] =
            std::array::from_fn(|_| Workspace::lease(if form.folded { 0 } else { BLOCK * pair }));
        let [kv, dkv] = &mut scratch;
        let mut current = None;
        for block in task.blocks() {
            let rows = block.len();
            let y = &shared.y[block.start * wide..block.end * wide];
            let projection = shared.projection.as_ref().map(|(projection, _)| projection);
            let features = Features::of(simd, form, projection, y, kv);
            scores(simd, form, &shared.tables.scores, rows, features, weights);
            let local = |piece: &Piece, ld: usize| (piece.rows.start - block.start) * ld;
            for piece in task.pieces_of(block.clone()) {
                if current != Some(piece.set) {
                    current = Some(piece.set);
                    shared.transpose_means(piece.set, &mut transposed);
                }
                let (at, size) = (local(&piece, padded), piece.rows.len() * padded);
                let values = (&features.values[local(&piece, features.ld)..], features.ld);
                let (weights, deltas) = (&mut weights[at..][..size], &mut deltas[at..][..size]);
                shared.gradients(simd, &piece, values, &transposed, weights, deltas);
            }
            weighted_features(simd, form, rows, deltas, features.keys, features.ld, &mut sums.0[KEY_SUMS]);
            let dy_at = (block.start - task.rows.start) * wide;
            let (out, ld, offset) = match &shared.projection {
                Some(_) => (&mut dkv[..rows * pair], pair, form.layer.width),
                None if dy.is_empty() => continue,
                None => (&mut dy[dy_at..][..rows * wide], wide, 0),
            };
            shared.keys(simd, rows, deltas, out, ld);
            for piece in task.pieces_of(block.clone()) {
                let weights = &weights[local(&piece, padded)..];
                shared.values(simd, &piece, weights, &mut out[offset + local(&piece, ld)..], ld);
            }
            if let Some((_, back)) = &shared.projection {
                let dy = dy.get_mut(dy_at..).unwrap_or_default();
                back.rows(simd, y, &dkv[..rows * pair], dy, &mut sums, 0);
            }
        }
        sums
    }
}

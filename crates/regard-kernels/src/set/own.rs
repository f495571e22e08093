//! Blocks in which every set has its own query rows: SAB, and the second half of an ISAB.
//!
//! Keys and values of all sets are projected first. Then blocks of query rows pass through
//! projection, attention, residual and feed-forward part while they are in cache.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Gradients, Layer, LinearGradients, RequiresGrad, Residual, Sets, Sums, Weights,
    keys::{KeyProjection, keys_backward},
    plan::{BLOCK, Plan, Task, blocks, parts},
    tail::{FeedForwardRows, TAIL_SUMS, Tail, gate_words},
};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, AddResidual, Bias, Lhs, Panels, Rhs, Size, Store, gemm},
    simd,
    transpose::transpose,
    vector::{MASKED, add, column_sums, exp, exponentials, maximum, scale, split_mut},
};

/// Values saved by the forward pass for the backward pass.
#[derive(Debug)]
pub(super) struct Saved {
    /// Keys and values, `[key rows, 2 · width]`.
    kv: Workspace,
    /// Queries, `[query rows, width]`.
    q: Workspace,
    /// Attended values, `[query rows, width]`; empty without an output projection.
    attended: Workspace,
    /// Input of the feed-forward part, `[query rows, width]`; empty without one.
    o: Workspace,
    /// Gates of the feed-forward part, `[blocks of all tasks, gate words]`; empty without one.
    gates: Vec<u32>,
    /// `[query rows, heads, 2]`: largest score, inverse sum of exponentials.
    stats: Workspace,
}

impl Layer {
    fn heads(&self) -> Heads {
        Heads { count: self.heads, width: self.head(), scale: self.scale }
    }

    /// The residual of a block of query rows.
    fn residual_of<'a>(&self, x: &'a [f32], q: &'a [f32]) -> Option<&'a [f32]> {
        match self.residual {
            Residual::Projected => Some(q),
            Residual::Raw => Some(x),
            Residual::None => None,
        }
    }
}

/// Keys and values of one set.
fn of_set<'a>(kv: &'a [f32], keys: Sets<'_>, width: usize, set: usize) -> &'a [f32] {
    &kv[keys.offsets[set] * 2 * width..keys.offsets[set + 1] * 2 * width]
}

/// Number of scores in a block. A block fits into the first-level cache beside keys and values.
const SCORES: usize = 4096;

/// Number, width and score factor of the heads.
#[derive(Clone, Copy)]
struct Heads {
    count: usize,
    /// Width of one head.
    width: usize,
    scale: f32,
}

/// Keys and values of the current set, and their transposes, which are computed once per set.
struct SetKeys<'a> {
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

/// Query rows of a set with their softmax statistics, `[rows, heads, 2]`, and the gradient of their attention.
struct QueryRows<'a> {
    q: &'a [f32],
    stats: &'a [f32],
    grad: &'a [f32],
}

impl<'a> SetKeys<'a> {
    #[inline(always)]
    fn of<S: Simd>(simd: S, heads: Heads, kv: &'a [f32], backward: bool) -> Self {
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
    fn attend<S: Simd>(&self, simd: S, q: &[f32], residual: Option<&[f32]>, out: &mut [f32], stats: &mut [f32]) {
        let Heads { count, width, .. } = self.heads;
        let d = count * width;
        if self.keys == 0 {
            stats.fill(0.0);
            return without_keys(residual, out);
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
    fn attend_backward<S: Simd>(
        &self,
        simd: S,
        rows: QueryRows<'_>,
        residual: Option<&[f32]>,
        into: &mut [f32],
        kv_grad: &mut [f32],
    ) {
        let QueryRows { q, stats, grad } = rows;
        let Heads { count, width, .. } = self.heads;
        let d = count * width;
        if self.keys == 0 {
            return without_keys(residual, into);
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
                    score_gradients(simd, stats[0], stats[1], self.heads.scale, weights, deltas);
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
fn without_keys(residual: Option<&[f32]>, out: &mut [f32]) {
    match residual {
        Some(residual) => out.copy_from_slice(residual),
        None => out.fill(0.0),
    }
}

/// Turns one row of `weights` from scores into attention weights, and `deltas` from the gradient of the
/// weights into that of the products of query and keys. The deltas of padded columns are zero, so they
/// do not change the mean.
#[inline(always)]
fn score_gradients<S: Simd>(simd: S, max: f32, inverse: f32, scale: f32, weights: &mut [f32], deltas: &mut [f32]) {
    let (max, inverse) = (simd.splat_f32s(max.max(MASKED)), simd.splat_f32s(inverse));
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

struct ForwardShared<'a> {
    layer: &'a Layer,
    tail: Tail<'a>,
    query: Panels,
    query_bias: &'a [f32],
    x: &'a [f32],
    keys: Sets<'a>,
    kv: &'a [f32],
}

/// Destinations of the values that the backward pass needs; empty if they are not saved.
struct SavedParts<'a> {
    q: &'a mut [f32],
    attended: &'a mut [f32],
    o: &'a mut [f32],
    gates: &'a mut [u32],
    stats: &'a mut [f32],
}

struct ForwardTask<'a> {
    shared: &'a ForwardShared<'a>,
    task: &'a Task,
    out: &'a mut [f32],
    kept: SavedParts<'a>,
}

/// The part `range` of `kept`, or scratch memory of its length if `kept` is empty.
fn saved_or_scratch<'a>(kept: &'a mut [f32], scratch: &'a mut [f32], range: std::ops::Range<usize>) -> &'a mut [f32] {
    if kept.is_empty() { &mut scratch[..range.len()] } else { &mut kept[range] }
}

impl WithSimd for ForwardTask<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { shared: ForwardShared { layer, tail, query, query_bias, x, keys, kv }, task, out, kept } = self;
        let (d, wide, heads) = (layer.width, layer.query_width, layer.heads());
        let mut scratch: [Workspace; 3] = std::array::from_fn(|_| Workspace::lease(BLOCK * d));
        let [q_scratch, attended_scratch, o_scratch] = &mut scratch;
        let mut set_keys: Option<(usize, SetKeys<'_>)> = None;
        for block in task.blocks() {
            let local = (block.start - task.rows.start) * d..(block.end - task.rows.start) * d;
            let x = &x[block.start * wide..block.end * wide];
            let q = saved_or_scratch(kept.q, q_scratch, local.clone());
            let size = Size { m: block.len(), n: d, k: wide };
            gemm(simd, size, Lhs::rows(x, wide), query.rhs(), q, d, Bias(query_bias));
            let residual = layer.residual_of(x, q);
            let out = &mut out[local.clone()];
            let mut o = if tail.feeds() { Some(saved_or_scratch(kept.o, o_scratch, local.clone())) } else { None };
            let attended = saved_or_scratch(kept.attended, attended_scratch, local);
            for piece in task.pieces_of(block.clone()) {
                if set_keys.as_ref().is_none_or(|(set, _)| *set != piece.set) {
                    set_keys = Some((piece.set, SetKeys::of(simd, heads, of_set(kv, *keys, d, piece.set), false)));
                }
                let Some((_, set_keys)) = &set_keys else { continue };
                let span = (piece.rows.start - block.start) * d..(piece.rows.end - block.start) * d;
                let stats = match kept.stats.is_empty() {
                    true => &mut [],
                    false => {
                        let row = |row: usize| 2 * heads.count * (row - task.rows.start);
                        &mut kept.stats[row(piece.rows.start)..row(piece.rows.end)]
                    }
                };
                let q = &q[span.clone()];
                if tail.projects() {
                    set_keys.attend(simd, q, None, &mut attended[span], stats);
                } else {
                    let into = o.as_deref_mut().unwrap_or(&mut *out);
                    let residual = residual.map(|residual| &residual[span.clone()]);
                    set_keys.attend(simd, q, residual, &mut into[span], stats);
                }
            }
            if tail.projects() {
                tail.project(simd, attended, residual, o.as_deref_mut().unwrap_or(&mut *out));
            }
            if let Some(o) = o {
                let words = gate_words(BLOCK * d);
                let gates = kept.gates.get_mut((block.start - task.rows.start) / BLOCK * words..);
                tail.feed(simd, o, out, gates.unwrap_or_default());
            }
        }
    }
}

pub(super) fn forward(
    layer: &Layer,
    weights: &Weights<'_>,
    queries: Sets<'_>,
    keys: Sets<'_>,
    save: bool,
) -> (Vec<f32>, Option<Saved>) {
    let (d, heads) = (layer.width, layer.heads);
    let rows = queries.rows.len() / layer.query_width;
    let kv = KeyProjection::of(layer, weights).all(keys.rows);
    let tail = Tail::of(d, weights, false);
    let query = Panels::of_forward(weights.query.weight, layer.query_width, d);
    let (projects, feeds) = (save && tail.projects(), save && tail.feeds());
    let kept = |keep: bool, width: usize| if keep { width } else { 0 };
    let widths = [kept(save, d), kept(projects, d), kept(feeds, d), kept(save, 2 * heads)];
    let [mut q, mut attended, mut o, mut stats] = widths.map(|width| Workspace::lease(rows * width));
    let plan = Plan::of(queries.offsets);
    let gate_parts = |task: &Task| blocks(task.rows.len()) * kept(feeds, gate_words(BLOCK * d));
    let mut gates = vec![0; plan.tasks.iter().map(gate_parts).sum()];
    let mut out = vec![0.0; rows * d];
    let shared = ForwardShared { layer, tail, query, query_bias: weights.query.bias, x: queries.rows, keys, kv: &kv };
    let sizes = |width: usize| plan.tasks.iter().map(move |task| task.rows.len() * width);
    let cut = |all, width: usize| parts(all, sizes(width));
    let kept = cut(&mut q, widths[0]).into_iter().zip(cut(&mut attended, widths[1]));
    let kept = kept.zip(cut(&mut o, widths[2])).zip(cut(&mut stats, widths[3]));
    let kept = kept.zip(parts(&mut gates, plan.tasks.iter().map(gate_parts)));
    let kept: Vec<SavedParts<'_>> =
        kept.map(|((((q, attended), o), stats), gates)| SavedParts { q, attended, o, gates, stats }).collect();
    let tasks = plan.tasks.par_iter().zip(cut(&mut out, d)).zip(kept);
    tasks.for_each(|((task, out), kept)| simd::run(ForwardTask { shared: &shared, task, out, kept }));
    drop(shared);
    (out, save.then_some(Saved { kv, q, attended, o, gates, stats }))
}

struct BackwardShared<'a> {
    layer: &'a Layer,
    tail: Tail<'a>,
    /// Transposed query projection, if the gradient of the queries is required.
    query: Option<Panels>,
    x: &'a [f32],
    keys: Sets<'a>,
    saved: &'a Saved,
    grad: &'a [f32],
}

struct BackwardTask<'a> {
    shared: &'a BackwardShared<'a>,
    task: &'a Task,
    /// Gates of the task's rows.
    gates: &'a [u32],
    /// Gradient of the queries; empty if it is not required.
    dx: &'a mut [f32],
    /// Gradients of keys and values of the task's pieces, one piece after the other.
    dkv: &'a mut [f32],
}

/// Number of sums of a task: those of the tail, query projection, its bias.
const SUMS: usize = TAIL_SUMS + 2;

impl BackwardShared<'_> {
    fn sizes(&self) -> [usize; SUMS] {
        let [wo, bo, wf, bf] = self.tail.sizes();
        [wo, bo, wf, bf, self.layer.query_width * self.layer.width, self.layer.width]
    }
}

/// `data[range]`, or an empty slice if nothing was saved.
fn slice_or_empty(data: &[f32], range: std::ops::Range<usize>) -> &[f32] {
    data.get(range).unwrap_or_default()
}

impl WithSimd for BackwardTask<'_> {
    type Output = Sums<SUMS>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums<SUMS> {
        let Self { shared, task, gates, dx, mut dkv } = self;
        let BackwardShared { layer, tail, saved, grad, .. } = shared;
        let (d, wide) = (layer.width, layer.query_width);
        let mut sums = Sums::zeros(shared.sizes());
        let mut scratch: [Workspace; 3] = std::array::from_fn(|_| Workspace::lease(BLOCK * d));
        let [o_scratch, attended_scratch, q_scratch] = &mut scratch;
        let mut current: Option<(usize, SetKeys<'_>, &mut [f32])> = None;
        for block in task.blocks() {
            let (span, size) = (block.start * d..block.end * d, block.len() * d);
            let mut o_grad = &grad[span.clone()];
            if tail.feeds() {
                let into = &mut o_scratch[..size];
                let gates = &gates[(block.start - task.rows.start) / BLOCK * gate_words(BLOCK * d)..];
                let rows = FeedForwardRows { o: &saved.o[span.clone()], gates, grad: o_grad };
                tail.feed_backward(simd, rows, into, &mut sums, 0);
                o_grad = into;
            }
            let mut attended_grad = o_grad;
            if tail.projects() {
                let into = &mut attended_scratch[..size];
                let attended = slice_or_empty(&saved.attended, span.clone());
                tail.project_backward(simd, attended, o_grad, into, &mut sums, 0);
                attended_grad = into;
            }
            let q_grad = &mut q_scratch[..size];
            for piece in task.pieces_of(block.clone()) {
                if current.as_ref().is_none_or(|(set, ..)| *set != piece.set) {
                    let kv = of_set(&saved.kv, shared.keys, d, piece.set);
                    let (piece_grad, rest) = std::mem::take(&mut dkv).split_at_mut(kv.len());
                    piece_grad.fill(0.0);
                    dkv = rest;
                    current = Some((piece.set, SetKeys::of(simd, layer.heads(), kv, true), piece_grad));
                }
                let Some((_, set_keys, piece_grad)) = &mut current else { continue };
                let all = piece.rows.start * d..piece.rows.end * d;
                let local = (piece.rows.start - block.start) * d..(piece.rows.end - block.start) * d;
                let stats = &saved.stats[piece.rows.start * 2 * layer.heads..];
                let residual = (layer.residual == Residual::Projected).then(|| &o_grad[local.clone()]);
                let rows = QueryRows { q: &saved.q[all], stats, grad: &attended_grad[local.clone()] };
                set_keys.attend_backward(simd, rows, residual, &mut q_grad[local], piece_grad);
            }
            let x = &shared.x[block.start * wide..block.end * wide];
            column_sums(simd, q_grad, d, block.len(), &mut sums.0[TAIL_SUMS + 1]);
            let size = Size { m: wide, n: d, k: block.len() };
            let right = Rhs::rows::<S>(q_grad, d);
            gemm(simd, size, Lhs::transposed(x, wide), right, &mut sums.0[TAIL_SUMS], d, Accumulate);
            if let Some(query) = &shared.query {
                let into = &mut dx[(block.start - task.rows.start) * wide..];
                let size = Size { m: block.len(), n: wide, k: d };
                let left = Lhs::rows(q_grad, d);
                if layer.residual == Residual::Raw {
                    gemm(simd, size, left, query.rhs(), into, wide, AddResidual { x: o_grad, ldx: d });
                } else {
                    gemm(simd, size, left, query.rhs(), into, wide, Store);
                }
            }
        }
        sums
    }
}

/// Adds the gradients of the keys and values of each set over its pieces: `[key rows, 2 · width]`.
fn merge(layer: &Layer, keys: Sets<'_>, plan: &Plan, pieces: Workspace) -> Workspace {
    let size = |set: usize| (keys.offsets[set + 1] - keys.offsets[set]) * 2 * layer.width;
    if (0..keys.count()).all(|set| plan.set_pieces[set].len() == 1 || size(set) == 0) {
        return pieces;
    }
    let mut merged = Workspace::zeros(keys.rows.len() / layer.key_width * 2 * layer.width);
    let mut at = 0;
    let starts = (0..keys.count()).map(|set| {
        let start = at;
        at += size(set) * plan.set_pieces[set].len();
        start
    });
    let starts: Vec<usize> = starts.collect();
    let sets = parts(&mut merged, (0..keys.count()).map(size));
    sets.into_par_iter().enumerate().filter(|(_, sum)| !sum.is_empty()).for_each(|(set, sum)| {
        let pieces_of_set = &pieces[starts[set]..][..sum.len() * plan.set_pieces[set].len()];
        pieces_of_set.chunks_exact(sum.len()).for_each(|piece| add(piece, sum));
    });
    merged
}

pub(super) fn backward(
    layer: &Layer,
    weights: &Weights<'_>,
    queries: Sets<'_>,
    keys: Sets<'_>,
    saved: &Saved,
    grad: &[f32],
    requires_grad: RequiresGrad,
) -> Gradients {
    let (d, wide) = (layer.width, layer.query_width);
    assert_eq!(grad.len(), queries.rows.len() / wide * d, "length of the gradient");
    let tail = Tail::of(d, weights, true);
    let query = requires_grad.queries.then(|| Panels::of_transposed(weights.query.weight, d, wide));
    let shared = BackwardShared { layer, tail, query, x: queries.rows, keys, saved, grad };
    let plan = Plan::of(queries.offsets);
    let mut dx = vec![0.0; if requires_grad.queries { queries.rows.len() } else { 0 }];
    let keys_of = |task: &Task| -> usize {
        task.pieces.iter().map(|piece| keys.offsets[piece.set + 1] - keys.offsets[piece.set]).sum()
    };
    let sizes: Vec<usize> = plan.tasks.iter().map(|task| keys_of(task) * 2 * d).collect();
    let mut pieces = Workspace::lease(sizes.iter().sum());
    let dx_width = if requires_grad.queries { wide } else { 0 };
    let dx_parts = parts(&mut dx, plan.tasks.iter().map(|task| task.rows.len() * dx_width));
    let tasks = plan.tasks.par_iter().zip(dx_parts).zip(parts(&mut pieces, sizes));
    let mut first = 0;
    let gates = plan.tasks.iter().map(|task| {
        let size = if saved.gates.is_empty() { 0 } else { blocks(task.rows.len()) * gate_words(BLOCK * d) };
        first += size;
        &saved.gates[first - size..first]
    });
    let gates: Vec<&[u32]> = gates.collect();
    let sums: Vec<Sums<SUMS>> = tasks
        .zip(gates)
        .map(|(((task, dx), dkv), gates)| simd::run(BackwardTask { shared: &shared, task, gates, dx, dkv }))
        .collect();
    let [wo, bo, wf, bf, wq, bq] = Sums::total(&sums, shared.sizes());
    drop(sums);
    let dkv = merge(layer, keys, &plan, pieces);
    let (keys, key, value) = keys_backward(layer, weights, keys.rows, &dkv, requires_grad.keys);
    let linear = |weight, bias| LinearGradients { weight, bias };
    Gradients {
        queries: requires_grad.queries.then_some(dx),
        keys,
        query: linear(wq, bq),
        key,
        value,
        out: weights.out.map(|_| linear(wo, bo)),
        feed: weights.feed.map(|_| linear(wf, bf)),
    }
}

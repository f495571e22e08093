//! Backward pass for queries of each set.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Saved, attend::SetKeys, of_set};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, AddResidual, Lhs, Panels, Rhs, Size, Store, gemm},
    set::{
        Gradients, Layer, LinearGradients, Residual, Sets, Sums, Wanted, Weights,
        gates::gate_words,
        keys::keys_backward,
        plan::{BLOCK, Plan, Task, blocks, parts},
        tail::{TAIL_SUMS, Tail},
    },
    simd,
    vector::{add, column_sums},
};

struct Shared<'a> {
    layer: &'a Layer,
    tail: Tail<'a>,
    /// Transposed query projection, if the gradient of the queries is required.
    query: Option<Panels>,
    x: &'a [f32],
    keys: Sets<'a>,
    saved: &'a Saved,
    grad: &'a [f32],
}

struct Run<'a> {
    shared: &'a Shared<'a>,
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

impl Shared<'_> {
    fn sizes(&self) -> [usize; SUMS] {
        let [wo, bo, wf, bf] = self.tail.sizes();
        [wo, bo, wf, bf, self.layer.query_width * self.layer.width, self.layer.width]
    }
}

/// `data[range]`, or an empty slice if nothing was saved.
fn some(data: &[f32], range: std::ops::Range<usize>) -> &[f32] {
    data.get(range).unwrap_or_default()
}

impl WithSimd for Run<'_> {
    type Output = Sums<SUMS>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums<SUMS> {
        let Self { shared, task, gates, dx, mut dkv } = self;
        let Shared { layer, tail, saved, grad, .. } = shared;
        let (d, wide) = (layer.width, layer.query_width);
        let mut sums = Sums::zeros(shared.sizes());
        let mut scratch: [Workspace; 3] = std::array::from_fn(|_| Workspace::lease(BLOCK * d));
        let [o_scratch, attended_scratch, q_scratch] = &mut scratch;
        let mut open: Option<(usize, SetKeys<'_>, &mut [f32])> = None;
        for block in task.blocks() {
            let (span, size) = (block.start * d..block.end * d, block.len() * d);
            let mut o_grad = &grad[span.clone()];
            if tail.feeds() {
                let into = &mut o_scratch[..size];
                let gates = &gates[(block.start - task.rows.start) / BLOCK * gate_words(BLOCK * d)..];
                tail.feed_backward(simd, (&saved.o[span.clone()], gates, o_grad), into, &mut sums, 0);
                o_grad = into;
            }
            let mut attended_grad = o_grad;
            if tail.projects() {
                let into = &mut attended_scratch[..size];
                let attended = some(&saved.attended, span.clone());
                tail.project_backward(simd, (attended, o_grad), into, &mut sums, 0);
                attended_grad = into;
            }
            let q_grad = &mut q_scratch[..size];
            for piece in task.pieces_of(block.clone()) {
                if open.as_ref().is_none_or(|(set, ..)| *set != piece.set) {
                    let kv = of_set(&saved.kv, shared.keys, d, piece.set);
                    let (mine, rest) = std::mem::take(&mut dkv).split_at_mut(kv.len());
                    mine.fill(0.0);
                    dkv = rest;
                    open = Some((piece.set, SetKeys::of(simd, layer.heads(), kv, true), mine));
                }
                let Some((_, set_keys, mine)) = &mut open else { continue };
                let all = piece.rows.start * d..piece.rows.end * d;
                let local = (piece.rows.start - block.start) * d..(piece.rows.end - block.start) * d;
                let stats = &saved.stats[piece.rows.start * 2 * layer.heads..];
                let residual = (layer.residual == Residual::Projected).then(|| &o_grad[local.clone()]);
                let data = (&saved.q[all], stats, &attended_grad[local.clone()]);
                set_keys.attend_backward(simd, data, residual, &mut q_grad[local], mine);
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
    if (0..keys.count()).all(|set| plan.slots[set].len() == 1 || size(set) == 0) {
        return pieces;
    }
    let mut merged = Workspace::zeros(keys.rows.len() / layer.key_width * 2 * layer.width);
    let mut at = 0;
    let starts = (0..keys.count()).map(|set| {
        let start = at;
        at += size(set) * plan.slots[set].len();
        start
    });
    let starts: Vec<usize> = starts.collect();
    let sets = parts(&mut merged, (0..keys.count()).map(size));
    sets.into_par_iter().enumerate().filter(|(_, sum)| !sum.is_empty()).for_each(|(set, sum)| {
        let found = &pieces[starts[set]..][..sum.len() * plan.slots[set].len()];
        found.chunks_exact(sum.len()).for_each(|piece| add(piece, sum));
    });
    merged
}

pub(in crate::set) fn backward(
    layer: &Layer,
    weights: &Weights<'_>,
    queries: Sets<'_>,
    keys: Sets<'_>,
    saved: &Saved,
    grad: &[f32],
    wanted: Wanted,
) -> Gradients {
    let (d, wide) = (layer.width, layer.query_width);
    assert_eq!(grad.len(), queries.rows.len() / wide * d, "gradient and its sizes");
    let tail = Tail::of(d, weights, true);
    let query = wanted.queries.then(|| Panels::of_transposed(weights.query.weight, d, wide));
    let shared = Shared { layer, tail, query, x: queries.rows, keys, saved, grad };
    let plan = Plan::of(queries.offsets);
    let mut dx = vec![0.0; if wanted.queries { queries.rows.len() } else { 0 }];
    let keys_of = |task: &Task| -> usize {
        task.pieces.iter().map(|piece| keys.offsets[piece.set + 1] - keys.offsets[piece.set]).sum()
    };
    let found: Vec<usize> = plan.tasks.iter().map(|task| keys_of(task) * 2 * d).collect();
    let mut pieces = Workspace::lease(found.iter().sum());
    let dx_width = if wanted.queries { wide } else { 0 };
    let dx_parts = parts(&mut dx, plan.tasks.iter().map(|task| task.rows.len() * dx_width));
    let tasks = plan.tasks.par_iter().zip(dx_parts).zip(parts(&mut pieces, found));
    let mut first = 0;
    let gates = plan.tasks.iter().map(|task| {
        let size = if saved.gates.is_empty() { 0 } else { blocks(task.rows.len()) * gate_words(BLOCK * d) };
        first += size;
        &saved.gates[first - size..first]
    });
    let gates: Vec<&[u32]> = gates.collect();
    let sums: Vec<Sums<SUMS>> = tasks
        .zip(gates)
        .map(|(((task, dx), dkv), gates)| simd::run(Run { shared: &shared, task, gates, dx, dkv }))
        .collect();
    let [wo, bo, wf, bf, wq, bq] = Sums::total(&sums, shared.sizes());
    drop(sums);
    let dkv = merge(layer, keys, &plan, pieces);
    let (keys, key, value) = keys_backward(layer, weights, keys.rows, &dkv, wanted.keys);
    let linear = |weight, bias| LinearGradients { weight, bias };
    Gradients {
        queries: wanted.queries.then_some(dx),
        keys,
        query: linear(wq, bq),
        key,
        value,
        out: weights.out.map(|_| linear(wo, bo)),
        feed: weights.feed.map(|_| linear(wf, bf)),
    }
}

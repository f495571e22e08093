//! Forward pass for queries of each set.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Saved, attend::SetKeys, of_set};
use crate::{
    buffer::Workspace,
    gemm::{Bias, Lhs, Panels, Size, gemm},
    set::{
        Layer, Sets, Weights,
        gates::gate_words,
        keys::KeyProjection,
        plan::{BLOCK, Plan, Task, blocks, parts},
        tail::Tail,
    },
    simd,
};

struct Shared<'a> {
    layer: &'a Layer,
    tail: Tail<'a>,
    query: Panels,
    query_bias: &'a [f32],
    x: &'a [f32],
    keys: Sets<'a>,
    kv: &'a [f32],
}

/// Destinations of the values that the backward pass needs; empty if they are not saved.
struct Kept<'a> {
    q: &'a mut [f32],
    attended: &'a mut [f32],
    o: &'a mut [f32],
    gates: &'a mut [u32],
    stats: &'a mut [f32],
}

struct Run<'a> {
    shared: &'a Shared<'a>,
    task: &'a Task,
    out: &'a mut [f32],
    kept: Kept<'a>,
}

/// The part `range` of `kept`, or scratch memory of its length if `kept` is empty.
fn place<'a>(kept: &'a mut [f32], scratch: &'a mut [f32], range: std::ops::Range<usize>) -> &'a mut [f32] {
    if kept.is_empty() { &mut scratch[..range.len()] } else { &mut kept[range] }
}

impl WithSimd for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { shared: Shared { layer, tail, query, query_bias, x, keys, kv }, task, out, kept } = self;
        let (d, wide, heads) = (layer.width, layer.query_width, layer.heads());
        let mut scratch: [Workspace; 3] = std::array::from_fn(|_| Workspace::lease(BLOCK * d));
        let [q_scratch, attended_scratch, o_scratch] = &mut scratch;
        let mut set_keys: Option<(usize, SetKeys<'_>)> = None;
        for block in task.blocks() {
            let local = (block.start - task.rows.start) * d..(block.end - task.rows.start) * d;
            let x = &x[block.start * wide..block.end * wide];
            let q = place(kept.q, q_scratch, local.clone());
            let size = Size { m: block.len(), n: d, k: wide };
            gemm(simd, size, Lhs::rows(x, wide), query.rhs(), q, d, Bias(query_bias));
            let residual = layer.residual_of(x, q);
            let out = &mut out[local.clone()];
            let mut o = if tail.feeds() { Some(place(kept.o, o_scratch, local.clone())) } else { None };
            let attended = place(kept.attended, attended_scratch, local);
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

pub(in crate::set) fn forward(
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
    let query = Panels::of(weights.query.weight, layer.query_width, d);
    let (projects, feeds) = (save && tail.projects(), save && tail.feeds());
    let kept = |keep: bool, width: usize| if keep { width } else { 0 };
    let widths = [kept(save, d), kept(projects, d), kept(feeds, d), kept(save, 2 * heads)];
    let [mut q, mut attended, mut o, mut stats] = widths.map(|width| Workspace::lease(rows * width));
    let plan = Plan::of(queries.offsets);
    let gate_parts = |task: &Task| blocks(task.rows.len()) * kept(feeds, gate_words(BLOCK * d));
    let mut gates = vec![0; plan.tasks.iter().map(gate_parts).sum()];
    let mut out = vec![0.0; rows * d];
    let shared = Shared { layer, tail, query, query_bias: weights.query.bias, x: queries.rows, keys, kv: &kv };
    let sizes = |width: usize| plan.tasks.iter().map(move |task| task.rows.len() * width);
    let cut = |all, width: usize| parts(all, sizes(width));
    let kept = cut(&mut q, widths[0]).into_iter().zip(cut(&mut attended, widths[1]));
    let kept = kept.zip(cut(&mut o, widths[2])).zip(cut(&mut stats, widths[3]));
    let kept = kept.zip(parts(&mut gates, plan.tasks.iter().map(gate_parts)));
    let kept: Vec<Kept<'_>> =
        kept.map(|((((q, attended), o), stats), gates)| Kept { q, attended, o, gates, stats }).collect();
    let tasks = plan.tasks.par_iter().zip(cut(&mut out, d)).zip(kept);
    tasks.for_each(|((task, out), kept)| simd::run(Run { shared: &shared, task, out, kept }));
    drop(shared);
    (out, save.then_some(Saved { kv, q, attended, o, gates, stats }))
}

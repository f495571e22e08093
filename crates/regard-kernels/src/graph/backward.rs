//! Backward pass over the targets: gradients of queries, edge stream and bias; with closed tasks
//! also of keys and values.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{
    gradient::{Chunk, KeyValueSums, Stream, score_gradients, weighted_sums},
    lanes::Blocked,
    layer::Nodes,
    rows::{Rows, registers_mut, scaled},
    scores::{CHUNK, EdgeScratch, Normaliser, View},
};
use crate::{buffer::Workspace, vector::split};

/// Destinations of the gradients of a task.
pub(super) struct GradientsMut<'a> {
    /// Gradients of the task's nodes.
    pub(super) nodes: Nodes<&'a mut [f32]>,
    /// `[edges of the task, width]`.
    pub(super) edge: Option<&'a mut [f32]>,
    /// `[edges of the task, heads]`.
    pub(super) bias: Option<&'a mut [f32]>,
    /// Gradient of the score and weight of each edge, `[edges of the task, 2 · head row]`, for the
    /// second pass over sources. If absent, the task is closed and the gradients of keys and values
    /// are computed in this pass.
    pub(super) saved: Option<&'a mut [f32]>,
}

/// Computes the gradients of the nodes `targets` and of the edges that end in them.
pub(super) struct AttentionBackward<'a> {
    pub(super) view: &'a View<'a>,
    /// Index of the first incoming edge of each node.
    pub(super) offsets: &'a [usize],
    pub(super) targets: Range<usize>,
    /// Gradient of the result, in the kernel layout.
    pub(super) grad: Rows<'a>,
    /// Gradient of the per-channel products, `[edges, width]`.
    pub(super) edge_grad: Option<&'a [f32]>,
    pub(super) into: GradientsMut<'a>,
}

/// Scratch of a task.
struct Scratch {
    query: Workspace,
    query_grad: Workspace,
    /// `[CHUNK, head row]` each: exponentials, then weights; gradients of weights, then of scores.
    weights: Workspace,
    deltas: Workspace,
    /// One value for each head: inverse of the softmax denominator, mean gradient of the weights.
    inverse: Workspace,
    mean: Workspace,
    normaliser: Normaliser,
    edges: EdgeScratch,
    /// `[CHUNK, row]` each, if the caller's rows are in another layout: factors, gradient of the
    /// products, gradient of the factors.
    rearranged: [Workspace; 3],
    /// Gradients of keys and values, `[nodes of the task, 2 · row]`, in a closed task.
    key_values: Workspace,
}

impl Scratch {
    fn of(run: &AttentionBackward<'_>) -> Self {
        let lanes = run.view.lanes;
        let rearranged = if run.view.edge.is_some() && !lanes.native() { CHUNK * lanes.row() } else { 0 };
        let nodes = if run.into.saved.is_some() { 0 } else { run.targets.len() };
        Self {
            query: Workspace::lease(lanes.row()),
            query_grad: Workspace::lease(lanes.row()),
            weights: Workspace::lease(CHUNK * lanes.head_row()),
            deltas: Workspace::lease(CHUNK * lanes.head_row()),
            inverse: Workspace::lease(lanes.head_row()),
            mean: Workspace::lease(lanes.head_row()),
            normaliser: Normaliser::of(lanes),
            edges: EdgeScratch::of(run.view),
            rearranged: std::array::from_fn(|_| Workspace::lease(rearranged)),
            key_values: Workspace::zeros(nodes * 2 * lanes.row()),
        }
    }
}

impl WithSimd for AttentionBackward<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.view.lanes.dispatch(simd, self);
    }
}

impl<S: Simd> Blocked<S> for AttentionBackward<'_> {
    #[inline(always)]
    fn run<const B: usize, const ONE: bool>(mut self, simd: S) {
        let mut scratch = Scratch::of(&self);
        let lanes = self.view.lanes;
        for target in self.targets.clone() {
            let local = target - self.targets.start;
            let edges = self.offsets[target]..self.offsets[target + 1];
            if edges.is_empty() {
                self.into.nodes.row(0, local, lanes.width()).fill(0.0);
                continue;
            }
            let (view, factor) = (self.view, self.view.layer.scale);
            let query = registers_mut::<S>(&mut scratch.query);
            scaled(simd, view.query.registers::<S>(target), factor, query);
            self.normalise::<S, B, ONE>(simd, target, edges.clone(), &mut scratch);
            for first in edges.clone().step_by(CHUNK) {
                let chunk = first..(first + CHUNK).min(edges.end);
                if edges.len() > CHUNK {
                    // The largest score is known after the first pass, so these exponentials are final.
                    self.exponentials::<S, B, ONE>(simd, target, chunk.clone(), false, &mut scratch);
                }
                self.edge_gradients::<S, B, ONE>(simd, target, chunk, first == edges.start, &mut scratch);
            }
            lanes.finish(simd, factor, &mut scratch.query_grad, self.into.nodes.row(0, local, lanes.width()));
        }
        // The queries were scaled, so the sums already contain the factor of the scores.
        for (local, both) in scratch.key_values.chunks_exact_mut(2 * lanes.row()).enumerate() {
            let (key, value) = both.split_at_mut(lanes.row());
            lanes.finish(simd, 1.0, key, self.into.nodes.row(1, local, lanes.width()));
            lanes.finish(simd, 1.0, value, self.into.nodes.row(2, local, lanes.width()));
        }
    }
}

impl AttentionBackward<'_> {
    /// Computes the exponentials of the scores of `chunk` and the gradients of its weights.
    #[inline(always)]
    fn exponentials<S: Simd, const B: usize, const ONE: bool>(
        &self,
        simd: S,
        target: usize,
        chunk: Range<usize>,
        is_first: bool,
        scratch: &mut Scratch,
    ) {
        let Self { view, grad, .. } = self;
        let Scratch { query, weights, deltas, normaliser, edges, .. } = scratch;
        let size = chunk.len() * view.lanes.head_row();
        let (weights, deltas) = (&mut weights[..size], &mut deltas[..size]);
        view.scores::<S, B, ONE>(simd, split::<S>(query).0, chunk.clone(), edges, None, weights);
        let grad = grad.registers::<S>(target);
        let rows = registers_mut::<S>(deltas).chunks_exact_mut(view.lanes.phases::<ONE>());
        for (source, delta) in view.sources[chunk.clone()].iter().zip(rows) {
            view.lanes.products::<S, B, ONE>(simd, grad, view.value.registers::<S>(*source as usize), delta);
        }
        view.drop_out(chunk.start, deltas);
        normaliser.exponentials::<S, ONE, true>(simd, view.layer.softmax, is_first, registers_mut::<S>(weights));
    }

    /// Computes the softmax denominator and the mean gradient of the weights of a target. The scratch
    /// then holds the exponentials and gradients of the last chunk.
    #[inline(always)]
    fn normalise<S: Simd, const B: usize, const ONE: bool>(
        &self,
        simd: S,
        target: usize,
        edges: Range<usize>,
        scratch: &mut Scratch,
    ) {
        for first in edges.clone().step_by(CHUNK) {
            let chunk = first..(first + CHUNK).min(edges.end);
            let size = chunk.len() * self.view.lanes.head_row();
            let is_first = first == edges.start;
            self.exponentials::<S, B, ONE>(simd, target, chunk, is_first, scratch);
            let (weights, deltas) = (split::<S>(&scratch.weights[..size]).0, split::<S>(&scratch.deltas[..size]).0);
            let rescale = (!is_first).then(|| scratch.normaliser.rescale::<S, ONE>());
            weighted_sums::<S, ONE>(simd, weights, deltas, rescale, registers_mut::<S>(&mut scratch.mean));
        }
        let inverse = registers_mut::<S>(&mut scratch.inverse);
        scratch.normaliser.invert::<S, ONE>(simd, self.view.layer.softmax, inverse);
        for (mean, inverse) in registers_mut::<S>(&mut scratch.mean).iter_mut().zip(inverse) {
            *mean = simd.mul_f32s(*mean, *inverse);
        }
    }

    /// Computes the gradients of the query, keys, values, edge stream and bias of the edges of `chunk`
    /// from their exponentials.
    #[inline(always)]
    fn edge_gradients<S: Simd, const B: usize, const ONE: bool>(
        &mut self,
        simd: S,
        target: usize,
        chunk: Range<usize>,
        is_first: bool,
        scratch: &mut Scratch,
    ) {
        let Self { view, offsets, targets, grad, edge_grad, into } = self;
        let View { lanes, .. } = **view;
        let Scratch { query, query_grad, weights, deltas, inverse, mean, rearranged, key_values, .. } = scratch;
        let size = chunk.len() * lanes.head_row();
        let (weights, deltas) = (&mut weights[..size], &mut deltas[..size]);
        let (score, delta) = (registers_mut::<S>(weights), registers_mut::<S>(deltas));
        score_gradients::<S, ONE>(simd, lanes.phases, split::<S>(inverse).0, split::<S>(mean).0, score, delta);
        view.drop_out(chunk.start, weights);
        let local = chunk.start - offsets[targets.start]..chunk.end - offsets[targets.start];
        if let Some(bias) = &mut into.bias {
            lanes.heads_of(deltas, &mut bias[local.start * lanes.heads..local.end * lanes.heads]);
        }
        if let Some(saved) = &mut into.saved {
            save_gradients(lanes.head_row(), deltas, weights, &mut saved[2 * local.start * lanes.head_row()..]);
        }
        let mut key_values = KeyValueSums { sums: key_values, first: targets.start };
        let key_values = into.saved.is_none().then_some(&mut key_values);
        let edges = Chunk::<S> {
            lanes,
            query: split::<S>(query).0,
            grad: grad.registers::<S>(target),
            key: view.key,
            sources: &view.sources[chunk.clone()],
            deltas: split::<S>(deltas).0,
            weights: split::<S>(weights).0,
            is_first,
        };
        let query_grad = registers_mut::<S>(query_grad);
        let [factors, products, factor_grad] = rearranged;
        let (Some(factors), Some(edge)) = (view.edge_rows(simd, chunk.clone(), factors), &mut into.edge) else {
            return edges.plain::<B, ONE>(simd, query_grad, key_values);
        };
        let edge = &mut edge[local.start * lanes.width()..local.end * lanes.width()];
        let grad = edge_grad.map(|grad| {
            lanes.in_kernel_layout(simd, &grad[chunk.start * lanes.width()..chunk.end * lanes.width()], products)
        });
        if lanes.native() {
            let mut stream = Stream { factors, grad, into: edge };
            return edges.streamed::<B, ONE>(simd, &mut stream, query_grad, key_values);
        }
        let factor_grad = &mut factor_grad[..chunk.len() * lanes.row()];
        let mut stream = Stream { factors, grad, into: factor_grad };
        edges.streamed::<B, ONE>(simd, &mut stream, query_grad, key_values);
        lanes.restore(simd, factor_grad, edge);
    }
}

/// Saves the gradients of the scores and the weights of some edges side by side.
#[inline(always)]
fn save_gradients(head_row: usize, deltas: &[f32], weights: &[f32], saved: &mut [f32]) {
    let both = deltas.chunks_exact(head_row).zip(weights.chunks_exact(head_row));
    for ((delta, weight), saved) in both.zip(saved.chunks_exact_mut(2 * head_row)) {
        saved[..head_row].copy_from_slice(delta);
        saved[head_row..].copy_from_slice(weight);
    }
}

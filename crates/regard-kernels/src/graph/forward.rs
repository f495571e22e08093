//! Forward pass of edge attention for some target nodes, and the attention weights for inspection.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    EdgeList, Inputs, Layer,
    lanes::{Blocked, Lanes, part, part_mut},
    layer::Softmax,
    rows::{Rows, registers_mut, scaled},
    scores::{CHUNK, EdgeScratch, KernelInputs, Normaliser, View},
};
use crate::{
    buffer::{Workspace, parts},
    simd,
    vector::split,
};

/// Computes attention of the nodes `targets` over the sources of their edges.
pub(super) struct AttentionForward<'a> {
    pub(super) view: &'a View<'a>,
    /// Index of the first incoming edge of each node.
    pub(super) offsets: &'a [usize],
    pub(super) targets: Range<usize>,
    /// `[targets, width]`.
    pub(super) out: &'a mut [f32],
    /// Per-channel products, `[edges of the targets, width]`.
    pub(super) edge_out: Option<&'a mut [f32]>,
}

impl WithSimd for AttentionForward<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.view.lanes.dispatch(simd, self);
    }
}

impl<S: Simd> Blocked<S> for AttentionForward<'_> {
    #[inline(always)]
    fn run<const B: usize, const ONE: bool>(self, simd: S) {
        let Self { view, offsets, targets, out, mut edge_out } = self;
        let View { layer, lanes, .. } = *view;
        let (row, width, native) = (lanes.row(), lanes.width(), lanes.native());
        let mut scratch = [row, row, lanes.head_row(), CHUNK * lanes.head_row()].map(Workspace::lease);
        let [q, sums, inverse, scores] = scratch.each_mut().map(|scratch| &mut scratch[..]);
        let mut products = Workspace::lease(if edge_out.is_some() && !native { CHUNK * row } else { 0 });
        let mut edge_scratch = EdgeScratch::of(view);
        let mut normaliser = Normaliser::of(lanes);
        let first_edge = offsets[targets.start];
        for (target, out) in targets.zip(out.chunks_exact_mut(width)) {
            let edges = offsets[target]..offsets[target + 1];
            if edges.is_empty() {
                out.fill(isolated(layer.softmax));
                continue;
            }
            scaled(simd, view.query.registers::<S>(target), layer.scale, registers_mut::<S>(q));
            let q = split::<S>(q).0;
            for first in edges.clone().step_by(CHUNK) {
                let chunk = first..(first + CHUNK).min(edges.end);
                let scores = &mut scores[..chunk.len() * lanes.head_row()];
                let place = (first - first_edge) * width..(chunk.end - first_edge) * width;
                match edge_out.as_deref_mut().map(|all| &mut all[place]) {
                    Some(requested) if !native => {
                        let products_out = &mut products[..chunk.len() * row];
                        view.scores::<S, B, ONE>(simd, q, chunk.clone(), &mut edge_scratch, Some(products_out), scores);
                        lanes.restore(simd, &products[..chunk.len() * row], requested);
                    }
                    products_out => {
                        view.scores::<S, B, ONE>(simd, q, chunk.clone(), &mut edge_scratch, products_out, scores)
                    }
                }
                let is_first = first == edges.start;
                normaliser.exponentials::<S, ONE, false>(simd, layer.softmax, is_first, registers_mut::<S>(scores));
                view.drop_out(first, scores);
                let before = (!is_first).then(|| normaliser.rescale::<S, ONE>());
                let (weights, sums) = (split::<S>(scores).0, registers_mut::<S>(sums));
                accumulate::<S, B, ONE>(simd, lanes, weights, view.value, &view.sources[chunk], before, sums);
            }
            normaliser.invert::<S, ONE>(simd, layer.softmax, registers_mut::<S>(inverse));
            let inverse = &split::<S>(inverse).0[..lanes.phases::<ONE>()];
            for (r, sum) in registers_mut::<S>(sums).iter_mut().enumerate() {
                *sum = simd.mul_f32s(*sum, inverse[lanes.phase::<ONE>(r)]);
            }
            lanes.finish(simd, 1.0, sums, out);
        }
    }
}

/// `sums = before · sums + Σ_j weights_j · values_j`; without `before` the sums start at zero.
#[inline(always)]
fn accumulate<S: Simd, const B: usize, const ONE: bool>(
    simd: S,
    lanes: &Lanes,
    weights: &[S::f32s],
    values: Rows<'_>,
    sources: &[u32],
    before: Option<&[S::f32s]>,
    sums: &mut [S::f32s],
) {
    for block in 0..sums.len() / B {
        let sums = part_mut::<_, B>(sums, block);
        let phase = |j: usize| lanes.phase::<ONE>(block * B + j);
        let mut sum = [simd.splat_f32s(0.0); B];
        if let Some(before) = before {
            for j in 0..B {
                sum[j] = simd.mul_f32s(sums[j], before[phase(j)]);
            }
        }
        for (source, weight) in sources.iter().zip(weights.chunks_exact(lanes.phases::<ONE>())) {
            let value = part::<_, B>(values.registers::<S>(*source as usize), block);
            for j in 0..B {
                sum[j] = simd.mul_add_f32s(weight[phase(j)], value[j], sum[j]);
            }
        }
        *sums = sum;
    }
}

/// Result of a node without edges.
pub(super) fn isolated(softmax: Softmax) -> f32 {
    match softmax {
        Softmax::Clamped { isolated, .. } => isolated,
        Softmax::Stable => 0.0,
    }
}

/// The attention weight of every edge, `[edges, heads]`. Dropout does not apply.
///
/// # Panics
/// If a slice does not have the size its shape requires.
pub fn edge_attention_weights(layer: &Layer, graph: &EdgeList, inputs: &Inputs<'_>) -> Vec<f32> {
    layer.check(graph, inputs);
    let mut out = vec![0.0; graph.edges() * layer.heads];
    let inputs_in_layout = KernelInputs::of(layer, graph, inputs);
    let view = inputs_in_layout.view(layer, graph, inputs);
    let tasks = graph.tasks();
    let outs = parts(&mut out, tasks.iter().map(|task| graph.edges_of(task).len() * layer.heads));
    tasks.par_iter().zip(outs).for_each(|(targets, out)| {
        simd::run(EdgeWeights { view: &view, offsets: graph.offsets(), targets: targets.clone(), out });
    });
    out
}

struct EdgeWeights<'a> {
    view: &'a View<'a>,
    offsets: &'a [usize],
    targets: Range<usize>,
    /// `[edges of the targets, heads]`.
    out: &'a mut [f32],
}

impl WithSimd for EdgeWeights<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { view, offsets, targets, out } = self;
        let View { layer, lanes, .. } = *view;
        let head_row = lanes.head_row();
        let mut query = Workspace::lease(lanes.row());
        let mut inverse = Workspace::lease(head_row);
        let mut scores = Workspace::lease(CHUNK * head_row);
        let mut scratch = EdgeScratch::of(view);
        let mut normaliser = Normaliser::of(lanes);
        for target in targets.clone() {
            let edges = offsets[target]..offsets[target + 1];
            scaled(simd, view.query.registers::<S>(target), layer.scale, registers_mut::<S>(&mut query));
            // The first pass computes the softmax denominator, the second pass the weights.
            for last in [false, true] {
                for first in edges.clone().step_by(CHUNK) {
                    let chunk = first..(first + CHUNK).min(edges.end);
                    let scores = &mut scores[..chunk.len() * head_row];
                    let query = split::<S>(&query).0;
                    view.scores::<S, 1, false>(simd, query, chunk.clone(), &mut scratch, None, scores);
                    let is_first = !last && first == edges.start;
                    normaliser.exponentials::<S, false, false>(
                        simd,
                        layer.softmax,
                        is_first,
                        registers_mut::<S>(scores),
                    );
                    if last {
                        for row in scores.chunks_exact_mut(head_row) {
                            row.iter_mut().zip(inverse.iter()).for_each(|(weight, inverse)| *weight *= inverse);
                        }
                        let place = chunk.start - offsets[targets.start]..chunk.end - offsets[targets.start];
                        lanes.heads_of(scores, &mut out[place.start * lanes.heads..place.end * lanes.heads]);
                    }
                }
                if !last {
                    normaliser.invert::<S, false>(simd, layer.softmax, registers_mut::<S>(&mut inverse));
                }
            }
        }
    }
}

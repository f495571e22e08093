//! Attention weights of the edges, for inspection.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    EdgeList, Inputs, Layer,
    prepared::Prepared,
    rows::{registers_mut, scaled},
    scores::{CHUNK, EdgeScratch, Normaliser, View},
};
use crate::{
    buffer::{Workspace, parts},
    simd,
    vector::split,
};

/// The attention weight of every edge, `[edges, heads]`. Dropout does not apply.
///
/// # Panics
/// If a slice does not have the size its shape requires.
pub fn edge_attention_weights(layer: &Layer, graph: &EdgeList, inputs: &Inputs<'_>) -> Vec<f32> {
    layer.check(graph, inputs);
    let mut out = vec![0.0; graph.edges() * layer.heads];
    let prepared = Prepared::of(layer, graph, inputs);
    let view = prepared.view(layer, graph, inputs);
    let tasks = graph.tasks();
    let outs = parts(&mut out, tasks.iter().map(|task| graph.edges_of(task).len() * layer.heads));
    tasks.par_iter().zip(outs).for_each(|(targets, out)| {
        simd::run(Weights { view: &view, offsets: graph.offsets(), targets: targets.clone(), out });
    });
    out
}

struct Weights<'a> {
    view: &'a View<'a>,
    offsets: &'a [usize],
    targets: Range<usize>,
    /// `[edges of the targets, heads]`.
    out: &'a mut [f32],
}

impl WithSimd for Weights<'_> {
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
                    let begins = !last && first == edges.start;
                    normaliser.exponentials::<S, false, false>(simd, layer.softmax, begins, registers_mut::<S>(scores));
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

//! Scores of some edges of one target, and their softmax.
//!
//! Edges are processed [`CHUNK`] at a time, so that the scratch memory does not grow with the degree
//! of a node. A stable softmax keeps the largest score so far and rescales its sums when it grows
//! ("online softmax", Milakov & Gimelshein 2018).

use std::ops::Range;

use pulp::Simd;

use super::{
    EdgeList, Inputs,
    lanes::Lanes,
    layer::{Layer, Softmax},
    rows::{KernelRows, Rows, of_nodes, registers_mut},
};
use crate::{
    buffer::Workspace,
    simd,
    vector::{MASKED, exp, negated, split},
};

/// Number of edges of a target in a chunk: their scores stay in the first-level cache.
pub(super) const CHUNK: usize = 64;

/// All inputs of attention: nodes in the kernel layout, edges in the caller's.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) layer: &'a Layer,
    pub(super) lanes: &'a Lanes,
    pub(super) query: Rows<'a>,
    pub(super) key: Rows<'a>,
    pub(super) value: Rows<'a>,
    pub(super) sources: &'a [u32],
    /// `[edges, width]`.
    pub(super) edge: Option<&'a [f32]>,
    /// `[edges, heads]`.
    pub(super) bias: Option<&'a [f32]>,
}

/// Scratch memory for the edge stream of a chunk.
pub(super) struct EdgeScratch {
    /// Factors in the kernel layout, if the caller's layout differs.
    rearranged: Workspace,
    /// Destination of products that are not requested.
    unused: Workspace,
}

impl EdgeScratch {
    pub(super) fn of(view: &View<'_>) -> Self {
        let needed = |there: bool| if there { view.lanes.row() } else { 0 };
        let rearranged = needed(view.edge.is_some() && !view.lanes.native());
        Self { rearranged: Workspace::lease(CHUNK * rearranged), unused: Workspace::lease(needed(view.edge.is_some())) }
    }
}

impl<'a> View<'a> {
    /// Computes the scores of `edges` of the target with the scaled query `q`. `products_out` receives the
    /// per-channel products, in the kernel layout.
    #[inline(always)]
    pub(super) fn scores<S: Simd, const B: usize, const ONE: bool>(
        &self,
        simd: S,
        q: &[S::f32s],
        edges: Range<usize>,
        scratch: &mut EdgeScratch,
        products_out: Option<&mut [f32]>,
        scores: &mut [f32],
    ) {
        let lanes = self.lanes;
        let (first, sources) = (edges.start, &self.sources[edges.clone()]);
        let out = registers_mut::<S>(scores).chunks_exact_mut(lanes.phases::<ONE>());
        let rows = sources.iter().map(|source| self.key.registers::<S>(*source as usize)).zip(out);
        let EdgeScratch { rearranged, unused } = scratch;
        match self.edge_rows(simd, edges, rearranged) {
            None => {
                for (k, out) in rows {
                    lanes.products::<S, B, ONE>(simd, q, k, out);
                }
            }
            Some(factors) => {
                // Products that are not requested are written to one row that stays in cache.
                let (products_out, step) =
                    products_out.map_or((&mut unused[..], 0), |products_out| (products_out, lanes.row()));
                for (i, (k, out)) in rows.enumerate() {
                    let factors = split::<S>(&factors[i * lanes.row()..][..lanes.row()]).0;
                    let products_out = registers_mut::<S>(&mut products_out[i * step..][..lanes.row()]);
                    lanes.modulated::<S, B, ONE>(simd, [q, k, factors], products_out, out);
                }
            }
        }
        self.add_bias(first, scores);
    }

    /// Factors of `edges` in the kernel layout, rearranged into `rearranged` if the layouts differ.
    #[inline(always)]
    pub(super) fn edge_rows<'s, S: Simd>(
        &self,
        simd: S,
        edges: Range<usize>,
        rearranged: &'s mut [f32],
    ) -> Option<&'s [f32]>
    where
        'a: 's,
    {
        let width = self.lanes.width();
        let rows = &self.edge?[edges.start * width..edges.end * width];
        Some(self.lanes.in_kernel_layout(simd, rows, rearranged))
    }

    #[inline(always)]
    fn add_bias(&self, first: usize, scores: &mut [f32]) {
        let Some(bias) = self.bias else { return };
        let Lanes { heads, padded, .. } = *self.lanes;
        let rows = scores.chunks_exact_mut(self.lanes.head_row());
        for (row, bias) in rows.zip(bias[first * heads..].chunks_exact(heads)) {
            for group in row.chunks_exact_mut(padded) {
                group.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
            }
        }
    }

    /// Multiplies the values of edges, starting with edge `first`, and heads with their dropout factors.
    #[inline(always)]
    pub(super) fn drop_out(&self, first: usize, values: &mut [f32]) {
        let Some(dropout) = self.layer.dropout else { return };
        let Lanes { padded, .. } = *self.lanes;
        for (i, row) in values.chunks_exact_mut(self.lanes.head_row()).enumerate() {
            for group in row.chunks_exact_mut(padded) {
                for (h, value) in group.iter_mut().enumerate() {
                    *value *= dropout.factor(first + i, h);
                }
            }
        }
    }
}

/// The running softmax of one target: one value for each head over the edges processed so far.
pub(super) struct Normaliser {
    /// `[3, head row]`: largest score, sum of exponentials, factor that rescales the sums of the
    /// earlier chunks.
    values: Workspace,
    phases: usize,
}

impl Normaliser {
    pub(super) fn of(lanes: &Lanes) -> Self {
        Self { values: Workspace::lease(3 * lanes.head_row()), phases: lanes.phases }
    }

    /// Turns scores into exponentials and adds them to the sum; `first` starts a new sum. If `GATED`,
    /// the exponentials of scores beyond the clamp, whose gradient is zero, become negative.
    #[inline(always)]
    pub(super) fn exponentials<S: Simd, const ONE: bool, const GATED: bool>(
        &mut self,
        simd: S,
        softmax: Softmax,
        first: bool,
        scores: &mut [S::f32s],
    ) {
        let phases = if ONE { 1 } else { self.phases };
        let registers = &mut registers_mut::<S>(&mut self.values)[..3 * phases];
        for phase in 0..phases {
            let [max, sum, rescale] = [phase, phases + phase, 2 * phases + phase];
            if first {
                registers[max] = simd.splat_f32s(MASKED);
                registers[sum] = simd.splat_f32s(0.0);
            }
            let scores = &mut scores[phase..];
            match softmax {
                Softmax::Clamped { limit, .. } => {
                    let chunk_sum = clamped::<S, GATED>(simd, limit, scores, phases);
                    registers[sum] = simd.add_f32s(registers[sum], chunk_sum);
                    registers[rescale] = simd.splat_f32s(1.0);
                }
                Softmax::Stable => {
                    let before = registers[max];
                    let largest = largest(simd, before, scores, phases);
                    let chunk_sum = shifted(simd, largest, scores, phases);
                    registers[max] = largest;
                    if first {
                        registers[sum] = chunk_sum;
                        continue;
                    }
                    let factor = exp(simd, simd.sub_f32s(before, largest));
                    registers[sum] = simd.mul_add_f32s(registers[sum], factor, chunk_sum);
                    registers[rescale] = factor;
                }
            }
        }
    }

    /// Factor that rescales the sums of the earlier chunks; not defined for the first chunk.
    #[inline(always)]
    pub(super) fn rescale<S: Simd, const ONE: bool>(&self) -> &[S::f32s] {
        let phases = if ONE { 1 } else { self.phases };
        &split::<S>(&self.values).0[2 * phases..3 * phases]
    }

    /// `out = 1 / (sum + epsilon)` of each head.
    #[inline(always)]
    pub(super) fn invert<S: Simd, const ONE: bool>(&self, simd: S, softmax: Softmax, out: &mut [S::f32s]) {
        let phases = if ONE { 1 } else { self.phases };
        let epsilon = match softmax {
            Softmax::Clamped { epsilon, .. } => simd.splat_f32s(epsilon),
            Softmax::Stable => simd.splat_f32s(0.0),
        };
        let sums = &split::<S>(&self.values).0[phases..2 * phases];
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = simd.div_f32s(simd.splat_f32s(1.0), simd.add_f32s(*sum, epsilon));
        }
    }
}

/// Replaces every `stride`-th score with the exponential of its clamped value; returns their sum.
#[inline(always)]
fn clamped<S: Simd, const GATED: bool>(simd: S, limit: f32, scores: &mut [S::f32s], stride: usize) -> S::f32s {
    let (low, high) = (simd.splat_f32s(-limit), simd.splat_f32s(limit));
    let mut sum = simd.splat_f32s(0.0);
    for score in scores.chunks_mut(stride) {
        let score = &mut score[0];
        let within = simd.min_f32s(simd.max_f32s(*score, low), high);
        let weight = exp(simd, within);
        sum = simd.add_f32s(sum, weight);
        if GATED {
            let unclamped = simd.equal_f32s(within, *score);
            *score = simd.select_f32s(unclamped, weight, negated(simd, weight));
        } else {
            *score = weight;
        }
    }
    sum
}

/// The largest of `max` and every `stride`-th score.
#[inline(always)]
fn largest<S: Simd>(simd: S, max: S::f32s, scores: &[S::f32s], stride: usize) -> S::f32s {
    let mut max = max;
    for score in scores.chunks(stride) {
        max = simd.max_f32s(max, score[0]);
    }
    max
}

/// Replaces every `stride`-th score with the exponential of `score − max`; returns their sum.
#[inline(always)]
fn shifted<S: Simd>(simd: S, max: S::f32s, scores: &mut [S::f32s], stride: usize) -> S::f32s {
    let mut sum = simd.splat_f32s(0.0);
    for score in scores.chunks_mut(stride) {
        score[0] = exp(simd, simd.sub_f32s(score[0], max));
        sum = simd.add_f32s(sum, score[0]);
    }
    sum
}

/// Queries, keys and values in the kernel layout.
pub(super) struct KernelInputs<'a> {
    pub(super) lanes: Lanes,
    nodes: [KernelRows<'a>; 3],
}

impl<'a> KernelInputs<'a> {
    pub(super) fn of(layer: &Layer, graph: &EdgeList, inputs: &Inputs<'a>) -> Self {
        let lanes = Lanes::of(layer, simd::lanes());
        let nodes = of_nodes(inputs, layer.width).map(|rows| KernelRows::of(&lanes, rows, graph.nodes()));
        Self { lanes, nodes }
    }

    pub(super) fn view<'s>(&'s self, layer: &'s Layer, graph: &'s EdgeList, inputs: &Inputs<'s>) -> View<'s> {
        let [query, key, value] = self.nodes.each_ref().map(KernelRows::rows);
        let Inputs { edge, bias, .. } = *inputs;
        View { layer, lanes: &self.lanes, query, key, value, sources: graph.sources(), edge, bias }
    }
}

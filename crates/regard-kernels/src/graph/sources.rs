//! Second backward pass, over the sources, for tasks that are not closed: every node sums the
//! gradients of its key and value over its outgoing edges.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{
    edges::EdgesBySource,
    gradient::repeated,
    lanes::{Blocked, Lanes, part, part_mut},
    layer::Nodes,
    rows::{Rows, registers_mut},
    scores::{CHUNK, View},
};
use crate::{buffer::Workspace, vector::split};

/// Computes the key and value gradients of the nodes `nodes`.
pub(super) struct KeyValueBackward<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) by_source: &'a EdgesBySource,
    pub(super) nodes: Range<usize>,
    /// Gradient of the result, in the kernel layout.
    pub(super) grad: Rows<'a>,
    /// Gradient of the per-channel products, `[edges, width]`.
    pub(super) edge_grad: Option<&'a [f32]>,
    /// Gradient of the score and weight of each edge, `[edges, 2 · head row]`.
    pub(super) saved: &'a [f32],
    /// Destinations of the gradients of these nodes.
    pub(super) into: Nodes<&'a mut [f32]>,
}

impl WithSimd for KeyValueBackward<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.view.lanes.dispatch(simd, self);
    }
}

impl<S: Simd> Blocked<S> for KeyValueBackward<'_> {
    #[inline(always)]
    fn run<const B: usize, const ONE: bool>(mut self, simd: S) {
        let lanes = self.view.lanes;
        let rearranged = if self.view.edge.is_some() && !lanes.native() { CHUNK * lanes.row() } else { 0 };
        let mut rearranged: [Workspace; 2] = std::array::from_fn(|_| Workspace::lease(rearranged));
        let mut sums = Workspace::lease(2 * lanes.row());
        for node in self.nodes.clone() {
            sums.fill(0.0);
            let all = self.by_source.offsets[node]..self.by_source.offsets[node + 1];
            for first in all.clone().step_by(CHUNK) {
                let chunk = first..(first + CHUNK).min(all.end);
                let (key, value) = sums.split_at_mut(lanes.row());
                let (key, value) = (registers_mut::<S>(key), registers_mut::<S>(value));
                self.collect::<S, B, ONE>(simd, chunk, &mut rearranged, key, value);
            }
            let (key, value) = sums.split_at_mut(lanes.row());
            let local = node - self.nodes.start;
            lanes.finish(simd, self.view.layer.scale, key, self.into.row(1, local, lanes.width()));
            lanes.finish(simd, 1.0, value, self.into.row(2, local, lanes.width()));
        }
    }
}

impl KeyValueBackward<'_> {
    /// Adds the contribution of the entries `chunk` of the edges by source.
    #[inline(always)]
    fn collect<S: Simd, const B: usize, const ONE: bool>(
        &self,
        simd: S,
        chunk: Range<usize>,
        rearranged: &mut [Workspace; 2],
        keys: &mut [S::f32s],
        values: &mut [S::f32s],
    ) {
        let Self { view, by_source, grad, edge_grad, saved, .. } = self;
        let lanes = view.lanes;
        let (edges, targets) = (&by_source.edges[chunk.clone()], &by_source.targets[chunk]);
        let [factors, products] = rearranged;
        let factors = view.edge.map(|rows| EdgeRows::of(simd, lanes, rows, edges, factors));
        let products = edge_grad.map(|rows| EdgeRows::of(simd, lanes, rows, edges, products));
        for block in 0..keys.len() / B {
            let (keys, values) = (part_mut::<_, B>(keys, block), part_mut::<_, B>(values, block));
            let phase = |j: usize| lanes.phase::<ONE>(block * B + j);
            let (mut key, mut value) = (*keys, *values);
            for (i, (edge, target)) in edges.iter().zip(targets).enumerate() {
                let heads = split::<S>(&saved[*edge as usize * 2 * lanes.head_row()..][..2 * lanes.head_row()]).0;
                let (deltas, weights) = heads.split_at(lanes.phases::<ONE>());
                let query = part::<_, B>(view.query.registers::<S>(*target as usize), block);
                let grad = part::<_, B>(grad.registers::<S>(*target as usize), block);
                let (mut delta, weight) = (repeated::<_, B>(deltas, phase), repeated::<_, B>(weights, phase));
                if let Some(products) = &products {
                    let products = part::<_, B>(products.registers::<S>(i, *edge), block);
                    for j in 0..B {
                        delta[j] = simd.add_f32s(delta[j], products[j]);
                    }
                }
                if let Some(factors) = &factors {
                    let factors = part::<_, B>(factors.registers::<S>(i, *edge), block);
                    for j in 0..B {
                        delta[j] = simd.mul_f32s(delta[j], factors[j]);
                    }
                }
                for j in 0..B {
                    key[j] = simd.mul_add_f32s(delta[j], query[j], key[j]);
                    value[j] = simd.mul_add_f32s(weight[j], grad[j], value[j]);
                }
            }
            (*keys, *values) = (key, value);
        }
    }
}

/// Rows of some edges: borrowed from the caller, or copies in the kernel layout.
enum EdgeRows<'a> {
    Borrowed(Rows<'a>),
    Copy(Rows<'a>),
}

impl<'a> EdgeRows<'a> {
    #[inline(always)]
    fn of<S: Simd>(simd: S, lanes: &Lanes, all: &'a [f32], edges: &[u32], copy: &'a mut [f32]) -> Self {
        let (width, row) = (lanes.width(), lanes.row());
        let own = Rows { data: all, width, ld: width };
        if lanes.native() {
            return Self::Borrowed(own);
        }
        for (edge, copy) in edges.iter().zip(copy.chunks_exact_mut(row)) {
            lanes.rearrange(simd, own.floats(*edge as usize), copy);
        }
        Self::Copy(Rows { data: copy, width: row, ld: row })
    }

    /// Row of the `i`-th of the gathered edges, which has index `edge` in the graph.
    #[inline(always)]
    fn registers<S: Simd>(&self, i: usize, edge: u32) -> &'a [S::f32s] {
        match self {
            Self::Borrowed(rows) => rows.registers::<S>(edge as usize),
            Self::Copy(rows) => rows.registers::<S>(i),
        }
    }
}

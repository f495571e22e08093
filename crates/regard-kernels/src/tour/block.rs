//! A block of instances: tables, queries, the steps of their tours, and the backward pass.

use pulp::Simd;

use super::{
    StepInputs, Tours,
    rows::{GradientsMut, Rows, Scratch, Table},
    weights::{FoldedWeights, TABLES},
};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, AddResidual, Lhs, Rhs, Size, Store, gemm},
    rollout::Decoder,
    transpose::transpose,
    vector::{add_assign, column_sums, scale},
};

/// Gradients of the folded weights, summed over one group of instances.
pub(super) struct WeightGradients {
    /// `[width, TABLES·width]`.
    pub(super) tables: Workspace,
    /// `[width, width]`.
    pub(super) fixed: Workspace,
    /// `[width, width]`, if the context has a first node.
    pub(super) first: Workspace,
    /// `[width]`.
    pub(super) start: Workspace,
    /// `[scalars, width]`.
    pub(super) scalars: Workspace,
    /// `[3·width]`, zeros without a dynamic feature.
    pub(super) dynamic: Workspace,
}

impl WeightGradients {
    /// Empty gradients, for a pass that computes none.
    pub(super) fn none() -> Self {
        let none = || Workspace::lease(0);
        Self { tables: none(), fixed: none(), first: none(), start: none(), scalars: none(), dynamic: none() }
    }

    pub(super) fn zeros(decoder: &Decoder<'_>) -> Self {
        let width = decoder.width;
        let square = width * width;
        Self {
            tables: Workspace::zeros(TABLES * square),
            fixed: Workspace::zeros(square),
            first: Workspace::zeros(if decoder.uses_first { square } else { 0 }),
            start: Workspace::zeros(width),
            scalars: Workspace::zeros(decoder.scalars * width),
            dynamic: Workspace::zeros(3 * width),
        }
    }
}

/// Number of nodes in a block: its tables and their gradients fit into the second-level cache.
const NODES: usize = 128;

/// Inputs that all blocks of a pass share.
pub(super) struct Block<'a> {
    pub(super) folded: &'a FoldedWeights,
    pub(super) tours: &'a Tours<'a>,
    pub(super) embeddings: &'a [f32],
    pub(super) coefficient: Option<&'a [f32]>,
}

impl Block<'_> {
    /// Number of instances in a block.
    pub(super) fn instances(&self) -> usize {
        (NODES / self.tours.nodes.max(1)).max(1)
    }

    /// True if each instance has one tour of all nodes. Its nodes are then sorted in tour order: a step
    /// attends to a suffix of the nodes, and the keys before it are skipped.
    fn ordered(&self) -> bool {
        self.tours.trajectories == 1 && matches!(self.tours.inputs, StepInputs::Unvisited)
    }

    /// Processes the block of instances that starts at `begin`: writes log-likelihoods to `values` and
    /// gradients of the embeddings to `gradient`, and adds those of the weights to `sums`.
    #[inline(always)]
    pub(super) fn run<S: Simd>(
        &self,
        simd: S,
        begin: usize,
        values: &mut [f32],
        gradient: &mut [f32],
        sums: &mut WeightGradients,
    ) {
        let (tours, folded, d) = (self.tours, self.folded, self.folded.width);
        let (n, per) = (tours.nodes, tours.trajectories);
        let count = values.len() / per;
        let wide = TABLES * d;
        let heads_of_tours = if folded.first.is_some() { count * per } else { 0 };
        let mut x = Workspace::lease(count * n * d);
        let mut firsts = Workspace::lease(heads_of_tours * d);
        let mut mean = Workspace::zeros(count * d);
        self.gather(simd, begin, &mut x, &mut firsts, &mut mean);
        let mut tables = Workspace::lease(count * n * wide);
        let (mut fixed, mut first) = (Workspace::lease(count * d), Workspace::lease(heads_of_tours * d));
        let size = |m, n, k| Size { m, n, k };
        gemm(simd, size(count * n, wide, d), Lhs::rows(&x, d), folded.tables.rhs(), &mut tables, wide, Store);
        gemm(simd, size(count, d, d), Lhs::rows(&mean, d), folded.fixed.rhs(), &mut fixed, d, Store);
        if let Some(panels) = &folded.first {
            gemm(simd, size(count * per, d, d), Lhs::rows(&firsts, d), panels.rhs(), &mut first, d, Store);
        }

        let learns = self.coefficient.is_some();
        let grads = |floats: usize| Workspace::zeros(if learns { floats } else { 0 });
        let (mut d_tables, mut d_fixed) = (grads(count * n * wide), grads(count * d));
        let mut d_first = grads(heads_of_tours * d);
        let padded = n.next_multiple_of(S::F32_LANES);
        let mut scratch = Scratch::new::<S>(n, folded);
        let mut columns = Workspace::lease(3 * d * padded);
        for b in 0..count {
            let own = &tables[b * n * wide..][..n * wide];
            for (part, columns) in columns.chunks_exact_mut(d * padded).enumerate() {
                transpose(&own[part * d..], wide, n, d, padded, columns);
            }
            let table = Table {
                folded,
                rows: own,
                columns: &columns,
                fixed: &fixed[b * d..][..d],
                first: if first.is_empty() { &[] } else { &first[b * per * d..][..per * d] },
                nodes: n,
                padded,
            };
            let rows = Rows {
                table: &table,
                tours: tours.of_instance(begin + b, folded.scalars),
                ordered: self.ordered(),
                coefficient: self.coefficient.map(|all| &all[(begin + b) * per..][..per]),
            };
            let into = if learns {
                Some(GradientsMut {
                    rows: &mut d_tables[b * n * wide..][..n * wide],
                    fixed: &mut d_fixed[b * d..][..d],
                    first: if d_first.is_empty() { &mut [] } else { &mut d_first[b * per * d..][..per * d] },
                    start: &mut sums.start,
                    scalars: &mut sums.scalars,
                    dynamic: &mut sums.dynamic,
                })
            } else {
                None
            };
            rows.run(simd, &mut scratch, &mut values[b * per..][..per], into);
        }
        if !learns {
            return;
        }
        let right = Rhs::rows::<S>(&d_tables, wide);
        gemm(simd, size(d, wide, count * n), Lhs::transposed(&x, d), right, &mut sums.tables, wide, Accumulate);
        let right = Rhs::rows::<S>(&d_fixed, d);
        gemm(simd, size(d, d, count), Lhs::transposed(&mean, d), right, &mut sums.fixed, d, Accumulate);
        if folded.first.is_some() {
            let right = Rhs::rows::<S>(&d_first, d);
            gemm(simd, size(d, d, count * per), Lhs::transposed(&firsts, d), right, &mut sums.first, d, Accumulate);
        }
        // Gradients of the tables, the graph embedding and the first nodes are added to those of the nodes.
        gemm(simd, size(count, d, d), Lhs::rows(&d_fixed, d), folded.fixed_back.rhs(), &mut mean, d, Store);
        scale(simd, 1.0 / n as f32, &mut mean);
        if let Some(panels) = &folded.first_back {
            gemm(simd, size(count * per, d, d), Lhs::rows(&d_first, d), panels.rhs(), &mut firsts, d, Store);
        }
        for b in 0..count {
            for row in x[b * n * d..][..n * d].chunks_exact_mut(d) {
                row.copy_from_slice(&mean[b * d..][..d]);
            }
            for k in 0..if heads_of_tours > 0 { per } else { 0 } {
                let slot = if self.ordered() { 0 } else { tours.order[((begin + b) * per + k) * tours.steps] as usize };
                add_assign(simd, &firsts[(b * per + k) * d..][..d], &mut x[(b * n + slot) * d..][..d]);
            }
        }
        let share = AddResidual { x: &x, ldx: d };
        let out: &mut [f32] = if self.ordered() { &mut tables[..count * n * d] } else { gradient };
        gemm(simd, size(count * n, d, wide), Lhs::rows(&d_tables, wide), folded.tables_back.rhs(), out, d, share);
        if self.ordered() {
            for (i, row) in tables[..count * n * d].chunks_exact(d).enumerate() {
                let node = tours.order[begin * n + i] as usize;
                gradient[(i / n * n + node) * d..][..d].copy_from_slice(row);
            }
        }
    }

    /// Gathers the embeddings of the block (in tour order if [`Self::ordered`]), the embeddings of the
    /// first nodes of its tours, and the means over the nodes.
    #[inline(always)]
    fn gather<S: Simd>(&self, simd: S, begin: usize, x: &mut [f32], firsts: &mut [f32], mean: &mut [f32]) {
        let (tours, d) = (self.tours, self.folded.width);
        let (n, per) = (tours.nodes, tours.trajectories);
        let own = &self.embeddings[begin * n * d..][..x.len()];
        if self.ordered() {
            for (i, row) in x.chunks_exact_mut(d).enumerate() {
                let node = tours.order[begin * n + i] as usize;
                row.copy_from_slice(&own[(i / n * n + node) * d..][..d]);
            }
        } else {
            x.copy_from_slice(own);
        }
        for (i, row) in firsts.chunks_exact_mut(d).enumerate() {
            let node = tours.order[(begin * per + i) * tours.steps] as usize;
            row.copy_from_slice(&own[(i / per * n + node) * d..][..d]);
        }
        for (own, mean) in own.chunks_exact(n * d).zip(mean.chunks_exact_mut(d)) {
            column_sums(simd, own, d, n, mean);
            scale(simd, 1.0 / n as f32, mean);
        }
    }
}

//! Trajectories of one instance, constructed side by side: a matrix-vector product of each
//! trajectory becomes one matrix-matrix product of all.

use pulp::{Simd, WithSimd};

use super::{NodeSelection, NodeSelector, State, decoder::Table};
use crate::{
    buffer::Workspace,
    gemm::{Lhs, Rhs, Size, Store, gemm},
    pointer,
    vector::{add_assign, axpy, dot, exponentials, maximum, scale},
};

/// Maximum number of trajectories in a group.
const MAX_GROUP: usize = 32;
/// With fewer trajectories, each is constructed alone.
pub(super) const MIN_GROUP: usize = 4;

/// Number of trajectories in a group, out of `count`: equal shares of at most [`MAX_GROUP`].
pub(super) fn group_size(count: usize) -> usize {
    count.div_ceil(count.div_ceil(MAX_GROUP).max(1)).max(1)
}

/// Constructs the trajectories of `states`; `stream` is the generator stream of the first.
pub(super) struct GroupRollout<'a, 's> {
    pub(super) table: Table<'a>,
    pub(super) states: &'a mut [&'s mut dyn State],
    pub(super) selection: NodeSelection,
    pub(super) stream: u64,
}

impl WithSimd for GroupRollout<'_, '_> {
    /// The log-probability of each.
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let Self { table, states, selection, stream } = self;
        let mut rows = Rows::new(&table, states.len());
        let mut selectors: Vec<NodeSelector> =
            (0..states.len()).map(|k| NodeSelector::new(selection, stream + k as u64)).collect();
        let mut totals = vec![0f64; states.len()];
        let mut active = Vec::with_capacity(states.len());
        loop {
            active.clear();
            active.extend((0..states.len()).filter(|&k| !states[k].done() && !totals[k].is_nan()));
            if active.is_empty() {
                break;
            }
            for (row, &k) in active.iter().enumerate() {
                rows.read_state(simd, &table, row, k, &*states[k]);
            }
            rows.logits(simd, &table, active.len());
            for (row, &k) in active.iter().enumerate() {
                let (logits, lse) = rows.clipped(simd, &table, row);
                if !lse.is_finite() {
                    totals[k] = f64::NAN;
                    continue;
                }
                let node = selectors[k].select(logits);
                totals[k] += f64::from(logits[node] - lse);
                states[k].step(node);
            }
        }
        totals.into_iter().map(|total| total as f32).collect()
    }
}

/// Scratch memory of one step of all trajectories.
pub(super) struct Rows {
    /// Constant part of the query of each trajectory, and the first node it was computed for.
    bases: Workspace,
    base_of: Vec<Option<Option<usize>>>,
    /// `[trajectories, width]` each.
    query: Workspace,
    glimpse: Workspace,
    /// `[trajectories, padded]` each.
    weights: Workspace,
    logits: Workspace,
    /// Mask added to the scores: 0 for allowed nodes, −∞ for the others and the padding.
    mask: Workspace,
    scalars: Vec<f32>,
    allowed: Vec<bool>,
    /// Dynamic feature of the nodes, `[trajectories, padded]`; empty if the decoder has no weights for it.
    dynamic: Workspace,
}

impl Rows {
    pub(super) fn new(table: &Table<'_>, count: usize) -> Self {
        let (width, padded) = (table.packed.width, table.padded);
        let mut mask = Workspace::lease(count * padded);
        mask.fill(f32::NEG_INFINITY);
        Self {
            bases: Workspace::lease(count * width),
            base_of: vec![None; count],
            query: Workspace::lease(count * width),
            glimpse: Workspace::lease(count * width),
            weights: Workspace::lease(count * padded),
            logits: Workspace::lease(count * padded),
            mask,
            scalars: vec![0.0; table.packed.scalars],
            allowed: vec![false; table.nodes],
            dynamic: Workspace::zeros(if table.packed.dynamic.is_some() { count * padded } else { 0 }),
        }
    }

    /// Computes query and mask of trajectory `k` into row `row`.
    #[inline(always)]
    pub(super) fn read_state<S: Simd>(&mut self, simd: S, table: &Table<'_>, row: usize, k: usize, state: &dyn State) {
        let width = table.packed.width;
        state.allowed(&mut self.allowed);
        state.scalars(&mut self.scalars);
        if table.packed.dynamic.is_some() {
            state.dynamic(&self.allowed, &mut self.dynamic[row * table.padded..][..table.nodes]);
        }
        let mask = &mut self.mask[row * table.padded..][..table.nodes];
        for (mask, allowed) in mask.iter_mut().zip(&self.allowed) {
            *mask = if *allowed { 0.0 } else { f32::NEG_INFINITY };
        }
        let base = &mut self.bases[k * width..][..width];
        let first = state.first();
        if self.base_of[k] != Some(first) {
            table.base(simd, first, base);
            self.base_of[k] = Some(first);
        }
        table.query(simd, base, state.last(), &self.scalars, &mut self.query[row * width..][..width]);
    }

    /// The clipped logits of a row, −∞ where masked, and their log-sum-exp.
    #[inline(always)]
    pub(super) fn clipped<S: Simd>(&mut self, simd: S, table: &Table<'_>, row: usize) -> (&[f32], f32) {
        let logits = &mut self.logits[row * table.padded..][..table.padded];
        add_assign(simd, &self.mask[row * table.padded..][..table.padded], logits);
        let lse = pointer::logits(simd, table.packed.clip, logits);
        (logits, lse)
    }

    /// Computes the glimpses and the raw logits of the first `count` rows.
    #[inline(always)]
    pub(super) fn logits<S: Simd>(&mut self, simd: S, table: &Table<'_>, count: usize) {
        let (heads, width, padded) = (table.packed.heads, table.packed.width, table.padded);
        let head = width / heads;
        for h in 0..heads {
            let keys = Rhs::rows::<S>(&table.glimpse_keys[h * head * padded..], padded);
            let size = Size { m: count, n: padded, k: head };
            gemm(simd, size, Lhs::rows(&self.query[h * head..], width), keys, &mut self.weights, padded, Store);
            let rows = self.weights.chunks_exact_mut(padded).zip(self.mask.chunks_exact(padded));
            for (row, (weights, mask)) in rows.take(count).enumerate() {
                if let Some(dynamic) = &table.packed.dynamic {
                    let query = &self.query[row * width + h * head..][..head];
                    let along = dot(simd, query, &dynamic.glimpse_key[h * head..][..head]);
                    axpy(simd, along, &self.dynamic[row * padded..][..padded], weights);
                }
                add_assign(simd, mask, weights);
                let max = maximum(simd, weights);
                let inverse = 1.0 / exponentials(simd, weights, max);
                scale(simd, inverse, weights);
            }
            let (values, ld) = table.values(h * head);
            let size = Size { m: count, n: head, k: table.nodes };
            let values = Rhs::rows::<S>(values, ld);
            gemm(simd, size, Lhs::rows(&self.weights, padded), values, &mut self.glimpse[h * head..], width, Store);
            if let Some(dynamic) = &table.packed.dynamic {
                for row in 0..count {
                    let weights = &self.weights[row * padded..][..padded];
                    let sum = dot(simd, weights, &self.dynamic[row * padded..][..padded]);
                    let glimpse = &mut self.glimpse[row * width + h * head..][..head];
                    axpy(simd, sum, &dynamic.glimpse_value[h * head..][..head], glimpse);
                }
            }
        }
        let keys = Rhs::rows::<S>(table.logit_keys, padded);
        let size = Size { m: count, n: padded, k: width };
        gemm(simd, size, Lhs::rows(&self.glimpse, width), keys, &mut self.logits, padded, Store);
        if let Some(dynamic) = &table.packed.dynamic {
            for row in 0..count {
                let along = dot(simd, &self.glimpse[row * width..][..width], &dynamic.logit_key);
                let logits = &mut self.logits[row * padded..][..padded];
                axpy(simd, along, &self.dynamic[row * padded..][..padded], logits);
            }
        }
    }
}

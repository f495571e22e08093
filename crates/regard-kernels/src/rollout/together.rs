//! Trajectories of one instance, constructed side by side: a matrix-vector product of each
//! trajectory becomes one matrix-matrix product of all.

use pulp::{Simd, WithSimd};

use super::{
    Outcome, Pick, Picker, State,
    decoder::Table,
    step::{axpy_tail, dot},
};
use crate::{
    buffer::Workspace,
    gemm::{Lhs, Rhs, Size, Store, gemm},
    pointer,
    vector::{add_assign, axpy, exponentials, maximum, scale},
};

/// Maximum number of trajectories in a group.
const ABREAST: usize = 32;
/// With fewer trajectories, each is constructed alone.
pub(super) const FEW: usize = 4;

/// Number of trajectories in a group, out of `count`: equal shares of at most [`ABREAST`].
pub(super) fn abreast(count: usize) -> usize {
    count.div_ceil(count.div_ceil(ABREAST).max(1)).max(1)
}

/// Constructs the trajectories of `states`; `stream` is the generator stream of the first.
pub(super) struct Together<'a, T> {
    pub(super) table: Table<'a>,
    pub(super) states: Vec<T>,
    pub(super) pick: Pick,
    pub(super) stream: u64,
}

impl<T: State> WithSimd for Together<'_, T> {
    type Output = Vec<Outcome<T>>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<Outcome<T>> {
        let Self { table, mut states, pick, stream } = self;
        let mut rows = Rows::new(&table, states.len());
        let mut pickers: Vec<Picker> = (0..states.len()).map(|k| Picker::new(pick, stream + k as u64)).collect();
        let mut totals = vec![0f64; states.len()];
        let mut active = Vec::with_capacity(states.len());
        loop {
            active.clear();
            active.extend((0..states.len()).filter(|&k| !states[k].done()));
            if active.is_empty() {
                break;
            }
            for (row, &k) in active.iter().enumerate() {
                rows.look(simd, &table, row, k, &states[k]);
            }
            rows.logits(simd, &table, active.len());
            for (row, &k) in active.iter().enumerate() {
                let logits = &mut rows.logits[row * table.padded..][..table.padded];
                add_assign(simd, &rows.barrier[row * table.padded..][..table.padded], logits);
                let lse = pointer::logits(simd, table.prepared.clip, logits);
                let node = pickers[k].pick(logits);
                totals[k] += f64::from(logits[node] - lse);
                states[k].step(node);
            }
        }
        let outcome = |(state, total): (T, f64)| Outcome { state, log_probability: total as f32 };
        states.into_iter().zip(totals).map(outcome).collect()
    }
}

/// Scratch memory of one step of all trajectories.
struct Rows {
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
    barrier: Workspace,
    scalars: Vec<f32>,
    open: Vec<bool>,
    /// Dynamic feature of the nodes, `[trajectories, padded]`; empty if the decoder has no weights for it.
    dynamic: Workspace,
}

impl Rows {
    fn new(table: &Table<'_>, count: usize) -> Self {
        let (width, padded) = (table.prepared.width, table.padded);
        let mut barrier = Workspace::lease(count * padded);
        barrier.fill(f32::NEG_INFINITY);
        Self {
            bases: Workspace::lease(count * width),
            base_of: vec![None; count],
            query: Workspace::lease(count * width),
            glimpse: Workspace::lease(count * width),
            weights: Workspace::lease(count * padded),
            logits: Workspace::lease(count * padded),
            barrier,
            scalars: vec![0.0; table.prepared.scalars],
            open: vec![false; table.nodes],
            dynamic: Workspace::zeros(if table.prepared.dynamic.is_some() { count * padded } else { 0 }),
        }
    }

    /// Computes query and mask of trajectory `k` into row `row`.
    #[inline(always)]
    fn look<S: Simd, T: State>(&mut self, simd: S, table: &Table<'_>, row: usize, k: usize, state: &T) {
        let width = table.prepared.width;
        state.allowed(&mut self.open);
        state.scalars(&mut self.scalars);
        if table.prepared.dynamic.is_some() {
            state.dynamic(&mut self.dynamic[row * table.padded..][..table.nodes]);
        }
        let barrier = &mut self.barrier[row * table.padded..][..table.nodes];
        for (barrier, open) in barrier.iter_mut().zip(&self.open) {
            *barrier = if *open { 0.0 } else { f32::NEG_INFINITY };
        }
        let base = &mut self.bases[k * width..][..width];
        let first = state.first();
        if self.base_of[k] != Some(first) {
            table.base(simd, first, base);
            self.base_of[k] = Some(first);
        }
        table.query(simd, base, state.last(), &self.scalars, &mut self.query[row * width..][..width]);
    }

    /// Computes the glimpses and the raw logits of the first `count` rows.
    #[inline(always)]
    fn logits<S: Simd>(&mut self, simd: S, table: &Table<'_>, count: usize) {
        let (heads, width, padded) = (table.prepared.heads, table.prepared.width, table.padded);
        let head = width / heads;
        for h in 0..heads {
            let keys = Rhs::rows::<S>(&table.glimpse_keys[h * head * padded..], padded);
            let size = Size { m: count, n: padded, k: head };
            gemm(simd, size, Lhs::rows(&self.query[h * head..], width), keys, &mut self.weights, padded, Store);
            let rows = self.weights.chunks_exact_mut(padded).zip(self.barrier.chunks_exact(padded));
            for (row, (weights, barrier)) in rows.take(count).enumerate() {
                if let Some(dynamic) = &table.prepared.dynamic {
                    let query = &self.query[row * width + h * head..][..head];
                    let along = dot(query, &dynamic.glimpse_key[h * head..]);
                    axpy(simd, along, &self.dynamic[row * padded..][..padded], weights);
                }
                add_assign(simd, barrier, weights);
                let max = maximum(simd, weights);
                let inverse = 1.0 / exponentials(simd, weights, max);
                scale(simd, inverse, weights);
            }
            let (values, ld) = table.values(h * head);
            let size = Size { m: count, n: head, k: table.nodes };
            let values = Rhs::rows::<S>(values, ld);
            gemm(simd, size, Lhs::rows(&self.weights, padded), values, &mut self.glimpse[h * head..], width, Store);
            if let Some(dynamic) = &table.prepared.dynamic {
                for row in 0..count {
                    let weights = &self.weights[row * padded..][..padded];
                    let moved = dot(weights, &self.dynamic[row * padded..][..padded]);
                    let glimpse = &mut self.glimpse[row * width + h * head..][..head];
                    axpy_tail(moved, &dynamic.glimpse_value[h * head..], glimpse);
                }
            }
        }
        let keys = Rhs::rows::<S>(table.logit_keys, padded);
        let size = Size { m: count, n: padded, k: width };
        gemm(simd, size, Lhs::rows(&self.glimpse, width), keys, &mut self.logits, padded, Store);
        if let Some(dynamic) = &table.prepared.dynamic {
            for row in 0..count {
                let along = dot(&self.glimpse[row * width..][..width], &dynamic.logit_key);
                let logits = &mut self.logits[row * padded..][..padded];
                axpy(simd, along, &self.dynamic[row * padded..][..padded], logits);
            }
        }
    }
}

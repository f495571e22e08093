//! The steps of the tours of one instance: glimpse, pointer and their gradients, a block at a time.
//!
//! With `q` the query of a step and `K`, `V`, `L` the tables of the nodes: weights `P = softmax(q·Kᵀ)`
//! per head over the allowed nodes, glimpse `g = P·V`, logits `u = clip·tanh(g·Lᵀ)`,
//! `log p = log_softmax(u)` at the chosen node. Scales and the output projection of the glimpse are
//! folded into the tables. With a dynamic feature the tables differ in every row, see [`DynamicFeature`].

use pulp::Simd;

use super::{
    StepInputs, Tours,
    weights::{FoldedWeights, TABLES},
    words,
};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Lhs, Rhs, Size, Store, gemm},
    pointer::logits,
    vector::{MASKED, add_assign, axpy, dot, exp, exponentials, maximum, scale, split, split_mut},
};

/// Tables of one instance.
pub(super) struct Table<'a> {
    pub(super) folded: &'a FoldedWeights,
    /// `[nodes, TABLES·width]`.
    pub(super) rows: &'a [f32],
    /// Keys, values and logit keys transposed: `[3, width, padded]`.
    pub(super) columns: &'a [f32],
    /// `[width]`.
    pub(super) fixed: &'a [f32],
    /// `[trajectories, width]`.
    pub(super) first: &'a [f32],
    pub(super) nodes: usize,
    /// Number of nodes, rounded up to whole registers.
    pub(super) padded: usize,
}

/// Destinations that the gradients of one instance are added to.
pub(super) struct GradientsMut<'a> {
    pub(super) rows: &'a mut [f32],
    pub(super) fixed: &'a mut [f32],
    pub(super) first: &'a mut [f32],
    pub(super) start: &'a mut [f32],
    pub(super) scalars: &'a mut [f32],
    pub(super) dynamic: &'a mut [f32],
}

/// All steps of the tours of one instance.
pub(super) struct Rows<'a> {
    pub(super) table: &'a Table<'a>,
    /// The tours of this instance only.
    pub(super) tours: Tours<'a>,
    /// If true, the rows of the table are in the order of the only tour.
    pub(super) ordered: bool,
    pub(super) coefficient: Option<&'a [f32]>,
}

impl Rows<'_> {
    /// Writes the log-likelihoods of the tours to `values` and adds gradients to `into`.
    #[inline(always)]
    pub(super) fn run<S: Simd>(
        &self,
        simd: S,
        scratch: &mut Scratch,
        values: &mut [f32],
        mut into: Option<GradientsMut<'_>>,
    ) {
        let mut totals = vec![0f64; values.len()];
        scratch.steps.clear();
        scratch.positions.clear();
        if matches!(self.tours.inputs, StepInputs::Unvisited) {
            self.write_positions(&mut scratch.positions);
        }
        for trajectory in 0..values.len() {
            for step in self.tours.forced..self.chosen_steps(trajectory) {
                let Some(row) = self.step_row(scratch, trajectory, step) else { continue };
                scratch.steps.push(row);
                if scratch.steps.len() == scratch.block {
                    self.block(simd, scratch, &mut totals, &mut into);
                    scratch.steps.clear();
                }
            }
        }
        self.block(simd, scratch, &mut totals, &mut into);
        for (value, total) in values.iter_mut().zip(totals) {
            *value = total as f32;
        }
    }

    #[inline(always)]
    fn block<S: Simd>(&self, simd: S, scratch: &mut Scratch, totals: &mut [f64], into: &mut Option<GradientsMut<'_>>) {
        let Some(step) = scratch.steps.first() else { return };
        // In tour order, no row of the block may choose a node before the block's first step.
        let low = if self.ordered { step.step / S::F32_LANES * S::F32_LANES } else { 0 };
        self.queries(simd, scratch);
        self.glimpses(simd, scratch, low);
        self.pointers(simd, scratch, low, totals);
        if let Some(into) = into {
            self.back_to_glimpses(simd, scratch, low, into);
            self.back_to_queries(simd, scratch, low, into);
            self.back_to_contexts(simd, scratch, into);
        }
    }

    #[inline(always)]
    fn queries<S: Simd>(&self, simd: S, scratch: &mut Scratch) {
        let (table, d) = (self.table, self.table.folded.width);
        for (step, query) in scratch.steps.iter().zip(scratch.query.chunks_exact_mut(d)) {
            query.copy_from_slice(table.fixed);
            match step.last {
                Some(last) => {
                    if !table.first.is_empty() {
                        add_assign(simd, &table.first[step.trajectory * d..][..d], query);
                    }
                    add_assign(simd, &table.rows[(last * TABLES + 3) * d..][..d], query);
                }
                None => add_assign(simd, &table.folded.start, query),
            }
            for (x, row) in self.scalars(step).iter().zip(table.folded.scalar_rows.chunks_exact(d)) {
                axpy(simd, *x, row, query);
            }
        }
    }

    /// Computes the attention weights of all heads and the glimpses.
    #[inline(always)]
    fn glimpses<S: Simd>(&self, simd: S, scratch: &mut Scratch, low: usize) {
        let (table, d, padded) = (self.table, self.table.folded.width, self.table.padded);
        let (heads, rows) = (table.folded.heads, scratch.steps.len());
        let (head, wide) = (d / heads, TABLES * d);
        let dynamic = DynamicFeature::new(&scratch.features, rows, padded);
        let (key, value) = (&table.folded.dynamic[..d], &table.folded.dynamic[d..2 * d]);
        for h in 0..heads {
            let weights = &mut scratch.weights[h * scratch.block * padded..][..rows * padded];
            let keys = Rhs::rows::<S>(&table.columns[h * head * padded + low..], padded);
            let size = Size { m: rows, n: padded - low, k: head };
            let queries = &scratch.query[h * head..];
            gemm(simd, size, Lhs::rows(queries, d), keys, &mut weights[low..], padded, Store);
            dynamic.products(simd, queries, d, &key[h * head..][..head], weights);
            for (step, row) in scratch.steps.iter().zip(weights.chunks_exact_mut(padded)) {
                let row = &mut row[low..];
                apply_mask(simd, step, &scratch.positions[step.position_row * padded + low..], row);
                let max = maximum(simd, row);
                let inverse = 1.0 / exponentials(simd, row, max);
                scale(simd, inverse, row);
            }
            let values = Rhs::rows::<S>(&table.rows[low * wide + d + h * head..], wide);
            let size = Size { m: rows, n: head, k: table.nodes - low };
            let glimpses = &mut scratch.glimpse[h * head..];
            gemm(simd, size, Lhs::rows(&weights[low..], padded), values, glimpses, d, Store);
            dynamic.sums(simd, weights, &value[h * head..][..head], glimpses, d);
        }
    }

    /// Adds up log-probabilities. If gradients are computed, those of the raw logits replace the logits.
    #[inline(always)]
    fn pointers<S: Simd>(&self, simd: S, scratch: &mut Scratch, low: usize, totals: &mut [f64]) {
        let (table, d, padded) = (self.table, self.table.folded.width, self.table.padded);
        let clip = table.folded.clip;
        let keys = Rhs::rows::<S>(&table.columns[2 * d * padded + low..], padded);
        let size = Size { m: scratch.steps.len(), n: padded - low, k: d };
        gemm(simd, size, Lhs::rows(&scratch.glimpse, d), keys, &mut scratch.logits[low..], padded, Store);
        let dynamic = DynamicFeature::new(&scratch.features, scratch.steps.len(), padded);
        dynamic.products(simd, &scratch.glimpse, d, &table.folded.dynamic[2 * d..], &mut scratch.logits);
        for (step, row) in scratch.steps.iter().zip(scratch.logits.chunks_exact_mut(padded)) {
            let row = &mut row[low..];
            apply_mask(simd, step, &scratch.positions[step.position_row * padded + low..], row);
            let lse = logits(simd, clip, row);
            let chosen = step.chosen - low;
            totals[step.trajectory] += f64::from(row[chosen] - lse);
            if let Some(coefficient) = self.coefficient {
                let coefficient = coefficient[step.trajectory];
                let slope = slope(clip, row[chosen]);
                raw_gradients(simd, clip, coefficient, lse, row);
                row[chosen] += coefficient * slope;
            }
        }
    }
}

/// Masks the nodes that a step may not choose, and the padding.
#[inline(always)]
fn apply_mask<S: Simd>(simd: S, step: &Step, positions: &[f32], row: &mut [f32]) {
    let (now, masked) = (simd.splat_f32s(step.now), simd.splat_f32s(f32::NEG_INFINITY));
    for (score, position) in split_mut::<S>(row).0.iter_mut().zip(split::<S>(positions).0) {
        *score = simd.select_f32s(simd.less_than_or_equal_f32s(now, *position), *score, masked);
    }
}

/// Derivative of `clip · tanh` where its value is `u`.
fn slope(clip: f32, u: f32) -> f32 {
    if clip > 0.0 { clip * (1.0 - (u / clip) * (u / clip)) } else { 1.0 }
}

/// Replaces the logits with `−coefficient · p · slope`, the gradient of the raw products without the
/// additional term of the chosen node.
#[inline(always)]
fn raw_gradients<S: Simd>(simd: S, clip: f32, coefficient: f32, lse: f32, row: &mut [f32]) {
    let (masked, zero, one) = (simd.splat_f32s(MASKED), simd.splat_f32s(0.0), simd.splat_f32s(1.0));
    let (unclip, factor) = if clip > 0.0 { (1.0 / clip, -coefficient * clip) } else { (0.0, -coefficient) };
    let (lse, unclip, factor) = (simd.splat_f32s(lse), simd.splat_f32s(unclip), simd.splat_f32s(factor));
    for u in split_mut::<S>(row).0 {
        let allowed = simd.less_than_f32s(masked, *u);
        let p = exp(simd, simd.sub_f32s(*u, lse));
        let t = simd.mul_f32s(*u, unclip);
        let dynamic = simd.mul_f32s(simd.mul_f32s(factor, p), simd.sub_f32s(one, simd.mul_f32s(t, t)));
        *u = simd.select_f32s(allowed, dynamic, zero);
    }
}

/// Number of floats of all heads' weights in a block. They take half of the second-level cache; the
/// rest is for the tables.
const WEIGHTS: usize = 1 << 15;

/// Scratch memory of one block of steps.
pub(super) struct Scratch {
    /// Number of steps in a block.
    block: usize,
    /// `[block, width]` each.
    query: Workspace,
    query_grad: Workspace,
    glimpse: Workspace,
    glimpse_grad: Workspace,
    /// `[heads, block, padded]`.
    weights: Workspace,
    /// `[block, padded]`.
    logits: Workspace,
    /// Rows that define the allowed nodes of steps, see [`Step::now`]: `[rows, padded]`.
    positions: Vec<f32>,
    /// Dynamic feature of the nodes in each row, zeros in the padding: `[block, padded]`; empty without one.
    features: Workspace,
    steps: Vec<Step>,
}

/// One row of a block: a step of a tour.
#[derive(Clone, Copy)]
struct Step {
    /// Index of the tour.
    trajectory: usize,
    /// Index of the step.
    step: usize,
    /// Row of the positions; a node is allowed if its position is at least `now`.
    position_row: usize,
    now: f32,
    /// Indices of the chosen and of the last node among the rows of the table.
    chosen: usize,
    last: Option<usize>,
}

impl Scratch {
    pub(super) fn new<S: Simd>(nodes: usize, folded: &FoldedWeights) -> Self {
        let (width, heads) = (folded.width, folded.heads);
        let padded = nodes.next_multiple_of(S::F32_LANES);
        let block = (WEIGHTS / (heads * padded) / 12 * 12).clamp(12, 96);
        let rows = || Workspace::lease(block * width);
        Self {
            block,
            query: rows(),
            query_grad: rows(),
            glimpse: rows(),
            glimpse_grad: rows(),
            weights: Workspace::lease(heads * block * padded),
            logits: Workspace::lease(block * padded),
            positions: Vec::new(),
            features: Workspace::zeros(if folded.has_dynamic { block * padded } else { 0 }),
            steps: Vec::with_capacity(block),
        }
    }
}

impl<'a> Tours<'a> {
    /// The tours of instance `b` only.
    pub(super) fn of_instance(&self, b: usize, scalars: usize) -> Self {
        let (per, cells) = (self.trajectories, self.trajectories * self.steps);
        let values_of = |all: &'a [f32], count: usize| &all[b * cells * count..][..cells * count];
        let inputs = match self.inputs {
            StepInputs::Unvisited => StepInputs::Unvisited,
            StepInputs::Recorded { lengths, allowed, scalars: context, dynamic } => StepInputs::Recorded {
                lengths: &lengths[b * per..][..per],
                allowed: &allowed[b * cells * words(self.nodes)..][..cells * words(self.nodes)],
                scalars: values_of(context, scalars),
                dynamic: values_of(dynamic, if dynamic.is_empty() { 0 } else { self.nodes }),
            },
        };
        Self { batch: 1, order: &self.order[b * cells..][..cells], inputs, ..*self }
    }
}

impl Rows<'_> {
    /// Number of steps that may have a choice. If every node is visited, the last step has none.
    fn chosen_steps(&self, trajectory: usize) -> usize {
        match self.tours.inputs {
            StepInputs::Unvisited => self.table.nodes.saturating_sub(1),
            StepInputs::Recorded { lengths, .. } => lengths[trajectory] as usize,
        }
    }

    /// The row of a step; `None` if only one node was allowed, which has probability one.
    #[inline(always)]
    fn step_row(&self, scratch: &mut Scratch, trajectory: usize, step: usize) -> Option<Step> {
        let at = trajectory * self.tours.steps + step;
        let place = |before: usize| if self.ordered { step - before } else { self.tours.order[at - before] as usize };
        let StepInputs::Recorded { allowed, dynamic, .. } = self.tours.inputs else {
            let last = (step > 0).then(|| place(1));
            return Some(Step { trajectory, step, position_row: trajectory, now: step as f32, chosen: place(0), last });
        };
        let bits = words(self.table.nodes);
        let bits = &allowed[at * bits..][..bits];
        if bits.iter().map(|word| word.count_ones()).sum::<u32>() == 1 {
            return None;
        }
        let position_row = scratch.steps.len();
        let padded = self.table.padded;
        scratch.positions.resize(scratch.block * padded, -1.0);
        let row = &mut scratch.positions[position_row * padded..][..self.table.nodes];
        for (node, position) in row.iter_mut().enumerate() {
            *position = if bits[node / 64] >> (node % 64) & 1 == 1 { 1.0 } else { -1.0 };
        }
        if !dynamic.is_empty() {
            let features = &dynamic[at * self.table.nodes..][..self.table.nodes];
            scratch.features[position_row * padded..][..self.table.nodes].copy_from_slice(features);
        }
        let last = match step {
            0 if self.table.folded.first.is_some() => None,
            0 => Some(0),
            _ => Some(place(1)),
        };
        Some(Step { trajectory, step, position_row, now: 0.0, chosen: place(0), last })
    }

    /// Writes the position of each node in each tour, −1 in the padding.
    fn write_positions(&self, positions: &mut Vec<f32>) {
        let (steps, padded) = (self.tours.steps, self.table.padded);
        positions.resize(self.tours.trajectories * padded, -1.0);
        for (tour, positions) in self.tours.order.chunks_exact(steps).zip(positions.chunks_exact_mut(padded)) {
            for (step, &node) in tour.iter().enumerate() {
                positions[if self.ordered { step } else { node as usize }] = step as f32;
            }
        }
    }

    /// Scalars of the context of a step.
    #[inline(always)]
    fn scalars(&self, step: &Step) -> &[f32] {
        match self.tours.inputs {
            StepInputs::Unvisited => &[],
            StepInputs::Recorded { scalars, .. } => {
                let count = self.table.folded.scalars;
                &scalars[(step.trajectory * self.tours.steps + step.step) * count..][..count]
            }
        }
    }
}

/// The dynamic feature of the nodes in each row. In row `r` the key of node `j` is the table's key plus
/// `numbers[r, j]` times a vector of weights. This change has rank one, so products with the changed
/// table are products with the table plus a multiple of the features or of the weights, and the table
/// is not changed. Such tours are recorded, so their rows use all columns of the table.
#[derive(Clone, Copy)]
struct DynamicFeature<'a> {
    /// `[rows, padded]`, zeros in the padding; no rows without a dynamic feature.
    features: &'a [f32],
    padded: usize,
}

impl<'a> DynamicFeature<'a> {
    /// The first `rows` rows of `numbers [_, padded]`, which is empty without a dynamic feature.
    fn new(features: &'a [f32], rows: usize, padded: usize) -> Self {
        Self { features: features.get(..rows * padded).unwrap_or(&[]), padded }
    }

    /// `out += (x · direction) · numbers` row by row: the correction of products of `x` with the nodes. Rows
    /// of `x` are `ldx` apart, those of `out` are padded.
    #[inline(always)]
    fn products<S: Simd>(self, simd: S, x: &[f32], ldx: usize, direction: &[f32], out: &mut [f32]) {
        let rows = x.chunks(ldx).zip(out.chunks_exact_mut(self.padded));
        for ((x, out), features) in rows.zip(self.features.chunks_exact(self.padded)) {
            axpy(simd, dot(simd, &x[..direction.len()], direction), features, out);
        }
    }

    /// `out += (weights · numbers) · direction` row by row: the correction of weighted sums of the nodes.
    /// Rows of `weights` are padded, those of `out` are `ldo` apart.
    #[inline(always)]
    fn sums<S: Simd>(self, simd: S, weights: &[f32], direction: &[f32], out: &mut [f32], ldo: usize) {
        let rows = weights.chunks_exact(self.padded).zip(out.chunks_mut(ldo));
        for ((weights, out), features) in rows.zip(self.features.chunks_exact(self.padded)) {
            axpy(simd, dot(simd, weights, features), direction, &mut out[..direction.len()]);
        }
    }

    /// `direction += Σ (weights · numbers) · x` over the rows: the gradient of the weights of the feature,
    /// where the products of `weights` and `x` are the gradient of the table.
    #[inline(always)]
    fn gradient<S: Simd>(self, simd: S, weights: &[f32], x: &[f32], ldx: usize, direction: &mut [f32]) {
        let rows = weights.chunks_exact(self.padded).zip(x.chunks(ldx));
        for ((weights, x), features) in rows.zip(self.features.chunks_exact(self.padded)) {
            axpy(simd, dot(simd, weights, features), &x[..direction.len()], direction);
        }
    }
}

impl Rows<'_> {
    #[inline(always)]
    fn back_to_glimpses<S: Simd>(&self, simd: S, scratch: &mut Scratch, low: usize, into: &mut GradientsMut<'_>) {
        let (table, d, padded) = (self.table, self.table.folded.width, self.table.padded);
        let (rows, wide, allowed) = (scratch.steps.len(), TABLES * d, table.nodes - low);
        let grads = &scratch.logits[low..];
        let keys = Rhs::rows::<S>(&table.rows[low * wide + 2 * d..], wide);
        let size = Size { m: rows, n: d, k: allowed };
        gemm(simd, size, Lhs::rows(grads, padded), keys, &mut scratch.glimpse_grad, d, Store);
        let glimpses = Rhs::rows::<S>(&scratch.glimpse, d);
        let size = Size { m: allowed, n: d, k: rows };
        let to = &mut into.rows[low * wide + 2 * d..];
        gemm(simd, size, Lhs::transposed(grads, padded), glimpses, to, wide, Accumulate);
        let dynamic = DynamicFeature::new(&scratch.features, rows, padded);
        dynamic.sums(simd, grads, &table.folded.dynamic[2 * d..], &mut scratch.glimpse_grad, d);
        dynamic.gradient(simd, grads, &scratch.glimpse, d, &mut into.dynamic[2 * d..]);
    }

    #[inline(always)]
    fn back_to_queries<S: Simd>(&self, simd: S, scratch: &mut Scratch, low: usize, into: &mut GradientsMut<'_>) {
        let (table, d, padded) = (self.table, self.table.folded.width, self.table.padded);
        let (heads, rows) = (table.folded.heads, scratch.steps.len());
        let (head, wide, allowed) = (d / heads, TABLES * d, table.nodes - low);
        let dynamic = DynamicFeature::new(&scratch.features, rows, padded);
        let (key, value) = (&table.folded.dynamic[..d], &table.folded.dynamic[d..2 * d]);
        for h in 0..heads {
            let own = h * head..(h + 1) * head;
            let weights = &scratch.weights[h * scratch.block * padded..][..rows * padded];
            let deltas = &mut scratch.logits[..rows * padded];
            let values = Rhs::rows::<S>(&table.columns[(d + h * head) * padded + low..], padded);
            let size = Size { m: rows, n: padded - low, k: head };
            let grads = &scratch.glimpse_grad[h * head..];
            gemm(simd, size, Lhs::rows(grads, d), values, &mut deltas[low..], padded, Store);
            dynamic.products(simd, grads, d, &value[own.clone()], deltas);
            let to = &mut into.rows[low * wide + d + h * head..];
            let size = Size { m: allowed, n: head, k: rows };
            let left = Lhs::transposed(&weights[low..], padded);
            gemm(simd, size, left, Rhs::rows::<S>(grads, d), to, wide, Accumulate);
            dynamic.gradient(simd, weights, grads, d, &mut into.dynamic[d..2 * d][own.clone()]);
            for (weights, deltas) in weights.chunks_exact(padded).zip(deltas.chunks_exact_mut(padded)) {
                softmax_gradients(simd, &weights[low..], &mut deltas[low..]);
            }
            let queries = Rhs::rows::<S>(&scratch.query[h * head..], d);
            let to = &mut into.rows[low * wide + h * head..];
            gemm(simd, size, Lhs::transposed(&deltas[low..], padded), queries, to, wide, Accumulate);
            let keys = Rhs::rows::<S>(&table.rows[low * wide + h * head..], wide);
            let size = Size { m: rows, n: head, k: allowed };
            let to = &mut scratch.query_grad[h * head..];
            gemm(simd, size, Lhs::rows(&deltas[low..], padded), keys, to, d, Store);
            dynamic.sums(simd, deltas, &key[own.clone()], to, d);
            dynamic.gradient(simd, deltas, &scratch.query[h * head..], d, &mut into.dynamic[own]);
        }
    }

    #[inline(always)]
    fn back_to_contexts<S: Simd>(&self, simd: S, scratch: &Scratch, into: &mut GradientsMut<'_>) {
        let d = self.table.folded.width;
        for (step, grad) in scratch.steps.iter().zip(scratch.query_grad.chunks_exact(d)) {
            add_assign(simd, grad, into.fixed);
            match step.last {
                Some(last) => {
                    if !into.first.is_empty() {
                        add_assign(simd, grad, &mut into.first[step.trajectory * d..][..d]);
                    }
                    add_assign(simd, grad, &mut into.rows[(last * TABLES + 3) * d..][..d]);
                }
                None => add_assign(simd, grad, into.start),
            }
            for (x, row) in self.scalars(step).iter().zip(into.scalars.chunks_exact_mut(d)) {
                axpy(simd, *x, grad, row);
            }
        }
    }
}

/// Turns `deltas` from the gradient of the weights into that of the scores.
#[inline(always)]
fn softmax_gradients<S: Simd>(simd: S, weights: &[f32], deltas: &mut [f32]) {
    let (weights, deltas) = (split::<S>(weights).0, split_mut::<S>(deltas).0);
    let mut sum = simd.splat_f32s(0.0);
    for (weight, delta) in weights.iter().zip(deltas.iter()) {
        sum = simd.mul_add_f32s(*weight, *delta, sum);
    }
    let mean = simd.splat_f32s(simd.reduce_sum_f32s(sum));
    for (weight, delta) in weights.iter().zip(deltas) {
        *delta = simd.mul_f32s(*weight, simd.sub_f32s(*delta, mean));
    }
}

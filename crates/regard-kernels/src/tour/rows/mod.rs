//! The steps of the tours of one instance: glimpse, pointer and their gradients, a block at a time.
//!
//! With `q` the query of a step and `K`, `V`, `L` the tables of the nodes: weights `P = softmax(q·Kᵀ)`
//! per head over the allowed nodes, glimpse `g = P·V`, logits `u = clip·tanh(g·Lᵀ)`,
//! `log p = log_softmax(u)` at the chosen node. Scales and the output projection of the glimpse are
//! folded into the tables. With a dynamic feature the tables differ in every row, see [`Moved`].

mod backward;
mod moved;
mod scratch;
mod sight;

use pulp::Simd;

use moved::Moved;
pub(super) use scratch::Scratch;
use scratch::Step;

use super::{
    Sight, Tours,
    weights::{Folded, TABLES},
};
use crate::{
    gemm::{Lhs, Rhs, Size, Store, gemm},
    pointer::logits,
    vector::{BARRED, add_assign, axpy, exp, exponentials, maximum, scale, split, split_mut},
};

/// Tables of one instance.
pub(super) struct Table<'a> {
    pub(super) folded: &'a Folded,
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
pub(super) struct Cotangents<'a> {
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
        mut into: Option<Cotangents<'_>>,
    ) {
        let mut totals = vec![0f64; values.len()];
        scratch.steps.clear();
        scratch.positions.clear();
        if matches!(self.tours.sight, Sight::Unvisited) {
            self.write_positions(&mut scratch.positions);
        }
        for trajectory in 0..values.len() {
            for step in self.tours.forced..self.chosen_steps(trajectory) {
                let Some(row) = self.see(scratch, trajectory, step) else { continue };
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
    fn block<S: Simd>(&self, simd: S, scratch: &mut Scratch, totals: &mut [f64], into: &mut Option<Cotangents<'_>>) {
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
        let moved = Moved::new(&scratch.numbers, rows, padded);
        let (key, value) = (&table.folded.dynamic[..d], &table.folded.dynamic[d..2 * d]);
        for h in 0..heads {
            let weights = &mut scratch.weights[h * scratch.block * padded..][..rows * padded];
            let keys = Rhs::rows::<S>(&table.columns[h * head * padded + low..], padded);
            let size = Size { m: rows, n: padded - low, k: head };
            let queries = &scratch.query[h * head..];
            gemm(simd, size, Lhs::rows(queries, d), keys, &mut weights[low..], padded, Store);
            moved.products(simd, queries, d, &key[h * head..][..head], weights);
            for (step, row) in scratch.steps.iter().zip(weights.chunks_exact_mut(padded)) {
                let row = &mut row[low..];
                bar(simd, step, &scratch.positions[step.sight * padded + low..], row);
                let max = maximum(simd, row);
                let inverse = 1.0 / exponentials(simd, row, max);
                scale(simd, inverse, row);
            }
            let values = Rhs::rows::<S>(&table.rows[low * wide + d + h * head..], wide);
            let size = Size { m: rows, n: head, k: table.nodes - low };
            let glimpses = &mut scratch.glimpse[h * head..];
            gemm(simd, size, Lhs::rows(&weights[low..], padded), values, glimpses, d, Store);
            moved.sums(simd, weights, &value[h * head..][..head], glimpses, d);
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
        let moved = Moved::new(&scratch.numbers, scratch.steps.len(), padded);
        moved.products(simd, &scratch.glimpse, d, &table.folded.dynamic[2 * d..], &mut scratch.logits);
        for (step, row) in scratch.steps.iter().zip(scratch.logits.chunks_exact_mut(padded)) {
            let row = &mut row[low..];
            bar(simd, step, &scratch.positions[step.sight * padded + low..], row);
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
fn bar<S: Simd>(simd: S, step: &Step, positions: &[f32], row: &mut [f32]) {
    let (now, barred) = (simd.splat_f32s(step.now), simd.splat_f32s(f32::NEG_INFINITY));
    for (score, position) in split_mut::<S>(row).0.iter_mut().zip(split::<S>(positions).0) {
        *score = simd.select_f32s(simd.less_than_or_equal_f32s(now, *position), *score, barred);
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
    let (barred, zero, one) = (simd.splat_f32s(BARRED), simd.splat_f32s(0.0), simd.splat_f32s(1.0));
    let (unclip, factor) = if clip > 0.0 { (1.0 / clip, -coefficient * clip) } else { (0.0, -coefficient) };
    let (lse, unclip, factor) = (simd.splat_f32s(lse), simd.splat_f32s(unclip), simd.splat_f32s(factor));
    for u in split_mut::<S>(row).0 {
        let open = simd.less_than_f32s(barred, *u);
        let p = exp(simd, simd.sub_f32s(*u, lse));
        let t = simd.mul_f32s(*u, unclip);
        let moved = simd.mul_f32s(simd.mul_f32s(factor, p), simd.sub_f32s(one, simd.mul_f32s(t, t)));
        *u = simd.select_f32s(open, moved, zero);
    }
}

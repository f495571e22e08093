//! Forward pass from the partial sums of the key rows to the result, for a group of sets.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{Form, Gathers};
use crate::{
    buffer::Workspace,
    gemm::{Bias, Lhs, Rhs, Size, gemm},
    set::{Weights, tail::Tail},
    vector::{BARRED, add_assign, axpy, exp, split_mut},
};

/// Data shared by all groups.
pub(super) struct Shared<'a> {
    pub(super) form: Form,
    pub(super) weights: &'a Weights<'a>,
    pub(super) tail: Tail<'a>,
    pub(super) residual: Option<&'a [f32]>,
    pub(super) slots: &'a [f32],
    /// Indices of the pieces of each set.
    pub(super) of_sets: &'a [Range<usize>],
}

/// Forward pass of one group of sets; `attended`, `o` and `gates` are empty if they are not saved.
pub(super) struct Finish<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) first: usize,
    pub(super) pooled: &'a mut [f32],
    pub(super) stats: &'a mut [f32],
    pub(super) attended: &'a mut [f32],
    pub(super) o: &'a mut [f32],
    pub(super) gates: &'a mut [u32],
    pub(super) out: &'a mut [f32],
}

impl WithSimd for Finish<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { shared, first, pooled, stats, attended, o, gates, out } = self;
        let Shared { form, tail, residual, .. } = shared;
        let row = form.queries * form.layer.width;
        let count = out.len() / row;
        for (i, stats) in stats.chunks_exact_mut(2 * form.padded()).enumerate() {
            shared.merge(simd, first + i, (i, count), pooled, stats);
        }
        let mut attended_own = Workspace::lease(if attended.is_empty() && tail.projects() { out.len() } else { 0 });
        let mut o_own = Workspace::lease(if o.is_empty() && tail.feeds() { out.len() } else { 0 });
        let attended = if attended.is_empty() { &mut attended_own[..] } else { attended };
        let kept = if o.is_empty() { &mut o_own[..] } else { o };
        let o = if tail.feeds() { &mut *kept } else { &mut *out };
        let into = if tail.projects() { &mut *attended } else { &mut *o };
        shared.values(simd, pooled, into);
        for (set, rows) in into.chunks_exact_mut(row).enumerate() {
            if shared.of_sets[first + set].is_empty() {
                rows.fill(0.0);
            }
        }
        tail.project(simd, attended, None, o);
        for rows in o.chunks_exact_mut(row) {
            residual.iter().for_each(|residual| add_assign(simd, residual, rows));
        }
        if tail.feeds() {
            tail.feed(simd, kept, out, gates);
        }
    }
}

impl Shared<'_> {
    /// Merges the partial results of the pieces of a set, in their order, into the weighted means of its
    /// features and the maximum and inverse sum of each column. The set is number `i` of `count` in its group.
    #[inline(always)]
    fn merge<S: Simd>(&self, simd: S, set: usize, (i, count): (usize, usize), pooled: &mut [f32], stats: &mut [f32]) {
        let (form, size) = (&self.form, self.form.slot());
        let (padded, queries, feature) = (form.padded(), form.queries, form.gathers().feature);
        let slots = || self.of_sets[set].clone().map(|slot| self.slots[slot * size..][..size].split_at(2 * padded));
        let mut means = Workspace::zeros(form.pooled());
        let mut factors = Workspace::lease(padded);
        let (max, inverse) = stats.split_at_mut(padded);
        max.fill(BARRED);
        inverse.fill(0.0);
        for (found, _) in slots() {
            for (max, found) in max.iter_mut().zip(found) {
                *max = max.max(*found);
            }
        }
        for (found, sums) in slots() {
            for ((factor, found), max) in factors.iter_mut().zip(found).zip(&*max) {
                *factor = found - max;
            }
            split_mut::<S>(&mut factors).0.iter_mut().for_each(|factor| *factor = exp(simd, *factor));
            for ((sum, found), factor) in inverse.iter_mut().zip(&found[padded..]).zip(&*factors) {
                *sum += factor * found;
            }
            let rows = means.chunks_exact_mut(feature).zip(sums.chunks_exact(feature));
            for ((mean, sum), factor) in rows.zip(&*factors) {
                axpy(simd, *factor, sum, mean);
            }
        }
        inverse.iter_mut().for_each(|sum| *sum = if *sum > 0.0 { 1.0 / *sum } else { 0.0 });
        for (h, means) in means.chunks_exact_mut(queries * feature).enumerate() {
            let to = &mut pooled[(h * count + i) * queries * feature..][..queries * feature];
            to.fill(0.0);
            let rows = to.chunks_exact_mut(feature).zip(means.chunks_exact(feature));
            for ((to, mean), inverse) in rows.zip(&inverse[h * queries..]) {
                axpy(simd, *inverse, mean, to);
            }
        }
    }

    /// Computes the attended values of a group, `[sets · queries, width]`.
    #[inline(always)]
    fn values<S: Simd>(&self, simd: S, pooled: &[f32], out: &mut [f32]) {
        let Self { form, weights, .. } = self;
        let (d, head, Gathers { feature, .. }) = (form.layer.width, form.layer.head(), form.gathers());
        let rows = out.len() / d;
        for (h, pooled) in pooled.chunks_exact(rows * feature).enumerate() {
            if form.folded {
                let size = Size { m: rows, n: head, k: feature };
                let right = Rhs::rows::<S>(&weights.value.weight[h * head..], d);
                let bias = Bias(&weights.value.bias[h * head..]);
                gemm(simd, size, Lhs::rows(pooled, feature), right, &mut out[h * head..], d, bias);
            } else {
                for (out, pooled) in out.chunks_exact_mut(d).zip(pooled.chunks_exact(head)) {
                    out[h * head..][..head].copy_from_slice(pooled);
                }
            }
        }
    }
}

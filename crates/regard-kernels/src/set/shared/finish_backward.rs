//! Backward pass from the result to the weighted means of the features, for a group of sets.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{Form, Gathers, Saved};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Lhs, Panels, Rhs, Size, Store, gemm},
    set::{
        Residual, Sums,
        tail::{TAIL_SUMS, Tail},
    },
    vector::{add_assign, column_sums},
};

/// Data shared by all groups.
pub(super) struct Shared<'a> {
    pub(super) form: Form,
    pub(super) tail: Tail<'a>,
    /// Transposed value projection in the folded form, `[width, key_width]`.
    pub(super) value: Option<Panels>,
    pub(super) saved: &'a Saved,
    pub(super) grad: &'a [f32],
    pub(super) of_sets: &'a [Range<usize>],
}

/// Backward pass of one group of sets.
pub(super) struct Finish<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) first: usize,
    /// Gradient of the weighted means, `[sets, columns, feature]`.
    pub(super) means: &'a mut [f32],
    /// Mean gradient of the weights of each column, `[sets, padded]`.
    pub(super) centres: &'a mut [f32],
}

/// Number of sums of a group: those of the tail, value projection, its bias, residual.
pub(super) const SUMS: usize = TAIL_SUMS + 3;

impl Shared<'_> {
    pub(super) fn sizes(&self) -> [usize; SUMS] {
        let Form { layer, queries, folded, .. } = self.form;
        let [wo, bo, wf, bf] = self.tail.sizes();
        let value = if folded { layer.width } else { 0 };
        let residual = if layer.residual == Residual::None { 0 } else { queries * layer.width };
        [wo, bo, wf, bf, layer.key_width * value, value, residual]
    }

    /// Computes the gradient of the weighted means `[heads, sets · queries, feature]` from that of the
    /// attended values; adds to the sums of the value projection.
    #[inline(always)]
    fn values<S: Simd>(&self, simd: S, pooled: &[f32], grad: &[f32], out: &mut [f32], sums: &mut Sums<SUMS>) {
        let (d, head) = (self.form.layer.width, self.form.layer.head());
        let feature = self.form.gathers().feature;
        let rows = grad.len() / d;
        for (h, out) in out.chunks_exact_mut(rows * feature).enumerate() {
            let Some(value) = &self.value else {
                for (out, grad) in out.chunks_exact_mut(head).zip(grad.chunks_exact(d)) {
                    out.copy_from_slice(&grad[h * head..][..head]);
                }
                continue;
            };
            let pooled = Lhs::transposed(&pooled[h * rows * feature..], feature);
            let size = Size { m: feature, n: head, k: rows };
            let right = Rhs::rows::<S>(&grad[h * head..], d);
            gemm(simd, size, pooled, right, &mut sums.0[TAIL_SUMS][h * head..], d, Accumulate);
            let size = Size { m: rows, n: feature, k: head };
            gemm(simd, size, Lhs::rows(&grad[h * head..], d), value.slice(h * head, 0), out, feature, Store);
        }
    }
}

impl WithSimd for Finish<'_> {
    type Output = Sums<SUMS>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums<SUMS> {
        let Self { shared, first, means, centres } = self;
        let Shared { form, tail, saved, grad, of_sets, .. } = shared;
        let (d, m, padded) = (form.layer.width, form.queries, form.padded());
        let Gathers { feature, .. } = form.gathers();
        let count = centres.len() / padded;
        let span = first * m * d..(first + count) * m * d;
        let mut sums = Sums::zeros(shared.sizes());
        let size = span.len();
        let mut scratch = Workspace::lease(2 * size + means.len());
        let (o_scratch, rest) = scratch.split_at_mut(size);
        let (attended_scratch, by_head) = rest.split_at_mut(size);
        let mut o_grad = &grad[span.clone()];
        if tail.feeds() {
            let gates = &saved.gates[first / form.group() * form.gate_words()..];
            tail.feed_backward(simd, (&saved.o[span.clone()], gates, o_grad), o_scratch, &mut sums, 0);
            o_grad = o_scratch;
        }
        let mut attended_grad = o_grad;
        if tail.projects() {
            tail.project_backward(simd, (&saved.attended[span], o_grad), attended_scratch, &mut sums, 0);
            attended_grad = attended_scratch;
        }
        if form.layer.residual != Residual::None {
            o_grad.chunks_exact(m * d).for_each(|rows| add_assign(simd, rows, &mut sums.0[TAIL_SUMS + 2]));
        }
        if form.folded {
            for (i, rows) in attended_grad.chunks_exact(m * d).enumerate() {
                if !of_sets[first + i].is_empty() {
                    column_sums(simd, rows, d, m, &mut sums.0[TAIL_SUMS + 1]);
                }
            }
        }
        let pooled = &saved.pooled[first * form.pooled()..][..means.len()];
        shared.values(simd, pooled, attended_grad, by_head, &mut sums);
        centres.fill(0.0);
        let cells = by_head.chunks_exact(feature).zip(pooled.chunks_exact(feature)).enumerate();
        for (row, (grad, mean)) in cells {
            // Rows are ordered [heads, sets, queries] and are written set by set.
            let (h, i, q) = (row / (count * m), row / m % count, row % m);
            let column = h * m + q;
            means[(i * form.columns() + column) * feature..][..feature].copy_from_slice(grad);
            centres[i * padded + column] = dot(simd, grad, mean);
        }
        sums
    }
}

/// `Σ x·y`.
#[inline(always)]
fn dot<S: Simd>(simd: S, x: &[f32], y: &[f32]) -> f32 {
    let ((x, x_rest), (y, y_rest)) = (S::as_simd_f32s(x), S::as_simd_f32s(y));
    let mut sum = simd.splat_f32s(0.0);
    for (x, y) in x.iter().zip(y) {
        sum = simd.mul_add_f32s(*x, *y, sum);
    }
    x_rest.iter().zip(y_rest).fold(simd.reduce_sum_f32s(sum), |sum, (x, y)| x.mul_add(*y, sum))
}

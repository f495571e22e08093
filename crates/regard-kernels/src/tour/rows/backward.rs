//! Backward pass of a block of steps: from the gradients of the raw logits to tables, queries and contexts.

use pulp::Simd;

use super::{Cotangents, Moved, Rows, Scratch};
use crate::{
    gemm::{Accumulate, Lhs, Rhs, Size, Store, gemm},
    tour::weights::TABLES,
    vector::{add_assign, axpy, split, split_mut},
};

impl Rows<'_> {
    #[inline(always)]
    pub(super) fn back_to_glimpses<S: Simd>(
        &self,
        simd: S,
        scratch: &mut Scratch,
        low: usize,
        into: &mut Cotangents<'_>,
    ) {
        let (table, d, padded) = (self.table, self.table.folded.width, self.table.padded);
        let (rows, wide, open) = (scratch.steps.len(), TABLES * d, table.nodes - low);
        let grads = &scratch.logits[low..];
        let keys = Rhs::rows::<S>(&table.rows[low * wide + 2 * d..], wide);
        let size = Size { m: rows, n: d, k: open };
        gemm(simd, size, Lhs::rows(grads, padded), keys, &mut scratch.glimpse_grad, d, Store);
        let glimpses = Rhs::rows::<S>(&scratch.glimpse, d);
        let size = Size { m: open, n: d, k: rows };
        let to = &mut into.rows[low * wide + 2 * d..];
        gemm(simd, size, Lhs::transposed(grads, padded), glimpses, to, wide, Accumulate);
        let moved = Moved::new(&scratch.numbers, rows, padded);
        moved.sums(simd, grads, &table.folded.dynamic[2 * d..], &mut scratch.glimpse_grad, d);
        moved.gradient(simd, grads, &scratch.glimpse, d, &mut into.dynamic[2 * d..]);
    }

    #[inline(always)]
    pub(super) fn back_to_queries<S: Simd>(
        &self,
        simd: S,
        scratch: &mut Scratch,
        low: usize,
        into: &mut Cotangents<'_>,
    ) {
        let (table, d, padded) = (self.table, self.table.folded.width, self.table.padded);
        let (heads, rows) = (table.folded.heads, scratch.steps.len());
        let (head, wide, open) = (d / heads, TABLES * d, table.nodes - low);
        let moved = Moved::new(&scratch.numbers, rows, padded);
        let (key, value) = (&table.folded.dynamic[..d], &table.folded.dynamic[d..2 * d]);
        for h in 0..heads {
            let own = h * head..(h + 1) * head;
            let weights = &scratch.weights[h * scratch.block * padded..][..rows * padded];
            let deltas = &mut scratch.logits[..rows * padded];
            let values = Rhs::rows::<S>(&table.columns[(d + h * head) * padded + low..], padded);
            let size = Size { m: rows, n: padded - low, k: head };
            let grads = &scratch.glimpse_grad[h * head..];
            gemm(simd, size, Lhs::rows(grads, d), values, &mut deltas[low..], padded, Store);
            moved.products(simd, grads, d, &value[own.clone()], deltas);
            let to = &mut into.rows[low * wide + d + h * head..];
            let size = Size { m: open, n: head, k: rows };
            let left = Lhs::transposed(&weights[low..], padded);
            gemm(simd, size, left, Rhs::rows::<S>(grads, d), to, wide, Accumulate);
            moved.gradient(simd, weights, grads, d, &mut into.dynamic[d..2 * d][own.clone()]);
            for (weights, deltas) in weights.chunks_exact(padded).zip(deltas.chunks_exact_mut(padded)) {
                softmax_gradients(simd, &weights[low..], &mut deltas[low..]);
            }
            let queries = Rhs::rows::<S>(&scratch.query[h * head..], d);
            let to = &mut into.rows[low * wide + h * head..];
            gemm(simd, size, Lhs::transposed(&deltas[low..], padded), queries, to, wide, Accumulate);
            let keys = Rhs::rows::<S>(&table.rows[low * wide + h * head..], wide);
            let size = Size { m: rows, n: head, k: open };
            let to = &mut scratch.query_grad[h * head..];
            gemm(simd, size, Lhs::rows(&deltas[low..], padded), keys, to, d, Store);
            moved.sums(simd, deltas, &key[own.clone()], to, d);
            moved.gradient(simd, deltas, &scratch.query[h * head..], d, &mut into.dynamic[own]);
        }
    }

    #[inline(always)]
    pub(super) fn back_to_contexts<S: Simd>(&self, simd: S, scratch: &Scratch, into: &mut Cotangents<'_>) {
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

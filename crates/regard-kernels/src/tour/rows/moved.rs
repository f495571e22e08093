//! Corrections of products with tables for the dynamic feature of the nodes.

use pulp::Simd;

use crate::vector::{axpy, split};

/// The dynamic feature of the nodes in each row. In row `r` the key of node `j` is the table's key plus
/// `numbers[r, j]` times a vector of weights. This change has rank one, so products with the changed
/// table are products with the table plus a multiple of the features or of the weights, and the table
/// is not changed. Such tours are recorded, so their rows use all columns of the table.
#[derive(Clone, Copy)]
pub(super) struct Moved<'a> {
    /// `[rows, padded]`, zeros in the padding; no rows without a dynamic feature.
    numbers: &'a [f32],
    padded: usize,
}

impl<'a> Moved<'a> {
    /// The first `rows` rows of `numbers [_, padded]`, which is empty without a dynamic feature.
    pub(super) fn new(numbers: &'a [f32], rows: usize, padded: usize) -> Self {
        Self { numbers: numbers.get(..rows * padded).unwrap_or(&[]), padded }
    }

    /// `out += (x · direction) · numbers` row by row: the correction of products of `x` with the nodes. Rows
    /// of `x` are `ldx` apart, those of `out` are padded.
    #[inline(always)]
    pub(super) fn products<S: Simd>(self, simd: S, x: &[f32], ldx: usize, direction: &[f32], out: &mut [f32]) {
        let rows = x.chunks(ldx).zip(out.chunks_exact_mut(self.padded));
        for ((x, out), numbers) in rows.zip(self.numbers.chunks_exact(self.padded)) {
            axpy(simd, dot(simd, &x[..direction.len()], direction), numbers, out);
        }
    }

    /// `out += (weights · numbers) · direction` row by row: the correction of weighted sums of the nodes.
    /// Rows of `weights` are padded, those of `out` are `ldo` apart.
    #[inline(always)]
    pub(super) fn sums<S: Simd>(self, simd: S, weights: &[f32], direction: &[f32], out: &mut [f32], ldo: usize) {
        let rows = weights.chunks_exact(self.padded).zip(out.chunks_mut(ldo));
        for ((weights, out), numbers) in rows.zip(self.numbers.chunks_exact(self.padded)) {
            axpy(simd, dot(simd, weights, numbers), direction, &mut out[..direction.len()]);
        }
    }

    /// `direction += Σ (weights · numbers) · x` over the rows: the gradient of the weights of the feature,
    /// where the products of `weights` and `x` are the gradient of the table.
    #[inline(always)]
    pub(super) fn gradient<S: Simd>(self, simd: S, weights: &[f32], x: &[f32], ldx: usize, direction: &mut [f32]) {
        let rows = weights.chunks_exact(self.padded).zip(x.chunks(ldx));
        for ((weights, x), numbers) in rows.zip(self.numbers.chunks_exact(self.padded)) {
            axpy(simd, dot(simd, weights, numbers), &x[..direction.len()], direction);
        }
    }
}

/// `Σ a·b`, for rows that may not be a whole number of registers.
#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (split::<S>(a), split::<S>(b));
    let mut sum = simd.splat_f32s(0.0);
    for (a, b) in a.iter().zip(b) {
        sum = simd.mul_add_f32s(*a, *b, sum);
    }
    let mut sum = simd.reduce_sum_f32s(sum);
    for (a, b) in a_rest.iter().zip(b_rest) {
        sum = a.mul_add(*b, sum);
    }
    sum
}

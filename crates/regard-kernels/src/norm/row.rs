//! Layer norm of one row, forward and backward.

use pulp::Simd;

use super::{Norm, block::NormSums};
use crate::vector::{split, split_mut};

/// Mean and reciprocal standard deviation of a row, in two passes.
#[inline(always)]
pub(super) fn row_moments<S: Simd>(simd: S, x: &[f32], eps: f32) -> (f32, f32) {
    let (whole, rest) = split::<S>(x);
    let sum = whole.iter().fold(simd.splat_f32s(0.0), |sum, x| simd.add_f32s(sum, *x));
    let mean = (simd.reduce_sum_f32s(sum) + rest.iter().sum::<f32>()) / x.len() as f32;
    let middle = simd.splat_f32s(mean);
    let squares = whole.iter().fold(simd.splat_f32s(0.0), |squares, x| {
        let d = simd.sub_f32s(*x, middle);
        simd.mul_add_f32s(d, d, squares)
    });
    let rest: f32 = rest.iter().map(|x| (x - mean) * (x - mean)).sum();
    let variance = (simd.reduce_sum_f32s(squares) + rest) / x.len() as f32;
    (mean, 1.0 / (variance + eps).sqrt())
}

/// `out = (x − mean) · rstd · gamma + beta`.
#[inline(always)]
pub(super) fn normalise_row<S: Simd>(simd: S, norm: &Norm<'_>, (mean, rstd): (f32, f32), x: &[f32], out: &mut [f32]) {
    let (middle, factor) = (simd.splat_f32s(mean), simd.splat_f32s(rstd));
    let (x, x_rest) = split::<S>(x);
    let (gamma, gamma_rest) = split::<S>(norm.gamma);
    let (beta, beta_rest) = split::<S>(norm.beta);
    let (out, out_rest) = split_mut::<S>(out);
    for (((x, gamma), beta), out) in x.iter().zip(gamma).zip(beta).zip(out) {
        *out = simd.mul_add_f32s(simd.mul_f32s(simd.sub_f32s(*x, middle), factor), *gamma, *beta);
    }
    for (((x, gamma), beta), out) in x_rest.iter().zip(gamma_rest).zip(beta_rest).zip(out_rest) {
        *out = ((x - mean) * rstd).mul_add(*gamma, *beta);
    }
}

/// Computes the gradient of a row and adds those of gamma and beta to `sums`.
#[inline(always)]
pub(super) fn row_backward<S: Simd>(
    simd: S,
    gamma: &[f32],
    (mean, rstd): (f32, f32),
    (x, grad): (&[f32], &[f32]),
    out: &mut [f32],
    sums: &mut NormSums,
) {
    let share = 1.0 / x.len() as f32;
    let (middle, factor) = (simd.splat_f32s(mean), simd.splat_f32s(rstd));
    let (x, x_rest) = split::<S>(x);
    let (grad, grad_rest) = split::<S>(grad);
    let (gamma, gamma_rest) = split::<S>(gamma);
    let (out, out_rest) = split_mut::<S>(out);
    let (of_beta, of_beta_rest) = split_mut::<S>(&mut sums.plain);
    let (of_gamma, of_gamma_rest) = split_mut::<S>(&mut sums.weighted);
    let (mut plain, mut weighted) = (simd.splat_f32s(0.0), simd.splat_f32s(0.0));
    for j in 0..x.len() {
        let normal = simd.mul_f32s(simd.sub_f32s(x[j], middle), factor);
        let scaled = simd.mul_f32s(grad[j], gamma[j]);
        of_beta[j] = simd.add_f32s(of_beta[j], grad[j]);
        of_gamma[j] = simd.mul_add_f32s(grad[j], normal, of_gamma[j]);
        plain = simd.add_f32s(plain, scaled);
        weighted = simd.mul_add_f32s(scaled, normal, weighted);
    }
    let (mut plain, mut weighted) = (simd.reduce_sum_f32s(plain), simd.reduce_sum_f32s(weighted));
    for j in 0..x_rest.len() {
        let (normal, scaled) = ((x_rest[j] - mean) * rstd, grad_rest[j] * gamma_rest[j]);
        of_beta_rest[j] += grad_rest[j];
        of_gamma_rest[j] += grad_rest[j] * normal;
        plain += scaled;
        weighted += scaled * normal;
    }
    (plain, weighted) = (plain * share, weighted * share);
    let (means, slopes) = (simd.splat_f32s(plain), simd.splat_f32s(weighted));
    for j in 0..x.len() {
        let normal = simd.mul_f32s(simd.sub_f32s(x[j], middle), factor);
        let centred = simd.sub_f32s(simd.mul_f32s(grad[j], gamma[j]), means);
        out[j] = simd.mul_f32s(factor, simd.sub_f32s(centred, simd.mul_f32s(normal, slopes)));
    }
    for j in 0..x_rest.len() {
        let normal = (x_rest[j] - mean) * rstd;
        out_rest[j] = rstd * (grad_rest[j] * gamma_rest[j] - plain - normal * weighted);
    }
}

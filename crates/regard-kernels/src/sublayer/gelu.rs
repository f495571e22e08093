//! `gelu(x) = x · Φ(x)` with the exact normal distribution (Hendrycks & Gimpel 2016), and its derivative.

use pulp::Simd;

use crate::vector::{abs, erf, exp, negated, split, split_mut};

/// `x · Φ(x)`.
#[inline(always)]
fn gelu<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let phi = erf(simd, simd.mul_f32s(x, simd.splat_f32s(std::f32::consts::FRAC_1_SQRT_2)));
    let half = simd.mul_f32s(x, simd.splat_f32s(0.5));
    simd.mul_add_f32s(half, phi, half)
}

/// `to = gelu(from)`.
#[inline(always)]
pub(super) fn gelu_block<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
    let (from, from_rest) = split::<S>(from);
    let (to, to_rest) = split_mut::<S>(to);
    for (from, to) in from.iter().zip(to) {
        *to = gelu(simd, *from);
    }
    if !from_rest.is_empty() {
        simd.partial_store_f32s(to_rest, gelu(simd, simd.partial_load_f32s(from_rest)));
    }
}

/// `active = gelu(x) · factor` and `grad *= gelu'(x) · factor` with `gelu'(x) = Φ(x) + x·φ(x)`.
#[inline(always)]
pub(super) fn gelu_gradients<S: Simd>(simd: S, x: &[f32], factors: &[f32], active: &mut [f32], grad: &mut [f32]) {
    let (x, x_rest) = split::<S>(x);
    let (factors, factors_rest) = split::<S>(factors);
    let (active, active_rest) = split_mut::<S>(active);
    let (grad, grad_rest) = split_mut::<S>(grad);
    for (((x, factor), active), grad) in x.iter().zip(factors).zip(active).zip(grad) {
        (*active, *grad) = gelu_and_slope(simd, *x, *factor, *grad);
    }
    if !x_rest.is_empty() {
        let [x, factor, before] = [x_rest, factors_rest, grad_rest].map(|rest| simd.partial_load_f32s(rest));
        let (value, slope) = gelu_and_slope(simd, x, factor, before);
        simd.partial_store_f32s(active_rest, value);
        simd.partial_store_f32s(grad_rest, slope);
    }
}

/// `gelu(x) · factor` and `grad · gelu'(x) · factor`. This is not a closure: a closure that is called
/// twice is compiled without the caller's instruction set.
#[inline(always)]
fn gelu_and_slope<S: Simd>(simd: S, x: S::f32s, factor: S::f32s, grad: S::f32s) -> (S::f32s, S::f32s) {
    let (phi, density) = normal_distribution(simd, x);
    let slope = simd.mul_add_f32s(x, density, phi);
    (simd.mul_f32s(simd.mul_f32s(x, phi), factor), simd.mul_f32s(simd.mul_f32s(grad, slope), factor))
}

/// Φ(x), absolute error below 5e-7 (Abramowitz & Stegun 7.1.26), and φ(x), which uses the same exponential.
#[inline(always)]
fn normal_distribution<S: Simd>(simd: S, x: S::f32s) -> (S::f32s, S::f32s) {
    let (one, half) = (simd.splat_f32s(1.0), simd.splat_f32s(0.5));
    let z = simd.mul_f32s(abs(simd, x), simd.splat_f32s(std::f32::consts::FRAC_1_SQRT_2));
    let t = simd.div_f32s(one, simd.mul_add_f32s(simd.splat_f32s(0.327_591_1), z, one));
    let mut p = simd.splat_f32s(1.061_405_4);
    for c in [-1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6] {
        p = simd.mul_add_f32s(p, t, simd.splat_f32s(c));
    }
    let e = exp(simd, negated(simd, simd.mul_f32s(z, z)));
    let tail = simd.mul_f32s(simd.mul_f32s(p, t), simd.mul_f32s(e, half));
    let below = simd.less_than_f32s(x, simd.splat_f32s(0.0));
    let phi = simd.select_f32s(below, tail, simd.sub_f32s(one, tail));
    (phi, simd.mul_f32s(e, simd.splat_f32s(0.398_942_3)))
}

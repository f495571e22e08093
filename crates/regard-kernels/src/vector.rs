//! Elementwise functions on registers and slices: exponential, tanh, error function, GELU, sums.
//!
//! `gelu(x) = x · Φ(x)` with the exact normal distribution (Hendrycks & Gimpel 2016).

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::simd;

/// Score of a masked key; every score at or below counts as masked.
pub(crate) const MASKED: f32 = -1e30;

/// `|x|`, computed with max and subtraction: `pulp`'s own function is not always inlined and then
/// passes registers through memory.
#[inline(always)]
pub(crate) fn abs<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    simd.max_f32s(x, negated(simd, x))
}

/// `−x`, and +0 for 0; not `pulp`'s own for the same reason as [`abs`].
#[inline(always)]
pub(crate) fn negated<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    simd.sub_f32s(simd.splat_f32s(0.0), x)
}

/// `exp(x)`, relative error below 3e-7; below −86 the result is about 1e-37, not 0.
///
/// Splits `x·log2(e)` into an integer, which is added to the exponent bits, and a remainder in
/// [−½, ½], which a polynomial is evaluated at (refitted Taylor coefficients of 2^f).
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let x = simd.min_f32s(simd.max_f32s(x, simd.splat_f32s(-86.0)), simd.splat_f32s(88.0));
    // Adding 1.5·2^23 rounds to the nearest integer, which is then in the low bits.
    let magic = simd.splat_f32s(12_582_912.0);
    let y = simd.mul_f32s(x, simd.splat_f32s(std::f32::consts::LOG2_E));
    let shifted = simd.add_f32s(y, magic);
    let whole = simd.sub_f32s(shifted, magic);
    // A two-part ln 2 keeps the reduced argument exact for large x.
    let rest = simd.mul_add_f32s(whole, simd.splat_f32s(-0.693_359_4), x);
    let rest = simd.mul_add_f32s(whole, simd.splat_f32s(2.121_944_4e-4), rest);
    let mut p = simd.splat_f32s(1.987_569_1e-4);
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0, 1.0] {
        p = simd.mul_add_f32s(p, rest, simd.splat_f32s(c));
    }
    let bits = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(p), bits))
}

/// `tanh(x)`, absolute error below 3e-7.
#[inline(always)]
pub(crate) fn tanh<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let e = exp(simd, simd.min_f32s(simd.add_f32s(x, x), simd.splat_f32s(60.0)));
    let one = simd.splat_f32s(1.0);
    simd.sub_f32s(one, simd.div_f32s(simd.splat_f32s(2.0), simd.add_f32s(e, one)))
}

/// The error function, absolute error below 4e-7, exactly ±1 from ±3.88 on: `x · P(x²) / Q(x²)`, a minimax
/// fit with the slope at 0 fixed. It needs no exponential and one division.
#[inline(always)]
pub(crate) fn erf<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let x = simd.min_f32s(simd.max_f32s(x, simd.splat_f32s(-3.88)), simd.splat_f32s(3.88));
    let square = simd.mul_f32s(x, x);
    let mut p = simd.splat_f32s(2.038_800_6e-6);
    for c in [2.857_050_3e-4, 3.811_554_8e-3, 5.288_952_2e-2, 0.191_502_53, std::f32::consts::FRAC_2_SQRT_PI] {
        p = simd.mul_add_f32s(p, square, simd.splat_f32s(c));
    }
    let mut q = simd.splat_f32s(3.801_805e-5);
    for c in [1.173_287_9e-3, 1.506_131_4e-2, 0.114_558_33, 0.503_047_35, 1.0] {
        q = simd.mul_add_f32s(q, square, simd.splat_f32s(c));
    }
    simd.div_f32s(simd.mul_f32s(x, p), q)
}

/// Splits a slice into whole registers and the rest.
#[inline(always)]
pub(crate) fn split<S: Simd>(x: &[f32]) -> (&[S::f32s], &[f32]) {
    S::as_simd_f32s(x)
}

/// As [`split`], mutable.
#[inline(always)]
pub(crate) fn split_mut<S: Simd>(x: &mut [f32]) -> (&mut [S::f32s], &mut [f32]) {
    S::as_mut_simd_f32s(x)
}

/// `y += a · x`.
#[inline(always)]
pub(crate) fn axpy<S: Simd>(simd: S, a: f32, x: &[f32], y: &mut [f32]) {
    let scale = simd.splat_f32s(a);
    let (x, x_rest) = split::<S>(x);
    let (y, y_rest) = split_mut::<S>(y);
    for (x, y) in x.iter().zip(y) {
        *y = simd.mul_add_f32s(scale, *x, *y);
    }
    for (x, y) in x_rest.iter().zip(y_rest) {
        *y = a.mul_add(*x, *y);
    }
}

/// `Σ x·y`.
#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, x: &[f32], y: &[f32]) -> f32 {
    let ((x, x_rest), (y, y_rest)) = (split::<S>(x), split::<S>(y));
    let mut sum = simd.splat_f32s(0.0);
    for (x, y) in x.iter().zip(y) {
        sum = simd.mul_add_f32s(*x, *y, sum);
    }
    x_rest.iter().zip(y_rest).fold(simd.reduce_sum_f32s(sum), |sum, (x, y)| x.mul_add(*y, sum))
}

/// `y += x`.
#[inline(always)]
pub(crate) fn add_assign<S: Simd>(simd: S, x: &[f32], y: &mut [f32]) {
    let (x, x_rest) = split::<S>(x);
    let (y, y_rest) = split_mut::<S>(y);
    for (x, y) in x.iter().zip(y) {
        *y = simd.add_f32s(*x, *y);
    }
    for (x, y) in x_rest.iter().zip(y_rest) {
        *y += *x;
    }
}

struct Add<'a>(&'a [f32], &'a mut [f32]);

impl WithSimd for Add<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        add_assign(simd, self.0, self.1);
    }
}

/// `y += x`, for callers outside a SIMD context.
pub(crate) fn add(x: &[f32], y: &mut [f32]) {
    simd::run(Add(x, y));
}

/// `sum += Σ parts`, in the order of the parts. Columns are summed in parallel, which does not change
/// the order.
pub(crate) fn sum_in_order(parts: &[&[f32]], sum: &mut [f32]) {
    const PIECE: usize = 8192;
    sum.par_chunks_mut(PIECE).enumerate().for_each(|(piece, sum)| {
        for part in parts {
            add(&part[piece * PIECE..][..sum.len()], sum);
        }
    });
}

/// `x *= a`.
#[inline(always)]
pub(crate) fn scale<S: Simd>(simd: S, a: f32, x: &mut [f32]) {
    let factor = simd.splat_f32s(a);
    let (x, rest) = split_mut::<S>(x);
    for x in x {
        *x = simd.mul_f32s(*x, factor);
    }
    for x in rest {
        *x *= a;
    }
}

/// Largest value of `x`, starting from [`MASKED`].
#[inline(always)]
pub(crate) fn maximum<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let (x, rest) = split::<S>(x);
    let mut max = simd.splat_f32s(MASKED);
    for x in x {
        max = simd.max_f32s(max, *x);
    }
    rest.iter().fold(simd.reduce_max_f32s(max), |a, &b| a.max(b))
}

/// Replaces masked scores by 0 and the others by `exp(x - max)`; returns the sum.
///
/// The length of `x` must be a whole number of registers.
#[inline(always)]
pub(crate) fn exponentials<S: Simd>(simd: S, x: &mut [f32], max: f32) -> f32 {
    let (max, masked, zero) = (simd.splat_f32s(max), simd.splat_f32s(MASKED), simd.splat_f32s(0.0));
    let (x, _) = split_mut::<S>(x);
    let mut sum = zero;
    for x in x {
        let unmasked = simd.less_than_f32s(masked, *x);
        *x = simd.select_f32s(unmasked, exp(simd, simd.sub_f32s(*x, max)), zero);
        sum = simd.add_f32s(sum, *x);
    }
    simd.reduce_sum_f32s(sum)
}

/// Adds every row of `x` (`[rows, sums.len()]`, rows `ld` floats apart) to `sums`.
#[inline(always)]
pub(crate) fn column_sums<S: Simd>(simd: S, x: &[f32], ld: usize, rows: usize, sums: &mut [f32]) {
    let width = sums.len();
    for row in x.chunks(ld).take(rows) {
        add_assign(simd, &row[..width], sums);
    }
}

/// Adds the sum of the first `columns` values of every row of `x` (rows `ld` floats apart) to `sums`.
#[inline(always)]
pub(crate) fn row_sums<S: Simd>(simd: S, x: &[f32], ld: usize, columns: usize, sums: &mut [f32]) {
    for (row, sum) in x.chunks(ld).zip(sums) {
        let (whole, rest) = split::<S>(&row[..columns]);
        let total = whole.iter().fold(simd.splat_f32s(0.0), |total, x| simd.add_f32s(total, *x));
        *sum += simd.reduce_sum_f32s(total) + rest.iter().sum::<f32>();
    }
}

/// `x · Φ(x)`.
#[inline(always)]
fn gelu<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let phi = erf(simd, simd.mul_f32s(x, simd.splat_f32s(std::f32::consts::FRAC_1_SQRT_2)));
    let half = simd.mul_f32s(x, simd.splat_f32s(0.5));
    simd.mul_add_f32s(half, phi, half)
}

/// `to = gelu(from)`.
#[inline(always)]
pub(crate) fn gelu_block<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
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
pub(crate) fn gelu_gradients<S: Simd>(simd: S, x: &[f32], factors: &[f32], active: &mut [f32], grad: &mut [f32]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Map<'a>(&'a mut [f32], u8);

    impl WithSimd for Map<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            for x in split_mut::<S>(self.0).0 {
                *x = match self.1 {
                    0 => exp(simd, *x),
                    1 => tanh(simd, *x),
                    _ => erf(simd, *x),
                };
            }
        }
    }

    fn points() -> Vec<f32> {
        (0..16_000).map(|i| (i as f32 - 8000.0) / 100.0).collect()
    }

    #[test]
    fn functions_agree_with_the_standard_library() {
        let x = points();
        let mut e = x.clone();
        crate::simd::run(Map(&mut e, 0));
        let mut t = x.clone();
        crate::simd::run(Map(&mut t, 1));
        for ((x, e), t) in x.iter().zip(e).zip(t) {
            let exact = f64::from(*x).exp();
            assert!((f64::from(e) - exact).abs() <= 3e-7 * exact, "exp({x}) = {e}");
            assert!((f64::from(t) - f64::from(*x).tanh()).abs() < 3e-7, "tanh({x}) = {t}");
        }
    }

    #[test]
    fn error_function_agrees_with_known_values() {
        let mut x = [0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0];
        crate::simd::run(Map(&mut x, 2));
        let known = [0.0, 0.112_462_92, 0.276_326_4, 0.520_499_9, 0.842_700_8, 0.966_105_16, 0.995_322_3, 0.999_977_9];
        for (x, known) in x.iter().zip(known) {
            assert!((x - known).abs() < 4e-7, "{x} {known}");
        }
    }

    #[test]
    fn error_function_is_odd_and_ends_at_one() {
        let x = points();
        let (mut e, mut n) = (x.clone(), x.iter().map(|x| -x).collect::<Vec<_>>());
        crate::simd::run(Map(&mut e, 2));
        crate::simd::run(Map(&mut n, 2));
        for ((x, e), n) in x.iter().zip(e).zip(n) {
            assert_eq!(e, -n, "erf({x})");
            assert!(x.abs() < 3.88 || e == x.signum(), "erf({x}) = {e}");
        }
    }
}

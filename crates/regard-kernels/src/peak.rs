//! Measurement of the peak rate of fused multiply-adds, to compare the kernels with.

use std::time::Instant;

use pulp::{Simd, WithSimd};

use crate::simd;

struct Chains(u64);

impl WithSimd for Chains {
    type Output = (f64, f32);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        const CHAINS: usize = 12;
        let factor = simd.splat_f32s(std::hint::black_box(0.999_999));
        let term = simd.splat_f32s(std::hint::black_box(1e-6));
        let mut sums = [simd.splat_f32s(std::hint::black_box(1.0)); CHAINS];
        let start = Instant::now();
        for _ in 0..self.0 {
            for sum in &mut sums {
                *sum = simd.mul_add_f32s(*sum, factor, term);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let total = sums.iter().map(|sum| simd.reduce_sum_f32s(*sum)).sum();
        (2.0 * (CHAINS * S::F32_LANES) as f64 * self.0 as f64 / seconds, total)
    }
}

/// Floating-point operations per second of one thread that runs only fused multiply-adds on
/// registers, with the instruction set in use; `rounds` rounds of 12 independent chains.
pub fn fused_multiply_adds(rounds: u64) -> f64 {
    let (rate, keep) = simd::run(Chains(rounds));
    std::hint::black_box(keep);
    rate
}

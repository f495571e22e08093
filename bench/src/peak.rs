//! The measured peak of fused multiply-adds: what no kernel on this machine can exceed.
//!
//! Every thread keeps [`CHAINS`] independent chains `a = a·m + c` in registers, enough to hide the latency of every
//! current processor (4 cycles by 2 units) and few enough for the 16 registers of AVX2.

use std::hint::black_box;
use std::time::{Duration, Instant};

use pulp::{Simd, WithSimd};

use crate::protocol::{Answer, Request};

/// Independent chains of multiply-adds.
const CHAINS: usize = 12;
/// Steps of all chains between two looks at the clock, some tens of microseconds.
const STEPS: usize = 20_000;

/// Runs a `peak` cell.
pub(crate) fn answer(request: &Request) -> Answer {
    let Some(burst) = burst(&request.simd) else {
        return Answer::Error(format!(
            "`{}` is not available on this processor; expected avx512, avx2 or auto",
            request.simd
        ));
    };
    let period = Duration::from_secs_f64(request.seconds);
    let rates = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..request.threads.max(1)).map(|_| scope.spawn(move || rate(burst, period))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let rates: Result<Vec<f64>, _> = rates;
    match rates {
        Ok(rates) => Answer::Gflops(rates.iter().sum()),
        Err(_) => Answer::Error("a thread of the peak measurement panicked".to_owned()),
    }
}

/// A burst of work that returns the number of operations done.
type Burst = fn() -> usize;

/// The burst for a name of instructions, if the processor has them.
fn burst(simd: &str) -> Option<Burst> {
    match simd {
        "auto" => Some(|| pulp::Arch::new().dispatch(Chains)),
        #[cfg(target_arch = "x86_64")]
        "avx512" => {
            pulp::x86::V4::try_new()?;
            Some(|| pulp::x86::V4::try_new().map_or(0, |simd| Simd::vectorize(simd, Chains)))
        }
        #[cfg(target_arch = "x86_64")]
        "avx2" => {
            pulp::x86::V3::try_new()?;
            Some(|| pulp::x86::V3::try_new().map_or(0, |simd| Simd::vectorize(simd, Chains)))
        }
        _ => None,
    }
}

/// The best rate of any burst in `period`, in 10^9 operations a second: the processor's, not that of the other work on
/// the machine.
fn rate(burst: Burst, period: Duration) -> f64 {
    let start = Instant::now();
    let mut best = 0.0_f64;
    while start.elapsed() < period {
        let before = Instant::now();
        let mut operations = 0;
        while before.elapsed() < Duration::from_millis(20) {
            operations += burst();
        }
        best = best.max(operations as f64 / before.elapsed().as_secs_f64() / 1e9);
    }
    best
}

/// [`STEPS`] multiply-adds in each of [`CHAINS`] chains.
struct Chains;

impl WithSimd for Chains {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let (factor, term) = (simd.splat_f32s(black_box(0.999)), simd.splat_f32s(black_box(0.001)));
        let mut chains = [simd.splat_f32s(black_box(1.0)); CHAINS];
        for _ in 0..STEPS {
            for chain in &mut chains {
                *chain = simd.mul_add_f32s(*chain, factor, term);
            }
        }
        let mut sum = simd.splat_f32s(0.0);
        for chain in chains {
            sum = simd.add_f32s(sum, chain);
        }
        black_box(simd.reduce_sum_f32s(sum));
        2 * STEPS * CHAINS * S::F32_LANES
    }
}

//! Timing of repeated work.

use std::time::{Duration, Instant};

use burn::tensor::{Device, Tensor};
use regard::nn::precision::{Precision, precision, set_precision};

use crate::protocol::{Answer, Request};

/// An iteration longer than this is its own warm-up.
const SLOW: Duration = Duration::from_secs(2);

/// Where timed work runs: on the processor, or on the card that `BENCH_DEVICE` asks for.
///
/// # Panics
/// If this binary was not built for that card.
pub(crate) fn device() -> Device {
    match std::env::var("BENCH_DEVICE").as_deref() {
        Err(_) | Ok("" | "cpu") => Device::flex(),
        #[cfg(feature = "cuda")]
        Ok("cuda") => Device::cuda(0),
        Ok(other) => panic!("BENCH_DEVICE is `{other}`, which is not built in"),
    }
}

/// The times of a forward pass, or how far it leads from its result in single precision.
pub(crate) fn forward<const D: usize>(request: &Request, mut run: impl FnMut() -> Tensor<D>) -> Answer {
    if !request.error {
        return Answer::Ms(timings(Duration::from_secs_f64(request.seconds), || drop(run())));
    }
    let chosen = precision();
    let [exact, found] = [Precision::Float32, chosen].map(|precision| {
        set_precision(precision).expect("a precision in which this process has computed");
        run().into_data().iter::<f64>().collect::<Vec<_>>()
    });
    let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
    let off = squares(&mut exact.iter().zip(&found).map(|(a, b)| a - b));
    Answer::Deviation((off / squares(&mut exact.iter().copied())).sqrt())
}

/// Milliseconds of iterations that fill `period`, at least one, after one that is not timed. An iteration ends when the
/// device has done its work.
pub(crate) fn timings(period: Duration, mut run: impl FnMut()) -> Vec<f64> {
    let device = device();
    let mut run = || {
        run();
        device.sync().expect("the device does its work");
    };
    let start = Instant::now();
    run();
    let first = start.elapsed();
    if first > period.max(SLOW) {
        return vec![first.as_secs_f64() * 1e3];
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while times.is_empty() || start.elapsed() < period {
        let before = Instant::now();
        run();
        times.push(before.elapsed().as_secs_f64() * 1e3);
    }
    times
}

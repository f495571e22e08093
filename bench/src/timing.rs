//! Timing of repeated work.

use std::time::{Duration, Instant};

/// An iteration longer than this is its own warm-up.
const SLOW: Duration = Duration::from_secs(2);

/// Milliseconds of iterations that fill `period`, at least one, after one that is not timed.
pub(crate) fn timings(period: Duration, mut run: impl FnMut()) -> Vec<f64> {
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

//! The schedule of a training with a time limit: its end is brought forward to the steps that fit into the time.
//!
//! The number of steps that fit is measured, so it differs from machine to machine. It is kept in checkpoints: a run
//! that is resumed keeps the end that was decided.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Shares of a time limit after which the pace is measured.
const MEASURED_AT: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.9];
/// Steps that are needed for a measurement.
const ENOUGH_STEPS: u64 = 3;
/// The share of a time limit at which the schedule ends, so that the last step is not cut off.
const USED: f64 = 0.98;
/// A training of which this share fits is not shortened.
const NEARLY_ALL: f64 = 0.95;

/// A schedule of `total` steps that ends after fewer: from `from_step` on, its rest is passed through faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pace {
    /// Steps that were done when the end was decided.
    from_step: u64,
    /// The place in the schedule then.
    from_place: u64,
    /// Steps at which the schedule ends.
    pub(crate) length: u64,
    /// Steps of the whole schedule.
    total: u64,
}

impl Pace {
    /// The place in the schedule after `step` steps, from 0 to [`Self::total`].
    pub(crate) fn place(&self, step: u64) -> u64 {
        let (done, steps) = (step.saturating_sub(self.from_step), self.length.saturating_sub(self.from_step).max(1));
        let rest = self.total.saturating_sub(self.from_place);
        let passed = u128::from(done) * u128::from(rest) / u128::from(steps);
        self.from_place.saturating_add(passed.min(u128::from(rest)) as u64)
    }
}

/// The measurements of a call with a time limit.
#[derive(Debug)]
pub(crate) struct Pacing {
    limit: Duration,
    first_step: u64,
    measured: usize,
}

impl Pacing {
    /// For a call that begins with `first_step` steps done.
    pub(crate) fn new(limit: Duration, first_step: u64) -> Self {
        Self { limit, first_step, measured: 0 }
    }

    /// The number of steps at which the time is used up, when it is time to measure it.
    pub(crate) fn fitting(&mut self, elapsed: Duration, step: u64) -> Option<u64> {
        let (limit, elapsed) = (self.limit.as_secs_f64(), elapsed.as_secs_f64());
        let done = step.saturating_sub(self.first_step);
        let due = *MEASURED_AT.get(self.measured)?;
        if done < ENOUGH_STEPS || elapsed < due * limit || elapsed <= 0.0 {
            return None;
        }
        self.measured = MEASURED_AT.iter().take_while(|share| elapsed >= **share * limit).count();
        let more = done as f64 * (USED * limit - elapsed).max(0.0) / elapsed;
        Some(step.saturating_add((more as u64).max(1)))
    }
}

/// The pace of a schedule of `total` steps that has reached `step` at the pace `now` and ends at `fitting` steps; `None`
/// where it need not be shortened.
pub(crate) fn shortened(now: Option<Pace>, step: u64, fitting: u64, total: u64) -> Option<Pace> {
    if now.is_none() && fitting as f64 >= NEARLY_ALL * total as f64 {
        return None;
    }
    let from_place = now.map_or(step, |now| now.place(step));
    Some(Pace { from_step: step, from_place, length: fitting.min(total), total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_goes_on_where_it_was_and_ends_with_the_time() {
        let pace = shortened(None, 10, 110, 1000).unwrap();
        assert_eq!([10, 11, 60, 110, 200].map(|step| pace.place(step)), [10, 19, 505, 1000, 1000]);
        // A slower machine ends it earlier, without a jump.
        let slower = shortened(Some(pace), 60, 85, 1000).unwrap();
        assert_eq!([60, 61, 85].map(|step| slower.place(step)), [505, 524, 1000]);
        assert_eq!(shortened(None, 10, 990, 1000), None);
        assert_eq!(shortened(Some(pace), 60, 5000, 1000).map(|pace| pace.length), Some(1000));
    }

    #[test]
    fn the_pace_is_measured_a_few_times() {
        let mut pacing = Pacing::new(Duration::from_secs(100), 500);
        let mut at = |seconds, step| pacing.fitting(Duration::from_secs(seconds), step);
        assert_eq!(at(1, 510), None);
        assert_eq!(at(6, 502), None, "two steps say too little");
        assert_eq!(at(10, 520), Some(520 + 176));
        assert_eq!(at(11, 522), None);
        assert_eq!(at(60, 560), Some(560 + 38));
        assert_eq!(at(70, 570), None);
        assert_eq!(at(99, 599), Some(600));
        assert_eq!(at(100, 600), None);
    }
}

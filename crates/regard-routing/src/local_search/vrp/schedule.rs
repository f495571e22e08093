//! Progress of the search, by time or by iterations, and its temperature.

use std::time::Instant;

use regard_data::cancel::is_cancelled;

use super::Clock;

/// The progress is taken once in this many iterations.
const ITERATIONS_PER_LOOK: usize = 64;

/// The end is looked for once in this many: those of long routes with windows take milliseconds.
const ITERATIONS_PER_CHECK: usize = 8;

/// The first temperature, in mean distances between consecutive stops.
const WARM: f64 = 0.6;

/// The same where there are windows, which part good routes from better ones more widely.
const WARM_WITH_WINDOWS: f64 = 3.0;

/// The last temperature, in the same unit.
const COLD: f64 = 0.01;

/// Searches with fewer iterations per customer start colder: they could not repair the damage.
const ENOUGH: f64 = 1000.0;

/// The progress of a search, cheap to ask for.
pub(super) struct Schedule {
    started: Instant,
    deadline: Option<Instant>,
    iterations: usize,
    /// Iterations begun.
    pub(super) begun: usize,
    /// The share of the work that is done.
    pub(super) done: f64,
}

impl Schedule {
    /// Ends after `iterations`, or at `deadline` if that comes first.
    pub(super) fn new(deadline: Option<Instant>, iterations: usize) -> Self {
        Self { started: Instant::now(), deadline, iterations, begun: 0, done: 0.0 }
    }

    /// A clock for what takes long within an iteration.
    pub(super) fn clock(&self) -> Clock {
        Clock::new(self.deadline)
    }

    /// If true, there is time for one more iteration.
    #[inline]
    pub(super) fn go_on(&mut self) -> bool {
        if self.begun.is_multiple_of(ITERATIONS_PER_LOOK) {
            self.look();
        } else if self.begun.is_multiple_of(ITERATIONS_PER_CHECK) && self.is_over() {
            self.done = 1.0;
        }
        let go_on = self.done < 1.0 && self.begun < self.iterations;
        self.begun += usize::from(go_on);
        go_on
    }

    /// If true, the clock has just been read.
    pub(super) fn looked(&self) -> bool {
        self.begun % ITERATIONS_PER_LOOK == 1
    }

    /// Iterations there will be in all, as far as is known by now.
    fn expected(&self) -> f64 {
        if self.done > 0.0 { self.begun as f64 / self.done } else { self.begun as f64 }
    }

    /// The temperature, in mean distances between consecutive stops.
    pub(super) fn temperature(&self, customers: usize, windows: bool) -> f64 {
        let warm = if windows { WARM_WITH_WINDOWS } else { WARM };
        let enough = self.expected() / (ENOUGH * customers as f64);
        let warm = (WARM * enough).min(warm).max(COLD);
        warm * (COLD / warm).powf(self.done)
    }

    fn look(&mut self) {
        self.done = self.begun as f64 / self.iterations.max(1) as f64;
        if let Some(deadline) = self.deadline {
            let whole = deadline.saturating_duration_since(self.started).as_secs_f64();
            let passed = self.started.elapsed().as_secs_f64();
            self.done = self.done.max(if passed >= whole { 1.0 } else { passed / whole });
        }
        if is_cancelled() {
            self.done = 1.0;
        }
    }

    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline) || is_cancelled()
    }
}

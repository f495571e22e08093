//! A deadline that is cheap to ask for.

use std::time::Instant;

use regard_data::cancel::CancellationToken;

/// The clock is read once in this many calls.
const CALLS_PER_LOOK: u32 = 16;

/// A deadline, or none.
pub(super) struct Clock {
    deadline: Option<Instant>,
    /// Of the thread that began the search.
    cancellation: Option<CancellationToken>,
    calls: u32,
    over: bool,
}

impl Clock {
    /// A clock that stops at `deadline`, or never.
    pub(super) fn new(deadline: Option<Instant>) -> Self {
        let mut clock = Self { deadline, cancellation: CancellationToken::current(), calls: 0, over: false };
        clock.over = clock.look();
        clock
    }

    /// If true, the deadline has passed, or the search was cancelled.
    pub(super) fn is_over(&mut self) -> bool {
        if self.deadline.is_some() || self.cancellation.is_some() {
            self.calls = self.calls.wrapping_add(1);
            if self.calls.is_multiple_of(CALLS_PER_LOOK) {
                self.over = self.over || self.look();
            }
        }
        self.over
    }

    fn look(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Seconds until the deadline; `None` without one.
    pub(super) fn left(&self) -> Option<f64> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs_f64())
    }
}

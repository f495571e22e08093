//! A deadline that is cheap to ask for.

use std::time::Instant;

/// The clock is read once in this many calls.
const CALLS_PER_LOOK: u32 = 16;

/// A deadline, or none.
pub(super) struct Clock {
    deadline: Option<Instant>,
    calls: u32,
    over: bool,
}

impl Clock {
    /// A clock that stops at `deadline`, or never.
    pub(super) fn new(deadline: Option<Instant>) -> Self {
        Self { deadline, calls: 0, over: deadline.is_some_and(|deadline| Instant::now() >= deadline) }
    }

    /// If true, the deadline has passed.
    pub(super) fn is_over(&mut self) -> bool {
        if let Some(deadline) = self.deadline {
            self.calls = self.calls.wrapping_add(1);
            if self.calls.is_multiple_of(CALLS_PER_LOOK) {
                self.over = self.over || Instant::now() >= deadline;
            }
        }
        self.over
    }

    /// Seconds until the deadline; `None` without one.
    pub(super) fn left(&self) -> Option<f64> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs_f64())
    }
}

//! The time for a forecast.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time for a forecast, from its beginning to a limit, and a switch that ends it early. All stages of a forecast
/// share one, so that its end is the same for all of them.
///
/// ```
/// use std::time::Duration;
/// use regard_base::series::Budget;
///
/// let budget = Budget::of(Duration::from_secs(3600));
/// assert!(!budget.is_over() && budget.share(0.0).is_over() && Budget::unlimited().left().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    begun: Instant,
    limit: Option<Duration>,
    stopped: Option<Arc<AtomicBool>>,
}

impl Budget {
    /// As much time as is needed.
    #[must_use]
    pub fn unlimited() -> Self {
        Self { begun: Instant::now(), limit: None, stopped: None }
    }

    /// So much time from now on.
    #[must_use]
    pub fn of(limit: Duration) -> Self {
        Self { limit: Some(limit), ..Self::unlimited() }
    }

    /// The same, over as soon as `stopped` is true.
    #[must_use]
    pub fn until(self, stopped: Arc<AtomicBool>) -> Self {
        Self { stopped: Some(stopped), ..self }
    }

    /// The first part of this time, with the same beginning.
    #[must_use]
    pub fn share(&self, share: f64) -> Self {
        Self { limit: self.limit.map(|limit| limit.mul_f64(share)), ..self.clone() }
    }

    /// The same, over so much earlier.
    #[must_use]
    pub fn without(&self, reserve: Duration) -> Self {
        Self { limit: self.limit.map(|limit| limit.saturating_sub(reserve)), ..self.clone() }
    }

    /// The whole time; `None` without a limit.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// The time since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The time that is left; `None` without a limit.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        if self.is_stopped() {
            return Some(Duration::ZERO);
        }
        self.limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    /// If true, no time is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// If true, the switch ended it.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped.as_ref().is_some_and(|stopped| stopped.load(Ordering::Relaxed))
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::unlimited()
    }
}

/// Progress of a forecast.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// The forecaster that is fitted.
    pub name: &'a str,
    /// Series, or steps of a training, that are done.
    pub done: usize,
    /// All of them.
    pub of: usize,
}

/// Called with each step of the progress, from any thread.
pub type Progress<'a> = &'a (dyn Fn(Stage<'_>) + Sync);

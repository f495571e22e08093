//! Progress of a search: by the clock where there is a deadline, otherwise by counting iterations.

use std::time::Instant;

use regard_data::cancel::is_cancelled;

use super::Options;

/// The share of its time that a search has used.
pub(super) struct Progress {
    start: Instant,
    /// Seconds from the start to the deadline.
    span: Option<f64>,
    iterations: u64,
    done: u64,
}

impl Progress {
    /// Starts now.
    pub(super) fn new(options: &Options) -> Self {
        let start = Instant::now();
        let span = options.deadline.map(|deadline| deadline.saturating_duration_since(start).as_secs_f64());
        Self { start, span, iterations: options.iterations as u64, done: 0 }
    }

    /// Between 0 and 1, or nothing once the search is over.
    pub(super) fn tick(&mut self) -> Option<f64> {
        let progress = match self.span {
            _ if is_cancelled() => 1.0,
            Some(span) if span > 0.0 => self.start.elapsed().as_secs_f64() / span,
            None if self.iterations > 0 => self.done as f64 / self.iterations as f64,
            _ => 1.0,
        };
        (progress < 1.0).then(|| {
            self.done += 1;
            progress
        })
    }

    /// Iterations so far.
    pub(super) fn done(&self) -> u64 {
        self.done
    }
}

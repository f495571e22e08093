//! Means over the steps between two lines of metrics.

use serde::{Deserialize, Serialize};

use crate::routes::train::Measured;
use crate::train::Step;

/// Counters of the loop, beside the learner's.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Window {
    /// Steps since the last line of metrics, and sums of what they measured.
    since: u64,
    cost: f64,
    baseline: f64,
    loss: f64,
    log_likelihood: f64,
    gradient_norm: f64,
    /// Lowest validation cost so far.
    pub(super) best: Option<f64>,
}

impl Window {
    /// The window that begins after a line.
    pub(super) fn next(&self) -> Self {
        Self { best: self.best, ..Self::default() }
    }

    /// Takes in a step; means since the last line.
    pub(super) fn line(&mut self, measured: &Measured, [step, epoch, instances]: [u64; 3]) -> Step {
        self.since += 1;
        self.cost += measured.cost;
        self.baseline += measured.baseline;
        self.loss += measured.loss;
        self.log_likelihood += measured.log_likelihood;
        self.gradient_norm += measured.gradient_norm;
        let count = self.since as f64;
        Step {
            step,
            epoch,
            instances,
            nodes: measured.nodes,
            cost: self.cost / count,
            baseline: self.baseline / count,
            loss: self.loss / count,
            log_likelihood: self.log_likelihood / count,
            gradient_norm: self.gradient_norm / count,
            rate: measured.rate,
        }
    }
}

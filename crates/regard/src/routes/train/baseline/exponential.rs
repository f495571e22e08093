//! A running mean of costs.

use regard_data::stats::mean;

/// `value = beta · value + (1 − beta) · mean cost` of a batch; the first batch sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    beta: f64,
    value: Option<f64>,
}

impl Exponential {
    /// Decay `beta`, between 0 and 1; `value` from which to go on.
    pub fn new(beta: f64, value: Option<f64>) -> Self {
        Self { beta, value }
    }

    /// The value before any, or after the last batch.
    pub fn value(&self) -> Option<f64> {
        self.value
    }

    /// The value that a batch of costs is compared with, itself taken in.
    pub fn update(&mut self, costs: &[f64]) -> f64 {
        let mean = mean(costs);
        let value = self.value.map_or(mean, |value| self.beta * value + (1.0 - self.beta) * mean);
        self.value = Some(value);
        value
    }
}

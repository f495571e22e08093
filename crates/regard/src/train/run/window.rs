//! Means over the steps between two lines of metrics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::train::{Measure, Measures, Step};

/// Counters of the loop, beside the learner's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Window {
    /// Steps since the last line of metrics, and sums of what they measured.
    since: u64,
    #[serde(default)]
    sums: BTreeMap<String, f64>,
    /// Lowest validation cost so far.
    pub(super) best: Option<f64>,
}

impl Window {
    /// The window that begins after a line.
    pub(super) fn next(&self) -> Self {
        Self { best: self.best, ..Self::default() }
    }

    /// Takes in a step; means since the last line.
    pub(super) fn line(&mut self, measured: Measures, [step, epoch, instances]: [u64; 3]) -> Step {
        // Sums of a run begun by a version that kept them elsewhere are lost; its line is then that of fewer steps.
        self.since = if self.sums.is_empty() { 1 } else { self.since + 1 };
        let count = self.since as f64;
        let mut mean = |measure: Measure| match measure {
            Measure::Mean(name, value) => {
                let sum = self.sums.entry(name.to_owned()).or_default();
                *sum += value;
                Measure::Mean(name, *sum / count)
            }
            last => last,
        };
        Step { step, epoch, instances, measures: Measures(measured.0.into_iter().map(&mut mean).collect()) }
    }
}

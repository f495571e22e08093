//! How the learning rate goes.

use serde::{Deserialize, Serialize};

use crate::graphs::experiment::{GraphTraining, RateSchedule};
use crate::train::{half_cosine, rise};

/// A validation loss has to be lower by this share to count as lower (PyTorch's `ReduceLROnPlateau`).
const THRESHOLD: f64 = 1e-4;

/// What the rate depends on beside the step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Plateau {
    /// What the rate has been multiplied by so far.
    pub(super) factor: f64,
    best: Option<f64>,
    /// Epochs since the best one.
    waited: usize,
}

impl Default for Plateau {
    fn default() -> Self {
        Self { factor: 1.0, best: None, waited: 0 }
    }
}

impl Plateau {
    /// Takes in the validation loss of an epoch.
    pub(super) fn observe(&mut self, loss: f64, train: &GraphTraining) {
        if self.best.is_none_or(|best| loss < best * (1.0 - THRESHOLD)) {
            (self.best, self.waited) = (Some(loss), 0);
        } else {
            self.waited += 1;
        }
        if self.waited > train.plateau_patience {
            (self.factor, self.waited) = (self.factor * train.plateau_factor, 0);
        }
    }

    /// Whether the rate has fallen to its end.
    pub(super) fn ended(&self, train: &GraphTraining) -> bool {
        train.schedule == RateSchedule::Plateau && train.learning_rate * self.factor < train.min_learning_rate
    }

    /// The rate of step `step`, of `steps` an epoch.
    pub(super) fn rate(&self, train: &GraphTraining, step: u64, steps: u64) -> f64 {
        let epochs = step as f64 / steps as f64;
        let fall = match train.schedule {
            RateSchedule::Constant => 1.0,
            RateSchedule::Plateau => self.factor,
            RateSchedule::Cosine => half_cosine(epochs / train.epochs as f64),
        };
        train.learning_rate * rise(step, train.warmup_epochs * steps as f64) * fall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_after_patience_and_ends() {
        let train = GraphTraining {
            schedule: RateSchedule::Plateau,
            learning_rate: 1.0,
            plateau_patience: 2,
            min_learning_rate: 0.3,
            ..GraphTraining::default()
        };
        let mut plateau = Plateau::default();
        let mut seen = vec![];
        for loss in [1.0, 0.5, 0.5, 0.49999, 0.6, 0.4, 0.5, 0.5, 0.5, 0.5] {
            plateau.observe(loss, &train);
            seen.push((plateau.factor, plateau.ended(&train)));
        }
        let factors: Vec<f64> = seen.iter().map(|(factor, _)| *factor).collect();
        assert_eq!(factors, [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25]);
        assert_eq!(seen.iter().position(|(_, ended)| *ended), Some(8));
    }

    #[test]
    fn a_cosine_rises_first_and_ends_at_nothing() {
        let train = GraphTraining { learning_rate: 2.0, epochs: 10, warmup_epochs: 0.5, ..GraphTraining::default() };
        let rate = |step| Plateau::default().rate(&train, step, 10);
        assert!((rate(0) - 0.4).abs() < 1e-9 && rate(4) > rate(0) && rate(99) < 0.01, "{}", rate(99));
    }
}

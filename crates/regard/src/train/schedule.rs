//! Learning-rate schedules, plateaus and early stopping.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Schedule of the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Constant learning rate.
    Constant,
    /// Divides the learning rate by 10 after the fraction `train.learning_rate_drop_at` of all steps.
    Step,
    /// Multiplies the learning rate by `train.plateau_factor` when the validation loss has not decreased for more than
    /// `train.plateau_patience` epochs; training ends below `train.min_learning_rate` (PyTorch's `ReduceLROnPlateau`).
    Plateau,
    /// Cosine annealing to 0.
    Cosine,
    /// Constant for two epochs, then halved after each epoch (`type1` of the published PatchTST codes).
    Halving,
    /// Constant for four epochs, then multiplied by 0.9 after each epoch (`type3` of the authors' PatchTST code).
    Tenths,
    /// One-cycle schedule with cosine annealing (Smith & Topin 2019): rises from 1/25 of the learning rate to all of
    /// it, then falls to nearly 0; Adam's first beta falls from 0.95 to 0.85 and rises again (`TST` of the authors'
    /// PatchTST code).
    OneCycle,
}

impl Schedule {
    /// If true, the rate of a step depends on the number of epochs.
    pub(crate) fn depends_on_epochs(self) -> bool {
        match self {
            Self::Step | Self::Cosine | Self::OneCycle => true,
            Self::Constant | Self::Plateau | Self::Halving | Self::Tenths => false,
        }
    }
}

/// The order in which the factors of a rate are multiplied and divided.
///
/// The orders differ in the last bit of the result. Each family keeps the order its models were trained with, so
/// that a training can be repeated exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// `rate · warm-up · decay`, with decay computed from `step / all steps`.
    BySteps,
    /// `rate · warm-up · decay`, with decay computed from `(step / steps of an epoch) / epochs`.
    ByEpochs,
    /// `rate · (decay · warm-up)`, with decay computed from `step / all steps`.
    FactorsFirst,
}

/// The position of a step in a training.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Steps before this one.
    pub step: u64,
    /// Steps of an epoch.
    pub steps_per_epoch: u64,
    /// Epochs of the training.
    pub epochs: u64,
}

/// Learning rate and first beta of Adam at a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRate {
    /// Learning rate.
    pub rate: f64,
    /// First beta of Adam.
    pub beta: f64,
}

/// The learning rate of every step of a training.
#[derive(Clone, Copy, Debug)]
pub struct LearningRate {
    /// The schedule.
    pub schedule: Schedule,
    /// The full rate.
    pub rate: f64,
    /// Epochs of linear warm-up; 0 for none.
    pub warmup_epochs: f64,
    /// Share of all steps after which [`Schedule::Step`] takes a tenth of the rate.
    pub drop_at: f64,
    /// Share of a one-cycle schedule in which the rate rises.
    pub pct_start: f64,
    /// If true, the first epoch runs at a 25th of the rate and Adam's first beta is 0.95, which is the state that a
    /// one-cycle schedule leaves an optimiser in when it is made and not followed, as in the authors' PatchTST code.
    pub one_cycle_initial_state: bool,
    /// The order of multiplications.
    pub rounding: Rounding,
}

/// First beta of Adam where no cycle changes it.
const BETA: f64 = 0.9;
/// Lowest and highest first beta of a cycle.
const CYCLE_BETAS: [f64; 2] = [0.85, 0.95];
/// The full rate is divided by this at the start of a cycle.
const CYCLE_START: f64 = 25.0;
/// The first rate of a cycle is divided by this at its end.
const CYCLE_END: f64 = 1e4;

impl LearningRate {
    /// Rate and beta of a step; `plateau` is the factor that plateaus have led to so far.
    pub fn at(&self, position: Position, plateau: f64) -> StepRate {
        let Position { step, steps_per_epoch, epochs } = position;
        let epoch = step / steps_per_epoch.max(1);
        let fraction = match self.rounding {
            Rounding::ByEpochs => step as f64 / steps_per_epoch as f64 / epochs as f64,
            Rounding::BySteps | Rounding::FactorsFirst => step as f64 / (steps_per_epoch * epochs).max(1) as f64,
        };
        let decay = match self.schedule {
            Schedule::OneCycle => return self.one_cycle(position),
            Schedule::Constant => 1.0,
            Schedule::Step if fraction < self.drop_at => 1.0,
            Schedule::Step => 0.1,
            Schedule::Plateau => plateau,
            Schedule::Cosine => half_cosine(fraction),
            Schedule::Halving => 0.5_f64.powf(epoch.saturating_sub(1) as f64),
            Schedule::Tenths => 0.9_f64.powf(epoch.saturating_sub(3) as f64),
        };
        let beta = if self.one_cycle_initial_state { CYCLE_BETAS[1] } else { BETA };
        if self.one_cycle_initial_state && epoch == 0 {
            return StepRate { rate: self.rate * (1.0 / CYCLE_START), beta };
        }
        let warmup = linear_warmup(step, self.warmup_epochs * steps_per_epoch as f64);
        let rate = match self.rounding {
            Rounding::FactorsFirst => self.rate * (decay * warmup),
            Rounding::BySteps | Rounding::ByEpochs => self.rate * warmup * decay,
        };
        StepRate { rate, beta }
    }

    fn one_cycle(&self, Position { step, steps_per_epoch, epochs }: Position) -> StepRate {
        let total = (steps_per_epoch * epochs) as f64;
        let (top, last) = (self.pct_start * total - 1.0, total - 1.0);
        let step = step as f64;
        let between = |from: f64, to: f64, share: f64| to + (from - to) * half_cosine(share);
        let [low, high] = CYCLE_BETAS;
        let first = self.rate / CYCLE_START;
        if step <= top {
            let share = step / top;
            StepRate { rate: between(first, self.rate, share), beta: between(high, low, share) }
        } else {
            let share = (step - top) / (last - top);
            StepRate { rate: between(self.rate, first / CYCLE_END, share), beta: between(low, high, share) }
        }
    }
}

/// The share of the full rate at step `step` of a linear warm-up over `steps` steps.
pub(crate) fn linear_warmup(step: u64, steps: f64) -> f64 {
    if steps > 0.0 { ((step + 1) as f64 / steps).min(1.0) } else { 1.0 }
}

/// Half a cosine from 1 down to 0, at this fraction of the training.
fn half_cosine(fraction: f64) -> f64 {
    0.5 * (1.0 + (std::f64::consts::PI * fraction.min(1.0)).cos())
}

/// A validation loss has to be lower by this share to count as lower for a plateau (PyTorch's
/// `ReduceLROnPlateau`).
const PLATEAU_THRESHOLD: f64 = 1e-4;

/// The state of [`Schedule::Plateau`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plateau {
    /// The product of all reductions so far.
    pub(crate) factor: f64,
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
    /// Takes in the validation loss of an epoch, and multiplies the factor by `reduction` after more than `patience`
    /// epochs without a lower one.
    pub(crate) fn observe(&mut self, loss: f64, reduction: f64, patience: usize) {
        if self.best.is_none_or(|best| loss < best * (1.0 - PLATEAU_THRESHOLD)) {
            (self.best, self.waited) = (Some(loss), 0);
        } else {
            self.waited += 1;
        }
        if self.waited > patience {
            (self.factor, self.waited) = (self.factor * reduction, 0);
        }
    }
}

/// The lowest validation loss so far, and how long it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EarlyStopping {
    best: Option<f64>,
    /// Epochs since the best one.
    waited: usize,
}

impl EarlyStopping {
    /// Takes in the validation loss of an epoch; true if it is the lowest so far.
    pub(crate) fn observe(&mut self, loss: f64) -> bool {
        let better = self.best.is_none_or(|best| loss < best);
        if better {
            self.best = Some(loss);
        }
        self.waited = if better { 0 } else { self.waited + 1 };
        better
    }

    /// If true, training ends: `patience` epochs in a row were no better. A patience of 0 never ends it.
    pub(crate) fn ended(&self, patience: usize) -> bool {
        patience > 0 && self.waited >= patience
    }

    /// If true, an epoch was measured.
    pub(crate) fn has_best(&self) -> bool {
        self.best.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(schedule: Schedule, rounding: Rounding) -> LearningRate {
        LearningRate {
            schedule,
            rate: 2.0,
            warmup_epochs: 0.5,
            drop_at: 0.7,
            pct_start: 0.3,
            one_cycle_initial_state: false,
            rounding,
        }
    }

    #[test]
    fn warm_up_and_cosine_go_from_nothing_to_the_full_rate_and_back() {
        let warm = |step, steps| linear_warmup(step, steps);
        assert_eq!([warm(0, 0.0), warm(0, 4.0), warm(3, 4.0), warm(9, 4.0)], [1.0, 0.25, 1.0, 1.0]);
        assert!(half_cosine(0.0) == 1.0 && (half_cosine(0.5) - 0.5).abs() < 1e-12 && half_cosine(2.0) < 1e-12);
        for rounding in [Rounding::BySteps, Rounding::ByEpochs, Rounding::FactorsFirst] {
            let cosine = rate(Schedule::Cosine, rounding);
            let at = |step| cosine.at(Position { step, steps_per_epoch: 10, epochs: 10 }, 1.0).rate;
            assert!((at(0) - 0.4).abs() < 1e-9 && at(4) > at(0) && at(99) < 0.01, "{}", at(99));
        }
    }

    #[test]
    fn schedules_by_epoch_fall_when_they_should() {
        let at = |schedule, step| {
            let rate = LearningRate { warmup_epochs: 0.0, ..rate(schedule, Rounding::BySteps) };
            rate.at(Position { step, steps_per_epoch: 10, epochs: 10 }, 0.5).rate
        };
        assert_eq!([at(Schedule::Step, 69), at(Schedule::Step, 70)], [2.0, 0.2]);
        assert_eq!([at(Schedule::Halving, 19), at(Schedule::Halving, 20)], [2.0, 1.0]);
        assert_eq!([at(Schedule::Tenths, 39), at(Schedule::Tenths, 40)], [2.0, 1.8]);
        assert_eq!([at(Schedule::Constant, 99), at(Schedule::Plateau, 0)], [2.0, 1.0]);
    }

    #[test]
    fn a_plateau_reduces_the_rate_after_its_patience() {
        let mut plateau = Plateau::default();
        let factors = [1.0, 0.5, 0.5, 0.49999, 0.6, 0.4, 0.5, 0.5, 0.5, 0.5].map(|loss| {
            plateau.observe(loss, 0.5, 2);
            plateau.factor
        });
        assert_eq!(factors, [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25]);
    }

    #[test]
    fn training_stops_when_no_epoch_is_better() {
        let mut stopping = EarlyStopping::default();
        assert!(!stopping.has_best());
        assert_eq!(
            [3.0, 2.0, 2.0, 1.0, 1.5, 1.0].map(|loss| stopping.observe(loss)),
            [true, true, false, true, false, false]
        );
        assert!(stopping.has_best() && stopping.ended(2) && !stopping.ended(3) && !stopping.ended(0));
    }
}

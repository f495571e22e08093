//! How learning rates and Adam's first beta go in the published codes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::train::{half_cosine, rise};

/// Schedule of the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesSchedule {
    /// The same rate in all steps.
    Constant,
    /// Constant for two epochs, then half after each epoch: `type1` of the published codes.
    Halving,
    /// Constant for four epochs, then times 0.9 after each epoch: `type3` of the authors' code.
    Tenths,
    /// One-cycle (Smith & Topin 2019): up from a 25th and down to nearly 0 on cosines, with Adam's first beta the other
    /// way between 0.95 and 0.85: `TST` of the authors' code.
    OneCycle,
    /// Half a cosine from the full rate down to 0.
    Cosine,
}

/// Rate and first beta of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRate {
    /// Learning rate.
    pub rate: f64,
    /// Adam's first beta.
    pub beta: f64,
}

/// Where a step stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Steps before this one.
    pub step: u64,
    /// Steps of an epoch.
    pub of_epoch: u64,
    /// Epochs in all.
    pub epochs: u64,
}

/// What decides rates.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// How the rate goes.
    pub schedule: SeriesSchedule,
    /// The full rate.
    pub rate: f64,
    /// Share of a one-cycle schedule in which the rate rises.
    pub rising: f64,
    /// Epochs over which other rates rise.
    pub warm_epochs: f64,
    /// Whether a one-cycle schedule is made for every run, as the authors' code does it even where it is not
    /// followed: the first epoch then runs at a 25th of the rate, and Adam's first beta is 0.95.
    pub one_cycle_made: bool,
}

/// Lowest and highest first beta of a cycle, and what the full rate is divided by at its start and end.
const BETAS: [f64; 2] = [0.85, 0.95];
const START: f64 = 25.0;
const END: f64 = 1e4;

impl Rates {
    /// Rate and beta of a step.
    pub fn at(&self, place: Place) -> StepRate {
        let epoch = place.step / place.of_epoch.max(1);
        let beta = if self.one_cycle_made { BETAS[1] } else { 0.9 };
        let constant = |share: f64| StepRate { rate: self.rate * share, beta };
        let share = match self.schedule {
            SeriesSchedule::OneCycle => return self.one_cycle(place),
            SeriesSchedule::Constant => 1.0,
            SeriesSchedule::Halving => 0.5_f64.powf(epoch.saturating_sub(1) as f64),
            SeriesSchedule::Tenths => 0.9_f64.powf(epoch.saturating_sub(3) as f64),
            SeriesSchedule::Cosine => half_cosine(place.step as f64 / (place.of_epoch * place.epochs).max(1) as f64),
        };
        if self.one_cycle_made && epoch == 0 {
            return constant(1.0 / START);
        }
        constant(share * rise(place.step, self.warm_epochs * place.of_epoch as f64))
    }

    fn one_cycle(&self, place: Place) -> StepRate {
        let total = (place.of_epoch * place.epochs) as f64;
        let (top, last) = (self.rising * total - 1.0, total - 1.0);
        let step = place.step as f64;
        let between = |from: f64, to: f64, share: f64| to + (from - to) * half_cosine(share);
        let first = self.rate / START;
        if step <= top {
            let share = step / top;
            StepRate { rate: between(first, self.rate, share), beta: between(BETAS[1], BETAS[0], share) }
        } else {
            let share = (step - top) / (last - top);
            StepRate { rate: between(self.rate, first / END, share), beta: between(BETAS[0], BETAS[1], share) }
        }
    }
}

//! The settings of the section `[train]` that all supervised families share.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::schedule::{LearningRate, Rounding, Schedule};
use crate::store::ranges;
use crate::{Error, Result};

/// The network that a training leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Select {
    /// The network of the last epoch.
    Last,
    /// The network with the lowest validation loss.
    Best,
}

/// The loss of a predicted number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberLoss {
    /// The absolute error.
    #[serde(rename = "mae")]
    Absolute,
    /// The squared error.
    #[serde(rename = "mse")]
    Squared,
    /// Half the squared error below 1, the absolute error less a half beyond (Huber 1964).
    Huber,
}

/// Settings of `[train]` that one family alone has.
pub trait FamilyTraining: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// The training of the family where nothing is written.
    fn defaults() -> TrainSettings<Self>;
}

/// Section `[train]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, bound = "X: FamilyTraining")]
pub struct TrainSettings<X> {
    /// Examples of a step.
    pub batch_size: usize,
    /// Steps of an epoch, at most; 0 for as many as it takes to see every example once. Examples that are generated
    /// need a number.
    pub steps_per_epoch: usize,
    /// Epochs, at most.
    pub epochs: usize,
    /// If true, an epoch leaves out the examples that do not fill a last batch.
    pub drop_last: bool,
    /// Learning rate of Adam.
    pub learning_rate: f64,
    /// How the learning rate changes.
    pub schedule: Schedule,
    /// Epochs over which the learning rate rises linearly from 0; 0 for none.
    pub warmup_epochs: f64,
    /// Share of all steps after which the schedule `step` takes a tenth of the rate.
    pub learning_rate_drop_at: f64,
    /// The schedule `plateau` multiplies the rate by this number.
    pub plateau_factor: f64,
    /// Epochs without a lower validation loss that the schedule `plateau` waits for.
    pub plateau_patience: usize,
    /// Training with the schedule `plateau` ends when the rate is below this number.
    pub min_learning_rate: f64,
    /// Share of the schedule `one-cycle` in which the rate rises.
    pub pct_start: f64,
    /// If true, a one-cycle schedule sets the optimiser's initial state even where another schedule is followed, as
    /// in the authors' PatchTST code: the first epoch runs at a 25th of the rate, and Adam's first beta is 0.95.
    pub one_cycle_initial_state: bool,
    /// Epochs without a lower validation loss after which training ends; 0 to run all epochs.
    pub early_stopping_patience: usize,
    /// Decoupled weight decay (Loshchilov & Hutter 2019).
    pub weight_decay: f64,
    /// Largest norm of the gradient; 0 for no limit.
    pub max_grad_norm: f64,
    /// Decay of the running average of the weights that is validated and saved; 0 for none.
    pub ema_decay: f64,
    /// The loss of a predicted number.
    pub loss: NumberLoss,
    /// Settings of the family.
    #[serde(flatten)]
    pub family: X,
    /// The network that a training leaves behind.
    pub select: Select,
    /// Seed of everything random in training.
    pub seed: u64,
    /// Steps between two lines of metrics.
    pub log_steps: usize,
    /// Minutes between two checkpoints, at most.
    pub checkpoint_minutes: f64,
}

impl<X> TrainSettings<X> {
    /// Plain training: Adam at a constant rate, the last network kept.
    pub(crate) fn plain(family: X) -> Self {
        Self {
            batch_size: 32,
            steps_per_epoch: 0,
            epochs: 100,
            drop_last: false,
            learning_rate: 1e-3,
            schedule: Schedule::Constant,
            warmup_epochs: 0.0,
            learning_rate_drop_at: 0.7,
            plateau_factor: 0.5,
            plateau_patience: 15,
            min_learning_rate: 1e-6,
            pct_start: 0.3,
            one_cycle_initial_state: false,
            early_stopping_patience: 0,
            weight_decay: 0.0,
            max_grad_norm: 0.0,
            ema_decay: 0.0,
            loss: NumberLoss::Absolute,
            family,
            select: Select::Last,
            seed: 1234,
            log_steps: 20,
            checkpoint_minutes: 5.0,
        }
    }

    /// The learning rate of every step.
    pub(crate) fn learning_rates(&self, rounding: Rounding) -> LearningRate {
        LearningRate {
            schedule: self.schedule,
            rate: self.learning_rate,
            warmup_epochs: self.warmup_epochs,
            drop_at: self.learning_rate_drop_at,
            pct_start: self.pct_start,
            one_cycle_initial_state: self.one_cycle_initial_state,
            rounding,
        }
    }

    /// Checks the settings that all families share.
    ///
    /// # Errors
    /// [`Error::Config`] with the setting and what was expected.
    pub(crate) fn validate(&self) -> Result<()> {
        ranges::at_least_one(&[
            ("train.batch_size", self.batch_size),
            ("train.epochs", self.epochs),
            ("train.log_steps", self.log_steps),
        ])?;
        ranges::above_zero(&[
            ("train.learning_rate", self.learning_rate),
            ("train.checkpoint_minutes", self.checkpoint_minutes),
        ])?;
        ranges::shares(&[
            ("train.ema_decay", self.ema_decay),
            ("train.plateau_factor", self.plateau_factor),
            ("train.pct_start", self.pct_start),
        ])?;
        if !(0.0..=1.0).contains(&self.learning_rate_drop_at) {
            let reason = format!("is {}; expected 0 to 1", self.learning_rate_drop_at);
            return Err(Error::config("train.learning_rate_drop_at", reason));
        }
        ranges::not_negative(&[
            ("train.warmup_epochs", self.warmup_epochs),
            ("train.weight_decay", self.weight_decay),
            ("train.max_grad_norm", self.max_grad_norm),
            ("train.min_learning_rate", self.min_learning_rate),
        ])
    }
}

impl<X: FamilyTraining> Default for TrainSettings<X> {
    fn default() -> Self {
        X::defaults()
    }
}

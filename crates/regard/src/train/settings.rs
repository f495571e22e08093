//! The settings of the section `[train]` that all supervised families share.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::losses::LossOptions;
use super::optimizer::{OptimizerKind, OptimizerOptions};
use super::schedule::{LearningRate, Rounding, Schedule};
use crate::store::ranges;
use crate::{Error, Result};

/// Network that the run saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Select {
    /// The network after the last epoch.
    Last,
    /// The network with the lowest validation loss.
    Best,
}

/// Loss for numeric targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NumberLoss {
    /// Mean absolute error.
    #[serde(rename = "mae")]
    Absolute,
    /// Mean squared error.
    #[serde(rename = "mse")]
    Squared,
    /// Huber loss: squared error below 1, absolute error above 1 (Huber 1964).
    Huber,
}

/// Settings of `[train]` that one family alone has.
pub trait FamilyTraining: Clone + Debug + PartialEq + Serialize + DeserializeOwned + JsonSchema {
    /// The training of the family where nothing is written.
    fn defaults() -> TrainSettings<Self>;
}

/// Largest number of examples of a step.
const MOST_EXAMPLES: usize = 65_536;
/// Largest number of shards of a batch.
pub(crate) const MOST_SHARDS: usize = 1024;
/// Largest number of epochs.
const MOST_EPOCHS: usize = 1_000_000;
/// Largest number of steps.
const MOST_STEPS: usize = 1_000_000_000;

/// Section `[train]`: the training of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, bound = "X: FamilyTraining")]
#[schemars(bound = "X: FamilyTraining")]
pub struct TrainSettings<X> {
    /// Number of examples per step: sets, graphs, windows or series.
    #[schemars(range(min = 1, max = 65_536))]
    pub batch_size: usize,
    /// Number of shards into which the batch of a step is cut: several ranks share them, and the result depends on their
    /// number but not on that of the ranks; 0 for 1, or 8 under `mpirun`. Batch norm takes the statistics of each shard.
    #[schemars(range(max = 1024))]
    pub shards: usize,
    /// Maximum number of steps per epoch; 0 for one pass over all examples. For sets it must be at least 1.
    #[schemars(range(max = 1_000_000_000))]
    pub steps_per_epoch: usize,
    /// Maximum number of epochs.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub epochs: usize,
    /// Minimum number of steps: with few examples there are more epochs; 0 for none.
    #[schemars(range(max = 1_000_000_000))]
    pub min_steps: usize,
    /// Maximum number of steps: with many examples there are fewer epochs, at least one; 0 for none.
    #[schemars(range(max = 1_000_000_000))]
    pub max_steps: usize,
    /// If true, the last incomplete batch of an epoch is dropped.
    pub drop_last: bool,
    /// Optimiser of the weights.
    pub optimizer: OptimizerKind,
    /// Learning rate of the optimiser.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub learning_rate: f64,
    /// Schedule of the learning rate.
    pub schedule: Schedule,
    /// Number of epochs over which the learning rate rises linearly from 0; 0 for none.
    #[schemars(range(min = 0.0))]
    pub warmup_epochs: f64,
    /// Fraction of all steps after which the schedule `step` divides the learning rate by 10.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub learning_rate_drop_at: f64,
    /// Factor by which the learning rate is multiplied at a plateau of the validation loss.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub plateau_factor: f64,
    /// Number of allowed epochs without a lower validation loss before the schedule `plateau` reduces the learning
    /// rate.
    pub plateau_patience: usize,
    /// Learning rate below which training with the schedule `plateau` ends.
    #[schemars(range(min = 0.0))]
    pub min_learning_rate: f64,
    /// Fraction of a one-cycle schedule in which the learning rate rises.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub pct_start: f64,
    /// If true, training starts with the optimiser state that a one-cycle schedule sets, even with another schedule, as
    /// in the authors' code: the first epoch runs at 1/25 of the learning rate, and Adam's first beta is 0.95.
    pub one_cycle_initial_state: bool,
    /// Number of epochs without a lower validation loss after which training ends; 0 to run all epochs.
    pub early_stopping_patience: usize,
    /// Decoupled weight decay of AdamW (Loshchilov & Hutter 2019); 0 for none.
    #[schemars(range(min = 0.0))]
    pub weight_decay: f64,
    /// Maximum norm of the gradient; a larger gradient is scaled down; 0 for no clipping.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// Decay of the exponential moving average (EMA) of the weights, which is evaluated and saved; 0 for no averaging.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub ema_decay: f64,
    /// Model folder with the initial weights. The head is initialised at random if it has another shape, and so are the
    /// weights of kinds and columns that the model does not know. Empty for random weights.
    pub init_from: String,
    /// Loss for numeric targets.
    pub loss: NumberLoss,
    /// If true, rare classes have a larger weight in the loss: the weight of an example is the fraction of the batch
    /// that is of other classes.
    pub class_weights: bool,
    /// Settings of the family.
    #[serde(flatten)]
    pub family: X,
    /// Network that the run saves.
    pub select: Select,
    /// Random seed of the training.
    pub seed: u64,
    /// Number of steps between two lines of `metrics.jsonl`.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub log_steps: usize,
    /// Maximum time between two checkpoints, in minutes.
    #[schemars(range(max = 525_600), extend("exclusiveMinimum" = 0))]
    pub checkpoint_minutes: f64,
}

impl<X> TrainSettings<X> {
    /// Plain training: Adam at a constant rate, the last network kept.
    pub(crate) fn plain(family: X) -> Self {
        Self {
            batch_size: 32,
            shards: 0,
            steps_per_epoch: 0,
            epochs: 100,
            min_steps: 0,
            max_steps: 0,
            drop_last: false,
            optimizer: OptimizerKind::Adam,
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
            init_from: String::new(),
            loss: NumberLoss::Absolute,
            class_weights: false,
            family,
            select: Select::Last,
            seed: 1234,
            log_steps: 20,
            checkpoint_minutes: 5.0,
        }
    }

    /// Number of epochs of so many steps each: `epochs`, or more or fewer where `min_steps`, `least` steps that the data
    /// needs, or `max_steps` say so.
    pub(crate) fn epochs_of(&self, steps_per_epoch: u64, least: u64) -> u64 {
        let steps = steps_per_epoch.max(1);
        let more = (self.min_steps as u64).max(least).div_ceil(steps);
        let most = if self.max_steps > 0 { (self.max_steps as u64 / steps).max(1) } else { u64::MAX };
        (self.epochs as u64).max(more).min(most)
    }

    /// Settings of the optimiser.
    pub(crate) fn optimizer_options(&self) -> OptimizerOptions {
        let (kind, max_grad_norm, weight_decay) = (self.optimizer, self.max_grad_norm, self.weight_decay);
        OptimizerOptions { kind, max_grad_norm, weight_decay }
    }

    /// Options of the losses.
    pub(crate) fn loss_options(&self) -> LossOptions {
        LossOptions { number: self.loss, class_weights: self.class_weights }
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
        ranges::whole("train.batch_size", self.batch_size, 1..=MOST_EXAMPLES)?;
        ranges::whole("train.shards", self.shards, 0..=MOST_SHARDS)?;
        ranges::whole("train.epochs", self.epochs, 1..=MOST_EPOCHS)?;
        ranges::whole("train.log_steps", self.log_steps, 1..=MOST_STEPS)?;
        ranges::at_most(
            &[
                ("train.steps_per_epoch", self.steps_per_epoch),
                ("train.min_steps", self.min_steps),
                ("train.max_steps", self.max_steps),
            ],
            MOST_STEPS,
        )?;
        ranges::above_zero(&[("train.learning_rate", self.learning_rate)])?;
        ranges::minutes("train.checkpoint_minutes", self.checkpoint_minutes)?;
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

//! The training loop: events for observers, limits, metrics,
//! checkpoints from which a run goes on bit for bit, and a running average of the weights.
//!
//! A step's random numbers follow from the seed and the number of the step alone, so a checkpoint
//! has no generator to save: weights, optimiser and a few counters are the whole state.

mod average;
mod checkpoint;
mod data_files;
mod dropout;
mod losses;
mod measures;
mod metrics;
mod optimizer;
mod pace;
mod parameters;
pub mod ranks;
mod run;
mod run_folder;
mod schedule;
mod seeds;
mod settings;
mod shard_sums;
mod shuffled;
mod trainee;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) use average::RunningAverage;
pub(crate) use checkpoint::Checkpoint;
pub use data_files::DataFiles;
pub(crate) use dropout::{dropped, factor};
pub use losses::LossOptions;
pub(crate) use losses::{
    classification_metrics, cross_entropy, majority_share, negative_log_likelihood, number_loss, probabilities,
    row_weights,
};
pub use measures::{Measure, Measures};
pub use optimizer::OptimizerKind;
pub(crate) use optimizer::{Optimizer, OptimizerOptions};
pub(crate) use pace::Pace;
pub(crate) use parameters::{collect, drawn, gradients, numbered, restore, shapes};
pub use ranks::{Ranks, Shard};
pub(crate) use ranks::{Shards, digest};
pub use run::{BaselineComparison, Trained, Training, ValidationMetrics};
pub(crate) use run::{Learning, RunLength, Settings, at_checkpoint, train_from};
pub(crate) use run_folder::{RunFolder, Written};
pub(crate) use schedule::{EarlyStopping, Plateau, linear_warmup};
pub use schedule::{LearningRate, Position, Rounding, Schedule, StepRate};
pub(crate) use seeds::{Stream, derived};
pub(crate) use settings::MOST_SHARDS;
pub use settings::{FamilyTraining, NumberLoss, Select, TrainSettings};
pub(crate) use shard_sums::{ShardSums, isolated};
pub use shuffled::Shuffled;
pub(crate) use trainee::{Trainee, fresh};

/// An event of a training.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The training begins, or goes on.
    Started {
        /// Steps done before.
        first_step: u64,
        /// Steps at which it will be complete.
        steps: u64,
        /// Steps of an epoch.
        steps_per_epoch: u64,
        /// Trainable numbers of the network.
        parameters: usize,
        /// If true, validations measure examples that are not learnt from; if false, the training examples.
        held_out: bool,
    },
    /// A warning about the data, a sentence.
    Warning(String),
    /// Something that is known before the first step, or of the model that was saved, a sentence.
    Note(String),
    /// A step of the optimiser was made.
    Step(Step),
    /// The network was measured on the validation set.
    Valid(Valid),
    /// A checkpoint was written.
    Saved {
        /// Steps done.
        step: u64,
    },
}

/// Means over the steps since the last line of metrics, and the state at the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Steps done, this one included.
    pub step: u64,
    /// Epochs completed before this step.
    pub epoch: u64,
    /// Instances seen, those of this step included.
    pub instances: u64,
    /// The metrics.
    pub measures: Measures,
}

/// The network on the validation set.
#[derive(Clone, Debug, PartialEq)]
pub struct Valid {
    /// Steps done.
    pub step: u64,
    /// Epochs completed.
    pub epoch: u64,
    /// Instances seen.
    pub instances: u64,
    /// Loss and metrics.
    pub metrics: ValidationMetrics,
}

/// An observer of a training.
pub trait Observer {
    /// Takes an event.
    fn event(&mut self, event: &Event);
}

impl<F: FnMut(&Event)> Observer for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}

/// Limits that end a training before it is complete.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// After so many steps in all, those before a resume included.
    pub steps: Option<u64>,
    /// After so much time from now, the reading of the data and base learners included; a schedule of the learning rate
    /// ends with it.
    pub time: Option<Duration>,
    /// When this becomes true.
    pub interrupt: Arc<AtomicBool>,
}

/// Why a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// All epochs are done.
    Complete,
    /// The limit of steps is reached.
    Steps,
    /// The time is used up.
    Time,
    /// It was interrupted.
    Interrupted,
}

impl Limits {
    /// The limit that is reached after `step` steps of a call that began at `begun`.
    pub(crate) fn reached(&self, begun: Instant, step: u64) -> Option<Ended> {
        if self.interrupt.load(Ordering::Relaxed) {
            Some(Ended::Interrupted)
        } else if self.steps.is_some_and(|steps| step >= steps) {
            Some(Ended::Steps)
        } else if self.time.is_some_and(|time| begun.elapsed() >= time) {
            Some(Ended::Time)
        } else {
            None
        }
    }
}

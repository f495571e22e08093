//! Sections of an experiment on sets, with what stands in them when nothing is said. Folders of models that were
//! written before a setting was thought of have its default too.

use serde::{Deserialize, Serialize};

use crate::sets::task::{NumberLoss, TaskKind};

/// Section `[task]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetTask {
    /// What is asked of a set.
    pub kind: TaskKind,
}

/// Where sets come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A file: [`SetData::path`].
    File,
    /// 1 to 10 numbers between 0 and 100; the largest is asked for (Lee et al. 2019, §5.1).
    Max,
    /// As the authors' notebook: whole numbers, as many in all sets of a batch.
    MaxNotebook,
    /// Mixtures of four normal distributions in the plane, 100 to 500 points (the paper).
    Mixtures,
    /// As the authors' code: 300 to 599 points, as many in all sets of a batch.
    MixturesRepository,
    /// Six components, 1,000 to 5,000 points.
    MixturesLarge,
    /// Samples of normal distributions; their mean is asked for.
    Mean,
    /// Samples of normal distributions; their variance is asked for (Zhang et al. 2022).
    Variance,
    /// Samples of rotated normal distributions; the entropy of the first coordinate is asked for
    /// (Zaheer et al. 2017).
    Entropy,
    /// Images of digits; their sum is asked for.
    DigitSum,
    /// Images of one digit, and one of another.
    OddDigit,
    /// Points of simple shapes, to be told apart.
    Shapes,
}

/// Section `[data]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SetData {
    /// Where sets come from.
    pub source: SourceKind,
    /// The file: CSV, JSON lines, npz or libsvm rows.
    pub path: String,
    /// A file of sets to measure on, for `regard eval`, laid out as the other; empty for folds of that one.
    pub test: String,
    /// Column whose equal values make a set; empty for files that say it themselves.
    pub group_by: String,
    /// Column of what is asked for, the same in all rows of a set.
    pub target: String,
    /// Column of what is asked for of every item, where items are scored.
    pub item_target: String,
    /// Columns of features; empty for all others with numbers.
    pub features: Vec<String>,
    /// Whether features are brought to mean 0 and deviation 1, learnt on the training sets.
    pub standardise: bool,
    /// Share of a file's sets that is kept for validation, below 1.
    pub validation_fraction: f64,
}

/// How the learning rate goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// Always the same.
    Constant,
    /// A tenth after [`SetTraining::learning_rate_drop_at`] of all steps.
    Step,
    /// Half a cosine down to 0, after a rise over [`SetTraining::warmup_epochs`].
    Cosine,
}

/// Section `[train]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SetTraining {
    /// Sets of a step.
    pub batch_size: usize,
    /// Steps of an epoch.
    pub steps_per_epoch: usize,
    /// Epochs.
    pub epochs: usize,
    /// Learning rate of Adam.
    pub learning_rate: f64,
    /// How the learning rate goes.
    pub schedule: RateSchedule,
    /// Share of all steps after which the rate of `step` falls.
    pub learning_rate_drop_at: f64,
    /// Epochs over which the learning rate rises linearly from 0; 0 for none.
    pub warmup_epochs: f64,
    /// Weight decay, apart from the gradient (Loshchilov & Hutter 2019).
    pub weight_decay: f64,
    /// Largest norm of the gradient; 0 for no limit.
    pub max_grad_norm: f64,
    /// Decay of the running average of the weights that is measured and saved; 0 for none.
    pub ema_decay: f64,
    /// How far a number is off.
    pub loss: NumberLoss,
    /// Seed of everything random in training.
    pub seed: u64,
    /// Steps between two lines of metrics.
    pub log_steps: usize,
    /// A checkpoint is written at least so often, in minutes.
    pub checkpoint_minutes: f64,
}

/// Section `[eval]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SetEval {
    /// Generated sets on which a network is measured.
    pub num_sets: usize,
    /// Their seed.
    pub seed: u64,
    /// Networks in a fold, whose answers are averaged.
    pub ensemble: usize,
}

impl Default for SetData {
    fn default() -> Self {
        Self {
            source: SourceKind::Max,
            path: String::new(),
            test: String::new(),
            group_by: String::new(),
            target: String::new(),
            item_target: String::new(),
            features: Vec::new(),
            standardise: true,
            validation_fraction: 0.2,
        }
    }
}

impl Default for SetTraining {
    fn default() -> Self {
        Self {
            batch_size: 32,
            steps_per_epoch: 500,
            epochs: 20,
            learning_rate: 1e-3,
            schedule: RateSchedule::Constant,
            learning_rate_drop_at: 0.7,
            warmup_epochs: 0.0,
            weight_decay: 0.0,
            max_grad_norm: 0.0,
            ema_decay: 0.0,
            loss: NumberLoss::Absolute,
            seed: 1234,
            log_steps: 50,
            checkpoint_minutes: 5.0,
        }
    }
}

impl Default for SetEval {
    fn default() -> Self {
        Self { num_sets: 1000, seed: 4321, ensemble: 1 }
    }
}

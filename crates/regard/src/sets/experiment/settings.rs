//! Sections of an experiment on sets, with what stands in them when nothing is said. Folders of models that were
//! written before a setting was thought of have its default too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sets::task::{NumberLoss, TaskKind};

/// Section `[task]`: the question about a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetTask {
    /// Task of the network.
    pub kind: TaskKind,
}

/// Source of sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A file: `data.path`.
    File,
    /// 1 to 10 numbers between 0 and 100; the target is the largest (Lee et al. 2019, §5.1).
    Max,
    /// As `max`, but as in the authors' notebook: whole numbers, and all sets of a batch have the same size.
    MaxNotebook,
    /// 100 to 500 points of a mixture of four normal distributions in the plane (the paper).
    Mixtures,
    /// As `mixtures`, but as in the authors' code: 300 to 599 points, and all sets of a batch have the same size.
    MixturesRepository,
    /// 1,000 to 5,000 points of a mixture of six normal distributions in the plane.
    MixturesLarge,
    /// Samples of a normal distribution; the target is its mean.
    Mean,
    /// Samples of a normal distribution; the target is its variance (Zhang et al. 2022).
    Variance,
    /// Samples of a rotated normal distribution; the target is the entropy of the first coordinate (Zaheer et al.
    /// 2017).
    Entropy,
    /// Images of digits; the target is their sum.
    DigitSum,
    /// Images of one digit and one image of another digit; the target is the odd one.
    OddDigit,
    /// Points on a simple shape; the target is the shape.
    Shapes,
}

/// Section `[data]`: the sets to train on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetData {
    /// Source of the sets: a file or a generator.
    pub source: SourceKind,
    /// File of sets: CSV, JSON lines, npz or libsvm.
    pub path: String,
    /// File of test sets for `regard eval`, with the columns of `path`; empty for cross-validation on `path`.
    pub test: String,
    /// Column whose equal values form a set; empty for formats that contain the sets.
    pub group_by: String,
    /// Column of the target of a set, the same in all its rows.
    pub target: String,
    /// Column of the target of an item, for tasks that score items.
    pub item_target: String,
    /// Columns of features; empty for all other numeric columns.
    pub features: Vec<String>,
    /// If true, features are scaled to mean 0 and standard deviation 1, as measured on the training sets.
    pub standardise: bool,
    /// Fraction of the sets of a file that is held out for validation.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub validation_fraction: f64,
}

/// Schedule of the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// The same rate in all steps.
    Constant,
    /// The rate divided by 10 after the fraction `learning_rate_drop_at` of all steps.
    Step,
    /// Half a cosine from the full rate down to 0.
    Cosine,
}

/// Section `[train]`: the training of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetTraining {
    /// Number of sets in a step.
    #[schemars(range(min = 1))]
    pub batch_size: usize,
    /// Number of steps in an epoch.
    #[schemars(range(min = 1))]
    pub steps_per_epoch: usize,
    /// Number of epochs.
    #[schemars(range(min = 1))]
    pub epochs: usize,
    /// Learning rate of Adam.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub learning_rate: f64,
    /// Schedule of the learning rate.
    pub schedule: RateSchedule,
    /// Fraction of all steps after which the schedule `step` divides the learning rate by 10.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub learning_rate_drop_at: f64,
    /// Number of epochs over which the learning rate rises linearly from 0; 0 for none.
    #[schemars(range(min = 0.0))]
    pub warmup_epochs: f64,
    /// Decoupled weight decay of AdamW (Loshchilov & Hutter 2019); 0 for none.
    #[schemars(range(min = 0.0))]
    pub weight_decay: f64,
    /// Largest norm of the gradient; a longer gradient is scaled down; 0 for no limit.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// Decay of the exponential moving average of the weights that is evaluated and saved; 0 for no average.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub ema_decay: f64,
    /// Loss of predicted numbers.
    pub loss: NumberLoss,
    /// Seed of every random number in training.
    pub seed: u64,
    /// Number of steps between two lines of metrics.
    #[schemars(range(min = 1))]
    pub log_steps: usize,
    /// Longest time between two checkpoints, in minutes.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub checkpoint_minutes: f64,
}

/// Section `[eval]`: the evaluation of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetEval {
    /// Number of generated sets that the network is evaluated on.
    #[schemars(range(min = 1))]
    pub num_sets: usize,
    /// Seed of the generated sets.
    pub seed: u64,
    /// Number of networks per fold of a cross-validation, whose predictions are averaged.
    #[schemars(range(min = 1))]
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

//! Sections of an experiment on time series, with what stands in them when nothing is said. Folders of models
//! that were written before a setting was thought of have its default too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::series::task::SeriesTask;
use crate::series::train::SeriesSchedule;

/// Section `[task]`: the question about a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeriesTaskSettings {
    /// Task of the network.
    pub kind: SeriesTask,
    /// Number of future values that a forecast predicts.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub horizon: usize,
}

/// Layout of a file of series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeriesLayout {
    /// Taken from the header.
    Auto,
    /// One column for each series.
    Wide,
    /// One row for each value: name, time, value.
    Long,
}

/// Split of the rows into training, validation and test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeriesSplit {
    /// Fractions of the rows in order of time: `data.validation_fraction` and `data.test_fraction`.
    Fractions,
    /// 12, 4 and 4 months of 30 days of hourly rows, the split of the ETTh files.
    Etth,
    /// The same of quarter-hourly rows, the split of the ETTm files.
    Ettm,
    /// By date: from `data.validation_from` and `data.test_from` on.
    Dates,
    /// By number of rows at the end of each series: `data.validation_rows` and `data.test_rows`.
    Rows,
}

/// Section `[data]`: the series to train on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SeriesData {
    /// File of time series: CSV, gzipped CSV or Parquet.
    pub path: String,
    /// Layout of the file.
    pub layout: SeriesLayout,
    /// Column of time stamps; empty to detect it.
    pub date: String,
    /// Column of series names in a long file; empty to detect it.
    pub id: String,
    /// Columns of values; empty for all.
    pub columns: Vec<String>,
    /// Column of classes in a long file, for classification; empty for none.
    pub label: String,
    /// Columns whose future values are known.
    pub future_covariates: Vec<String>,
    /// Columns with one value for a whole series.
    pub static_covariates: Vec<String>,
    /// Split of the rows into training, validation and test.
    pub split: SeriesSplit,
    /// Fraction of the rows held out for validation, for the split `fractions`.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub validation_fraction: f64,
    /// Fraction of the rows held out for the test, for the split `fractions`.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub test_fraction: f64,
    /// Number of rows held out for validation, for the split `rows`.
    pub validation_rows: usize,
    /// Number of rows held out for the test, for the split `rows`.
    pub test_rows: usize,
    /// First date of the validation rows, for the split `dates`.
    pub validation_from: String,
    /// First date of the test rows, for the split `dates`.
    pub test_from: String,
    /// If true, series are scaled to mean 0 and standard deviation 1, as measured on the training rows.
    pub standardise: bool,
    /// Number of values in a season; 0 to derive it from the time stamps.
    pub season_length: usize,
}

/// Loss of a predicted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeriesLoss {
    /// Mean squared error.
    #[serde(rename = "mse")]
    Squared,
    /// Mean absolute error.
    #[serde(rename = "mae")]
    Absolute,
    /// Squared error below 1, absolute error beyond (Huber 1964).
    Huber,
}

/// Selection of the network that a run saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeepSeries {
    /// The network of the last epoch.
    Last,
    /// The network with the lowest validation loss.
    Best,
}

/// Parameters that training changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Moving {
    /// All parameters.
    All,
    /// The parameters of the head; the rest is frozen (linear probing).
    Head,
}

/// Section `[train]`: the training of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SeriesTraining {
    /// Number of windows in a step, each with all channels if all channels have the same rows.
    #[schemars(range(min = 1))]
    pub batch_size: usize,
    /// Largest number of epochs.
    #[schemars(range(min = 1))]
    pub epochs: usize,
    /// Largest number of windows of single series in a step, sampled from all series; 0 for all. Not for networks with
    /// parameters of their own for each series.
    pub windows_batch_size: usize,
    /// Largest number of steps in an epoch; 0 for as many as it takes to see every window.
    pub steps_per_epoch: usize,
    /// Learning rate of Adam.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub learning_rate: f64,
    /// Schedule of the learning rate.
    pub schedule: SeriesSchedule,
    /// Fraction of a one-cycle schedule in which the learning rate rises.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub pct_start: f64,
    /// If true, training starts in the state of a one-cycle schedule even with another one, as in the authors' code:
    /// the first epoch runs at a 25th of the rate and Adam's first beta is 0.95.
    pub one_cycle_initial_state: bool,
    /// Number of epochs over which the learning rate of the other schedules rises linearly from 0; 0 for none.
    #[schemars(range(min = 0.0))]
    pub warmup_epochs: f64,
    /// Number of epochs without a lower validation loss after which training ends; 0 to run all epochs.
    pub early_stopping_patience: usize,
    /// Loss of predicted values.
    pub loss: SeriesLoss,
    /// Largest norm of the gradient; a longer gradient is scaled down; 0 for no limit.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// Ridge penalty of the fitted `model.linear_skip`, in units of the mean square of a window value.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub ridge_penalty: f64,
    /// If true, the network's correction of a fitted `model.linear_skip` is scaled after every epoch to the share that
    /// the validation windows support: the lower end of the 95 % interval of its least-squares factor.
    pub shrink: bool,
    /// Decoupled weight decay of AdamW (Loshchilov & Hutter 2019); 0 for none.
    #[schemars(range(min = 0.0))]
    pub weight_decay: f64,
    /// Decay of the exponential moving average of the weights that is evaluated and saved; 0 for no average.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub ema_decay: f64,
    /// If true, an epoch leaves out the windows that do not fill a last batch.
    pub drop_last: bool,
    /// Fraction of the values, or of the patches, that are masked, for imputation and pretraining.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub mask_ratio: f64,
    /// Folder of a model whose weights the training starts from; the head is fresh if the task is another one; empty
    /// for random weights.
    pub init_from: String,
    /// Parameters that training changes.
    pub trainable: Moving,
    /// Number of first epochs that train only the head; 0 for none.
    pub head_epochs: usize,
    /// Selection of the network that a run saves.
    pub select: KeepSeries,
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SeriesEval {
    /// Number of windows in a batch of the evaluation; metrics named `_paper` leave out the windows that do not fill a
    /// last batch.
    #[schemars(range(min = 1))]
    pub batch_size: usize,
    /// Largest number of windows of single series for validation, evenly spaced; 0 for all.
    pub validation_windows: usize,
    /// If true, prediction intervals are calibrated on the errors of the validation rows.
    pub intervals: bool,
}

impl Default for SeriesData {
    fn default() -> Self {
        Self {
            path: String::new(),
            layout: SeriesLayout::Auto,
            date: String::new(),
            id: String::new(),
            columns: vec![],
            label: String::new(),
            future_covariates: vec![],
            static_covariates: vec![],
            split: SeriesSplit::Fractions,
            validation_fraction: 0.1,
            test_fraction: 0.2,
            validation_rows: 0,
            test_rows: 0,
            validation_from: String::new(),
            test_from: String::new(),
            standardise: true,
            season_length: 0,
        }
    }
}

impl Default for SeriesTraining {
    /// As the authors' scripts for the ETTh files have it; the other presets differ in what they say.
    fn default() -> Self {
        Self {
            batch_size: 128,
            epochs: 100,
            windows_batch_size: 0,
            steps_per_epoch: 0,
            learning_rate: 1e-4,
            schedule: SeriesSchedule::Tenths,
            pct_start: 0.3,
            one_cycle_initial_state: true,
            warmup_epochs: 0.0,
            early_stopping_patience: 100,
            loss: SeriesLoss::Squared,
            max_grad_norm: 0.0,
            ridge_penalty: 0.05,
            shrink: false,
            weight_decay: 0.0,
            ema_decay: 0.0,
            drop_last: true,
            mask_ratio: 0.4,
            init_from: String::new(),
            trainable: Moving::All,
            head_epochs: 0,
            select: KeepSeries::Best,
            seed: 2021,
            log_steps: 20,
            checkpoint_minutes: 5.0,
        }
    }
}

impl SeriesTraining {
    /// The training that belongs to a preset of the network.
    pub fn preset(name: &str) -> Self {
        let published = Self {
            batch_size: 32,
            epochs: 10,
            early_stopping_patience: 3,
            schedule: SeriesSchedule::Halving,
            one_cycle_initial_state: false,
            ..Self::default()
        };
        match name {
            "patchtst-official" => Self::default(),
            "patchtst-tslib" => Self { drop_last: false, ..published },
            "patchtst-tfb" => published,
            _ => Self {
                batch_size: 64,
                windows_batch_size: 2048,
                epochs: 20,
                learning_rate: 5e-4,
                schedule: SeriesSchedule::Cosine,
                one_cycle_initial_state: false,
                warmup_epochs: 0.5,
                early_stopping_patience: 0,
                loss: SeriesLoss::Huber,
                max_grad_norm: 1.0,
                ema_decay: 0.99,
                drop_last: false,
                ..Self::default()
            },
        }
    }
}

impl SeriesEval {
    /// The measuring that belongs to a preset of the network.
    pub fn preset(name: &str) -> Self {
        match name.starts_with("patchtst") {
            true => Self::default(),
            false => Self { validation_windows: 50_000, ..Self::default() },
        }
    }
}

impl Default for SeriesEval {
    fn default() -> Self {
        Self { batch_size: 128, validation_windows: 0, intervals: true }
    }
}

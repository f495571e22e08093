//! Sections of an experiment on time series, with what stands in them when nothing is said. Folders of models
//! that were written before a setting was thought of have its default too.

use serde::{Deserialize, Serialize};

use crate::series::task::SeriesTask;
use crate::series::train::SeriesSchedule;

/// Section `[task]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesTaskSettings {
    /// What is asked.
    pub kind: SeriesTask,
    /// Values that are told, for a forecast.
    pub horizon: usize,
}

/// How a file of series is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesLayout {
    /// As the header says.
    Auto,
    /// A column for each series.
    Wide,
    /// A row for each value: name, time, value.
    Long,
}

/// Which rows are learnt from, which choose, which measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesSplit {
    /// Shares of the rows, in order of time: `data.validation_fraction` and `data.test_fraction`.
    Fractions,
    /// 12, 4 and 4 months of 30 days of hours, as the ETTh files are split.
    Etth,
    /// The same of quarters of hours, as the ETTm files are split.
    Ettm,
    /// From the dates `data.validation_from` and `data.test_from`.
    Dates,
    /// So many rows at the end of each series: `data.validation_rows` and `data.test_rows`.
    Rows,
}

/// Section `[data]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SeriesData {
    /// The file: CSV, also packed with gzip, or Parquet.
    pub path: String,
    /// How it is laid out.
    pub layout: SeriesLayout,
    /// Column of time stamps; empty to find it.
    pub date: String,
    /// Column of names in a long file; empty to find it.
    pub id: String,
    /// Columns of values; empty for all there are.
    pub columns: Vec<String>,
    /// Column of classes in a long file, where series are classified; empty for none.
    pub label: String,
    /// Columns that are known of the future.
    pub future_covariates: Vec<String>,
    /// Columns that are known of each series as a whole.
    pub static_covariates: Vec<String>,
    /// Which rows are learnt from, which choose, which measure.
    pub split: SeriesSplit,
    /// Share of the rows that choose.
    pub validation_fraction: f64,
    /// Share of the rows that measure.
    pub test_fraction: f64,
    /// Rows that choose.
    pub validation_rows: usize,
    /// Rows that measure.
    pub test_rows: usize,
    /// The first date that chooses.
    pub validation_from: String,
    /// The first date that measures.
    pub test_from: String,
    /// Whether series are brought to mean 0 and deviation 1, learnt on the training rows.
    pub standardise: bool,
    /// Values after which series repeat themselves; 0 to take it from the distance of time stamps.
    pub season_length: usize,
}

/// How far off a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesLoss {
    /// Its square.
    #[serde(rename = "mse")]
    Squared,
    /// Its size.
    #[serde(rename = "mae")]
    Absolute,
    /// Its square near 0, its size beyond 1 (Huber 1964).
    Huber,
}

/// Which network a run leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeepSeries {
    /// That of the last epoch.
    Last,
    /// That with the lowest validation loss.
    Best,
}

/// Which numbers move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moving {
    /// All.
    All,
    /// Those of the read-out; the rest stays as it was (linear probing).
    Head,
}

/// Section `[train]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SeriesTraining {
    /// Windows of a step; every channel of each where all channels have the same rows.
    pub batch_size: usize,
    /// Epochs, at most.
    pub epochs: usize,
    /// Windows of single series in a step, at most, drawn from those of all series; 0 for all. Not for networks
    /// with something of their own for each series.
    pub windows_batch_size: usize,
    /// Steps of an epoch, at most; 0 for as many as it takes to see every window.
    pub steps_per_epoch: usize,
    /// Learning rate of Adam.
    pub learning_rate: f64,
    /// How the learning rate goes.
    pub schedule: SeriesSchedule,
    /// Share of a one-cycle schedule in which the rate rises.
    pub pct_start: f64,
    /// Whether a one-cycle schedule is made even where it is not followed, as in the authors' code: the first
    /// epoch runs at a 25th of the rate, and Adam's first beta is 0.95.
    pub one_cycle_initial_state: bool,
    /// Epochs over which other rates rise.
    pub warmup_epochs: f64,
    /// Epochs without a lower validation loss after which training ends; 0 to do all.
    pub early_stopping_patience: usize,
    /// How far off a number is.
    pub loss: SeriesLoss,
    /// Largest norm of the gradient; 0 for no limit.
    pub max_grad_norm: f64,
    /// Penalty of the least squares that fit a shortcut, in mean squares of a value of the window.
    pub ridge_penalty: f64,
    /// Whether what the network adds to a fitted shortcut is scaled, after every epoch, to the share that the
    /// validation windows support: the lower end of the 95 % interval of what least squares ask for.
    pub shrink: bool,
    /// Weight decay, apart from the gradient.
    pub weight_decay: f64,
    /// Decay of the running average of the weights that is measured and saved; 0 for none.
    pub ema_decay: f64,
    /// Whether an epoch leaves out the windows that do not fill a last batch.
    pub drop_last: bool,
    /// Share of values, or of patches, that are hidden to be told.
    pub mask_ratio: f64,
    /// Folder of a model to begin with; its read-out is fresh where it answers something else.
    pub init_from: String,
    /// Which numbers move.
    pub trainable: Moving,
    /// Epochs in which only the read-out moves before all do.
    pub head_epochs: usize,
    /// Which network a run leaves behind.
    pub select: KeepSeries,
    /// Seed of everything random in training.
    pub seed: u64,
    /// Steps between two lines of metrics.
    pub log_steps: usize,
    /// A checkpoint is written at least so often, in minutes.
    pub checkpoint_minutes: f64,
}

/// Section `[eval]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SeriesEval {
    /// Windows that are measured together; the published numbers leave out those that do not fill a batch.
    pub batch_size: usize,
    /// Windows of single series to choose by, at most, evenly spread; 0 for all.
    pub validation_windows: usize,
    /// Whether intervals are learnt from the errors on the validation rows.
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

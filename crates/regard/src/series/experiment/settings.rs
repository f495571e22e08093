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
    /// Shares of the rows, in order of time: `data.held_out` and `data.tested`.
    Fractions,
    /// 12, 4 and 4 months of 30 days of hours, as the ETTh files are split.
    Etth,
    /// The same of quarters of hours, as the ETTm files are split.
    Ettm,
    /// From the dates `data.valid_from` and `data.test_from`.
    Dates,
    /// So many rows at the end of each series: `data.valid_rows` and `data.test_rows`.
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
    pub covariates: Vec<String>,
    /// Columns that are known of each series as a whole.
    pub statics: Vec<String>,
    /// Which rows are learnt from, which choose, which measure.
    pub split: SeriesSplit,
    /// Share of the rows that choose.
    pub held_out: f64,
    /// Share of the rows that measure.
    pub tested: f64,
    /// Rows that choose.
    pub valid_rows: usize,
    /// Rows that measure.
    pub test_rows: usize,
    /// The first date that chooses.
    pub valid_from: String,
    /// The first date that measures.
    pub test_from: String,
    /// Whether series are brought to mean 0 and deviation 1, learnt on the training rows.
    pub standardise: bool,
    /// Values after which series repeat themselves; 0 to take it from the distance of time stamps.
    pub season: usize,
}

/// How far off a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesLoss {
    /// Its square.
    Squared,
    /// Its size.
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
    pub batch: usize,
    /// Epochs, at most.
    pub epochs: usize,
    /// Windows of single series in a step, at most, drawn from those of all series; 0 for all. Not for networks
    /// with something of their own for each series.
    pub rows: usize,
    /// Steps of an epoch, at most; 0 for as many as it takes to see every window.
    pub epoch_steps: usize,
    /// Learning rate of Adam.
    pub rate: f64,
    /// How the learning rate goes.
    pub schedule: SeriesSchedule,
    /// Share of a one-cycle schedule in which the rate rises.
    pub rising: f64,
    /// Whether a one-cycle schedule is made even where it is not followed, as in the authors' code: the first
    /// epoch runs at a 25th of the rate, and Adam's first beta is 0.95.
    pub one_cycle_made: bool,
    /// Epochs over which other rates rise.
    pub warm_epochs: f64,
    /// Epochs without a lower validation loss after which training ends; 0 to do all.
    pub patience: usize,
    /// How far off a number is.
    pub loss: SeriesLoss,
    /// Largest norm of the gradient; 0 for no limit.
    pub clip_norm: f64,
    /// Penalty of the least squares that fit a shortcut, in mean squares of a value of the window.
    pub ridge: f64,
    /// Whether what the network adds to a fitted shortcut is scaled, after every epoch, to the share that the
    /// validation windows support: the lower end of the 95 % interval of what least squares ask for.
    pub shrink: bool,
    /// Weight decay, apart from the gradient.
    pub weight_decay: f64,
    /// Decay of the running average of the weights that is measured and saved; 0 for none.
    pub average: f64,
    /// Whether an epoch leaves out the windows that do not fill a last batch.
    pub drop_last: bool,
    /// Share of values, or of patches, that are hidden to be told.
    pub hidden: f64,
    /// Folder of a model to begin with; its read-out is fresh where it answers something else.
    pub from: String,
    /// Which numbers move.
    pub moving: Moving,
    /// Epochs in which only the read-out moves before all do.
    pub head_epochs: usize,
    /// Which network a run leaves behind.
    pub keep: KeepSeries,
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
    pub batch: usize,
    /// Windows of single series to choose by, at most, evenly spread; 0 for all.
    pub valid_rows: usize,
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
            covariates: vec![],
            statics: vec![],
            split: SeriesSplit::Fractions,
            held_out: 0.1,
            tested: 0.2,
            valid_rows: 0,
            test_rows: 0,
            valid_from: String::new(),
            test_from: String::new(),
            standardise: true,
            season: 0,
        }
    }
}

impl Default for SeriesTraining {
    /// As the authors' scripts for the ETTh files have it; the other presets differ in what they say.
    fn default() -> Self {
        Self {
            batch: 128,
            epochs: 100,
            rows: 0,
            epoch_steps: 0,
            rate: 1e-4,
            schedule: SeriesSchedule::Tenths,
            rising: 0.3,
            one_cycle_made: true,
            warm_epochs: 0.0,
            patience: 100,
            loss: SeriesLoss::Squared,
            clip_norm: 0.0,
            ridge: 0.05,
            shrink: false,
            weight_decay: 0.0,
            average: 0.0,
            drop_last: true,
            hidden: 0.4,
            from: String::new(),
            moving: Moving::All,
            head_epochs: 0,
            keep: KeepSeries::Best,
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
            batch: 32,
            epochs: 10,
            patience: 3,
            schedule: SeriesSchedule::Halving,
            one_cycle_made: false,
            ..Self::default()
        };
        match name {
            "patchtst-official" => Self::default(),
            "patchtst-tslib" => Self { drop_last: false, ..published },
            "patchtst-tfb" => published,
            _ => Self {
                batch: 64,
                rows: 2048,
                epochs: 20,
                rate: 5e-4,
                schedule: SeriesSchedule::Cosine,
                one_cycle_made: false,
                warm_epochs: 0.5,
                patience: 0,
                loss: SeriesLoss::Huber,
                clip_norm: 1.0,
                average: 0.99,
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
            false => Self { valid_rows: 50_000, ..Self::default() },
        }
    }
}

impl Default for SeriesEval {
    fn default() -> Self {
        Self { batch: 128, valid_rows: 0, intervals: true }
    }
}

//! Experiments on time series: their settings, defaults and checks.

use serde::{Deserialize, Serialize};

use super::TimeSeries;
use super::model::{PRESETS, PatchTstConfig};
use super::task::SeriesTask;
use crate::experiment::{Given, named_preset, under};
use crate::store::{NetworkConfig, ranges};
use crate::supervised::SupervisedExperiment;
use crate::train::{FamilyTraining, NumberLoss, Schedule, Select, TrainSettings};
use crate::{Error, Result};

/// A complete experiment on time series.
pub type SeriesExperiment = SupervisedExperiment<TimeSeries>;

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

/// The parts of a network that are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trainable {
    /// All parts.
    All,
    /// The head alone; the rest stays as it was (linear probing).
    Head,
}

/// Settings of `[train]` that only time series have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeriesTraining {
    /// Windows of single series in a step, at most, drawn from those of all series; 0 for all. Networks with parameters
    /// of their own for each series take all of them.
    pub windows_batch_size: usize,
    /// Ridge penalty of the least squares that fit a linear skip, relative to the mean square of a window's value.
    pub ridge_penalty: f64,
    /// If true, what the network adds to a fitted linear skip is scaled after every epoch to the share that the
    /// validation windows support: the lower end of the 95 % interval of the least-squares share.
    pub shrink: bool,
    /// Share of values, or of patches, that are masked for imputation and pretraining.
    pub mask_ratio: f64,
    /// Folder of a model to begin with; its head is fresh where it predicts something else.
    pub init_from: String,
    /// The parts of the network that are trained.
    pub trainable: Trainable,
    /// Epochs in which only the head is trained before all parts are.
    pub head_epochs: usize,
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
    fn default() -> Self {
        Self {
            windows_batch_size: 0,
            ridge_penalty: 0.05,
            shrink: false,
            mask_ratio: 0.4,
            init_from: String::new(),
            trainable: Trainable::All,
            head_epochs: 0,
        }
    }
}

impl FamilyTraining for SeriesTraining {
    /// The training of the authors' scripts for the ETTh files.
    fn defaults() -> TrainSettings<Self> {
        TrainSettings {
            batch_size: 128,
            drop_last: true,
            learning_rate: 1e-4,
            schedule: Schedule::Tenths,
            one_cycle_initial_state: true,
            early_stopping_patience: 100,
            loss: NumberLoss::Squared,
            select: Select::Best,
            seed: 2021,
            ..TrainSettings::plain(Self::default())
        }
    }
}

/// The training that belongs to a preset of the network.
pub fn training_preset(name: &str) -> TrainSettings<SeriesTraining> {
    let authors = TrainSettings::<SeriesTraining>::default();
    let published = TrainSettings {
        batch_size: 32,
        epochs: 10,
        early_stopping_patience: 3,
        schedule: Schedule::Halving,
        one_cycle_initial_state: false,
        ..authors.clone()
    };
    match name {
        "patchtst-official" => authors,
        "patchtst-tslib" => TrainSettings { drop_last: false, ..published },
        "patchtst-tfb" => published,
        _ => TrainSettings {
            batch_size: 64,
            epochs: 20,
            learning_rate: 5e-4,
            schedule: Schedule::Cosine,
            one_cycle_initial_state: false,
            warmup_epochs: 0.5,
            early_stopping_patience: 0,
            loss: NumberLoss::Huber,
            max_grad_norm: 1.0,
            ema_decay: 0.99,
            drop_last: false,
            family: SeriesTraining { windows_batch_size: 2048, ..SeriesTraining::default() },
            ..authors
        },
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

/// The experiment with the presets and defaults that follow from what is written.
pub(super) fn defaults(given: &Given) -> Result<SeriesExperiment> {
    let preset = named_preset(given, "model", &PRESETS)?.unwrap_or(PRESETS[0]);
    let mut model = PatchTstConfig::preset(preset).map_err(|error| under("model", error))?;
    let read = |key: &str| given.get("task", key).cloned();
    let kind = read("kind").and_then(|kind| kind.try_into().ok()).unwrap_or(SeriesTask::Forecast);
    let horizon = read("horizon").and_then(|horizon| horizon.try_into().ok()).unwrap_or(model.horizon);
    (model.task, model.horizon) = (kind, horizon);
    if kind == SeriesTask::Classification {
        // As many as there are, once the data is known.
        model.classes = 2;
    }
    Ok(SeriesExperiment {
        task: SeriesTaskSettings { kind, horizon },
        data: SeriesData::default(),
        model,
        train: training_preset(preset),
        eval: SeriesEval::preset(preset),
    })
}

/// Checks every setting, and that they fit together.
///
/// # Errors
/// [`Error::Config`] with the setting and what was expected.
pub(super) fn validate(experiment: &SeriesExperiment) -> Result<()> {
    let SeriesExperiment { task, data, model, train, eval } = experiment;
    let refuse = |key: &str, reason: String| Err(Error::config(key, reason));
    if task.kind != model.task || task.horizon != model.horizon {
        let key = if task.kind == model.task { "model.horizon" } else { "model.task" };
        return refuse(key, "is not that of `[task]`; say it there".into());
    }
    if data.path.is_empty() {
        return refuse("data.path", "is empty; expected a file of time series".into());
    }
    if (task.kind == SeriesTask::Classification) == data.label.is_empty() {
        let reason = match task.kind {
            SeriesTask::Classification => "is empty; expected the column of the classes".to_owned(),
            other => format!("names a column of classes, which has no meaning for {other}"),
        };
        return refuse("data.label", reason);
    }
    if task.kind == SeriesTask::Classification && data.split != SeriesSplit::Fractions {
        let reason = "cuts series in time; whole series are held out by shares of them: expected `fractions`";
        return refuse("data.split", reason.into());
    }
    if data.split == SeriesSplit::Dates && (data.validation_from.is_empty() || data.test_from.is_empty()) {
        let key = if data.validation_from.is_empty() { "data.validation_from" } else { "data.test_from" };
        return refuse(key, "is empty; expected a date, since `data.split` is `dates`".into());
    }
    ranges::at_least_one(&[("eval.batch_size", eval.batch_size)])?;
    ranges::above_zero(&[("train.ridge_penalty", train.family.ridge_penalty)])?;
    ranges::shares(&[
        ("train.mask_ratio", train.family.mask_ratio),
        ("data.validation_fraction", data.validation_fraction),
        ("data.test_fraction", data.test_fraction),
    ])?;
    if data.validation_fraction + data.test_fraction >= 1.0 {
        return refuse("data.validation_fraction", "and `data.test_fraction` leave nothing to learn from".into());
    }
    if train.family.shrink && train.select == Select::Last {
        return refuse(
            "train.shrink",
            "is about the network that validation selects; expected `select = \"best\"`".into(),
        );
    }
    model.validate().map_err(|error| under("model", error))
}

//! Experiments on time series: their settings, defaults and checks.

use regard_data::table::stream::Division;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TimeSeries;
use super::model::{PRESETS, PatchTstConfig};
use super::task::SeriesTask;
use crate::experiment::{DecimalMark, Given, named_preset, under};
use crate::store::{NetworkConfig, ranges};
use crate::supervised::SupervisedExperiment;
use crate::train::{FamilyTraining, NumberLoss, Schedule, Select, TrainSettings};
use crate::{Error, Result};

/// A complete experiment on time series.
pub type SeriesExperiment = SupervisedExperiment<TimeSeries>;

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
    /// Detected from the header.
    Auto,
    /// One column for each series.
    Wide,
    /// One row for each value, with series name, time stamp and value.
    Long,
}

/// The treatment of two rows of one series with the same time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeriesDuplicates {
    /// An error that names both lines.
    Error,
    /// Their mean.
    Mean,
    /// The one that stands last in the file.
    Last,
}

impl std::str::FromStr for SeriesDuplicates {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "error" => Ok(Self::Error),
            "mean" => Ok(Self::Mean),
            "last" => Ok(Self::Last),
            _ => Err(format!("`{text}` is no treatment of duplicates; expected error, mean or last")),
        }
    }
}

/// Split of the rows into training, validation and test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SeriesSplit {
    /// Chronological split by fractions of the rows: `data.validation_fraction` and `data.test_fraction`.
    Fractions,
    /// 12, 4 and 4 months (30 days each) of hourly rows: the split of the ETTh files.
    Etth,
    /// 12, 4 and 4 months (30 days each) of rows every 15 minutes: the split of the ETTm files.
    Ettm,
    /// By date: validation starts at `data.validation_from`, the test at `data.test_from`.
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
    /// Number of generated series to train on, in place of a file; 0 for a file. The network then forecasts series that it
    /// has never seen, each at its own scale.
    #[schemars(range(max = 1_000_000))]
    pub generated_series: usize,
    /// Layout of the file.
    pub layout: SeriesLayout,
    /// Column of time stamps; empty to detect it.
    pub date: String,
    /// Format of time stamps, with the signs of `strftime` such as `%d/%m/%Y`, or `excel` for days as Excel counts
    /// them; empty to detect it.
    pub date_format: String,
    /// Decimal mark of the numbers; the other of point and comma may stand between thousands.
    pub decimal: DecimalMark,
    /// Distance of time stamps, such as `day`, `15min` or `business day`; empty for the most common one.
    pub frequency: String,
    /// Treatment of two rows of one series with the same time stamp.
    pub duplicates: SeriesDuplicates,
    /// Column of series names in a long file; empty to detect it.
    pub id: String,
    /// Columns of values; empty for all.
    pub columns: Vec<String>,
    /// Column of classes in a long file, for classification; empty for none.
    pub label: String,
    /// Columns whose future values are known: numbers, or at most 32 different texts.
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
    /// If true, series are standardised to mean 0 and standard deviation 1, fitted on the training rows.
    pub standardise: bool,
    /// Length of a season in rows; 1 for none, 0 to derive it from the time stamps.
    #[schemars(range(max = 1_000_000))]
    pub season_length: usize,
    /// If true, look-back, patches and held-out rows are shortened where the series are too short for them.
    pub shorten: bool,
}

/// Parameters that training changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trainable {
    /// All parameters.
    All,
    /// The parameters of the head; the rest is frozen (linear probing).
    Head,
}

/// Settings of `[train]` that only time series have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SeriesTraining {
    /// Maximum number of windows of single series per step, sampled from all series; 0 for all. Not for networks with
    /// separate parameters for each series.
    pub windows_batch_size: usize,
    /// Ridge penalty of the fitted `model.linear_skip`, relative to the mean square of the values in a window.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub ridge_penalty: f64,
    /// If true, the network's correction of a fitted `model.linear_skip` is multiplied by a shrinkage factor, estimated
    /// on the validation windows after every epoch: the lower end of the 95 % confidence interval of the least-squares
    /// factor.
    pub shrink: bool,
    /// Fraction of values or patches that are masked, for imputation and pretraining.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub mask_ratio: f64,
    /// Parameters that training changes.
    pub trainable: Trainable,
    /// Number of first epochs in which only the head is trained; 0 for none.
    pub head_epochs: usize,
}

/// Section `[eval]`: the evaluation of the network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SeriesEval {
    /// Number of windows per evaluation batch; metrics that end in `_paper` drop the last incomplete batch.
    #[schemars(range(min = 1, max = 65_536))]
    pub batch_size: usize,
    /// Maximum number of windows of single series for validation, evenly spaced; 0 for all.
    pub validation_windows: usize,
    /// If true, prediction intervals are calibrated on the errors of the validation rows.
    pub intervals: bool,
    /// If true, base forecasters are run beside the network, and forecasts are a blend of both, weighted on validation
    /// rows.
    pub blend: bool,
}

impl SeriesData {
    /// The rows of a long file that are one series.
    #[must_use]
    pub fn division(&self) -> Division<'_> {
        Division::Groups(if self.id.is_empty() { "unique_id" } else { &self.id })
    }
}

impl Default for SeriesData {
    fn default() -> Self {
        Self {
            path: String::new(),
            generated_series: 0,
            layout: SeriesLayout::Auto,
            date: String::new(),
            date_format: String::new(),
            decimal: DecimalMark::Auto,
            frequency: String::new(),
            duplicates: SeriesDuplicates::Error,
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
            shorten: false,
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
            true => Self { blend: false, ..Self::default() },
            false => Self { validation_windows: 50_000, ..Self::default() },
        }
    }
}

impl Default for SeriesEval {
    fn default() -> Self {
        Self { batch_size: 128, validation_windows: 0, intervals: true, blend: true }
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

/// The most generated values: four bytes each, eight gigabytes.
const MOST_GENERATED: usize = 1 << 31;

impl SeriesExperiment {
    /// Rows of a generated series: a look-back, and four horizons after it.
    pub(super) fn generated_rows(&self) -> usize {
        self.model.look_back.saturating_add(self.model.horizon.saturating_mul(4))
    }
}

/// Checks that generated series have all that the experiment asks for.
fn generated(experiment: &SeriesExperiment) -> Result<()> {
    let SeriesExperiment { task, data, model, eval, .. } = experiment;
    let count = data.generated_series;
    let refuse = |key: &str, reason: &str| Err(Error::config(key, reason));
    if count == 0 {
        return Ok(());
    }
    ranges::whole("data.generated_series", count, 2..=1_000_000)?;
    if !data.path.is_empty() {
        return refuse("data.path", "names a file, but `data.generated_series` is not 0: expected one of them");
    }
    if task.kind != SeriesTask::Forecast {
        return refuse("data.generated_series", "is for `task.kind = \"forecast\"` alone");
    }
    if data.split != SeriesSplit::Fractions {
        return refuse("data.split", "is not `fractions`, but generated series are held out as a whole");
    }
    if !data.future_covariates.is_empty() || !data.static_covariates.is_empty() {
        return refuse("data.generated_series", "have no covariates");
    }
    if model.affine || model.individual {
        let key = if model.affine { "model.affine" } else { "model.individual" };
        return refuse(key, "needs parameters for each series, but generated series are many and seen once");
    }
    if !model.quantiles.is_empty() {
        return refuse("model.quantiles", "is not empty, but the ends of intervals cannot be taken for values");
    }
    if eval.blend || eval.intervals {
        let key = if eval.blend { "eval.blend" } else { "eval.intervals" };
        return refuse(key, "is true, but follows from the series of a file; expected false");
    }
    if count.saturating_mul(experiment.generated_rows()) > MOST_GENERATED {
        let reason = format!("of {} rows each are more than fit into memory", experiment.generated_rows());
        return Err(Error::config("data.generated_series", reason).with_hint("give a smaller number or look-back"));
    }
    Ok(())
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
        return refuse(key, "does not match `[task]`; set it there only".into());
    }
    if data.path.is_empty() && data.generated_series == 0 {
        return refuse("data.path", "is empty; expected a file of time series".into());
    }
    generated(experiment)?;
    if (task.kind == SeriesTask::Classification) == data.label.is_empty() {
        let reason = match task.kind {
            SeriesTask::Classification => "is empty; expected the column of classes".to_owned(),
            other => format!("gives a column of classes, which is not used for {other}"),
        };
        return refuse("data.label", reason);
    }
    if task.kind == SeriesTask::Classification && data.split != SeriesSplit::Fractions {
        let reason = "splits series in time, but classification holds out whole series: expected `fractions`";
        return refuse("data.split", reason.into());
    }
    if data.split == SeriesSplit::Dates && (data.validation_from.is_empty() || data.test_from.is_empty()) {
        let key = if data.validation_from.is_empty() { "data.validation_from" } else { "data.test_from" };
        return refuse(key, "is empty; expected a date, since `data.split` is `dates`".into());
    }
    ranges::whole("eval.batch_size", eval.batch_size, 1..=65_536)?;
    ranges::whole("data.season_length", data.season_length, 0..=1_000_000)?;
    ranges::above_zero(&[("train.ridge_penalty", train.family.ridge_penalty)])?;
    ranges::shares(&[
        ("train.mask_ratio", train.family.mask_ratio),
        ("data.validation_fraction", data.validation_fraction),
        ("data.test_fraction", data.test_fraction),
    ])?;
    if data.validation_fraction + data.test_fraction >= 1.0 {
        return refuse("data.validation_fraction", "and `data.test_fraction` leave no training data".into());
    }
    if train.family.shrink && train.select == Select::Last {
        return refuse(
            "train.shrink",
            "needs the network with the lowest validation loss; expected `select = \"best\"`".into(),
        );
    }
    model.validate().map_err(|error| under("model", error))
}

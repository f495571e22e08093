//! Experiments on sets: what is asked, where the sets come from, the network, its training.

use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Value;

use super::model::{Decoding, PRESETS, SetTransformerConfig};
use super::task::{NumberLoss, TaskKind};
use crate::experiment::{Experiment, Given, Sections, named_preset, sections};
use crate::store::NetworkConfig;
use crate::train::{Schedule, Settings};
use crate::{Error, Result};

/// A complete experiment on sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetExperiment {
    /// What is asked.
    pub task: SetTask,
    /// Where the sets come from.
    pub data: SetData,
    /// The network; sizes that follow from the data are filled in when it is known.
    pub model: SetTransformerConfig,
    /// How it is trained.
    pub train: SetTraining,
    /// How it is measured.
    pub eval: SetEval,
}

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
#[serde(deny_unknown_fields)]
pub struct SetData {
    /// Where sets come from.
    pub source: SourceKind,
    /// The file: CSV, JSON lines, npz or libsvm rows.
    pub path: String,
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
    pub held_out: f64,
}

/// How the learning rate goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// Always the same.
    Constant,
    /// A tenth after [`SetTraining::drop_at`] of all steps.
    Step,
    /// Half a cosine down to 0, after a rise over [`SetTraining::warm_steps`].
    Cosine,
}

/// Section `[train]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetTraining {
    /// Sets of a step.
    pub batch: usize,
    /// Steps of an epoch.
    pub epoch_steps: usize,
    /// Epochs.
    pub epochs: usize,
    /// Learning rate of Adam.
    pub rate: f64,
    /// How the learning rate goes.
    pub schedule: RateSchedule,
    /// Share of all steps after which the rate of `step` falls.
    pub drop_at: f64,
    /// Steps over which the rate rises; 0 for none.
    pub warm_steps: usize,
    /// Weight decay, apart from the gradient (Loshchilov & Hutter 2019).
    pub weight_decay: f64,
    /// Largest norm of the gradient; 0 for no limit.
    pub clip_norm: f64,
    /// Decay of the running average of the weights that is measured and saved; 0 for none.
    pub average: f64,
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
#[serde(deny_unknown_fields)]
pub struct SetEval {
    /// Generated sets on which a network is measured.
    pub sets: usize,
    /// Their seed.
    pub seed: u64,
    /// Networks in a fold, whose answers are averaged.
    pub ensemble: usize,
}

impl SetExperiment {
    /// The experiment that `text` describes, overruled by `sets`, assignments `section.key=value`.
    ///
    /// # Errors
    /// As [`Experiment::parse`].
    pub fn parse(text: &str, path: &Path, sets: &[String]) -> Result<Self> {
        sections(text, path, sets)
    }

    /// The experiment found under a name or in a file, overruled by `sets`.
    ///
    /// # Errors
    /// As [`Experiment::load`].
    pub fn load(name_or_path: &str, sets: &[String]) -> Result<Self> {
        let (text, path) = Experiment::find(name_or_path)?;
        Self::parse(&text, &path, sets)
    }

    /// Steps of the whole training.
    pub fn steps(&self) -> u64 {
        (self.train.epoch_steps * self.train.epochs) as u64
    }
}

impl Sections for SetExperiment {
    fn base(given: &Given) -> Result<Self> {
        let preset = named_preset(given, "model", &PRESETS)?.unwrap_or(PRESETS[0]);
        let mut model = SetTransformerConfig::preset(preset).map_err(|error| under("model", error))?;
        let kind = given.get("task", "kind").map(|kind| kind.clone().try_into());
        let kind = match kind {
            Some(Ok(kind)) => kind,
            _ => TaskKind::Regression,
        };
        (model.task, model.decoding, model.seeds) = (kind, decoding(kind), 1);
        if kind == TaskKind::Clustering {
            model.seeds = 4;
        }
        if kind.of_items() {
            model.pooling = super::model::PoolingKind::None;
        }
        let source = if given.get("data", "path").is_some() { SourceKind::File } else { SourceKind::Max };
        Ok(Self {
            task: SetTask { kind },
            data: SetData { source, ..SetData::default() },
            model,
            train: SetTraining::default(),
            eval: SetEval::default(),
        })
    }

    fn validate(&self) -> Result<()> {
        let Self { task, data, model, train, eval } = self;
        let refuse = |key: &str, reason: String| Err(Error::config(key, reason));
        if model.task != task.kind {
            let reason = format!("is `{}`, but `task.kind` is `{}`", model.task.name(), task.kind.name());
            return refuse("model.task", reason);
        }
        if data.source == SourceKind::File && data.path.is_empty() {
            return refuse("data.path", "is empty; expected a file of sets, since `data.source` is `file`".into());
        }
        let whole = [
            ("train.batch", train.batch),
            ("train.epoch_steps", train.epoch_steps),
            ("train.epochs", train.epochs),
            ("train.log_steps", train.log_steps),
            ("eval.sets", eval.sets),
            ("eval.ensemble", eval.ensemble),
        ];
        if let Some((key, _)) = whole.iter().find(|(_, value)| *value == 0) {
            return refuse(key, "is 0; expected at least 1".into());
        }
        let above = [("train.rate", train.rate), ("train.checkpoint_minutes", train.checkpoint_minutes)];
        if let Some((key, value)) = above.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            return refuse(key, format!("is {value}; expected a number above 0"));
        }
        let shares = [("train.average", train.average), ("data.held_out", data.held_out)];
        if let Some((key, value)) = shares.iter().find(|(_, value)| !(0.0..1.0).contains(value)) {
            return refuse(key, format!("is {value}; expected 0 to below 1"));
        }
        if !(0.0..=1.0).contains(&train.drop_at) {
            return refuse("train.drop_at", format!("is {}; expected 0 to 1", train.drop_at));
        }
        let least = [("train.weight_decay", train.weight_decay), ("train.clip_norm", train.clip_norm)];
        if let Some((key, value)) = least.iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
            return refuse(key, format!("is {value}; expected 0 or more"));
        }
        model.validate().map_err(|error| under("model", error))
    }
}

fn under(section: &str, error: Error) -> Error {
    match error {
        Error::Config { key, reason } => Error::config(format!("{section}.{key}"), reason),
        other => other,
    }
}

/// How answers of a task are usually read.
fn decoding(kind: TaskKind) -> Decoding {
    match kind {
        TaskKind::Classification => Decoding::Classes,
        TaskKind::Counting => Decoding::Rate,
        TaskKind::Clustering => Decoding::IsotropicMixture,
        TaskKind::Regression | TaskKind::Ranking | TaskKind::Anomaly => Decoding::Number,
    }
}

impl Default for SetData {
    fn default() -> Self {
        Self {
            source: SourceKind::Max,
            path: String::new(),
            group_by: String::new(),
            target: String::new(),
            item_target: String::new(),
            features: Vec::new(),
            standardise: true,
            held_out: 0.2,
        }
    }
}

impl Default for SetTraining {
    fn default() -> Self {
        Self {
            batch: 32,
            epoch_steps: 500,
            epochs: 20,
            rate: 1e-3,
            schedule: RateSchedule::Constant,
            drop_at: 0.7,
            warm_steps: 0,
            weight_decay: 0.0,
            clip_norm: 0.0,
            average: 0.0,
            loss: NumberLoss::Absolute,
            seed: 1234,
            log_steps: 50,
            checkpoint_minutes: 5.0,
        }
    }
}

impl Default for SetEval {
    fn default() -> Self {
        Self { sets: 1000, seed: 4321, ensemble: 1 }
    }
}

impl Settings for SetExperiment {
    fn parse(text: &str, path: &Path) -> Result<Self> {
        Self::parse(text, path, &[])
    }

    fn to_toml(&self) -> Result<String> {
        Sections::validate(self)?;
        let failed = |error: toml::ser::Error| Error::config("experiment", error.to_string());
        let mut table = toml::Table::try_from(self).map_err(failed)?;
        if let Some(Value::Table(task)) = table.get_mut("task") {
            task.insert("family".into(), Value::String("sets".into()));
        }
        toml::to_string(&table).map_err(failed)
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            steps_per_epoch: self.train.epoch_steps as u64,
            epochs: self.train.epochs as u64,
            batch: self.train.batch as u64,
            log_steps: self.train.log_steps as u64,
            checkpoint_minutes: self.train.checkpoint_minutes,
            seed: self.train.seed,
        }
    }

    fn continuing(&self, before: &Self) -> Self {
        let mut settings = self.clone();
        settings.train.checkpoint_minutes = before.train.checkpoint_minutes;
        settings
    }
}

//! Experiments on sets: their settings, defaults and checks.

use serde::{Deserialize, Serialize};

use super::Sets;
use super::model::{Decoding, PRESETS, PoolingKind, SetTransformerConfig};
use super::task::TaskKind;
use crate::experiment::{Given, named_preset, under};
use crate::store::{NetworkConfig, ranges};
use crate::supervised::SupervisedExperiment;
use crate::train::{FamilyTraining, TrainSettings};
use crate::{Error, Result};

/// A complete experiment on sets.
pub type SetExperiment = SupervisedExperiment<Sets>;

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

/// Settings of `[train]` that only sets have: there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetTraining {}

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

impl FamilyTraining for SetTraining {
    fn defaults() -> TrainSettings<Self> {
        TrainSettings { steps_per_epoch: 500, epochs: 20, log_steps: 50, ..TrainSettings::plain(Self {}) }
    }
}

impl Default for SetEval {
    fn default() -> Self {
        Self { num_sets: 1000, seed: 4321, ensemble: 1 }
    }
}

/// The experiment with the presets and defaults that follow from what is written.
pub(super) fn defaults(given: &Given) -> Result<SetExperiment> {
    let preset = named_preset(given, "model", &PRESETS)?.unwrap_or(PRESETS[0]);
    let mut model = SetTransformerConfig::preset(preset).map_err(|error| under("model", error))?;
    let kind = given.get("task", "kind").map(|kind| kind.clone().try_into());
    let kind = match kind {
        Some(Ok(kind)) => kind,
        _ => TaskKind::Regression,
    };
    (model.task, model.decoding, model.num_seeds) = (kind, decoding(kind), 1);
    if kind == TaskKind::Clustering {
        model.num_seeds = 4;
    }
    if kind.of_items() {
        model.pooling = PoolingKind::None;
    }
    let source = if given.get("data", "path").is_some() { SourceKind::File } else { SourceKind::Max };
    Ok(SetExperiment {
        task: SetTask { kind },
        data: SetData { source, ..SetData::default() },
        model,
        train: TrainSettings::default(),
        eval: SetEval::default(),
    })
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

/// Checks every setting, and that they fit together.
///
/// # Errors
/// [`Error::Config`] with the setting and what was expected.
pub(super) fn validate(experiment: &SetExperiment) -> Result<()> {
    let SetExperiment { task, data, model, train, eval } = experiment;
    let refuse = |key: &str, reason: String| Err(Error::config(key, reason));
    if model.task != task.kind {
        let reason = format!("is `{}`, but `task.kind` is `{}`", model.task.name(), task.kind.name());
        return refuse("model.task", reason);
    }
    if data.source == SourceKind::File && data.path.is_empty() {
        return refuse("data.path", "is empty; expected a file of sets, since `data.source` is `file`".into());
    }
    if train.drop_last {
        return refuse("train.drop_last", "is true; batches of sets go on into the next round, and none is left out".into());
    }
    ranges::at_least_one(&[
        ("train.steps_per_epoch", train.steps_per_epoch),
        ("eval.num_sets", eval.num_sets),
        ("eval.ensemble", eval.ensemble),
    ])?;
    ranges::shares(&[("data.validation_fraction", data.validation_fraction)])?;
    model.validate().map_err(|error| under("model", error))
}

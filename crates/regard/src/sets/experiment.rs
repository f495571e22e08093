//! Experiments on sets: their settings, defaults and checks.

use regard_data::table::stream::Division;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Sets;
use super::model::{Decoding, PRESETS, PoolingKind, SetTransformerConfig};
use super::task::TaskKind;
use crate::experiment::{DecimalMark, Given, named_preset, under};
use crate::store::{NetworkConfig, ranges};
use crate::supervised::{OnDisk, SupervisedExperiment};
use crate::train::{FamilyTraining, TrainSettings};
use crate::{Error, Result};

/// A complete experiment on sets.
pub type SetExperiment = SupervisedExperiment<Sets>;

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
    /// As `max`, but as in the authors' notebook: integers, and all sets of a batch have the same size.
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
    /// Column of set identifiers; rows with the same value form a set. Empty for formats that contain the sets.
    pub group_by: String,
    /// Column of the target of a set; it has the same value in all rows of the set.
    pub target: String,
    /// Column of the target of an item, for tasks that score items.
    pub item_target: String,
    /// Columns of features; empty for all other columns of numbers or of few different texts.
    pub features: Vec<String>,
    /// Decimal mark of the numbers; the other of point and comma may stand between thousands.
    pub decimal: DecimalMark,
    /// Training sets that stay on disk and are read batch by batch: `auto` for those of files above 1 GiB, `always` or
    /// `never`. Tables are sorted by `group_by` then; scales and base learners follow from a part of the sets, and
    /// validation uses a part of those held out. Commands but
    /// `train`, `predict` and `eval --data` read files into memory.
    pub on_disk: OnDisk,
    /// If true, features are standardised to mean 0 and standard deviation 1, fitted on the training sets.
    pub standardise: bool,
    /// Fraction of the sets of a file held out for validation.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub validation_fraction: f64,
}

impl SetData {
    /// The rows of a file that are one set.
    #[must_use]
    pub fn division(&self) -> Division<'_> {
        match self.group_by.as_str() {
            "" => Division::Lines,
            column => Division::Groups(column),
        }
    }
}

/// Settings of `[train]` that only sets have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SetTraining {
    /// Minimum number of passes over the training sets of a file: with many sets there are more epochs; 0 for none.
    #[schemars(range(max = 1_000_000))]
    pub min_passes: usize,
}

/// Section `[eval]`: the evaluation of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetEval {
    /// Number of generated sets that the network is evaluated on.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub num_sets: usize,
    /// Seed of the generated sets that the network is evaluated on; validation sets have another, which follows from
    /// it.
    pub seed: u64,
    /// Number of networks trained per fold of a cross-validation; their predictions are averaged.
    #[schemars(range(min = 1, max = 1000))]
    pub ensemble: usize,
    /// If true, strong base learners are fitted beside the network, and predictions are a blend of both, weighted on
    /// examples that neither was trained on; if false, predictions are those of the network.
    pub blend: bool,
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
            decimal: DecimalMark::Auto,
            on_disk: OnDisk::Auto,
            standardise: true,
            validation_fraction: 0.2,
        }
    }
}

impl FamilyTraining for SetTraining {
    fn defaults() -> TrainSettings<Self> {
        TrainSettings { steps_per_epoch: 500, epochs: 20, log_steps: 50, ..TrainSettings::plain(Self::default()) }
    }
}

impl Default for SetEval {
    fn default() -> Self {
        Self { num_sets: 1000, seed: 4321, ensemble: 1, blend: true }
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

/// The usual decoding of a task.
pub(super) fn decoding(kind: TaskKind) -> Decoding {
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
        return refuse(
            "train.drop_last",
            "is true, but batches of sets continue into the next epoch: there is no incomplete batch".into(),
        );
    }
    ranges::at_least_one(&[("train.steps_per_epoch", train.steps_per_epoch)])?;
    ranges::whole("train.min_passes", train.family.min_passes, 0..=1_000_000)?;
    ranges::whole("eval.num_sets", eval.num_sets, 1..=1_000_000)?;
    ranges::whole("eval.ensemble", eval.ensemble, 1..=1000)?;
    ranges::shares(&[("data.validation_fraction", data.validation_fraction)])?;
    model.validate().map_err(|error| under("model", error))
}

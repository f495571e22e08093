//! Experiments on graphs: their settings, defaults and checks.

use regard_data::table::stream::Division;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Graphs;
use super::examples::SignFlips;
use super::model::{GraphTransformerConfig, PRESETS};
use super::task::{GraphTask, LevelName};
use crate::experiment::{DecimalMark, Given, named_preset, under};
use crate::store::{NetworkConfig, ranges};
use crate::supervised::{OnDisk, SupervisedExperiment};
use crate::train::{FamilyTraining, Schedule, Select, TrainSettings};
use crate::{Error, Result};

/// A complete experiment on graphs.
pub type GraphExperiment = SupervisedExperiment<Graphs>;

/// Task of an experiment on graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskChoice {
    /// Inferred from the target columns: classification if the values are words or only 0 and 1 (labels for several
    /// columns), else regression.
    Data,
    /// Predicts one or several numbers; targets may be missing.
    Regression,
    /// Predicts one of several classes.
    Classification,
    /// Predicts several yes/no labels (multi-label classification); targets may be missing.
    Labels,
}

impl TaskChoice {
    /// The task, where it does not depend on the data.
    pub fn written(self) -> Option<GraphTask> {
        match self {
            Self::Data => None,
            Self::Regression => Some(GraphTask::Regression),
            Self::Classification => Some(GraphTask::Classification),
            Self::Labels => Some(GraphTask::Labels),
        }
    }

    /// The task for data with so many targets, which have only classes or not.
    pub(crate) fn for_data(self, has_only_classes: bool, targets: usize) -> GraphTask {
        self.written().unwrap_or(match (has_only_classes, targets) {
            (false, _) | (_, 0) => GraphTask::Regression,
            (true, 1) => GraphTask::Classification,
            (true, _) => GraphTask::Labels,
        })
    }
}

impl From<GraphTask> for TaskChoice {
    fn from(task: GraphTask) -> Self {
        match task {
            GraphTask::Regression => Self::Regression,
            GraphTask::Classification => Self::Classification,
            GraphTask::Labels => Self::Labels,
        }
    }
}

/// Section `[task]`: the question about a graph or its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphTaskSettings {
    /// Task of the network.
    pub kind: TaskChoice,
    /// Level of the task: graphs or nodes.
    pub level: LevelName,
}

/// Source of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A file: `data.path`.
    File,
    /// Random graphs with a hidden pattern; the targets are the nodes that belong to it (PATTERN, Dwivedi et al. 2020).
    Pattern,
    /// Random graphs of several communities; the targets are the communities of the nodes (CLUSTER, Dwivedi et al.
    /// 2020).
    Cluster,
    /// Cycles with skip links; the target is the length of the skips (CSL, Murphy et al. 2019).
    Csl,
}

/// Features of atoms and bonds of molecules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AtomRule {
    /// As in the ZINC benchmark: an atom has one type, made of element, charge and hydrogens; a bond has its order.
    Zinc,
    /// An atom has its element, and numeric features for charge, hydrogens, neighbours, aromaticity, rings and
    /// chirality; a bond has its order or `aromatic`, and a flag for bonds in rings.
    Described,
}

/// Section `[data]`: the graphs to train on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GraphData {
    /// Source of the graphs: a file or a generator.
    pub source: SourceKind,
    /// File of graphs: a table with a column of SMILES, a table of nodes beside one of edges, JSON lines, a TU file or
    /// folder, or Cora's files.
    pub path: String,
    /// Column of SMILES; empty for files of nodes and edges.
    pub smiles: String,
    /// Features of atoms and bonds of molecules.
    pub atom_features: AtomRule,
    /// Column of the target.
    pub target: String,
    /// Columns of the targets, if there are several.
    pub targets: Vec<String>,
    /// Decimal mark of the numbers; the other of point and comma may stand between thousands.
    pub decimal: DecimalMark,
    /// Training graphs that stay on disk and are read batch by batch, with positional encodings computed for each batch:
    /// `auto` for those of tables of molecules and JSON lines above 1 GiB, `always` or `never`. Scales and base learners
    /// follow from a part of the graphs then, and validation and test use a part of those held out. Commands
    /// but `train`, `predict` and `eval --data` read files into memory.
    pub on_disk: OnDisk,
    /// Column of identifiers; empty to number the rows.
    pub id: String,
    /// Column with the values `train`, `val` and `test`; empty for a random split.
    pub split: String,
    /// File of edges that belongs to a file of nodes; empty for the same name with `edges` instead of `nodes`.
    pub edges: String,
    /// If true, the edges in a list of edges are directed.
    pub directed: bool,
    /// If true, molecules that cannot be read are skipped.
    pub skip_bad: bool,
    /// Minimum number of training nodes of a node type; rarer and unknown types share one type, `other`. 0 keeps all
    /// types and rejects unknown ones.
    pub min_type_count: usize,
    /// If true, the complete graph replaces the edges of the data: every node has an edge to every other node.
    pub complete_graph: bool,
    /// Folder in which computed positional encodings are cached; empty to compute them in every run.
    pub cache: String,
    /// If true, targets are standardised to mean 0 and standard deviation 1, fitted on the training rows.
    pub standardise: bool,
    /// If true, positional encodings are scaled to standard deviation 1 (random walks also to mean 0), fitted on the
    /// training rows.
    pub standardise_positions: bool,
    /// Fraction of the graphs or nodes held out for validation, if the data has no split.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub validation_fraction: f64,
    /// Fraction of the graphs or nodes held out for the test, if the data has no split.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub test_fraction: f64,
    /// Seed of the random split and of generated graphs.
    pub seed: u64,
}

impl GraphData {
    /// Columns of the targets.
    pub fn target_columns(&self) -> Vec<String> {
        if self.target.is_empty() { self.targets.clone() } else { vec![self.target.clone()] }
    }

    /// The rows of a file that are one graph.
    #[must_use]
    pub fn division(&self) -> Division<'_> {
        match self.smiles.as_str() {
            "" => Division::Lines,
            column => Division::Rows(column),
        }
    }
}

/// Settings of `[train]` that only graphs have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GraphTraining {
    /// Fraction of the numeric node features that are set to 0 in a training step.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub feature_dropout: f64,
    /// Number of copies of the batch per step, each with different dropped features.
    #[schemars(range(min = 1, max = 64))]
    pub augmented_views: usize,
    /// Weight of the consistency loss between the augmented views (GRAND, Feng et al. 2020); 0 for none.
    #[schemars(range(min = 0.0))]
    pub consistency: f64,
    /// Temperature that sharpens the mean prediction of the views, the target of the consistency loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub consistency_temperature: f64,
    /// Random sign flips of the Laplacian eigenvectors in training.
    pub sign_flip: SignFlips,
}

/// Section `[eval]`: the evaluation of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GraphEval {
    /// Number of graphs per evaluation batch; metrics that end in `_paper` are means over batches.
    #[schemars(range(min = 1, max = 65_536))]
    pub batch_size: usize,
    /// Number of networks trained per fold of a cross-validation; their predictions are averaged.
    #[schemars(range(min = 1, max = 1000))]
    pub ensemble: usize,
    /// If true, strong base learners are fitted beside the network, and predictions are a blend of both, weighted on
    /// examples that neither was trained on; if false, predictions are those of the network.
    pub blend: bool,
}

impl Default for GraphData {
    fn default() -> Self {
        Self {
            source: SourceKind::File,
            path: String::new(),
            smiles: String::new(),
            atom_features: AtomRule::Zinc,
            target: String::new(),
            targets: Vec::new(),
            decimal: DecimalMark::Auto,
            on_disk: OnDisk::Auto,
            id: String::new(),
            split: String::new(),
            edges: String::new(),
            directed: false,
            skip_bad: false,
            min_type_count: 0,
            complete_graph: false,
            cache: String::new(),
            standardise: false,
            standardise_positions: false,
            validation_fraction: 0.1,
            test_fraction: 0.1,
            seed: 41,
        }
    }
}

impl Default for GraphTraining {
    fn default() -> Self {
        Self {
            feature_dropout: 0.0,
            augmented_views: 1,
            consistency: 0.0,
            consistency_temperature: 0.5,
            sign_flip: SignFlips::Graph,
        }
    }
}

impl FamilyTraining for GraphTraining {
    fn defaults() -> TrainSettings<Self> {
        TrainSettings {
            batch_size: 64,
            schedule: Schedule::Cosine,
            select: Select::Best,
            seed: 41,
            ..TrainSettings::plain(Self::default())
        }
    }
}

impl Default for GraphEval {
    fn default() -> Self {
        Self { batch_size: 128, ensemble: 1, blend: true }
    }
}

/// The experiment with the presets and defaults that follow from what is written.
pub(super) fn defaults(given: &Given) -> Result<GraphExperiment> {
    let preset = named_preset(given, "model", &PRESETS)?.unwrap_or(PRESETS[0]);
    let mut model = GraphTransformerConfig::preset(preset).map_err(|error| under("model", error))?;
    let read = |key: &str| given.get("task", key).cloned();
    let kind = read("kind").and_then(|kind| kind.try_into().ok()).unwrap_or(TaskChoice::Regression);
    let level = read("level").and_then(|level| level.try_into().ok()).unwrap_or(LevelName::Graph);
    (model.task, model.level) = (kind.written().unwrap_or(model.task), level);
    Ok(GraphExperiment {
        task: GraphTaskSettings { kind, level },
        data: GraphData::default(),
        model,
        train: TrainSettings::default(),
        eval: GraphEval::default(),
    })
}

/// Checks every setting, and that they fit together.
///
/// # Errors
/// [`Error::Config`] with the setting and what was expected.
pub(super) fn validate(experiment: &GraphExperiment) -> Result<()> {
    let GraphExperiment { task, data, model, train, eval } = experiment;
    let refuse = |key: &str, reason: String| Err(Error::config(key, reason));
    let written = task.kind.written();
    if written.is_some_and(|written| written != model.task) || model.level != task.level {
        let reason = "does not match `[task]`; set it there only".to_owned();
        return refuse(if model.level == task.level { "model.task" } else { "model.level" }, reason);
    }
    if !data.target.is_empty() && !data.targets.is_empty() {
        let error = Error::config("data.target", "and `data.targets` are both given; give only one of them");
        return Err(error.with_hint(format!(
            "give `--set 'data.targets=[{:?}]'` instead of `data.target`, or `--set 'data.target=\"\"'` to keep `data.targets`",
            data.target
        )));
    }
    if data.source == SourceKind::File && data.path.is_empty() {
        return refuse("data.path", "is empty; expected a file of graphs, since `data.source` is `file`".into());
    }
    let generated = match data.source {
        SourceKind::File => None,
        SourceKind::Pattern | SourceKind::Cluster => Some((GraphTask::Classification, LevelName::Node)),
        SourceKind::Csl => Some((GraphTask::Classification, LevelName::Graph)),
    };
    if generated.is_some_and(|(kind, level)| written.is_some_and(|written| written != kind) || level != task.level) {
        return refuse(
            "data.source",
            "does not match the task: this generator is for the classification of nodes (`pattern`, `cluster`) or of graphs (`csl`)"
                .into(),
        );
    }
    let of_graphs = &train.family;
    ranges::whole("train.augmented_views", of_graphs.augmented_views, 1..=64)?;
    ranges::whole("eval.batch_size", eval.batch_size, 1..=65_536)?;
    ranges::whole("eval.ensemble", eval.ensemble, 1..=1000)?;
    ranges::above_zero(&[("train.consistency_temperature", of_graphs.consistency_temperature)])?;
    ranges::shares(&[
        ("train.feature_dropout", of_graphs.feature_dropout),
        ("data.validation_fraction", data.validation_fraction),
        ("data.test_fraction", data.test_fraction),
    ])?;
    if data.validation_fraction + data.test_fraction >= 1.0 {
        return refuse("data.validation_fraction", "and `data.test_fraction` leave no training data".into());
    }
    ranges::not_negative(&[("train.consistency", of_graphs.consistency)])?;
    if of_graphs.consistency > 0.0 && of_graphs.augmented_views < 2 {
        return refuse("train.augmented_views", "is 1; `train.consistency` needs at least 2".into());
    }
    model.validate().map_err(|error| under("model", error))
}

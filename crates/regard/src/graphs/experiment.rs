//! Experiments on graphs: their settings, defaults and checks.

use serde::{Deserialize, Serialize};

use super::Graphs;
use super::examples::SignFlips;
use super::model::{GraphTransformerConfig, PRESETS};
use super::task::{GraphTask, LevelName};
use crate::experiment::{Given, named_preset, under};
use crate::store::{NetworkConfig, ranges};
use crate::supervised::SupervisedExperiment;
use crate::train::{FamilyTraining, Schedule, Select, TrainSettings};
use crate::{Error, Result};

/// A complete experiment on graphs.
pub type GraphExperiment = SupervisedExperiment<Graphs>;

/// What is asked, or where that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskChoice {
    /// As the data has it: classes where answers are words, or 0 and 1 alone (yes or no for several
    /// columns), else numbers.
    Data,
    /// [`GraphTask::Regression`]
    Regression,
    /// [`GraphTask::Classification`]
    Classification,
    /// [`GraphTask::Labels`]
    Labels,
}

impl TaskChoice {
    /// What is asked, where it does not depend on the data.
    pub fn written(self) -> Option<GraphTask> {
        match self {
            Self::Data => None,
            Self::Regression => Some(GraphTask::Regression),
            Self::Classification => Some(GraphTask::Classification),
            Self::Labels => Some(GraphTask::Labels),
        }
    }
}

/// Section `[task]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphTaskSettings {
    /// What is asked.
    pub kind: TaskChoice,
    /// Of what it is asked.
    pub level: LevelName,
}

/// Where graphs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A file: [`GraphData::path`].
    File,
    /// Which nodes belong to a pattern (PATTERN, Dwivedi et al. 2020).
    Pattern,
    /// Which nodes belong together (CLUSTER, Dwivedi et al. 2020).
    Cluster,
    /// Circles with skipping links, to be told apart (CSL, Murphy et al. 2019).
    Csl,
}

/// What atoms and bonds of molecules are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtomRule {
    /// As the ZINC benchmark does: element, charge and hydrogens in brackets; bonds by their order.
    Zinc,
    /// Element, and numbers for charge, hydrogens, neighbours, aromaticity, rings and handedness; bonds with
    /// an aromatic kind, and whether they are in a ring.
    Described,
}

/// Section `[data]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphData {
    /// Where graphs come from.
    pub source: SourceKind,
    /// The file: a table with a column of SMILES, a table of nodes beside one of edges, JSON lines, TU's
    /// text or folder, Cora's.
    pub path: String,
    /// Column of SMILES; empty for files of nodes and edges.
    pub smiles: String,
    /// What atoms and bonds of molecules are called.
    pub atom_features: AtomRule,
    /// Column of what is asked for.
    pub target: String,
    /// Columns of what is asked for, where they are several.
    pub targets: Vec<String>,
    /// Column of names; rows are numbered without one.
    pub id: String,
    /// Column that says `train`, `val` or `test`.
    pub split: String,
    /// File of edges beside one of nodes; empty looks for the same name with `edges` for `nodes`.
    pub edges: String,
    /// Whether lists of edges have one direction.
    pub directed: bool,
    /// Whether molecules that cannot be read are left out.
    pub skip_bad: bool,
    /// Types that fewer nodes of the training graphs have are one type, which stands for what training did not
    /// have too; 0 keeps all types, and what training did not have is refused.
    pub min_type_count: usize,
    /// Whether every node has an edge to every other instead of those the data has.
    pub complete_graph: bool,
    /// Folder in which positions are kept once they are computed; empty to compute them every time.
    pub cache: String,
    /// Whether numbers asked for are brought to mean 0 and deviation 1, learnt on the training rows.
    pub standardise: bool,
    /// Whether the numbers that tell where a node is are brought to deviation 1, and those of random walks
    /// to mean 0, learnt on the training rows.
    pub standardise_positions: bool,
    /// Share of graphs that are kept to choose by, where the data has no split of its own.
    pub validation_fraction: f64,
    /// Share of graphs that are kept to test with, where the data has no split of its own.
    pub test_fraction: f64,
    /// Seed of that split, and of generated graphs.
    pub seed: u64,
}

impl GraphData {
    /// Columns of what is asked for.
    pub fn target_columns(&self) -> Vec<String> {
        if self.target.is_empty() { self.targets.clone() } else { vec![self.target.clone()] }
    }
}

/// Settings of `[train]` that only graphs have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphTraining {
    /// Share of the nodes' numbers that a step drops from its input.
    pub feature_dropout: f64,
    /// Views of the graphs of a step, each with other numbers dropped.
    pub augmented_views: usize,
    /// Weight of the loss between the class probabilities of different views; 0 for none.
    pub consistency: f64,
    /// Temperature that sharpens the mean probabilities of the views, which are the target of that loss.
    pub consistency_temperature: f64,
    /// If true, rows of rare classes have larger weights in the loss.
    pub class_weights: bool,
    /// How the signs of eigenvectors are flipped in training.
    pub sign_flip: SignFlips,
}

/// Section `[eval]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphEval {
    /// Graphs that are measured together; the authors' numbers are means of the batches' own.
    pub batch_size: usize,
    /// Networks, from seeds of their own, whose answers are averaged in cross-validation.
    pub ensemble: usize,
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
            class_weights: false,
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
        Self { batch_size: 128, ensemble: 1 }
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
        let reason = "is another task than that of `[task]`; say it there".to_owned();
        return refuse(if model.level == task.level { "model.task" } else { "model.level" }, reason);
    }
    if !data.target.is_empty() && !data.targets.is_empty() {
        return refuse("data.target", "and `data.targets` both name columns; give one of them".into());
    }
    if data.source == SourceKind::File && data.path.is_empty() {
        return refuse("data.path", "is empty; expected a file of graphs, since `data.source` is `file`".into());
    }
    let asked = match data.source {
        SourceKind::File => None,
        SourceKind::Pattern | SourceKind::Cluster => Some((GraphTask::Classification, LevelName::Node)),
        SourceKind::Csl => Some((GraphTask::Classification, LevelName::Graph)),
    };
    if asked.is_some_and(|(kind, level)| written.is_some_and(|written| written != kind) || level != task.level) {
        return refuse(
            "data.source",
            "draws graphs for another task; its classes are those of nodes (`pattern`, `cluster`) or graphs (`csl`)"
                .into(),
        );
    }
    let of_graphs = &train.family;
    ranges::at_least_one(&[
        ("train.augmented_views", of_graphs.augmented_views),
        ("eval.batch_size", eval.batch_size),
        ("eval.ensemble", eval.ensemble),
    ])?;
    ranges::above_zero(&[("train.consistency_temperature", of_graphs.consistency_temperature)])?;
    ranges::shares(&[
        ("train.feature_dropout", of_graphs.feature_dropout),
        ("data.validation_fraction", data.validation_fraction),
        ("data.test_fraction", data.test_fraction),
    ])?;
    if data.validation_fraction + data.test_fraction >= 1.0 {
        return refuse("data.validation_fraction", "and `data.test_fraction` leave nothing to learn from".into());
    }
    ranges::not_negative(&[("train.consistency", of_graphs.consistency)])?;
    if of_graphs.consistency > 0.0 && of_graphs.augmented_views < 2 {
        return refuse("train.augmented_views", "is 1; nothing can differ from itself (`train.consistency`)".into());
    }
    model.validate().map_err(|error| under("model", error))
}

//! Sections of an experiment on graphs, with what stands in them when nothing is said. Folders of models that
//! were written before a setting was thought of have its default too.

use serde::{Deserialize, Serialize};

use crate::graphs::examples::SignFlips;
use crate::graphs::task::{GraphLoss, GraphTask, LevelName};

/// What is asked, or where that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
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

impl Asked {
    /// What is asked, where it does not depend on the data.
    pub fn said(self) -> Option<GraphTask> {
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
    pub kind: Asked,
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
    pub fn asked(&self) -> Vec<String> {
        if self.target.is_empty() { self.targets.clone() } else { vec![self.target.clone()] }
    }
}

/// How the learning rate goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// Always the same.
    Constant,
    /// Times [`GraphTraining::plateau_factor`] when the validation loss has not fallen for more than
    /// [`GraphTraining::plateau_patience`] epochs; training ends when it is below [`GraphTraining::min_learning_rate`].
    Plateau,
    /// Half a cosine down to 0.
    Cosine,
}

/// Which network a run leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// That of the last epoch, as the authors report it.
    Last,
    /// That with the lowest validation loss.
    Best,
}

/// Section `[train]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphTraining {
    /// Graphs of a step.
    pub batch_size: usize,
    /// Epochs, at most.
    pub epochs: usize,
    /// Learning rate of Adam.
    pub learning_rate: f64,
    /// How the learning rate goes.
    pub schedule: RateSchedule,
    /// What a plateau multiplies the rate by.
    pub plateau_factor: f64,
    /// Epochs without a lower validation loss that a plateau lets pass.
    pub plateau_patience: usize,
    /// Training on plateaus ends when the rate is below this.
    pub min_learning_rate: f64,
    /// Epochs over which the rate rises.
    pub warmup_epochs: f64,
    /// Weight decay, apart from the gradient (Loshchilov & Hutter 2019).
    pub weight_decay: f64,
    /// Largest norm of the gradient; 0 for no limit.
    pub max_grad_norm: f64,
    /// Decay of the running average of the weights that is measured and saved; 0 for none.
    pub ema_decay: f64,
    /// Share of the numbers nodes carry that a step leaves out, before anything is learnt of them.
    pub feature_dropout: f64,
    /// How often the graphs of a step are shown in it, each time with other numbers left out.
    pub augmented_views: usize,
    /// How much it costs, beside the loss, that views differ in the probabilities of classes, known or not;
    /// 0 for nothing.
    pub consistency: f64,
    /// Temperature that sharpens what views say together before they are held to it.
    pub consistency_temperature: f64,
    /// How far a number is off.
    pub loss: GraphLoss,
    /// Whether rows of rare classes count more.
    pub class_weights: bool,
    /// Which eigenvectors are turned over.
    pub sign_flip: SignFlips,
    /// Which network a run leaves behind.
    pub select: Keep,
    /// Seed of everything random in training.
    pub seed: u64,
    /// Steps between two lines of metrics.
    pub log_steps: usize,
    /// A checkpoint is written at least so often, in minutes.
    pub checkpoint_minutes: f64,
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
            batch_size: 64,
            epochs: 100,
            learning_rate: 1e-3,
            schedule: RateSchedule::Cosine,
            plateau_factor: 0.5,
            plateau_patience: 15,
            min_learning_rate: 1e-6,
            warmup_epochs: 0.0,
            weight_decay: 0.0,
            max_grad_norm: 0.0,
            ema_decay: 0.0,
            feature_dropout: 0.0,
            augmented_views: 1,
            consistency: 0.0,
            consistency_temperature: 0.5,
            loss: GraphLoss::Absolute,
            class_weights: false,
            sign_flip: SignFlips::Graph,
            select: Keep::Best,
            seed: 41,
            log_steps: 20,
            checkpoint_minutes: 5.0,
        }
    }
}

impl Default for GraphEval {
    fn default() -> Self {
        Self { batch_size: 128, ensemble: 1 }
    }
}

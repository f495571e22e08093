//! Sections of an experiment on graphs, with what stands in them when nothing is said. Folders of models that
//! were written before a setting was thought of have its default too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::graphs::examples::SignFlips;
use crate::graphs::task::{GraphLoss, GraphTask, LevelName};

/// Task of an experiment on graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// Chosen by the data: classes if targets are words or only 0 and 1 (labels for several columns), else numbers.
    Data,
    /// Predicts one or several numbers; targets may be missing.
    Regression,
    /// Predicts one of several classes.
    Classification,
    /// Predicts several yes/no labels; targets may be missing.
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

/// Section `[task]`: the question about a graph or its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphTaskSettings {
    /// Task of the network.
    pub kind: Asked,
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
    /// As in the ZINC benchmark: an atom has a type of element, charge and hydrogens; a bond its order.
    Zinc,
    /// An atom has its element and numbers for charge, hydrogens, neighbours, aromaticity, rings and chirality; a bond
    /// its order or `aromatic`, and whether it is in a ring.
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
    /// Column of identifiers; empty to number the rows.
    pub id: String,
    /// Column with the words `train`, `val` and `test`; empty for a random split.
    pub split: String,
    /// File of edges beside a file of nodes; empty for the name with `edges` in place of `nodes`.
    pub edges: String,
    /// If true, an edge in a list of edges has one direction.
    pub directed: bool,
    /// If true, molecules that cannot be read are skipped.
    pub skip_bad: bool,
    /// Smallest number of training nodes that a node type needs; rarer and unknown types become one type `other`. 0
    /// keeps all types and refuses unknown ones.
    pub min_type_count: usize,
    /// If true, every node has an edge to every other node instead of the edges of the data.
    pub complete_graph: bool,
    /// Folder that keeps computed positional encodings; empty to compute them in every run.
    pub cache: String,
    /// If true, targets are scaled to mean 0 and standard deviation 1, as measured on the training rows.
    pub standardise: bool,
    /// If true, positional encodings are scaled to standard deviation 1 (random walks also to mean 0), as measured on
    /// the training rows.
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
    /// Columns of what is asked for.
    pub fn asked(&self) -> Vec<String> {
        if self.target.is_empty() { self.targets.clone() } else { vec![self.target.clone()] }
    }
}

/// Schedule of the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// The same rate in all steps.
    Constant,
    /// The rate times `plateau_factor` after more than `plateau_patience` epochs without a lower validation loss;
    /// training ends below `min_learning_rate`.
    Plateau,
    /// Half a cosine from the full rate down to 0.
    Cosine,
}

/// Selection of the network that a run saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The network of the last epoch, as the authors report it.
    Last,
    /// The network with the lowest validation loss.
    Best,
}

/// Section `[train]`: the training of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GraphTraining {
    /// Number of graphs in a step.
    #[schemars(range(min = 1))]
    pub batch_size: usize,
    /// Largest number of epochs.
    #[schemars(range(min = 1))]
    pub epochs: usize,
    /// Learning rate of Adam.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub learning_rate: f64,
    /// Schedule of the learning rate.
    pub schedule: RateSchedule,
    /// Factor on the learning rate at a plateau of the validation loss.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub plateau_factor: f64,
    /// Number of epochs without a lower validation loss that make a plateau.
    pub plateau_patience: usize,
    /// Learning rate below which training with the schedule `plateau` ends.
    #[schemars(range(min = 0.0))]
    pub min_learning_rate: f64,
    /// Number of epochs over which the learning rate rises linearly from 0; 0 for none.
    #[schemars(range(min = 0.0))]
    pub warmup_epochs: f64,
    /// Decoupled weight decay of AdamW (Loshchilov & Hutter 2019); 0 for none.
    #[schemars(range(min = 0.0))]
    pub weight_decay: f64,
    /// Largest norm of the gradient; a longer gradient is scaled down; 0 for no limit.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// Decay of the exponential moving average of the weights that is evaluated and saved; 0 for no average.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub ema_decay: f64,
    /// Fraction of the numeric node features that a step sets to 0.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub feature_dropout: f64,
    /// Number of copies of a batch in a step, each with other dropped features.
    #[schemars(range(min = 1))]
    pub augmented_views: usize,
    /// Weight of the consistency loss between the augmented views (GRAND, Feng et al. 2020); 0 for none.
    #[schemars(range(min = 0.0))]
    pub consistency: f64,
    /// Temperature that sharpens the mean prediction of the views, the target of the consistency loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub consistency_temperature: f64,
    /// Loss of predicted numbers.
    pub loss: GraphLoss,
    /// If true, rows of rare classes have a larger weight in the loss.
    pub class_weights: bool,
    /// Random sign flips of the Laplacian eigenvectors in training.
    pub sign_flip: SignFlips,
    /// Selection of the network that a run saves.
    pub select: Keep,
    /// Seed of every random number in training.
    pub seed: u64,
    /// Number of steps between two lines of metrics.
    #[schemars(range(min = 1))]
    pub log_steps: usize,
    /// Longest time between two checkpoints, in minutes.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub checkpoint_minutes: f64,
}

/// Section `[eval]`: the evaluation of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GraphEval {
    /// Number of graphs in a batch of the evaluation; metrics named `_paper` are means over batches.
    #[schemars(range(min = 1))]
    pub batch_size: usize,
    /// Number of networks per fold of a cross-validation, whose predictions are averaged.
    #[schemars(range(min = 1))]
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

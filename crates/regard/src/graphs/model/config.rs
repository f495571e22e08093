//! Settings of a network on graphs, as they stand in `config.json`.

use burn::tensor::Device;
use regard_data::graphs::Graphs;
use regard_data::ranges::ColumnRanges;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{GraphTransformer, names};
use crate::experiment::DecimalMark;
use crate::graphs::task::{GraphTask, LevelName};
use crate::store::layout::ParamSpec;
use crate::store::network::{CardText, NetworkConfig, check_version, from_object};
use crate::store::ranges::{distinct, finite, length, of_columns, shares, statistics, whole};
use crate::store::renamed;
use crate::train::shapes;
use crate::{Error, Result};

/// The kind of these networks.
pub const KIND: &str = "graph-transformer";

/// Positional encoding of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PositionKind {
    /// No positional encoding.
    None,
    /// Eigenvectors of the graph's Laplacian as in the authors' code: all but the first.
    Laplacian,
    /// Eigenvectors of the Laplacian without those of eigenvalue 0 (one for each connected component).
    LaplacianSafe,
    /// Weisfeiler-Lehman index of the authors' code: a rank of the node degree.
    WeisfeilerLehman,
    /// Probabilities that a random walk has returned after 1, 2, … steps (Dwivedi et al. 2022).
    RandomWalk,
}

/// Softmax over the edges of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SoftmaxKind {
    /// The maximum score is subtracted before the exponential; a node without edges keeps its own value.
    Stable,
    /// Scores are clamped to ±5 before the exponential, as in the authors' code.
    Clamped,
}

/// Pooling of the nodes of a graph into one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Readout {
    /// The mean of the nodes.
    Mean,
    /// The sum of the nodes.
    Sum,
    /// The maximum of every channel.
    Max,
    /// Attention pooling with one learned query.
    Attention,
}

/// Numbers and names that were learnt from the training data beside weights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphPreparation {
    /// Names of the types of nodes; empty where they are counted only.
    pub node_types: Vec<String>,
    /// Name of the type that stands for nodes of types that were rare or not there; empty where there is none.
    pub other_node: String,
    /// Names of the types of edges.
    pub edge_types: Vec<String>,
    /// Names of the numbers of a node; empty where they have none.
    pub node_columns: Vec<String>,
    /// Names of the numbers of an edge.
    pub edge_columns: Vec<String>,
    /// Mean of each number of a node, for missing values; empty for files whose numbers have no names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_mean: Vec<f64>,
    /// Mean of each number of an edge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edge_mean: Vec<f64>,
    /// Ranges of the numbers of nodes in training; empty where neither nodes nor edges have names of numbers, and where
    /// graphs are kept on disk.
    #[serde(skip_serializing_if = "ColumnRanges::is_empty")]
    pub node_ranges: ColumnRanges,
    /// Ranges of the numbers of edges.
    #[serde(skip_serializing_if = "ColumnRanges::is_empty")]
    pub edge_ranges: ColumnRanges,
    /// Names of the targets.
    pub tasks: Vec<String>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Mean of each target; empty for targets that are taken as they are.
    pub target_mean: Vec<f64>,
    /// Standard deviation of each target; 1 for one that is always the same.
    pub target_std: Vec<f64>,
    /// Mean of each positional encoding; empty for encodings that are not scaled.
    pub position_mean: Vec<f32>,
    /// Standard deviation of each of them.
    pub position_std: Vec<f32>,
    /// The decimal mark of the training table: that of numbers of other files that do not tell theirs.
    #[serde(skip_serializing_if = "DecimalMark::is_auto")]
    pub decimal: DecimalMark,
}

/// Settings of a network on graphs: all that is needed to rebuild it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphTransformerConfig {
    /// [`KIND`].
    #[schemars(skip)]
    pub kind: String,
    /// Version of these settings.
    #[schemars(skip)]
    pub format: u32,
    /// Preset: a named group of model settings, used for every setting that the experiment does not give.
    #[serde(default)]
    #[schemars(extend("x-words" = super::PRESETS))]
    pub preset: Option<String>,
    /// The task.
    #[schemars(skip)]
    pub task: GraphTask,
    /// The level of the task.
    #[schemars(skip)]
    pub level: LevelName,
    /// Number of node types; 0 if nodes have none.
    #[schemars(range(max = 1_000_000), extend("x-from-data" = true))]
    pub node_types: usize,
    /// Number of numeric features of a node.
    #[schemars(range(max = 1_000_000), extend("x-from-data" = true))]
    pub node_numbers: usize,
    /// Number of edge types; 0 if edges have none.
    #[schemars(range(max = 1_000_000), extend("x-from-data" = true))]
    pub edge_types: usize,
    /// Number of numeric features of an edge.
    #[schemars(range(max = 1_000_000), extend("x-from-data" = true))]
    pub edge_numbers: usize,
    /// Number of outputs: targets or classes.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-from-data" = true))]
    pub outputs: usize,
    /// If true, edges have their own representations, which the layers update.
    pub edge_stream: bool,
    /// Positional encoding of the nodes.
    pub positions: PositionKind,
    /// Size of the positional encoding: eigenvectors, steps of the random walk, or largest index.
    #[schemars(range(min = 1, max = 4096))]
    pub position_size: usize,
    /// Number of layers.
    #[schemars(range(min = 1, max = 64))]
    pub layers: usize,
    /// Width of the representations of nodes and edges; a multiple of `heads`.
    #[schemars(range(min = 4, max = 8192))]
    pub width: usize,
    /// Number of attention heads.
    #[schemars(range(min = 1))]
    pub heads: usize,
    /// If true, a layer norm follows each residual sum.
    pub layer_norm: bool,
    /// If true, a batch norm follows each residual sum.
    pub batch_norm: bool,
    /// If true, the input of each sub-layer is added to its output.
    pub residual: bool,
    /// If true, the projections to queries, keys and values have biases.
    pub bias: bool,
    /// Softmax over the edges of a node.
    pub softmax: SoftmaxKind,
    /// If true, a node also receives the sum of the new features of its edges, if edges have features.
    #[serde(default)]
    pub edge_sums: bool,
    /// If true, a node also receives the sum of messages: values of its neighbours and features of the edges, of which
    /// what is above 0 is taken (GINE, Hu et al. 2020).
    #[serde(default)]
    pub messages: bool,
    /// If false, features of edges are the same in all layers.
    #[serde(default = "yes")]
    pub edge_updates: bool,
    /// Pooling of the nodes of a graph into one vector.
    pub readout: Readout,
    /// If true, the readout also gets the number of nodes of each type and the numbers of nodes and edges.
    #[serde(default)]
    pub composition_features: bool,
    /// Dropout rate on the embeddings of the nodes.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub input_dropout: f64,
    /// Dropout rate inside the layers.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub dropout: f64,
    /// Dropout rate on the attention weights.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub attention_dropout: f64,
    /// Numbers and names learnt from the training data.
    #[serde(default, skip_serializing_if = "GraphPreparation::is_empty")]
    #[schemars(skip)]
    pub data: GraphPreparation,
}

/// The value of a switch that older models do not have.
fn yes() -> bool {
    true
}

impl GraphPreparation {
    /// The unit of a scaled target, and its mean.
    fn scale(&self, task: usize) -> (f64, f64) {
        let deviation = self.target_std.get(task).copied().filter(|&by| by > 0.0);
        (deviation.unwrap_or(1.0), self.target_mean.get(task).copied().unwrap_or(0.0))
    }

    /// A target as the network learns it.
    pub(crate) fn scaled(&self, task: usize, target: f64) -> f64 {
        let (unit, mean) = self.scale(task);
        (target - mean) / unit
    }

    /// A network's number in the target's own measure.
    pub(crate) fn unscaled(&self, task: usize, number: f64) -> f64 {
        let (unit, mean) = self.scale(task);
        number * unit + mean
    }

    /// Brings rows of positions to the measure the network has learnt.
    pub(crate) fn scale_positions(&self, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(self.position_mean.len().max(1)) {
            for (x, (mean, deviation)) in row.iter_mut().zip(self.position_mean.iter().zip(&self.position_std)) {
                *x = (*x - mean) / deviation;
            }
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl GraphTransformerConfig {
    /// Checks what was learnt from the training data.
    fn check_data(&self) -> Result<()> {
        let data = &self.data;
        for (key, names, count) in [
            ("data.node_types", &data.node_types, self.node_types),
            ("data.edge_types", &data.edge_types, self.edge_types),
            ("data.node_columns", &data.node_columns, self.node_numbers),
            ("data.edge_columns", &data.edge_columns, self.edge_numbers),
        ] {
            length(key, names.len(), count, true)?;
            distinct(key, names)?;
        }
        if !data.other_node.is_empty() && !data.node_types.contains(&data.other_node) {
            return Err(Error::config("data.other_node", "is not one of the node types of `config.json`"));
        }
        for (key, means, count) in [
            ("data.node_mean", &data.node_mean, self.node_numbers),
            ("data.edge_mean", &data.edge_mean, self.edge_numbers),
        ] {
            length(key, means.len(), count, true)?;
            finite(key, means)?;
        }
        of_columns("data.node_ranges", &data.node_ranges, self.node_numbers)?;
        of_columns("data.edge_ranges", &data.edge_ranges, self.edge_numbers)?;
        match self.task {
            GraphTask::Classification => length("data.classes", data.classes.len(), self.outputs, true)?,
            GraphTask::Regression | GraphTask::Labels => length("data.tasks", data.tasks.len(), self.outputs, true)?,
        }
        statistics("data.target_", &data.target_mean, &data.target_std, self.outputs)?;
        let wide = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
        let positions = match self.positions {
            PositionKind::None | PositionKind::WeisfeilerLehman => 0,
            PositionKind::Laplacian | PositionKind::LaplacianSafe | PositionKind::RandomWalk => self.position_size,
        };
        statistics("data.position_", &wide(&data.position_mean), &wide(&data.position_std), positions)
    }

    /// Refuses graphs with a node that no edge ends in, where the softmax of the network would divide 0 by 0: the
    /// clamped one adds nothing to the sum unless there is an edge stream, as in the authors' code.
    ///
    /// # Errors
    /// [`Error::Config`] naming the first such node.
    pub(crate) fn check_edges(&self, graphs: &Graphs) -> Result<()> {
        if self.edge_stream || self.softmax != SoftmaxKind::Clamped {
            return Ok(());
        }
        let Some(node) = graphs.first_without_edges() else { return Ok(()) };
        let node = graphs.describe_node(node);
        let reason = format!("is `clamped`, without an edge stream: it would be 0/0 at {node}, where no edge ends");
        Err(Error::config("model.softmax", reason)
            .with_hint("train with `model.softmax=stable` or `model.edge_stream=true`, or leave this graph out"))
    }

    /// If true, all edges begin as the same learnt row: an edge stream without any features of
    /// the edges.
    pub(crate) fn edges_of_one_kind(&self) -> bool {
        self.edge_stream && self.edge_types == 0 && self.edge_numbers == 0
    }

    /// Names of the rows of a parameter, if they are kinds or columns of the data.
    pub(crate) fn row_names(&self, parameter: &str) -> Option<Vec<String>> {
        let GraphPreparation { node_types, edge_types, node_columns, edge_columns, .. } = &self.data;
        Some(match parameter {
            "node_types.weight" => node_types.clone(),
            "edge_types.weight" => edge_types.clone(),
            "node_numbers.weight" => node_columns.clone(),
            "edge_numbers.weight" if !self.edges_of_one_kind() => edge_columns.clone(),
            "composition.weight" => [node_types.clone(), vec!["nodes".into(), "edges".into()]].concat(),
            _ => return None,
        })
    }
}

impl NetworkConfig for GraphTransformerConfig {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn from_json(value: &Value) -> Result<Self> {
        // A template with every key.
        let data = GraphPreparation { tasks: vec![String::new()], ..GraphPreparation::default() };
        let config: Self = from_object(value, &Self { data, ..Self::graph_transformer_2021() }, KIND)?;
        config.validate()?;
        Ok(config)
    }

    fn validate(&self) -> Result<()> {
        check_version(&self.kind, self.format, KIND)?;
        whole("node_types", self.node_types, 0..=1_000_000)?;
        whole("node_numbers", self.node_numbers, 0..=1_000_000)?;
        whole("edge_types", self.edge_types, 0..=1_000_000)?;
        whole("edge_numbers", self.edge_numbers, 0..=1_000_000)?;
        whole("outputs", self.outputs, 1..=1_000_000)?;
        whole("position_size", self.position_size, 1..=4096)?;
        whole("layers", self.layers, 1..=64)?;
        // The answer is read by layers of half and a quarter of the width.
        whole("width", self.width, 4..=8192)?;
        whole("heads", self.heads, 1..=self.width)?;
        if !self.width.is_multiple_of(self.heads) {
            return Err(Error::config("heads", format!("{} heads do not divide width {}", self.heads, self.width)));
        }
        if self.node_types + self.node_numbers == 0 && self.positions == PositionKind::None {
            let reason =
                "is `none`, but nodes have neither types nor numeric features: the network could not tell nodes apart";
            return Err(Error::config("positions", reason));
        }
        if self.composition_features && self.level == LevelName::Node {
            return Err(Error::config(
                "composition_features",
                "needs a task on whole graphs, but the task is on nodes",
            ));
        }
        shares(&[
            ("input_dropout", self.input_dropout),
            ("dropout", self.dropout),
            ("attention_dropout", self.attention_dropout),
        ])?;
        self.check_data()
    }

    fn param_specs(&self) -> Vec<ParamSpec> {
        // As for sets: the network itself knows best.
        GraphTransformer::undrawn(self, &Device::flex())
            .map(|network| renamed::param_specs(names::table(self), shapes(&network)))
            .unwrap_or_default()
    }

    fn card(&self) -> CardText {
        let word = |value: Result<Value, serde_json::Error>| match value {
            Ok(Value::String(word)) => word,
            _ => String::new(),
        };
        let rows = vec![
            (
                "task",
                format!("{1}-level {0}", word(serde_json::to_value(self.task)), word(serde_json::to_value(self.level))),
            ),
            ("layers", self.layers.to_string()),
            ("width", self.width.to_string()),
            ("heads", self.heads.to_string()),
            ("edge stream", if self.edge_stream { "yes" } else { "no" }.into()),
            ("positions", format!("{} {}", self.position_size, word(serde_json::to_value(self.positions)))),
            ("edge sums", if self.edge_sums { "yes" } else { "no" }.into()),
            ("messages", if self.messages { "yes" } else { "no" }.into()),
            ("edge updates", if self.edge_stream && self.edge_updates { "yes" } else { "no" }.into()),
            ("read-out", word(serde_json::to_value(self.readout))),
            ("composition features", if self.composition_features { "yes" } else { "no" }.into()),
        ];
        CardText {
            what: "A Graph Transformer (Dwivedi & Bresson 2021): each node attends to its neighbours.".into(),
            preset: self.preset.clone(),
            rows,
            usage: vec!["regard predict --model {name} FILE.csv", "regard eval --model {name} --data FILE.csv"],
        }
    }
}

//! The networks that have names.

use super::config::{GraphPreparation, GraphTransformerConfig, KIND, PositionKind, Readout, SoftmaxKind};
use crate::graphs::task::{GraphTask, LevelName};
use crate::store::FORMAT;
use crate::{Error, Result};
use regard_data::names::{list, suggestion};

/// Names of the presets, ours first.
pub const PRESETS: [&str; 2] = ["regard-graph", "graph-transformer-2021"];

impl GraphTransformerConfig {
    /// The network of the authors' code for ZINC: ten layers with edge stream and batch norm, eight
    /// eigenvectors, the mean of the nodes (`molecules_GraphTransformer_LapPE_ZINC_500k_sparse_graph_BN`).
    pub fn graph_transformer_2021() -> Self {
        Self {
            kind: KIND.into(),
            format: FORMAT,
            preset: Some("graph-transformer-2021".into()),
            task: GraphTask::Regression,
            level: LevelName::Graph,
            node_types: 28,
            node_numbers: 0,
            edge_types: 4,
            edge_numbers: 0,
            outputs: 1,
            edge_stream: true,
            positions: PositionKind::Laplacian,
            position_size: 8,
            layers: 10,
            width: 64,
            heads: 8,
            layer_norm: false,
            batch_norm: true,
            residual: true,
            bias: false,
            softmax: SoftmaxKind::Clamped,
            edge_sums: false,
            messages: false,
            edge_updates: true,
            readout: Readout::Mean,
            composition_features: false,
            input_dropout: 0.0,
            dropout: 0.0,
            attention_dropout: 0.0,
            data: GraphPreparation::default(),
        }
    }

    /// Ours: the usual softmax, so that a node without neighbours keeps its own value; positions by
    /// random walks; sums over the nodes; some attention weights left out in training.
    pub fn regard_graph() -> Self {
        Self {
            preset: Some("regard-graph".into()),
            positions: PositionKind::RandomWalk,
            position_size: 20,
            softmax: SoftmaxKind::Stable,
            readout: Readout::Sum,
            attention_dropout: 0.2,
            ..Self::graph_transformer_2021()
        }
    }

    /// A preset by its name.
    ///
    /// # Errors
    /// [`Error::Config`] naming the nearest preset.
    pub fn preset(name: &str) -> Result<Self> {
        match name {
            "regard-graph" => Ok(Self::regard_graph()),
            "graph-transformer-2021" => Ok(Self::graph_transformer_2021()),
            _ => {
                let near = suggestion(name, PRESETS);
                Err(Error::config("preset", format!("`{name}` is not a preset{near}; presets: {}", list(PRESETS))))
            }
        }
    }
}

//! Import of checkpoints of the code of the Graph Transformer: graphdeeplearning/graphtransformer (MIT).

use std::path::Path;

use regard_data::graphs::molecules::{ZINC_ATOMS, ZINC_BONDS};

use super::GraphTransformerConfig;
use super::model::PositionKind;
use super::task::{GraphTask, LevelName};
use crate::import::{Assignments, Imported, Project, another_network, count, finish, read, shape};
use crate::store::Weights;
use crate::{Error, Result};

const PROJECT: Project = Project {
    origin: "a checkpoint of the code of A Generalization of Transformer Networks to Graphs (Dwivedi, Bresson 2021)",
    repository: "https://github.com/graphdeeplearning/graphtransformer",
    licence: "The licence of the authors of the checkpoint.",
};

/// Reads a checkpoint of the authors' code (`epoch_N.pkl`): the network with edge stream of
/// `molecules_graph_regression` for a number of a molecule, and the one without of `SBMs_node_classification` for classes
/// of nodes.
///
/// Sizes, norms, biases and positions come from names and shapes. The file does not tell the number of heads (8 in the
/// code), the read-out (`mean`) and whether there are residual sums (yes); 28 types of atoms and 4 of bonds are taken for
/// those of ZINC. `sets` are assignments of settings of `config.json`, such as `heads=4`.
///
/// # Errors
/// Those of reading the file; [`Error::Unsupported`] for weights of another network; [`Error::Config`] for settings that
/// do not hold together; [`Error::Weights`] with every tensor that is missing, not expected or of another shape.
pub fn graph_transformer(path: &Path, sets: &[String]) -> Result<Imported<GraphTransformerConfig>> {
    let sets = Assignments::parse(sets)?;
    let (weights, provenance) = read(path, &PROJECT)?;
    let base = GraphTransformerConfig::graph_transformer_2021();
    let Some([node_types, width]) = shape(&weights, "embedding_h.weight") else {
        return Err(another_network(path, &weights, "`embedding_h.weight`"));
    };
    let layers = count(&weights, "layers");
    one_width(&weights, width, layers, path)?;
    let edge_stream = weights.contains_key("layers.0.attention.proj_e.weight");
    let has =
        |name: &str| weights.contains_key(&format!("layers.0.{name}{}.weight", if edge_stream { "_h" } else { "" }));
    let (positions, position_size) = positions(&weights);
    // With features an embedding of types, without any a linear map of the number 1.
    let edges = shape::<2>(&weights, "embedding_e.weight").filter(|_| !weights.contains_key("embedding_e.bias"));
    let edge_types = edges.map_or(0, |[types, _]| types);
    let outputs = shape::<2>(&weights, "MLP_layer.FC_layers.2.weight").map_or(1, |[outputs, _]| outputs);
    let mut config = GraphTransformerConfig {
        node_types,
        edge_types,
        outputs,
        edge_stream,
        positions,
        position_size,
        layers,
        width,
        heads: if width.is_multiple_of(base.heads) { base.heads } else { 1 },
        layer_norm: has("layer_norm1"),
        batch_norm: has("batch_norm1"),
        bias: weights.contains_key("layers.0.attention.Q.bias"),
        task: if edge_stream { GraphTask::Regression } else { GraphTask::Classification },
        level: if edge_stream { LevelName::Graph } else { LevelName::Node },
        ..base
    };
    let numbers = |count: usize| (0..count).map(|at| at.to_string()).collect::<Vec<_>>();
    let zinc = (node_types, edge_types) == (ZINC_ATOMS.len(), ZINC_BONDS.len());
    let data = &mut config.data;
    data.node_types = if zinc { ZINC_ATOMS.map(str::to_owned).to_vec() } else { numbers(node_types) };
    data.edge_types = if zinc { ZINC_BONDS.map(str::to_owned).to_vec() } else { numbers(edge_types) };
    let task = match sets.get("task") {
        Some(word) => serde_json::from_value(word.clone()).map_err(|error| Error::config("task", error.to_string()))?,
        None => config.task,
    };
    match task {
        GraphTask::Classification => data.classes = numbers(outputs),
        _ if outputs == 1 => data.tasks = vec!["target".to_owned()],
        _ => data.tasks = (1..=outputs).map(|at| format!("target {at}")).collect(),
    }
    let guessed = ["heads", "readout", "residual", "task", "level"];
    finish(&config, (weights, provenance), &sets, &guessed, path)
}

/// The positions of the nodes, and their size.
fn positions(weights: &Weights) -> (PositionKind, usize) {
    if let Some([_, size]) = shape(weights, "embedding_lap_pos_enc.weight") {
        return (PositionKind::Laplacian, size);
    }
    match shape(weights, "embedding_wl_pos_enc.weight") {
        Some([size, _]) => (PositionKind::WeisfeilerLehman, size),
        None => (PositionKind::None, 1),
    }
}

/// Refuses a network whose last layer has another width.
fn one_width(weights: &Weights, width: usize, layers: usize, path: &Path) -> Result<()> {
    let name = format!("layers.{}.attention.Q.weight", layers.saturating_sub(1));
    match shape::<2>(weights, &name) {
        Some([last, _]) if last != width => {
            let reason = format!("has layers of width {width} and a last one of width {last}; expected one width");
            Err(Error::Unsupported { what: path.display().to_string(), reason })
        }
        _ => Ok(()),
    }
}

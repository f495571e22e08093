//! Names and layouts of the authors' code (`graph_transformer_layer.py`,
//! `graph_transformer_edge_layer.py`, `graph_transformer_net.py` of graphdeeplearning/graphtransformer),
//! and names in their manner for what it does not have.

use super::config::{GraphTransformerConfig, PositionKind};
use crate::store::renamed::{Form, Renamed, Table};

/// Layers of the network that reads the answer, `MLPReadout`.
pub(super) const HEAD: usize = 3;

/// Every array a network of these settings may have, ours and theirs.
pub(super) fn table(config: &GraphTransformerConfig) -> Vec<Renamed> {
    let mut names = Table::default();
    names.add("node_types.weight".into(), "embedding_h.weight".into(), Form::Same);
    names.linear("node_numbers", if config.node_types == 0 { "embedding_h" } else { "embedding_h_numbers" });
    names.add("edge_types.weight".into(), "embedding_e.weight".into(), Form::Same);
    names.linear("edge_numbers", if config.edge_types == 0 { "embedding_e" } else { "embedding_e_numbers" });
    let place = match config.positions {
        PositionKind::RandomWalk => "embedding_rw_pos_enc",
        _ => "embedding_lap_pos_enc",
    };
    names.linear("place", place);
    names.add("place_index.weight".into(), "embedding_wl_pos_enc.weight".into(), Form::Same);
    for layer in 0..config.layers {
        names.layer(&format!("layers.{layer}"), config.edge_stream);
    }
    names.linear("pooling.mab.query", "pool.fc_q");
    names.linear("pooling.mab.key", "pool.fc_k");
    names.linear("pooling.mab.value", "pool.fc_v");
    names.linear("pooling.mab.feed.0", "pool.fc_o");
    names.add("pooling.seeds".into(), "pool.S".into(), Form::LeadingOne);
    names.linear("composition", "composition");
    for layer in 0..HEAD {
        names.linear(&format!("head.{layer}"), &format!("MLP_layer.FC_layers.{layer}"));
    }
    names.0
}

impl Table {
    fn layer(&mut self, place: &str, edges: bool) {
        for (part, name) in [("query", "Q"), ("key", "K"), ("value", "V"), ("edge", "proj_e")] {
            self.linear(&format!("{place}.{part}"), &format!("{place}.attention.{name}"));
        }
        self.add(format!("{place}.edge_sums"), format!("{place}.edge_sums"), Form::Same);
        // The layer without edge stream has no letter for the nodes.
        self.stream(place, "node_stream", if edges { "_h" } else { "" });
        self.stream(place, "edge_stream", "_e");
    }

    fn stream(&mut self, place: &str, ours: &str, letter: &str) {
        self.linear(&format!("{place}.{ours}.out"), &format!("{place}.O{letter}"));
        for (part, name) in [("inner", "layer1"), ("outer", "layer2")] {
            self.linear(&format!("{place}.{ours}.feed.{part}"), &format!("{place}.FFN{letter}_{name}"));
        }
        for (half, number) in [("first", 1), ("second", 2)] {
            for (kind, name) in [("layer", "layer_norm"), ("batch", "batch_norm")] {
                for (part, word) in [
                    ("gamma", "weight"),
                    ("beta", "bias"),
                    ("running_mean", "running_mean"),
                    ("running_variance", "running_var"),
                ] {
                    let ours = format!("{place}.{ours}.{half}.{kind}.{part}");
                    self.add(ours, format!("{place}.{name}{number}{letter}.{word}"), Form::Same);
                }
            }
        }
    }
}

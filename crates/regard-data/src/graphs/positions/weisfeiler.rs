//! The index of the published code (`wl_positional_encoding`, after Graph-BERT).

use std::collections::{BTreeMap, HashMap};

use md5::{Digest, Md5};

use super::components::Adjacency;
use crate::graphs::Graphs;

/// From 1, for each node.
///
/// The first round colours a node by the MD5 sum of its own colour, 1, and those of its neighbours, all 1,
/// and ranks the colours by their sums as text. Where all are alike the code keeps the colour 1, and so
/// does the rank. What a second round would give is dropped.
pub(super) fn indices(graphs: &Graphs, graph: usize) -> Vec<u32> {
    let adjacency = Adjacency::of(graphs, graph);
    // A neighbour counts once, however often it is joined.
    let neighbours: Vec<usize> = (0..adjacency.nodes()).map(|node| adjacency.row(node).count()).collect();
    let sums: HashMap<usize, String> = neighbours.iter().map(|degree| (*degree, sum(*degree))).collect();
    let ordered: BTreeMap<&str, usize> = sums.iter().map(|(degree, sum)| (sum.as_str(), *degree)).collect();
    let ranks: HashMap<usize, u32> = ordered.values().zip(1..).map(|(degree, rank)| (*degree, rank)).collect();
    neighbours.iter().map(|degree| ranks[degree]).collect()
}

fn sum(degree: usize) -> String {
    let text = vec!["1"; degree + 1].join("_");
    Md5::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

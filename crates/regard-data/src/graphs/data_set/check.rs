//! What has to hold for the parts of a data set.

use crate::graphs::features::Kinds;
use crate::graphs::graph::Graph;
use crate::sets::FeatureNames;
use crate::{Error, Result};

pub(super) fn same_count(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::invalid(what, format!("are {found}, expected {expected}")))
}

pub(super) fn same_columns(found: &FeatureNames, training: &FeatureNames, what: &str) -> Result<()> {
    let named = |names: &FeatureNames| match names {
        FeatureNames::Named(names) => names.join(", "),
        FeatureNames::Count(count) => format!("{count} without names"),
    };
    let same = match (found, training) {
        (FeatureNames::Named(found), FeatureNames::Named(training)) => found == training,
        _ => found.len() == training.len(),
    };
    if same {
        return Ok(());
    }
    let reason = format!("have the numbers {}, expected {} as in training", named(found), named(training));
    Err(Error::invalid(what, reason))
}

/// The first thing that does not fit in a graph.
pub(super) fn check_graph(graph: &Graph, nodes: &Kinds, edges: &Kinds) -> Result<(), String> {
    if graph.nodes > u32::MAX as usize || graph.edges.len() > u32::MAX as usize {
        return Err("has more nodes or edges than 32 bits count".into());
    }
    for (at, [source, target]) in graph.edges.iter().enumerate() {
        let highest = (*source).max(*target) as usize;
        if highest >= graph.nodes {
            return Err(format!("edge {} has the node {highest}, expected numbers below {}", at + 1, graph.nodes));
        }
    }
    check_values("nodes", graph.nodes, &graph.node_types, &graph.node_dense, nodes)?;
    check_values("edges", graph.edges.len(), &graph.edge_types, &graph.edge_dense, edges)
}

fn check_values(what: &str, count: usize, types: &[u32], dense: &[f32], kinds: &Kinds) -> Result<(), String> {
    let wanted = if kinds.types.is_empty() { 0 } else { count };
    if !kinds.types.is_empty() && types.len() != wanted {
        return Err(format!("has {} types of {what}, expected {wanted}", types.len()));
    }
    if let Some(kind) = types.iter().take(wanted).find(|kind| **kind as usize >= kinds.types.len()) {
        return Err(format!("has {what} of type {kind}, expected numbers below {}", kinds.types.len()));
    }
    if Some(dense.len()) != count.checked_mul(kinds.columns.len()) {
        return Err(format!("has {} numbers for {count} {what} of {} each", dense.len(), kinds.columns.len()));
    }
    match dense.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("has the number {value} among those of {what}, expected finite ones")),
        None => Ok(()),
    }
}

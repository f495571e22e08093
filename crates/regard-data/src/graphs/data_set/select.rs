//! Subsets of graphs, and graphs with other edges or types.

use super::{Graphs, Origin, Skipped, unseen_type};
use crate::graphs::features::{Features, Kinds};
use crate::graphs::{Level, Parts};
use crate::{Error, Result};

impl Graphs {
    /// The graphs at these places, in this order, with all that belongs to them; a graph may be taken
    /// more than once.
    ///
    /// # Panics
    /// If there is no such graph.
    #[must_use]
    pub fn select(&self, graphs: &[usize]) -> Self {
        let nodes: Vec<usize> = graphs.iter().flat_map(|&graph| self.nodes_of(graph)).collect();
        let places = |level| match level {
            Level::Graph => graphs,
            Level::Node => &nodes[..],
        };
        let parts = |parts: &Parts| Parts {
            level: parts.level,
            of: places(parts.level).iter().map(|&at| parts.of[at]).collect(),
        };
        let mut all = self.gathered(graphs);
        all.node_ids = self.node_ids.as_ref().map(|ids| nodes.iter().map(|&node| ids[node].clone()).collect());
        all.targets = self.targets.as_ref().map(|targets| targets.select(places(targets.level())));
        all.parts = self.parts.as_ref().map(parts);
        all
    }

    /// The graphs of several data sets one after the other, with nodes, edges and names alone.
    ///
    /// # Errors
    /// [`Error::Invalid`] where nodes or edges carry other features than those of the first data set.
    pub fn concat(all: &[&Self]) -> Result<Self> {
        let Some((first, others)) = all.split_first() else {
            return Self::new(Kinds::default(), Kinds::default(), vec![]);
        };
        for (features, others, what) in [
            (&first.node_features, others.iter().map(|one| &one.node_features).collect::<Vec<_>>(), "nodes"),
            (&first.edge_features, others.iter().map(|one| &one.edge_features).collect(), "edges"),
        ] {
            if others.iter().any(|other| other.kinds != features.kinds) {
                return Err(Error::invalid(what, "have other types or numbers than those of the first data set"));
            }
        }
        let mut joined = first.gathered(&[]);
        joined.origin = Origin::default();
        for one in all {
            let (nodes, edges) = (joined.nodes(), joined.edges());
            joined.ids.extend_from_slice(&one.ids);
            joined.node_offsets.extend(one.node_offsets[1..].iter().map(|offset| nodes + offset));
            joined.in_offsets.extend(one.in_offsets[1..].iter().map(|offset| edges + offset));
            joined.sources.extend_from_slice(&one.sources);
            extend(&mut joined.node_features, &one.node_features, 0..one.nodes());
            extend(&mut joined.edge_features, &one.edge_features, 0..one.edges());
        }
        Ok(joined)
    }

    /// Nodes, edges and names of some graphs.
    fn gathered(&self, graphs: &[usize]) -> Self {
        let (mut node_offsets, mut in_offsets) = (vec![0], vec![0]);
        let (mut nodes, mut edges) = (empty_like(&self.node_features), empty_like(&self.edge_features));
        let mut sources = Vec::new();
        for &graph in graphs {
            let (of_nodes, of_edges) = (self.nodes_of(graph), self.edges_of(graph));
            let start = sources.len();
            in_offsets.extend(of_nodes.clone().map(|node| start + self.in_offsets[node + 1] - of_edges.start));
            sources.extend_from_slice(&self.sources[of_edges.clone()]);
            node_offsets.push(in_offsets.len() - 1);
            extend(&mut nodes, &self.node_features, of_nodes);
            extend(&mut edges, &self.edge_features, of_edges);
        }
        let lines = match self.origin.lines.is_empty() {
            true => Vec::new(),
            false => graphs.iter().map(|&graph| self.origin.lines[graph]).collect(),
        };
        Self {
            ids: graphs.iter().map(|&graph| self.ids[graph].clone()).collect(),
            node_offsets,
            in_offsets,
            sources,
            node_features: nodes,
            edge_features: edges,
            node_ids: None,
            targets: None,
            parts: None,
            origin: Origin { lines, ..self.origin.clone() },
        }
    }

    /// The same nodes, every two of a graph joined in both directions and no node with itself; all edges
    /// are of the one type `0`, as the `full_graph` of the Graph Transformer's code. Positions belong to
    /// the graph before: compute them first.
    #[must_use]
    pub fn complete(&self) -> Self {
        let mut all = self.clone();
        all.in_offsets.truncate(1);
        all.sources.clear();
        for graph in 0..self.len() {
            let nodes = self.nodes_of(graph).len() as u32;
            for target in 0..nodes {
                all.sources.extend((0..nodes).filter(|source| *source != target));
                all.in_offsets.push(all.sources.len());
            }
        }
        all.edge_features = Features { kinds: Kinds::counted(1), types: vec![0; all.sources.len()], dense: Vec::new() };
        all
    }
}

fn empty_like(features: &Features) -> Features {
    Features { kinds: features.kinds.clone(), types: Vec::new(), dense: Vec::new() }
}

fn extend(to: &mut Features, from: &Features, rows: std::ops::Range<usize>) {
    if !from.types.is_empty() {
        to.types.extend_from_slice(&from.types[rows.clone()]);
    }
    let width = from.width();
    to.dense.extend_from_slice(&from.dense[rows.start * width..rows.end * width]);
}

impl Graphs {
    /// The same graphs where types that fewer than `least` nodes of the graphs `among` have become the one
    /// type `other`, so that something is learnt for what is rare and [`Graphs::align`] can take it for what
    /// is new. Graphs stay as they are where `among` has no node of a rare type: nothing would be learnt.
    ///
    /// # Panics
    /// If there is no graph of `among`.
    #[must_use]
    pub fn with_rare_nodes_as(mut self, other: &str, among: &[usize], least: usize) -> Self {
        let Some(types) = self.node_features.types() else { return self };
        let names = self.node_features.type_names();
        let mut counts = vec![0usize; names.len()];
        among.iter().flat_map(|&graph| self.nodes_of(graph)).for_each(|node| counts[types[node] as usize] += 1);
        let often = |kind: usize| counts[kind] >= least && names[kind] != other;
        if (0..names.len()).all(|kind| often(kind) || counts[kind] == 0) {
            return self;
        }
        let (mut kept, mut places) = (Vec::new(), vec![None; names.len()]);
        for kind in (0..names.len()).filter(|&kind| often(kind)) {
            places[kind] = Some(kept.len());
            kept.push(names[kind].clone());
        }
        let last = kept.len();
        kept.push(other.to_owned());
        self.node_features.types.iter_mut().for_each(|kind| *kind = places[*kind as usize].unwrap_or(last) as u32);
        self.node_features.kinds.types = kept;
        self
    }

    /// Without the graphs that have a node of a type that is none of `known`, where there are any; they
    /// count as [skipped](Graphs::skipped).
    ///
    /// # Errors
    /// [`Error::Parse`] when no graph is left.
    pub fn without_unseen_nodes(self, known: &[String]) -> Result<Self> {
        let mut left_out: Vec<(usize, String)> = Vec::new();
        for node in self.unseen_nodes(known) {
            let graph = self.graph_of(node);
            if left_out.last().is_none_or(|(last, _)| *last != graph) {
                let place = format!("{} {}", self.node_word(), node - self.node_offsets[graph] + 1);
                let kind = self.node_features.types[node] as usize;
                left_out.push((graph, unseen_type(&place, &self.node_features.type_names()[kind])));
            }
        }
        if left_out.is_empty() || known.is_empty() {
            return Ok(self);
        }
        if left_out.len() == self.len() {
            let reason = "has no graph whose node types are all in the training data";
            return Err(Error::parse(&self.origin.path, 0, reason));
        }
        let stays = |graph: &usize| left_out.binary_search_by_key(graph, |(graph, _)| *graph).is_err();
        let mut rest = self.select(&(0..self.len()).filter(stays).collect::<Vec<usize>>());
        let skipped = left_out.into_iter().map(|(graph, reason)| {
            // Graphs that were made are counted.
            Skipped { line: self.line(graph).unwrap_or(graph + 1), reason }
        });
        rest.origin.skipped.extend(skipped);
        rest.origin.skipped.sort_by_key(|row| row.line);
        Ok(rest)
    }
}

//! Graphs joining one by one.

use super::check::check_graph;
use super::{Graphs, Origin};
use crate::Result;
use crate::graphs::features::{Features, Kinds, check_kinds};
use crate::graphs::graph::Graph;

/// All graphs so far.
#[derive(Debug)]
pub(in crate::graphs) struct Collected {
    pub(in crate::graphs) ids: Vec<String>,
    node_offsets: Vec<usize>,
    in_offsets: Vec<usize>,
    sources: Vec<u32>,
    pub(in crate::graphs) node_types: Vec<u32>,
    node_dense: Vec<f32>,
    pub(in crate::graphs) edge_types: Vec<u32>,
    edge_dense: Vec<f32>,
}

impl Default for Collected {
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            node_offsets: vec![0],
            in_offsets: vec![0],
            sources: Vec::new(),
            node_types: Vec::new(),
            node_dense: Vec::new(),
            edge_types: Vec::new(),
            edge_dense: Vec::new(),
        }
    }
}

impl Collected {
    /// Takes a graph whose values must fit `nodes` and `edges`.
    pub(in crate::graphs) fn push(&mut self, graph: Graph, nodes: &Kinds, edges: &Kinds) -> Result<(), String> {
        check_graph(&graph, nodes, edges)?;
        let width = edges.columns.len();
        let mut order: Vec<u32> = (0..graph.edges.len() as u32).collect();
        // Stable: edges between the same nodes stay in the order they have.
        order.sort_by_key(|edge| {
            let [source, target] = graph.edges[*edge as usize];
            (target, source)
        });
        let start = self.in_offsets.len();
        self.in_offsets.resize(start + graph.nodes, 0);
        graph.edges.iter().for_each(|[_, target]| self.in_offsets[start + *target as usize] += 1);
        for node in start..self.in_offsets.len() {
            self.in_offsets[node] += self.in_offsets[node - 1];
        }
        for edge in order.iter().map(|edge| *edge as usize) {
            self.sources.push(graph.edges[edge][0]);
            if !edges.types.is_empty() {
                self.edge_types.push(graph.edge_types[edge]);
            }
            self.edge_dense.extend_from_slice(&graph.edge_dense[edge * width..(edge + 1) * width]);
        }
        if !nodes.types.is_empty() {
            self.node_types.extend_from_slice(&graph.node_types);
        }
        self.node_dense.extend_from_slice(&graph.node_dense);
        self.node_offsets.push(self.in_offsets.len() - 1);
        self.ids.push(graph.id);
        Ok(())
    }

    pub(in crate::graphs) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether some nodes or edges lack what others carry.
    pub(in crate::graphs) fn uneven(&self, nodes: &Kinds, edges: &Kinds) -> Option<&'static str> {
        let fits = |kinds: &Kinds, types: usize, dense: usize, count: usize| {
            types == if kinds.types.is_empty() { 0 } else { count } && dense == count * kinds.columns.len()
        };
        let all_nodes = fits(nodes, self.node_types.len(), self.node_dense.len(), self.in_offsets.len() - 1);
        let all_edges = fits(edges, self.edge_types.len(), self.edge_dense.len(), self.sources.len());
        match (all_nodes, all_edges) {
            (false, _) => Some("nodes"),
            (_, false) => Some("edges"),
            _ => None,
        }
    }

    /// The data set; types are called by the names of `nodes` and `edges`.
    pub(in crate::graphs) fn finish(self, nodes: Kinds, edges: Kinds, origin: Origin) -> Result<Graphs> {
        check_kinds(&nodes, "nodes")?;
        check_kinds(&edges, "edges")?;
        if let Some(what) = self.uneven(&nodes, &edges) {
            return Err(crate::Error::invalid(what, "carry something in some graphs that is missing in others"));
        }
        Ok(Graphs {
            ids: self.ids,
            node_offsets: self.node_offsets,
            in_offsets: self.in_offsets,
            sources: self.sources,
            node_features: Features { kinds: nodes, types: self.node_types, dense: self.node_dense },
            edge_features: Features { kinds: edges, types: self.edge_types, dense: self.edge_dense },
            node_ids: None,
            targets: None,
            parts: None,
            origin,
        })
    }
}

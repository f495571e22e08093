//! Edges of files that list them: both ways or one way.

use std::collections::HashMap;

use crate::graphs::Graph;

/// Puts the edges that a file lists into a graph.
#[derive(Debug, Default)]
pub(super) struct EdgeList {
    directed: bool,
    /// The place of the first edge between two nodes, the smaller node first.
    first: HashMap<[u32; 2], usize>,
    /// Edges that were there already.
    pub(super) merged: usize,
}

impl EdgeList {
    pub(super) fn new(directed: bool) -> Self {
        Self { directed, ..Self::default() }
    }

    /// Begins another graph.
    pub(super) fn next_graph(&mut self) {
        self.first.clear();
    }

    /// Adds an edge; in undirected files both ways, and only the first of several between two nodes.
    ///
    /// The error says that a repeated edge carries something else than the first.
    pub(super) fn add(&mut self, graph: &mut Graph, ends: [u32; 2], kind: u32, dense: &[f32]) -> Result<(), String> {
        let [a, b] = ends;
        if self.directed {
            graph.add(a, b, kind);
            graph.edge_dense.extend_from_slice(dense);
            return Ok(());
        }
        let key = [a.min(b), a.max(b)];
        if let Some(first) = self.first.get(&key) {
            let width = dense.len();
            let before = &graph.edge_dense[first * width..(first + 1) * width];
            // What is missing twice is the same.
            let same = before.iter().zip(dense).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
            if graph.edge_types[*first] != kind || !same {
                return Err("is given a second time with other values".into());
            }
            self.merged += 1;
            return Ok(());
        }
        self.first.insert(key, graph.edges.len());
        graph.join(a, b, kind);
        graph.edge_dense.extend_from_slice(dense);
        if a != b {
            graph.edge_dense.extend_from_slice(dense);
        }
        Ok(())
    }
}

//! Edges of files that list them: both ways or one way.

use std::collections::HashMap;

use crate::graphs::Graph;

/// Puts the edges that a file lists into a graph.
#[derive(Debug, Default)]
pub(super) struct EdgeList {
    directed: bool,
    /// The first edge between two nodes, the smaller node first.
    first: HashMap<[u32; 2], First>,
    /// Edges that were there already.
    pub(super) merged: usize,
}

/// The first edge that a file lists between two nodes.
#[derive(Debug)]
struct First {
    /// Its place among the edges of the graph.
    place: usize,
    source: u32,
    /// If true, the file lists the other way too.
    both_ways: bool,
}

impl EdgeList {
    pub(super) fn new(directed: bool) -> Self {
        Self { directed, ..Self::default() }
    }

    /// Begins another graph.
    pub(super) fn next_graph(&mut self) {
        self.first.clear();
    }

    /// Edges that the file lists one way alone, and that go both ways.
    pub(super) fn one_way(&self) -> usize {
        self.first.values().filter(|first| !first.both_ways).count()
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
        if let Some(First { place, source, both_ways }) = self.first.get_mut(&key) {
            let width = dense.len();
            let before = &graph.edge_dense[*place * width..(*place + 1) * width];
            // What is missing twice is the same.
            let same = before.iter().zip(dense).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
            if graph.edge_types[*place] != kind || !same {
                return Err("is given a second time with other values".into());
            }
            *both_ways |= *source != a;
            self.merged += 1;
            return Ok(());
        }
        self.first.insert(key, First { place: graph.edges.len(), source: a, both_ways: a == b });
        graph.join(a, b, kind);
        graph.edge_dense.extend_from_slice(dense);
        if a != b {
            graph.edge_dense.extend_from_slice(dense);
        }
        Ok(())
    }
}

//! A batch of graphs: their disjoint union.

use super::data_set::Graphs;

/// Graphs side by side, their nodes numbered through.
///
/// Edges stand in compressed rows by target: node `v` receives the edges
/// `in_offsets[v]..in_offsets[v + 1]`, edge `e` comes from node `sources[e]`. What edges carry follows
/// that order.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The graphs of the data set that it consists of.
    pub graphs: Vec<usize>,
    /// Where graphs begin and end among the nodes, `[graphs + 1]`.
    pub node_offsets: Vec<usize>,
    /// Offsets of the edges into each node, `[nodes + 1]`.
    pub in_offsets: Vec<usize>,
    /// `[edges]`.
    pub sources: Vec<u32>,
    /// `[nodes]`, or empty where nodes have no types.
    pub node_types: Vec<u32>,
    /// `[nodes, width]`.
    pub node_dense: Vec<f32>,
    /// `[edges]`, or empty where edges have no types.
    pub edge_types: Vec<u32>,
    /// `[edges, width]`.
    pub edge_dense: Vec<f32>,
}

impl Graphs {
    /// The disjoint union of the graphs at these places; a graph may be taken more than once.
    ///
    /// # Panics
    /// If there is no such graph, or there are 2^32 nodes or edges.
    #[must_use]
    pub fn batch(&self, graphs: &[usize]) -> Batch {
        let (mut node_offsets, mut in_offsets) = (vec![0], vec![0]);
        let mut sources = Vec::new();
        let (mut node_types, mut edge_types) = (Vec::new(), Vec::new());
        let (mut node_dense, mut edge_dense) = (Vec::new(), Vec::new());
        let (nodes, edges) = (self.node_features(), self.edge_features());
        for &graph in graphs {
            let (of_nodes, of_edges) = (self.nodes_of(graph), self.edges_of(graph));
            let base = u32::try_from(in_offsets.len() - 1).expect("fewer than 2^32 nodes");
            for node in of_nodes.clone() {
                sources.extend(self.sources_of(node).iter().map(|source| base + source));
                in_offsets.push(sources.len());
            }
            assert!(u32::try_from(sources.len()).is_ok(), "fewer than 2^32 edges");
            node_offsets.push(in_offsets.len() - 1);
            node_types.extend_from_slice(nodes.types().map_or(&[], |types| &types[of_nodes.clone()]));
            edge_types.extend_from_slice(edges.types().map_or(&[], |types| &types[of_edges.clone()]));
            let width = nodes.width();
            node_dense.extend_from_slice(&nodes.dense()[of_nodes.start * width..of_nodes.end * width]);
            let width = edges.width();
            edge_dense.extend_from_slice(&edges.dense()[of_edges.start * width..of_edges.end * width]);
        }
        Batch {
            graphs: graphs.to_vec(),
            node_offsets,
            in_offsets,
            sources,
            node_types,
            node_dense,
            edge_types,
            edge_dense,
        }
    }
}

impl Batch {
    /// The number of graphs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    /// If true, there are no graphs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.in_offsets.len() - 1
    }

    /// The number of edges.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.sources.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::graphs::{Graph, Graphs, Kinds};

    #[test]
    fn graphs_stand_side_by_side() {
        let mut path = Graph::new("path", 3);
        path.join(0, 1, 0);
        path.join(1, 2, 1);
        let lone = Graph::new("lone", 1);
        let graphs = Graphs::new(Kinds::default(), Kinds::counted(2), vec![path, lone]).unwrap();
        let batch = graphs.batch(&[0, 1, 0]);
        assert_eq!((batch.len(), batch.nodes(), batch.edges()), (3, 7, 8));
        assert_eq!(batch.node_offsets, [0, 3, 4, 7]);
        assert_eq!(batch.in_offsets, [0, 1, 3, 4, 4, 5, 7, 8]);
        assert_eq!(batch.sources, [1, 0, 2, 1, 5, 4, 6, 5]);
        assert_eq!(batch.edge_types, [0, 0, 1, 1, 0, 0, 1, 1]);
        assert!(graphs.batch(&[]).is_empty());
    }
}

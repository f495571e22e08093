//! How many of the unusual things there are.

use super::Graphs;

/// What is not a simple undirected graph, counted over a data set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Graphs without nodes.
    pub empty: usize,
    /// Nodes that no edge ends in or begins at.
    pub isolated: usize,
    /// Edges from a node to itself.
    pub self_loops: usize,
    /// Edges beyond the first from one node to another.
    pub repeated: usize,
    /// Edges whose reverse is not there.
    pub one_way: usize,
    /// Graphs with such an edge.
    pub directed: usize,
    /// Repeated edges of undirected files that were taken once.
    pub merged: usize,
}

impl Graphs {
    /// Counts empty graphs, isolated nodes, self loops, repeated edges and edges without a reverse.
    #[must_use]
    pub fn census(&self) -> Census {
        let mut census = Census { merged: self.merged(), ..Census::default() };
        for graph in 0..self.len() {
            let nodes = self.nodes_of(graph);
            census.empty += usize::from(nodes.is_empty());
            let mut sends = vec![false; nodes.len()];
            let mut one_way = 0;
            for node in nodes.clone() {
                let within = (node - nodes.start) as u32;
                let sources = self.sources_of(node);
                census.repeated += sources.windows(2).filter(|pair| pair[0] == pair[1]).count();
                census.self_loops += sources.iter().filter(|source| **source == within).count();
                for source in sources {
                    sends[*source as usize] = true;
                    let back = self.sources_of(nodes.start + *source as usize);
                    one_way += usize::from(back.binary_search(&within).is_err());
                }
            }
            census.one_way += one_way;
            census.directed += usize::from(one_way > 0);
            census.isolated += nodes.clone().filter(|v| self.in_degree(*v) == 0 && !sends[v - nodes.start]).count();
        }
        census
    }
}

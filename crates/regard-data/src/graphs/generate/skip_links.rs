//! Circular skip links (R. Murphy et al., "Relational pooling for graph representations", 2019).

use super::blocks::{Drawn, shuffled};
use crate::Result;
use crate::graphs::features::Kinds;
use crate::graphs::{Graphs, Level, Targets};
use crate::random::draws::Draws;

/// Nodes of each graph.
const NODES: usize = 41;
/// Orders of the nodes of each graph.
const ORDERS: usize = 15;
/// How far the links of each class skip.
pub const CSL_LINKS: [usize; 10] = [2, 3, 4, 5, 6, 9, 11, 12, 13, 16];

/// CSL: 150 graphs of 41 nodes in a circle, each of which is joined with the nodes `R` steps on and back
/// too; the class says which of the 10 values of [`CSL_LINKS`] `R` has. 15 random orders of the nodes of
/// each, one class after the other, as the benchmark's lists of indices count them. All nodes look the
/// same, and no message passing tells the classes apart.
///
/// # Errors
/// [`crate::Error::Invalid`], which does not happen.
pub fn csl(seed: u64) -> Result<Graphs> {
    let mut graphs = Vec::new();
    for (class, skip) in CSL_LINKS.into_iter().enumerate() {
        let steps = |step: usize| (0..NODES).map(move |node| [node as u32, ((node + step) % NODES) as u32]);
        let drawn = Drawn { nodes: NODES, pairs: steps(1).chain(steps(skip)).collect() };
        for at in 0..ORDERS {
            let mut draws = Draws::of_batch(seed, (class * ORDERS + at) as u64);
            let order = shuffled(NODES, &mut draws);
            let mut graph = drawn.graph(format!("{}", class * ORDERS + at), &order);
            graph.node_types = vec![0; NODES];
            graphs.push(graph);
        }
    }
    let classes: Vec<usize> = (0..graphs.len()).map(|graph| graph / ORDERS).collect();
    let graphs = Graphs::new(Kinds::counted(1), Kinds::default(), graphs)?;
    graphs.with_targets(Targets::of_classes(Level::Graph, "class", &classes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_four_neighbours() {
        let graphs = csl(1).unwrap();
        assert_eq!((graphs.len(), graphs.nodes(), graphs.edges()), (150, 150 * 41, 150 * 164));
        assert!((0..graphs.nodes()).all(|node| graphs.in_degree(node) == 4));
        let census = graphs.census();
        assert_eq!((census.self_loops, census.repeated, census.one_way), (0, 0, 0));
        assert_ne!(graphs.select(&[0]).sources(), graphs.select(&[1]).sources());
        assert_eq!(csl(1).unwrap(), graphs);
    }
}

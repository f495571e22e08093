//! The stochastic block model.

use crate::graphs::Graph;
use crate::random::draws::Draws;

/// Sizes of communities are `SMALLEST..END`, as numpy's `randint(5, 35)` draws them.
const SMALLEST: usize = 5;
const END: usize = 35;

/// Which nodes are joined, of a graph that is being drawn: each pair once, the lower number first.
#[derive(Debug, Clone, Default)]
pub(super) struct Drawn {
    pub(super) nodes: usize,
    pub(super) pairs: Vec<[u32; 2]>,
}

/// The size of a community or of a pattern.
pub(super) fn size(draws: &mut Draws) -> usize {
    SMALLEST + draws.index(END - SMALLEST)
}

/// Communities of random sizes: each pair of nodes is joined with the chance `within` of one community
/// or `between` of two. Gives the community of each node too.
pub(super) fn communities(count: usize, within: f64, between: f64, draws: &mut Draws) -> (Drawn, Vec<usize>) {
    let mut of = Vec::new();
    for community in 0..count {
        let nodes = of.len() + size(draws);
        of.resize(nodes, community);
    }
    let mut drawn = Drawn { nodes: of.len(), pairs: Vec::new() };
    for a in 0..of.len() {
        for b in a + 1..of.len() {
            if draws.unit() < if of[a] == of[b] { within } else { between } {
                drawn.pairs.push([a as u32, b as u32]);
            }
        }
    }
    (drawn, of)
}

/// Each pair is joined with this chance.
pub(super) fn uniform(nodes: usize, chance: f64, draws: &mut Draws) -> Drawn {
    let mut drawn = Drawn { nodes, pairs: Vec::new() };
    for a in 0..nodes as u32 {
        for b in a + 1..nodes as u32 {
            if draws.unit() < chance {
                drawn.pairs.push([a, b]);
            }
        }
    }
    drawn
}

impl Drawn {
    /// The graph with its nodes in the order `order[new] = old`, edges both ways.
    pub(super) fn graph(&self, id: String, order: &[usize]) -> Graph {
        let mut places = vec![0; self.nodes];
        order.iter().enumerate().for_each(|(new, old)| places[*old] = new as u32);
        let mut graph = Graph::new(id, self.nodes);
        for [a, b] in &self.pairs {
            graph.join(places[*a as usize], places[*b as usize], 0);
        }
        graph
    }
}

/// All nodes in a random order.
pub(super) fn shuffled(nodes: usize, draws: &mut Draws) -> Vec<usize> {
    let mut order: Vec<usize> = (0..nodes).collect();
    draws.shuffle(&mut order);
    order
}

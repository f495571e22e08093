//! Graphs drawn from a seed: the data sets on which the Graph Transformer was evaluated (V.
//! Dwivedi et al., "Benchmarking graph neural networks", 2020).
//!
//! The published sets were drawn without a seed, so that these are others of the same distribution. Every
//! graph is a function of the seed and its number, drawn from a generator of its own (PCG XSL RR
//! 128/64); the numbers are the same on every machine.
//!
//! ```
//! use regard_data::graphs::generate::{cluster, csl};
//!
//! let graphs = cluster(7, [3, 1, 1])?;
//! assert_eq!((graphs.len(), graphs.node_features().type_names().len()), (5, 7));
//! assert_eq!(csl(7)?.len(), 150);
//! # Ok::<(), regard_data::Error>(())
//! ```

use crate::Result;
use crate::graphs::data_set::{GraphsBuilder, Origin};
use crate::graphs::features::Kinds;
use crate::graphs::{Graph, Graphs, Level, Part, Parts, Targets};
use crate::random::Draws;

/// The numbers of graphs of PATTERN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternSizes {
    /// Different patterns.
    pub patterns: usize,
    /// Training, validation and test graphs of each.
    pub graphs: [usize; 3],
}

impl PatternSizes {
    /// As published: 100 patterns in 100 training, 20 validation and 20 test graphs each.
    #[must_use]
    pub fn published() -> Self {
        Self { patterns: 100, graphs: [100, 20, 20] }
    }
}

/// PATTERN: graphs of 5 communities with an added pattern, whose nodes are one class.
///
/// Communities have 5 to 34 nodes and are joined with the chances 0.5 within and 0.35 between; a pattern
/// of 5 to 34 nodes, joined within with 0.5 and with every other node with 0.5, is the same in all its
/// graphs, and so are its nodes' types. Other nodes' types are drawn anew, uniform in 0..3; nodes stand in
/// random order. Targets are the nodes' classes, 1 in the pattern. The test graphs have the patterns of
/// training.
///
/// # Errors
/// [`crate::Error::Invalid`], which does not happen for graphs that fit in memory.
pub fn pattern(seed: u64, sizes: PatternSizes) -> Result<Graphs> {
    const TYPES: u32 = 3;
    let mut set = Set::new(Kinds::counted(TYPES as usize));
    let per_pattern: usize = sizes.graphs.iter().sum();
    for (part, count) in PARTS.into_iter().zip(sizes.graphs) {
        // Where the graphs of this part begin among those of a pattern.
        let first: usize =
            PARTS.iter().zip(sizes.graphs).take_while(|(other, _)| **other != part).map(|(_, n)| n).sum();
        for number in 0..sizes.patterns {
            let mut draws = Draws::of_batch(seed, 2 * number as u64);
            let nodes = size(&mut draws);
            let inside = uniform(nodes, 0.5, &mut draws);
            let inside_types: Vec<u32> = (0..nodes).map(|_| draws.below(TYPES)).collect();
            for at in first..first + count {
                let mut draws = Draws::of_batch(seed, 2 * (number * per_pattern + at) as u64 + 1);
                let (mut drawn, _) = communities(5, 0.5, 0.35, &mut draws);
                let mut types: Vec<u32> = (0..drawn.nodes).map(|_| draws.below(TYPES)).collect();
                types.extend_from_slice(&inside_types);
                let outside = drawn.nodes;
                join_pattern(&mut drawn, &inside, &mut draws);
                let order = shuffled(drawn.nodes, &mut draws);
                let classes: Vec<usize> = order.iter().map(|old| usize::from(*old >= outside)).collect();
                let types = order.iter().map(|old| types[*old]).collect();
                set.push(&drawn, &order, types, classes, part)?;
            }
        }
    }
    set.finish()
}

/// Adds a pattern behind the other nodes.
fn join_pattern(drawn: &mut RandomGraph, inside: &RandomGraph, draws: &mut Draws) {
    let outside = drawn.nodes as u32;
    for node in 0..inside.nodes as u32 {
        for other in 0..outside {
            if draws.unit() < 0.5 {
                drawn.pairs.push([other, outside + node]);
            }
        }
    }
    drawn.pairs.extend(inside.pairs.iter().map(|[a, b]| [outside + a, outside + b]));
    drawn.nodes += inside.nodes;
}

/// CLUSTER: graphs whose nodes belong to 6 communities, which are the classes; the type of one node of each is its
/// community.
///
/// Communities have 5 to 34 nodes and are joined with the chances 0.55 within and 0.25 between. One random
/// node of community `r` has the type `r + 1`, all others type 0; nodes stand in random order. `counts`
/// are training, validation and test graphs, 10,000, 1,000 and 1,000 as published.
///
/// # Errors
/// [`crate::Error::Invalid`], which does not happen for graphs that fit in memory.
pub fn cluster(seed: u64, counts: [usize; 3]) -> Result<Graphs> {
    const COMMUNITIES: usize = 6;
    let mut set = Set::new(Kinds::counted(COMMUNITIES + 1));
    for (part, count) in PARTS.into_iter().zip(counts) {
        for at in 0..count {
            // A stream for each part: more training graphs do not change the test graphs.
            let mut draws = Draws::of_batch(seed, (at as u64) << 2 | part as u64);
            let (drawn, of) = communities(COMMUNITIES, 0.55, 0.25, &mut draws);
            let order = shuffled(drawn.nodes, &mut draws);
            let classes: Vec<usize> = order.iter().map(|old| of[*old]).collect();
            let mut types = vec![0; drawn.nodes];
            for community in 0..COMMUNITIES {
                let members: Vec<usize> = (0..drawn.nodes).filter(|node| classes[*node] == community).collect();
                types[members[draws.index(members.len())]] = community as u32 + 1;
            }
            set.push(&drawn, &order, types, classes, part)?;
        }
    }
    set.finish()
}

const PARTS: [Part; 3] = [Part::Training, Part::Validation, Part::Test];

/// Graphs so far.
struct Set {
    all: GraphsBuilder,
    kinds: Kinds,
    classes: Vec<usize>,
    parts: Vec<Part>,
}

impl Set {
    fn new(kinds: Kinds) -> Self {
        Self { all: GraphsBuilder::default(), kinds, classes: Vec::new(), parts: Vec::new() }
    }

    fn push(
        &mut self,
        drawn: &RandomGraph,
        order: &[usize],
        types: Vec<u32>,
        classes: Vec<usize>,
        part: Part,
    ) -> Result<()> {
        let mut graph = drawn.graph((self.all.len() + 1).to_string(), order);
        graph.node_types = types;
        self.classes.extend(classes);
        self.parts.push(part);
        let push = self.all.push(graph, &self.kinds, &Kinds::default());
        push.map_err(|reason| crate::Error::invalid("graph", reason))
    }

    fn finish(self) -> Result<Graphs> {
        let graphs = self.all.finish(self.kinds, Kinds::default(), Origin::default())?;
        let targets = Targets::of_classes(Level::Node, "class", &self.classes);
        graphs.with_targets(targets)?.with_parts(Parts { level: Level::Graph, of: self.parts })
    }
}

/// Sizes of communities are `SMALLEST..END`, as numpy's `randint(5, 35)` draws them.
const SMALLEST: usize = 5;
const END: usize = 35;

/// The edges of a random graph: each pair once, the lower number first.
#[derive(Debug, Clone, Default)]
struct RandomGraph {
    nodes: usize,
    pairs: Vec<[u32; 2]>,
}

/// The size of a community or of a pattern.
fn size(draws: &mut Draws) -> usize {
    SMALLEST + draws.index(END - SMALLEST)
}

/// Communities of random sizes: each pair of nodes is joined with the chance `within` of one community
/// or `between` of two. Gives the community of each node too.
fn communities(count: usize, within: f64, between: f64, draws: &mut Draws) -> (RandomGraph, Vec<usize>) {
    let mut of = Vec::new();
    for community in 0..count {
        let nodes = of.len() + size(draws);
        of.resize(nodes, community);
    }
    let mut drawn = RandomGraph { nodes: of.len(), pairs: Vec::new() };
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
fn uniform(nodes: usize, chance: f64, draws: &mut Draws) -> RandomGraph {
    let mut drawn = RandomGraph { nodes, pairs: Vec::new() };
    for a in 0..nodes as u32 {
        for b in a + 1..nodes as u32 {
            if draws.unit() < chance {
                drawn.pairs.push([a, b]);
            }
        }
    }
    drawn
}

impl RandomGraph {
    /// The graph with its nodes in the order `order[new] = old`, edges both ways.
    fn graph(&self, id: String, order: &[usize]) -> Graph {
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
fn shuffled(nodes: usize, draws: &mut Draws) -> Vec<usize> {
    let mut order: Vec<usize> = (0..nodes).collect();
    draws.shuffle(&mut order);
    order
}

/// Nodes of each graph.
const NODES: usize = 41;
/// Orders of the nodes of each graph.
const ORDERS: usize = 15;
/// The lengths of the skip links of each class.
pub const CSL_LINKS: [usize; 10] = [2, 3, 4, 5, 6, 9, 11, 12, 13, 16];

/// CSL: 150 graphs of 41 nodes in a circle, each of which is joined with the nodes `R` steps on and back
/// too; the class says which of the 10 values of [`CSL_LINKS`] `R` has. 15 random orders of the nodes of
/// each, one class after the other, as the benchmark's lists of indices count them. All nodes look the
/// same, and no message passing separates the classes.
///
/// # Errors
/// [`crate::Error::Invalid`], which does not happen.
pub fn csl(seed: u64) -> Result<Graphs> {
    let mut graphs = Vec::new();
    for (class, skip) in CSL_LINKS.into_iter().enumerate() {
        let steps = |step: usize| (0..NODES).map(move |node| [node as u32, ((node + step) % NODES) as u32]);
        let drawn = RandomGraph { nodes: NODES, pairs: steps(1).chain(steps(skip)).collect() };
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

    fn mean(total: usize, graphs: &Graphs) -> f64 {
        total as f64 / graphs.len() as f64
    }

    #[test]
    fn patterns_have_the_published_statistics() {
        let sizes = PatternSizes { patterns: 300, graphs: [1, 1, 0] };
        let graphs = pattern(1, sizes).unwrap();
        // 5 x 19.5 nodes and 19.5 more; 5,897 directed edges in the reference generator, 17.0 % positive.
        let (nodes, edges) = (mean(graphs.nodes(), &graphs), mean(graphs.edges(), &graphs));
        assert!((nodes - 117.0).abs() < 3.5, "{nodes}");
        assert!((edges - 5950.0).abs() < 350.0, "{edges}");
        let classes = graphs.targets().unwrap().classes(0).unwrap();
        let positive = classes.of.iter().filter(|class| **class == Some(1)).count() as f64 / graphs.nodes() as f64;
        assert!((positive - 0.167).abs() < 0.012, "{positive}");
        let census = graphs.census();
        assert_eq!((census.self_loops, census.repeated, census.one_way), (0, 0, 0));
        assert!(graphs.node_features().types().unwrap().iter().all(|kind| *kind < 3));
    }

    #[test]
    fn a_pattern_is_the_same_in_training_and_test() {
        let graphs = pattern(3, PatternSizes { patterns: 1, graphs: [1, 0, 1] }).unwrap();
        let of = graphs.targets().unwrap().classes(0).unwrap().of;
        let inside = |graph: usize| {
            let nodes = graphs.nodes_of(graph);
            let mut types: Vec<u32> = nodes
                .filter(|node| of[*node] == Some(1))
                .map(|node| graphs.node_features().types().unwrap()[node])
                .collect();
            types.sort_unstable();
            types
        };
        assert_eq!(inside(0), inside(1));
        assert_ne!(graphs.nodes_of(0).len(), graphs.nodes_of(1).len());
    }

    #[test]
    fn clusters_have_the_published_statistics() {
        let graphs = cluster(1, [400, 50, 50]).unwrap();
        let (nodes, edges) = (mean(graphs.nodes(), &graphs), mean(graphs.edges(), &graphs));
        assert!((nodes - 117.0).abs() < 3.5, "{nodes}");
        assert!((edges - 4290.0).abs() < 270.0, "{edges}");
        let of = graphs.targets().unwrap().classes(0).unwrap().of;
        let types = graphs.node_features().types().unwrap();
        for graph in 0..graphs.len() {
            let marked: Vec<usize> = graphs.nodes_of(graph).filter(|node| types[*node] > 0).collect();
            assert_eq!(marked.len(), 6);
            assert!(marked.iter().all(|node| of[*node] == Some(types[*node] as usize - 1)));
        }
        assert_eq!(graphs.parts().unwrap().places(Part::Test).len(), 50);
    }

    #[test]
    fn the_graphs_never_change() {
        let few = cluster(1234, [1, 1, 1]).unwrap();
        assert_eq!(few.select(&[2]).sources(), cluster(1234, [5, 0, 1]).unwrap().select(&[5]).sources());
        assert_ne!(few.sources(), cluster(1235, [1, 1, 1]).unwrap().sources());
        let sizes = PatternSizes { patterns: 2, graphs: [1, 0, 1] };
        assert_eq!(pattern(5, sizes).unwrap(), pattern(5, sizes).unwrap());
    }

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

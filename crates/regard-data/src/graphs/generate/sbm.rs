//! PATTERN and CLUSTER (`data/SBMs/generate_SBM_PATTERN.ipynb` and `generate_SBM_CLUSTER.ipynb` of
//! benchmarking-gnns).

use super::blocks::{Drawn, communities, shuffled, size, uniform};
use crate::Result;
use crate::graphs::data_set::{Collected, Origin};
use crate::graphs::features::Kinds;
use crate::graphs::{Graphs, Level, Part, Parts, Targets};
use crate::random::draws::Draws;

/// How many graphs there are of PATTERN.
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

/// PATTERN: which nodes belong to a pattern that was added to a graph of 5 communities?
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
fn join_pattern(drawn: &mut Drawn, inside: &Drawn, draws: &mut Draws) {
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

/// CLUSTER: which of 6 communities does each node belong to, one node of each being told?
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
    all: Collected,
    kinds: Kinds,
    classes: Vec<usize>,
    parts: Vec<Part>,
}

impl Set {
    fn new(kinds: Kinds) -> Self {
        Self { all: Collected::default(), kinds, classes: Vec::new(), parts: Vec::new() }
    }

    fn push(&mut self, drawn: &Drawn, order: &[usize], types: Vec<u32>, classes: Vec<usize>, part: Part) -> Result<()> {
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
            let told: Vec<usize> = graphs.nodes_of(graph).filter(|node| types[*node] > 0).collect();
            assert_eq!(told.len(), 6);
            assert!(told.iter().all(|node| of[*node] == Some(types[*node] as usize - 1)));
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
}

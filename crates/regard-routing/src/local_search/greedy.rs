//! Tours to start from: the greedy edge heuristic, with random lengths where many tours are wanted.
//!
//! The shortest edges between near neighbours are taken first, unless one would close a cycle or
//! give a node a third edge (Bentley, "Fast algorithms for geometric traveling salesman problems",
//! ORSA Journal on Computing 4, 1992, section 2). The paths that remain are joined end to nearest end.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::{clock::Clock, distances::Distances, neighbours::Neighbours, tour::Node};

/// Lengths are stretched by up to this share, so that every tour differs.
const NOISE: f64 = 0.3;

const NOWHERE: Node = Node::MAX;

/// Paths through all nodes while they are joined.
struct Paths {
    links: Vec<[Node; 2]>,
    /// The other end of the path, for ends of paths.
    ends: Vec<Node>,
}

/// A random tour that follows short edges; `None` if the clock stops before it is whole.
pub(super) fn construct(
    distances: &Distances,
    neighbours: &Neighbours,
    random: &mut Pcg64Mcg,
    clock: &mut Clock,
) -> Option<Vec<usize>> {
    by_edges(distances, neighbours, || 1.0 + NOISE * random.random::<f64>(), clock)
}

/// The tour of the shortest edges; `None` if the clock stops before it is whole.
pub(super) fn shortest_edges(distances: &Distances, neighbours: &Neighbours, clock: &mut Clock) -> Option<Vec<usize>> {
    by_edges(distances, neighbours, || 1.0, clock)
}

/// A tour of edges that are short after each length was multiplied by a `stretch`.
fn by_edges(
    distances: &Distances,
    neighbours: &Neighbours,
    mut stretch: impl FnMut() -> f64,
    clock: &mut Clock,
) -> Option<Vec<usize>> {
    let (n, shortest) = (distances.len(), distances.shortest_way().unwrap_or(0.0));
    let mut edges: Vec<(f64, Node, Node)> = Vec::new();
    for a in 0..n as Node {
        for (b, length) in neighbours.of(a) {
            if a < b || !neighbours.of(b).any(|(other, _)| other == a) {
                // What is part of all ways is not stretched.
                let same = shortest.min(length);
                edges.push((same + (length - same) * stretch(), a, b));
            }
        }
    }
    edges.sort_unstable_by(|x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))));
    let mut paths = Paths { links: vec![[NOWHERE; 2]; n], ends: (0..n as Node).collect() };
    for (_, a, b) in edges {
        paths.join(a, b);
    }
    paths.tour(distances, clock)
}

impl Paths {
    fn is_end(&self, node: Node) -> bool {
        self.links[node as usize][1] == NOWHERE
    }

    /// Takes an edge if both nodes are ends of different paths.
    fn join(&mut self, a: Node, b: Node) {
        if !self.is_end(a) || !self.is_end(b) || self.ends[a as usize] == b {
            return;
        }
        for (from, to) in [(a, b), (b, a)] {
            let links = &mut self.links[from as usize];
            links[usize::from(links[0] != NOWHERE)] = to;
        }
        let (first, last) = (self.ends[a as usize], self.ends[b as usize]);
        self.ends[first as usize] = last;
        self.ends[last as usize] = first;
    }

    /// Follows a path to its end and goes on at the nearest end of another.
    fn tour(&self, distances: &Distances, clock: &mut Clock) -> Option<Vec<usize>> {
        let n = self.links.len();
        let mut left: Vec<Node> = (0..n as Node).filter(|&node| self.is_end(node)).collect();
        let mut tour = Vec::with_capacity(n);
        let mut start = left.first().copied()?;
        loop {
            let end = self.ends[start as usize];
            left.retain(|&node| node != start && node != end);
            let (mut before, mut node) = (NOWHERE, start);
            loop {
                tour.push(node as usize);
                if node == end {
                    break;
                }
                let [one, other] = self.links[node as usize];
                let next = if one == before { other } else { one };
                (before, node) = (node, next);
            }
            let length = |&other: &Node| distances.of(end, other);
            match left.iter().copied().min_by(|a, b| length(a).total_cmp(&length(b))) {
                Some(nearest) => start = nearest,
                None => return Some(tour),
            }
            if clock.is_over() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::neighbours::Choice;
    use super::*;
    use crate::Sites;
    use rand::SeedableRng;

    #[test]
    fn tours_are_whole_short_and_different() {
        let mut random = Pcg64Mcg::seed_from_u64(2);
        for coincide in [false, true] {
            let place = |random: &mut Pcg64Mcg| if coincide { [1.0, 1.0] } else { [random.random(), random.random()] };
            let points = (0..300).map(|_| place(&mut random)).collect();
            let instance = Sites::euclidean("test", points).unwrap();
            let mut clock = Clock::new(None);
            let distances = Distances::new(&instance, &mut clock);
            let neighbours = Neighbours::new(&instance, &distances, 10, Choice::Quadrants, &mut clock);
            let tours = [0, 1].map(|_| construct(&distances, &neighbours, &mut random, &mut clock).unwrap());
            for tour in &tours {
                crate::check::tour(instance.ids(), tour).unwrap();
                // A shortest tour of so many random points is about 12.9 long.
                assert!(instance.tour_length(tour) < 1.35 * 12.9);
            }
            assert_eq!(tours[0] == tours[1], coincide);
        }
    }
}

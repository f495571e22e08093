//! The nearest nodes of every node, nearest first, with their distances.
//!
//! Moves are tried only towards these (Bentley, "Fast algorithms for geometric traveling salesman
//! problems", ORSA Journal on Computing 4, 1992, section 3). Instances of a few thousand nodes and
//! explicit matrices compare all pairs, so that the lists are exact under every metric; larger ones
//! take the nearest places on the plane from a k-d tree and sort them by the metric. Lists by quadrant
//! hold the nearest nodes in each direction too, so that clusters are joined to each other (Johnson and
//! McGeoch, "Experimental analysis of heuristics for the STSP", in "The Traveling Salesman Problem and
//! its Variations", 2002, section 3.3).

use crate::{Metric, Sites};

use super::{clock::Clock, distances::Distances, nearby::Nearby, tour::Node};

/// All pairs are compared up to this many nodes.
const ALL_PAIRS_UP_TO: usize = 4096;

/// With a time limit, and for lists by quadrant, which differ from the nearest nodes anyway, all pairs
/// are compared up to this many nodes.
const ALL_PAIRS_IN_A_HURRY: usize = 512;

/// The tree looks at this many times as many places where lists are by quadrant.
const IN_ALL_DIRECTIONS: usize = 3;

/// The choice of neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The nearest nodes.
    Nearest,
    /// The nearest node of each quadrant, then the nearest nodes.
    Quadrants,
}

/// `[nodes, width]` neighbours and distances.
pub(super) struct Neighbours {
    nodes_in_all: usize,
    width: usize,
    nodes: Vec<Node>,
    distances: Vec<f64>,
}

impl Neighbours {
    /// Lists of `width` neighbours, fewer where there are not as many nodes. Nodes that the clock
    /// leaves no time for have none.
    pub(super) fn new(
        instance: &Sites,
        distances: &Distances,
        width: usize,
        choice: Choice,
        clock: &mut Clock,
    ) -> Self {
        let n = instance.len();
        let width = width.min(n.saturating_sub(1));
        let (nodes, lengths) = (Vec::with_capacity(n * width), Vec::with_capacity(n * width));
        let mut lists = Self { nodes_in_all: n, width, nodes, distances: lengths };
        let on_plane = !matches!(instance.metric(), Metric::Explicit(..));
        let all_pairs_up_to = match (choice, clock.left()) {
            (Choice::Nearest, None) => ALL_PAIRS_UP_TO,
            _ => ALL_PAIRS_IN_A_HURRY,
        };
        let tree = (n > all_pairs_up_to && on_plane).then(|| Nearby::new(instance.places()));
        let places = (on_plane && choice == Choice::Quadrants).then(|| instance.places());
        let looked_at = if places.is_some() { (IN_ALL_DIRECTIONS * width).min(n.saturating_sub(1)) } else { width };
        let mut list = Vec::new();
        for node in 0..n {
            if clock.is_over() {
                break;
            }
            list.clear();
            // Near is who is near in one direction.
            let nearest = |other: Node| match distances.are_symmetric() {
                true => distances.of(node as Node, other),
                false => distances.of(node as Node, other).min(distances.of(other, node as Node)),
            };
            let with_distance = |other: usize| (nearest(other as Node), other as Node);
            match &tree {
                Some(tree) => list.extend(tree.nearest(node, looked_at).into_iter().map(with_distance)),
                None => list.extend((0..n).filter(|&other| other != node).map(with_distance)),
            }
            let fixed = places.map_or(0, |places| quadrants_first(&mut list, node, places));
            lists.push(&mut list, fixed);
        }
        lists
    }

    /// If true, the clock left time for the lists of all nodes.
    pub(super) fn is_complete(&self) -> bool {
        self.nodes.len() == self.nodes_in_all * self.width
    }

    /// The neighbours of a node with their distances, nearest first.
    #[inline]
    pub(super) fn of(&self, node: Node) -> impl Iterator<Item = (Node, f64)> + '_ {
        let range = node as usize * self.width..(node as usize + 1) * self.width;
        let nodes = self.nodes.get(range.clone()).unwrap_or(&[]);
        let distances = self.distances.get(range).unwrap_or(&[]);
        nodes.iter().copied().zip(distances.iter().copied())
    }

    /// Keeps the first `fixed` of the candidates and the nearest of the others; equal distances go by node number.
    fn push(&mut self, list: &mut Vec<(f64, Node)>, fixed: usize) {
        let fixed = fixed.min(self.width).min(list.len());
        if list.len() > self.width && self.width > fixed {
            list[fixed..].select_nth_unstable_by(self.width - fixed - 1, by_distance);
        }
        list.truncate(self.width);
        list.sort_unstable_by(by_distance);
        self.nodes.extend(list.iter().map(|&(_, other)| other));
        self.distances.extend(list.iter().map(|&(distance, _)| distance));
    }
}

/// Quadrants around a node.
const QUADRANTS: usize = 4;

fn by_distance(a: &(f64, Node), b: &(f64, Node)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// Moves the nearest candidate of each quadrant to the front; returns how many there are.
fn quadrants_first(list: &mut [(f64, Node)], node: usize, places: &[[f64; 2]]) -> usize {
    let mut nearest = [None::<usize>; QUADRANTS];
    let [x, y] = places[node];
    for (index, candidate) in list.iter().enumerate() {
        let [a, b] = places[candidate.1 as usize];
        let best = &mut nearest[2 * usize::from(a >= x) + usize::from(b >= y)];
        if best.is_none_or(|best| by_distance(candidate, &list[best]).is_lt()) {
            *best = Some(index);
        }
    }
    nearest.sort_unstable();
    let mut found = 0;
    for index in nearest.into_iter().flatten() {
        list.swap(found, index);
        found += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direction_has_a_neighbour() {
        // Two clusters far from each other: the nearest nodes are all in the own one.
        let cluster = |x: f64| (0..30).map(move |i| [x + f64::from(i % 6), f64::from(i / 6)]);
        let sites = Sites::euclidean("clusters", cluster(0.0).chain(cluster(1000.0)).collect()).unwrap();
        let mut clock = Clock::new(None);
        let distances = Distances::new(&sites, &mut clock);
        let joined = |choice| {
            let lists = Neighbours::new(&sites, &distances, 10, choice, &mut Clock::new(None));
            assert!(lists.is_complete());
            (0..30).flat_map(|node| lists.of(node).map(|(near, _)| near).collect::<Vec<_>>()).any(|near| near >= 30)
        };
        assert!(!joined(Choice::Nearest));
        assert!(joined(Choice::Quadrants));
    }

    #[test]
    fn lists_are_sorted_and_a_stopped_clock_leaves_them_empty() {
        let sites = Sites::euclidean("line", (0..40).map(|i| [f64::from(i * i), 1.0]).collect()).unwrap();
        let distances = Distances::new(&sites, &mut Clock::new(None));
        let lists = Neighbours::new(&sites, &distances, 7, Choice::Quadrants, &mut Clock::new(None));
        for node in 0..40 {
            let list: Vec<(Node, f64)> = lists.of(node).collect();
            assert_eq!(list.len(), 7);
            assert!(list.windows(2).all(|pair| pair[0].1 <= pair[1].1 && pair[0].0 != pair[1].0));
        }
        let mut past = Clock::new(Some(std::time::Instant::now()));
        let lists = Neighbours::new(&sites, &distances, 7, Choice::Quadrants, &mut past);
        assert!(!lists.is_complete() && lists.of(39).next().is_none());
    }
}

//! The nearest nodes of every node, nearest first, with their distances.
//!
//! Moves are tried only towards these (Bentley, "Fast algorithms for geometric traveling salesman
//! problems", ORSA Journal on Computing 4, 1992, section 3). Instances of a few thousand nodes and
//! explicit matrices compare all pairs, so that the lists are exact under every metric; larger ones
//! take the nearest places on the plane from a k-d tree and sort them by the metric.

use crate::{Metric, Sites};

use super::{distances::Distances, nearby::Nearby, tour::Node};

/// All pairs are compared up to this many nodes.
const ALL_PAIRS_UP_TO: usize = 4096;

/// `[nodes, width]` neighbours and distances.
pub(super) struct Neighbours {
    width: usize,
    nodes: Vec<Node>,
    distances: Vec<f64>,
}

impl Neighbours {
    /// Lists of `width` neighbours, fewer where there are not as many nodes.
    pub(super) fn new(instance: &Sites, distances: &Distances, width: usize) -> Self {
        let n = instance.len();
        let width = width.min(n.saturating_sub(1));
        let mut lists = Self { width, nodes: Vec::with_capacity(n * width), distances: Vec::with_capacity(n * width) };
        let everywhere = n <= ALL_PAIRS_UP_TO || matches!(instance.metric(), Metric::Explicit(..));
        let tree = (!everywhere).then(|| Nearby::new(instance.places()));
        let mut candidates = Vec::new();
        for node in 0..n {
            candidates.clear();
            match &tree {
                Some(tree) => candidates.extend(tree.nearest(node, width)),
                None => candidates.extend((0..n).filter(|&other| other != node)),
            }
            lists.push(node as Node, candidates.iter().map(|&other| other as Node), distances);
        }
        lists
    }

    /// The neighbours of a node with their distances, nearest first.
    #[inline]
    pub(super) fn of(&self, node: Node) -> impl Iterator<Item = (Node, f64)> + '_ {
        let range = node as usize * self.width..(node as usize + 1) * self.width;
        self.nodes[range.clone()].iter().copied().zip(self.distances[range].iter().copied())
    }

    /// Keeps the nearest of the candidates; equal distances go by node number.
    fn push(&mut self, node: Node, others: impl Iterator<Item = Node>, distances: &Distances) {
        let by_distance = |a: &(f64, Node), b: &(f64, Node)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let mut list: Vec<(f64, Node)> = others.map(|other| (distances.of(node, other), other)).collect();
        if list.len() > self.width && self.width > 0 {
            list.select_nth_unstable_by(self.width - 1, by_distance);
            list.truncate(self.width);
        }
        list.sort_unstable_by(by_distance);
        self.nodes.extend(list.iter().map(|&(_, other)| other));
        self.distances.extend(list.iter().map(|&(distance, _)| distance));
    }
}

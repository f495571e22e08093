//! The nearest nodes of every node, nearest first.

use super::{
    super::{distances as sites_distances, neighbours as shared},
    Clock,
    distances::{Distances, Node},
};
use crate::Sites;

/// `[nodes, width]` neighbours.
pub(super) struct Neighbours {
    width: usize,
    nodes: Vec<Node>,
}

impl Neighbours {
    /// Lists of `width` neighbours, fewer where there are not as many nodes; ties go by number. Nodes that the clock
    /// leaves no time for have none.
    pub(super) fn new(distances: &Distances, width: usize, clock: &mut Clock) -> Self {
        let n = distances.len();
        let width = width.min(n.saturating_sub(1));
        let mut nodes = Vec::with_capacity(n * width);
        let mut list: Vec<(f64, Node)> = Vec::with_capacity(n);
        for node in 0..n as Node {
            if clock.is_over() {
                break;
            }
            list.clear();
            list.extend((0..n as Node).filter(|&other| other != node).map(|other| (distances.of(node, other), other)));
            let by_distance = |a: &(f64, Node), b: &(f64, Node)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if width > 0 && width < list.len() {
                list.select_nth_unstable_by(width - 1, by_distance);
                list.truncate(width);
            }
            list.sort_unstable_by(by_distance);
            nodes.extend(list.iter().map(|&(_, other)| other));
        }
        Self { width, nodes }
    }

    /// The lists of [`neighbours`](shared), which takes those of many places from a tree; without it they
    /// are the same.
    pub(super) fn of_sites(sites: &Sites, width: usize, clock: &mut Clock) -> Self {
        let distances = sites_distances::Distances::computed(sites);
        let lists = shared::Neighbours::new(sites, &distances, width, shared::Choice::Nearest, clock);
        let nodes = (0..sites.len() as Node).flat_map(|node| lists.of(node).map(|(near, _)| near)).collect();
        Self { width: width.min(sites.len().saturating_sub(1)), nodes }
    }

    /// The neighbours of a node, nearest first.
    #[inline]
    pub(super) fn of(&self, node: Node) -> &[Node] {
        self.nodes.get(node as usize * self.width..(node as usize + 1) * self.width).unwrap_or(&[])
    }
}

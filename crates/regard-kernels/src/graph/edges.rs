//! Directed edges of a batch of graphs, and the partition of their nodes into tasks.

use std::{ops::Range, sync::OnceLock};

/// Approximate number of tasks of a large batch.
const TASKS: usize = 64;
/// Smallest number of edges and nodes in a task.
const SMALLEST: usize = 512;
/// Closed tasks are used only if each is at most one part in this many of all work.
const LARGEST_SHARE: usize = 12;

/// Directed edges in compressed sparse rows by target: node `i` receives the edges
/// `offsets[i]..offsets[i + 1]`, and edge `e` comes from node `sources[e]`.
///
/// The graphs of a batch follow one another, with their nodes numbered consecutively. Self loops,
/// parallel edges and nodes without edges are allowed. The list is built once per batch and used
/// by all layers.
#[derive(Debug)]
pub struct EdgeList {
    offsets: Vec<usize>,
    sources: Vec<u32>,
    by_source: OnceLock<EdgesBySource>,
    closed: OnceLock<Option<Vec<Range<usize>>>>,
}

/// The same edges by source: node `s` sends the edges `edges[offsets[s]..offsets[s + 1]]`, in
/// increasing order of their indices.
#[derive(Debug)]
pub(super) struct EdgesBySource {
    pub(super) offsets: Vec<usize>,
    pub(super) edges: Vec<u32>,
    /// Target of each entry of `edges`.
    pub(super) targets: Vec<u32>,
}

impl EdgeList {
    /// Creates the list from `offsets [nodes + 1]` and `sources [edges]`.
    ///
    /// # Panics
    /// If the offsets do not increase from 0 to the number of edges, a source is not a node, or there
    /// are 2³² edges or more.
    pub fn new(offsets: Vec<usize>, sources: Vec<u32>) -> Self {
        assert!(offsets.first() == Some(&0) && offsets.is_sorted(), "offsets increase from 0");
        let nodes = offsets.len() - 1;
        assert_eq!(offsets[nodes], sources.len(), "offsets and sources");
        assert!(u32::try_from(sources.len()).is_ok(), "fewer than 2^32 edges");
        assert!(sources.iter().all(|source| (*source as usize) < nodes), "every source is a node");
        Self { offsets, sources, by_source: OnceLock::new(), closed: OnceLock::new() }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.sources.len()
    }

    /// Index of the first incoming edge of each node, `[nodes + 1]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Source node of each edge, `[edges]`.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The edges that end in `nodes`.
    pub(super) fn edges_of(&self, nodes: &Range<usize>) -> Range<usize> {
        self.offsets[nodes.start]..self.offsets[nodes.end]
    }

    pub(super) fn by_source(&self) -> &EdgesBySource {
        self.by_source.get_or_init(|| EdgesBySource::of(self))
    }

    /// Consecutive ranges of nodes with about equal work. They depend on the sizes alone.
    pub(super) fn tasks(&self) -> Vec<Range<usize>> {
        partition(&self.offsets, |_| true)
    }

    /// As [`EdgeList::tasks`], with the work measured by outgoing edges.
    pub(super) fn tasks_by_source(&self) -> Vec<Range<usize>> {
        partition(&self.by_source().offsets, |_| true)
    }

    /// Tasks that no edge enters or leaves, usually whole graphs; `None` if one of them would be a
    /// large part of all work.
    pub(super) fn closed_tasks(&self) -> Option<&[Range<usize>]> {
        let find = || {
            let borders = self.borders();
            let tasks = partition(&self.offsets, |node| borders[node]);
            let work = |nodes: &Range<usize>| nodes.len() + self.edges_of(nodes).len();
            let total = work(&(0..self.nodes()));
            let most = (total / LARGEST_SHARE).max(SMALLEST);
            tasks.iter().all(|task| work(task) <= most).then_some(tasks)
        };
        self.closed.get_or_init(find).as_deref()
    }

    /// For every node, true if no edge connects the nodes before it with the others.
    fn borders(&self) -> Vec<bool> {
        let nodes = self.nodes();
        let span = |node: usize| {
            let sources = &self.sources[self.offsets[node]..self.offsets[node + 1]];
            sources.iter().fold((node, node), |(low, high), s| (low.min(*s as usize), high.max(*s as usize)))
        };
        let mut borders = vec![true; nodes + 1];
        let (mut lowest, mut highest) = (nodes, 0);
        for (node, border) in borders.iter_mut().enumerate().take(nodes) {
            *border = node == 0 || highest < node;
            highest = highest.max(span(node).1);
        }
        for node in (0..nodes).rev() {
            borders[node + 1] &= lowest > node;
            lowest = lowest.min(span(node).0);
        }
        borders
    }
}

impl EdgesBySource {
    /// Sorts the edges by source with a counting sort; edges of a source keep their order.
    fn of(list: &EdgeList) -> Self {
        let nodes = list.nodes();
        let mut offsets = vec![0; nodes + 1];
        list.sources.iter().for_each(|source| offsets[*source as usize + 1] += 1);
        (0..nodes).for_each(|node| offsets[node + 1] += offsets[node]);
        let mut next = offsets.clone();
        let (mut edges, mut targets) = (vec![0; list.edges()], vec![0; list.edges()]);
        for target in 0..nodes {
            for edge in list.offsets[target]..list.offsets[target + 1] {
                let place = &mut next[list.sources[edge] as usize];
                (edges[*place], targets[*place]) = (edge as u32, target as u32);
                *place += 1;
            }
        }
        Self { offsets, edges, targets }
    }
}

/// Splits nodes into tasks of about equal work. `offsets` are the first edges of the nodes; a task
/// begins only at a node for which `may_begin` is true.
fn partition(offsets: &[usize], may_begin: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let nodes = offsets.len() - 1;
    let worth = ((nodes + offsets[nodes]) / TASKS).max(SMALLEST);
    let mut tasks = Vec::new();
    let mut first = 0;
    for node in 1..=nodes {
        let work = node - first + offsets[node] - offsets[first];
        if node == nodes || (work >= worth && may_begin(node)) {
            tasks.push(first..node);
            first = node;
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(nodes: usize, pairs: &[(u32, usize)]) -> EdgeList {
        let mut pairs = pairs.to_vec();
        pairs.sort_by_key(|pair| pair.1);
        let offsets = (0..=nodes).map(|node| pairs.iter().filter(|pair| pair.1 < node).count());
        EdgeList::new(offsets.collect(), pairs.iter().map(|pair| pair.0).collect())
    }

    #[test]
    fn edges_by_source_are_all_edges() {
        let list = list(5, &[(4, 0), (0, 0), (0, 2), (2, 2), (2, 2), (1, 4)]);
        let by_source = list.by_source();
        assert_eq!(by_source.offsets, [0, 2, 3, 5, 5, 6]);
        let pairs = by_source.edges.iter().zip(&by_source.targets);
        let found: Vec<_> = pairs.map(|(e, t)| (list.sources()[*e as usize], *t)).collect();
        assert_eq!(found, [(0, 0), (0, 2), (1, 4), (2, 2), (2, 2), (4, 0)]);
    }

    #[test]
    fn borders_are_crossed_by_no_edge() {
        let list = list(7, &[(2, 0), (3, 4), (4, 4), (6, 6)]);
        assert_eq!(list.borders(), [true, false, false, true, false, true, true, true]);
        assert_eq!(EdgeList::new(vec![0], vec![]).borders(), [true]);
    }

    #[test]
    fn tasks_are_all_nodes_in_order() {
        for (nodes, degree) in [(0, 0), (1, 0), (3, 2), (5000, 3), (100, 600)] {
            let offsets = (0..=nodes).map(|node| node * degree).collect();
            let list = EdgeList::new(offsets, (0..nodes * degree).map(|e| (e / degree) as u32).collect());
            for tasks in [list.tasks(), list.tasks_by_source(), list.closed_tasks().unwrap_or_default().to_vec()] {
                assert_eq!(tasks.first().map_or(0, |task| task.start), 0);
                assert_eq!(tasks.last().map_or(0, |task| task.end), nodes);
                assert!(tasks.windows(2).all(|pair| pair[0].end == pair[1].start));
            }
        }
    }

    #[test]
    fn a_large_graph_has_no_closed_tasks() {
        let nodes = 10_000;
        let ring = (0..nodes).map(|node| ((node + 1) % nodes) as u32).collect();
        assert!(EdgeList::new((0..=nodes).collect(), ring).closed_tasks().is_none());
    }
}

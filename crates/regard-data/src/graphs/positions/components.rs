//! The connected components of a graph without directions.

use crate::graphs::Graphs;

/// The number of edges between two nodes, both ways alike, in compressed rows.
#[derive(Debug)]
pub(super) struct Adjacency {
    pub(super) offsets: Vec<usize>,
    pub(super) others: Vec<u32>,
    pub(super) counts: Vec<f64>,
    /// If true, directions differed.
    pub(super) symmetrised: bool,
}

impl Adjacency {
    pub(super) fn of(graphs: &Graphs, graph: usize) -> Self {
        let nodes = graphs.nodes_of(graph);
        let mut entries: Vec<(u32, u32, f64)> = Vec::new();
        for node in nodes.clone() {
            let target = (node - nodes.start) as u32;
            for group in graphs.sources_of(node).chunk_by(|a, b| a == b) {
                entries.push((target, group[0], group.len() as f64));
            }
        }
        let count = entries.len();
        entries.extend(entries.clone().iter().map(|(a, b, count)| (*b, *a, *count)));
        entries.sort_by_key(|(a, b, _)| (*a, *b));
        let mut adjacency =
            Self { offsets: vec![0; nodes.len() + 1], others: Vec::new(), counts: Vec::new(), symmetrised: false };
        for group in entries.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
            let (a, b, _) = group[0];
            let largest = group.iter().map(|entry| entry.2).fold(0.0, f64::max);
            adjacency.symmetrised |= group.len() < 2 || group.iter().any(|entry| entry.2 != largest);
            adjacency.offsets[a as usize + 1] += 1;
            adjacency.others.push(b);
            adjacency.counts.push(largest);
        }
        debug_assert!(adjacency.others.len() <= 2 * count);
        for node in 0..nodes.len() {
            adjacency.offsets[node + 1] += adjacency.offsets[node];
        }
        adjacency
    }

    pub(super) fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The neighbours of a node and how often they are joined with it.
    pub(super) fn row(&self, node: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.offsets[node]..self.offsets[node + 1];
        self.others[range.clone()].iter().map(|other| *other as usize).zip(self.counts[range].iter().copied())
    }

    /// The number of edges of each node.
    pub(super) fn degrees(&self) -> Vec<f64> {
        (0..self.nodes()).map(|node| self.row(node).map(|(_, count)| count).sum()).collect()
    }

    /// The nodes of each connected component in rising order, by their first nodes.
    pub(super) fn components(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.nodes()];
        let mut components = Vec::new();
        for root in 0..self.nodes() {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            let mut component = vec![root];
            let mut at = 0;
            while at < component.len() {
                for (other, _) in self.row(component[at]) {
                    if !std::mem::replace(&mut seen[other], true) {
                        component.push(other);
                    }
                }
                at += 1;
            }
            component.sort_unstable();
            components.push(component);
        }
        components
    }

    /// `D^-1/2 A D^-1/2` of one component, nodes numbered as the component lists them, in compressed rows.
    pub(super) fn normalised(&self, component: &[usize], degrees: &[f64]) -> Operator {
        let mut places = vec![0u32; self.nodes()];
        component.iter().enumerate().for_each(|(place, node)| places[*node] = place as u32);
        let mut operator = Operator { offsets: vec![0], others: Vec::new(), weights: Vec::new() };
        for &node in component {
            for (other, count) in self.row(node) {
                operator.others.push(places[other]);
                operator.weights.push(count / (degrees[node] * degrees[other]).sqrt());
            }
            operator.offsets.push(operator.others.len());
        }
        operator
    }
}

/// A symmetric matrix in compressed rows.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) offsets: Vec<usize>,
    pub(super) others: Vec<u32>,
    pub(super) weights: Vec<f64>,
}

impl Operator {
    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The product with a vector.
    pub(super) fn apply(&self, vector: &[f64], out: &mut [f64]) {
        for (row, out) in out.iter_mut().enumerate() {
            let range = self.offsets[row]..self.offsets[row + 1];
            let terms = self.others[range.clone()].iter().zip(&self.weights[range]);
            *out = terms.map(|(other, weight)| weight * vector[*other as usize]).sum();
        }
    }
}

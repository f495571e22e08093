//! A batch of graphs as a network takes it.

use std::sync::Arc;

use rand_pcg::Pcg64Mcg;
use regard_nn::ops::EdgeList;

use crate::train::factor;

/// Numbers of a graph's composition beside those of its types of nodes: how many nodes and edges it has.
pub(super) const SIZES: usize = 2;

/// The positions of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Places {
    /// Nothing is known of it.
    None,
    /// `[nodes, size]`: eigenvectors, or probabilities of walks.
    Numbers(Vec<f32>),
    /// `[nodes]`: an index.
    Indices(Vec<u32>),
}

/// Graphs one after another, their nodes numbered through; what a graph does not have is empty.
#[derive(Clone, Debug)]
pub struct GraphInput {
    /// The edges, from the attending node to the attended one.
    pub edges: Arc<EdgeList>,
    /// `[graphs + 1]`: graph `g` has the nodes `offsets[g]..offsets[g + 1]`.
    pub offsets: Arc<[usize]>,
    /// `[nodes]`
    pub node_types: Vec<u32>,
    /// `[nodes, numbers]`
    pub node_numbers: Vec<f32>,
    /// `[edges]`, in the order of the edge list.
    pub edge_types: Vec<u32>,
    /// `[edges, numbers]`; ones where edges have rows and nothing is said of them.
    pub edge_numbers: Vec<f32>,
    /// The positions of the nodes.
    pub places: Places,
}

impl GraphInput {
    /// The composition of graphs, `[graphs, types + SIZES]`: the logarithms of one more than how many nodes there are
    /// of each type, how many nodes, and how many directed edges.
    pub(crate) fn composition(&self, types: usize) -> Vec<f32> {
        let graphs = self.offsets.windows(2).map(|pair| pair[0]..pair[1]);
        let counts = graphs.flat_map(|nodes| {
            let mut counts = vec![0_usize; types + SIZES];
            for &kind in self.node_types.get(nodes.clone()).unwrap_or_default() {
                counts[kind as usize] += 1;
            }
            counts[types] = nodes.len();
            counts[types + 1] = self.edges.offsets()[nodes.end] - self.edges.offsets()[nodes.start];
            counts
        });
        counts.map(|count| (count as f32).ln_1p()).collect()
    }

    /// Sets a share of the nodes' numbers to 0 at random and scales the others up.
    pub(crate) fn drop_features(&mut self, share: f64, random: &mut Pcg64Mcg) {
        if share > 0.0 {
            self.node_numbers.iter_mut().for_each(|x| *x *= factor(share, random));
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn composition_counts_types_nodes_and_edges_of_each_graph() {
        let input = GraphInput {
            edges: Arc::new(EdgeList::new(vec![0, 1, 3, 3], vec![1, 0, 0])),
            offsets: Arc::from([0, 2, 2, 3]),
            node_types: vec![1, 1, 0],
            node_numbers: vec![],
            edge_types: vec![],
            edge_numbers: vec![],
            places: Places::None,
        };
        let counts: Vec<f32> = input.composition(2).iter().map(|x| x.exp_m1().round()).collect();
        assert_eq!(counts, [0.0, 2.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
        let plain = GraphInput { node_types: vec![], ..input };
        assert_eq!(plain.composition(0).len(), 6);
    }

    #[test]
    fn a_share_is_left_out_and_the_mean_stays() {
        let mut input = GraphInput {
            edges: Arc::new(EdgeList::new(vec![0], vec![])),
            offsets: Arc::from([0]),
            node_types: vec![],
            node_numbers: vec![2.0; 10_000],
            edge_types: vec![],
            edge_numbers: vec![],
            places: Places::None,
        };
        input.drop_features(0.0, &mut Pcg64Mcg::seed_from_u64(1));
        assert!(input.node_numbers.iter().all(|&x| x == 2.0));
        input.drop_features(0.75, &mut Pcg64Mcg::seed_from_u64(1));
        assert!(input.node_numbers.iter().all(|&x| x == 0.0 || x == 8.0));
        let mean = input.node_numbers.iter().sum::<f32>() / 10_000.0;
        assert!((mean - 2.0).abs() < 0.1, "{mean}");
    }
}

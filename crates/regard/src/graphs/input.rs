//! A batch of graphs as a network takes it.

use std::sync::Arc;

use regard_nn::ops::EdgeList;

/// Where nodes are.
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
    /// Which node looks at which.
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
    /// Where nodes are.
    pub places: Places,
}

//! Positional encodings of nodes: numbers, or an index, that a network gets beside the features of nodes.
//!
//! [`Encoding::Laplacian`] takes eigenvectors of `L = I - D^-1/2 A D^-1/2`, as the Graph Transformer does
//! (V. Dwivedi and X. Bresson, "A generalization of transformer networks to graphs", 2021, section 3.1),
//! [`Encoding::WeisfeilerLehman`] the index of its code, [`Encoding::RandomWalk`] the chances to be back
//! after 1, 2, ... steps (V. Dwivedi et al., "Graph neural networks with learnable structural and
//! positional representations", 2022). Graphs are taken one by one, so that the same graph has the same
//! positions in every data set.
//!
//! # What is defined where the published code is not
//!
//! - `A` counts the edges between two nodes; where the directions differ, the larger count goes both
//!   ways, and [`Positions::symmetrised`] counts such graphs. `D` are its row sums, at least 1: an isolated
//!   node is an eigenvector of its own with the value 1, as in the published code.
//! - A graph with fewer eigenvectors than requested has zeros behind them; [`Positions::filled`] says
//!   how many columns are real.
//! - Eigenvectors are those of the connected components, each zero on all others, in the order of their
//!   values; equal values stand in the order of the components' first nodes. The code skips the first
//!   vector only, so that further components leave null vectors ([`Nulls::SkipFirst`]);
//!   [`Nulls::SkipAll`] skips one for each component that has edges.
//! - Vectors of one value span a space in which any basis is as good: the one taken has, vector by
//!   vector, the largest possible value at one node (the first where several are as good), and is positive
//!   there. That fixes the sign of single vectors too. Rounding decides between nodes that differ by less
//!   than 1e-9, symmetric ones in most cases, of which the first is taken.

mod cache;
mod canonical;
mod components;
mod laplacian;
mod partial;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

use md5::{Digest, Md5};
use rayon::prelude::*;

use self::components::Adjacency;
use crate::graphs::Graphs;

/// The positional encoding of nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    #[default]
    None,
    /// Eigenvectors of the normalised Laplacian with the smallest values.
    Laplacian {
        /// The number of them.
        k: usize,
        /// The first ones that are skipped.
        nulls: Nulls,
    },
    /// The index of the Weisfeiler-Lehman colouring as the published code computes it: from 1, the rank of
    /// the node's degree among the degrees of its graph, ordered by the MD5 sum of `1_1_..._1` with a 1 for
    /// the node and each neighbour. The code drops its second round.
    WeisfeilerLehman,
    /// The chance that a random walk is back after 1, 2, ... steps.
    RandomWalk {
        /// The number of them.
        steps: usize,
    },
}

/// The eigenvectors of the value 0 that are left out; they only mark the component of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nulls {
    /// The first, as the published code does.
    #[default]
    SkipFirst,
    /// All of them.
    SkipAll,
}

/// Positions of all nodes of a data set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Positions {
    width: usize,
    values: Vec<f32>,
    indices: Vec<u32>,
    filled: Vec<u32>,
    symmetrised: usize,
    unconverged: usize,
}

/// Positions of the nodes of one graph.
#[derive(Debug, Default)]
struct OfGraph {
    values: Vec<f32>,
    indices: Vec<u32>,
    filled: usize,
    symmetrised: bool,
    unconverged: bool,
}

impl Positions {
    /// Computes positions of all graphs in parallel; `progress` is called with the number of graphs that
    /// are done, and of all. The result does not depend on the number of threads.
    #[must_use]
    pub fn compute(graphs: &Graphs, encoding: &Encoding, progress: &(dyn Fn(usize, usize) + Sync)) -> Self {
        let done = AtomicUsize::new(0);
        let one = |graph: usize| {
            let of = encoding.of_graph(graphs, graph);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, graphs.len());
            of
        };
        let all: Vec<OfGraph> = (0..graphs.len()).into_par_iter().map(one).collect();
        let mut positions = Self { width: encoding.width(), ..Self::default() };
        for of in all {
            positions.values.extend(of.values);
            positions.indices.extend(of.indices);
            positions.filled.push(of.filled as u32);
            positions.symmetrised += usize::from(of.symmetrised);
            positions.unconverged += usize::from(of.unconverged);
        }
        positions
    }

    /// The positions of these of the graphs, in this order.
    #[must_use]
    pub fn select(&self, graphs: &Graphs, chosen: &[usize]) -> Self {
        let filled = if self.filled.is_empty() { vec![] } else { chosen.iter().map(|&at| self.filled[at]).collect() };
        let values = if self.width == 0 { vec![] } else { self.of(graphs, chosen) };
        let indices = if self.indices.is_empty() { vec![] } else { self.indices_of(graphs, chosen) };
        Self { width: self.width, values, indices, filled, symmetrised: 0, unconverged: 0 }
    }

    /// Positions of several data sets one after the other, all of one encoding.
    #[must_use]
    pub fn concat(all: &[&Self]) -> Self {
        let mut joined = Self { width: all.first().map_or(0, |one| one.width), ..Self::default() };
        for one in all {
            joined.values.extend_from_slice(&one.values);
            joined.indices.extend_from_slice(&one.indices);
            joined.filled.extend_from_slice(&one.filled);
            joined.symmetrised += one.symmetrised;
            joined.unconverged += one.unconverged;
        }
        joined
    }

    /// The numbers of a node's position; 0 for an index and for none.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The numbers, `[nodes, width]` row-major.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The index of each node, from 1; empty where there are none.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The number of columns of each graph that are computed, `[graphs]`; the others are 0.
    #[must_use]
    pub fn filled(&self) -> &[u32] {
        &self.filled
    }

    /// The number of graphs that had edges of one direction, which were taken both ways.
    #[must_use]
    pub fn symmetrised(&self) -> usize {
        self.symmetrised
    }

    /// The number of large graphs whose eigenvectors are approximate (residual above 1e-6), because
    /// values lie too close for the number of steps.
    #[must_use]
    pub fn unconverged(&self) -> usize {
        self.unconverged
    }

    /// The numbers of the nodes of some graphs, in the order of [`Graphs::batch`].
    ///
    /// # Panics
    /// If these are not positions of `graphs`, or there is no such graph.
    #[must_use]
    pub fn of(&self, graphs: &Graphs, chosen: &[usize]) -> Vec<f32> {
        assert_eq!(self.filled.len(), graphs.len(), "positions of these graphs");
        let rows = |graph: &usize| {
            let nodes = graphs.nodes_of(*graph);
            &self.values[nodes.start * self.width..nodes.end * self.width]
        };
        chosen.iter().flat_map(rows).copied().collect()
    }

    /// The indices of the nodes of some graphs, in the order of [`Graphs::batch`].
    ///
    /// # Panics
    /// If these are not positions of `graphs`, or there is no such graph.
    #[must_use]
    pub fn indices_of(&self, graphs: &Graphs, chosen: &[usize]) -> Vec<u32> {
        assert_eq!(self.indices.len(), graphs.nodes(), "indices of these graphs");
        chosen.iter().flat_map(|graph| &self.indices[graphs.nodes_of(*graph)]).copied().collect()
    }
}

impl Encoding {
    /// The number of numbers of each node.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Self::None | Self::WeisfeilerLehman => 0,
            Self::Laplacian { k, .. } => *k,
            Self::RandomWalk { steps } => *steps,
        }
    }

    fn of_graph(&self, graphs: &Graphs, graph: usize) -> OfGraph {
        match self {
            Self::None => OfGraph::default(),
            Self::WeisfeilerLehman => {
                OfGraph { indices: weisfeiler_lehman_indices(graphs, graph), ..OfGraph::default() }
            }
            Self::Laplacian { k, nulls } => laplacian::positions(graphs, graph, *k, *nulls),
            Self::RandomWalk { steps } => random_walk_positions(graphs, graph, *steps),
        }
    }
}

/// `(D^-1 A)^t [i, i]` for `t` from 1 to `steps`; 0 for an isolated node.
///
/// With `S = D^-1/2 A D^-1/2`, which is symmetric, that is the product of `S^a e_i` and `S^b e_i` for any
/// `a + b = t`, so half as many steps are walked, and only through nodes that the walk can have reached.
fn random_walk_positions(graphs: &Graphs, graph: usize, steps: usize) -> OfGraph {
    let adjacency = Adjacency::of(graphs, graph);
    let n = adjacency.nodes();
    let degrees: Vec<f64> = adjacency.degrees().into_iter().map(|degree| degree.max(1.0)).collect();
    let mut values = vec![0.0; n * steps];
    let (mut now, mut next) = (Reached::new(n), Reached::new(n));
    for node in 0..n {
        now.clear();
        now.add(node, 1.0);
        for half in 0..steps.div_ceil(2) {
            next.clear();
            for &from in &now.nodes {
                for (to, count) in adjacency.row(from) {
                    next.add(to, now.chances[from] * count / (degrees[from] * degrees[to]).sqrt());
                }
            }
            // Steps 2 half + 1 and 2 half + 2.
            let odd: f64 = now.nodes.iter().map(|at| now.chances[*at] * next.chances[*at]).sum();
            values[node * steps + 2 * half] = odd as f32;
            if 2 * half + 1 < steps {
                let even: f64 = next.nodes.iter().map(|at| next.chances[*at].powi(2)).sum();
                values[node * steps + 2 * half + 1] = even as f32;
            }
            std::mem::swap(&mut now, &mut next);
        }
    }
    OfGraph { values, filled: steps, symmetrised: adjacency.symmetrised, ..OfGraph::default() }
}

/// Numbers of a few nodes.
struct Reached {
    chances: Vec<f64>,
    nodes: Vec<usize>,
    known: Vec<bool>,
}

impl Reached {
    fn new(n: usize) -> Self {
        Self { chances: vec![0.0; n], nodes: Vec::new(), known: vec![false; n] }
    }

    fn clear(&mut self) {
        for node in self.nodes.drain(..) {
            self.chances[node] = 0.0;
            self.known[node] = false;
        }
    }

    fn add(&mut self, node: usize, chance: f64) {
        self.chances[node] += chance;
        if !std::mem::replace(&mut self.known[node], true) {
            self.nodes.push(node);
        }
    }
}

/// From 1, for each node.
///
/// The first round colours a node by the MD5 sum of its own colour, 1, and those of its neighbours, all 1,
/// and ranks the colours by their sums as text. Where all are alike the code keeps the colour 1, and so
/// does the rank. What a second round would give is dropped.
fn weisfeiler_lehman_indices(graphs: &Graphs, graph: usize) -> Vec<u32> {
    let adjacency = Adjacency::of(graphs, graph);
    // A neighbour counts once, however often it is joined.
    let neighbours: Vec<usize> = (0..adjacency.nodes()).map(|node| adjacency.row(node).count()).collect();
    let sums: HashMap<usize, String> = neighbours.iter().map(|degree| (*degree, sum(*degree))).collect();
    let ordered: BTreeMap<&str, usize> = sums.iter().map(|(degree, sum)| (sum.as_str(), *degree)).collect();
    let ranks: HashMap<usize, u32> = ordered.values().zip(1..).map(|(degree, rank)| (*degree, rank)).collect();
    neighbours.iter().map(|degree| ranks[degree]).collect()
}

fn sum(degree: usize) -> String {
    let text = vec!["1"; degree + 1].join("_");
    Md5::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;

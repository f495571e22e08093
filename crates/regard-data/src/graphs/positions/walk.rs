//! Chances of a random walk to be back.

use super::OfGraph;
use super::components::Adjacency;
use crate::graphs::Graphs;

/// `(D^-1 A)^t [i, i]` for `t` from 1 to `steps`; 0 for an isolated node.
///
/// With `S = D^-1/2 A D^-1/2`, which is symmetric, that is the product of `S^a e_i` and `S^b e_i` for any
/// `a + b = t`, so half as many steps are walked, and only through nodes that the walk can have reached.
pub(super) fn positions(graphs: &Graphs, graph: usize, steps: usize) -> OfGraph {
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

//! Eigenvectors of the normalised Laplacian.

use super::canonical::basis;
use super::components::{Adjacency, Operator};
use super::{Nulls, OfGraph, partial};
use crate::graphs::Graphs;
use faer::{Mat, Side};

/// Components of more nodes are solved for the wanted vectors only.
pub(super) const LARGEST_DENSE: usize = 1500;
/// Values that differ by less count as equal.
pub(super) const SAME_VALUE: f64 = 1e-8;

/// A vector of one component.
struct Vector {
    value: f64,
    component: usize,
    /// The value is 0: it says where the component is.
    null: bool,
    entries: Vec<f64>,
}

pub(super) fn positions(graphs: &Graphs, graph: usize, k: usize, nulls: Nulls) -> OfGraph {
    let adjacency = Adjacency::of(graphs, graph);
    let components = adjacency.components();
    let (vectors, unconverged) = smallest(&adjacency, &components, k + 1);
    let chosen: Vec<&Vector> = match nulls {
        Nulls::SkipFirst => vectors.iter().skip(1).take(k).collect(),
        Nulls::SkipAll => vectors.iter().filter(|vector| !vector.null).take(k).collect(),
    };
    let mut values = vec![0.0; adjacency.nodes() * k];
    for (column, vector) in chosen.iter().enumerate() {
        for (node, entry) in components[vector.component].iter().zip(&vector.entries) {
            values[node * k + column] = *entry as f32;
        }
    }
    OfGraph { values, filled: chosen.len(), symmetrised: adjacency.symmetrised, unconverged, ..OfGraph::default() }
}

/// The `most` smallest of each component, all in order: by value, equal ones by component.
fn smallest(adjacency: &Adjacency, components: &[Vec<usize>], most: usize) -> (Vec<Vector>, bool) {
    let degrees: Vec<f64> = adjacency.degrees().into_iter().map(|degree| degree.max(1.0)).collect();
    let (mut all, mut unconverged) = (Vec::new(), false);
    for (component, nodes) in components.iter().enumerate() {
        let operator = adjacency.normalised(nodes, &degrees);
        let joined = !operator.others.is_empty();
        let null = null_vector(nodes, &degrees);
        let mut found = match nodes.len() > LARGEST_DENSE {
            false => dense_spectrum(&operator),
            true => partial::spectrum(&operator, &null, most),
        };
        unconverged |= found.unconverged;
        if joined && !found.vectors.is_empty() {
            // Known exactly: no rounding, and no doubt which one it is.
            found.values[0] = 0.0;
            found.vectors[0] = null;
        }
        all.extend(canonical(found, component, joined).into_iter().take(most));
    }
    all.sort_by(|a, b| a.value.total_cmp(&b.value));
    // Rounding must not decide between components.
    let mut start = 0;
    while start < all.len() {
        let value = all[start].value;
        let end = start + all[start..].iter().take_while(|vector| vector.value - value < SAME_VALUE).count().max(1);
        all[start..end].sort_by_key(|vector| vector.component);
        start = end;
    }
    (all, unconverged)
}

/// `D^1/2 1`, of length 1.
fn null_vector(nodes: &[usize], degrees: &[f64]) -> Vec<f64> {
    let total: f64 = nodes.iter().map(|node| degrees[*node]).sum();
    nodes.iter().map(|node| (degrees[*node] / total).sqrt()).collect()
}

/// The vectors in their canonical basis.
fn canonical(mut found: Spectrum, component: usize, joined: bool) -> Vec<Vector> {
    let mut start = 0;
    while start < found.values.len() {
        let value = found.values[start];
        // The null vector of a component with edges is alone.
        let end = match joined && start == 0 {
            true => 1,
            false => start + found.values[start..].iter().take_while(|v| **v - value < SAME_VALUE).count().max(1),
        };
        basis(&mut found.vectors[start..end]);
        start = end;
    }
    let vectors = found.values.into_iter().zip(found.vectors).enumerate();
    vectors.map(|(at, (value, entries))| Vector { value, component, null: joined && at == 0, entries }).collect()
}

/// Values in rising order and their vectors.
#[derive(Debug, Default)]
pub(super) struct Spectrum {
    pub(super) values: Vec<f64>,
    /// As many as values, each of the length of the component.
    pub(super) vectors: Vec<Vec<f64>>,
    /// Some vectors are only near.
    pub(super) unconverged: bool,
}

/// The spectrum of `I - operator`; without values where the solver fails, which it does for no finite
/// symmetric matrix.
pub(super) fn dense_spectrum(operator: &Operator) -> Spectrum {
    let n = operator.len();
    let mut matrix = Mat::<f64>::identity(n, n);
    for row in 0..n {
        for at in operator.offsets[row]..operator.offsets[row + 1] {
            matrix[(row, operator.others[at] as usize)] -= operator.weights[at];
        }
    }
    let Ok(eigen) = matrix.self_adjoint_eigen(Side::Lower) else {
        return Spectrum { unconverged: true, ..Spectrum::default() };
    };
    let (values, vectors) = (eigen.S(), eigen.U());
    Spectrum {
        values: (0..n).map(|at| values[at]).collect(),
        vectors: (0..n).map(|at| (0..n).map(|row| vectors[(row, at)]).collect()).collect(),
        unconverged: false,
    }
}

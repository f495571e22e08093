//! Construction of solutions: partial solutions as the decoder sees them, and greedy construction (Kool et al. 2019, §5)
//! straight from a tensor of features.

use std::sync::Arc;

use burn::module::Param;
use burn::tensor::Tensor;
use regard_nn::{NodeSelection, Rollout, State};
use regard_routing::Problem;

use super::AttentionModel;

/// Tours built node by node.
#[derive(Clone, Debug, PartialEq)]
pub struct Constructed {
    /// The nodes visited, in order, for each item of the batch.
    pub tours: Vec<Vec<usize>>,
    /// Log-probability of each tour; NaN where a probability was not a number, with a tour that is not complete.
    pub log_likelihood: Vec<f32>,
}

/// Distances between the nodes of one instance, as decoders with `distances` see them.
#[derive(Clone, Debug)]
pub(crate) struct Distances {
    nodes: usize,
    /// `ln(distance + SMALLEST)`, `[nodes, nodes]`.
    logarithms: Arc<[f32]>,
}

/// Distance that is added to each, in sides of the unit square: two nodes may be at the same place.
const SMALLEST: f32 = 1e-4;

impl Distances {
    /// The distances of nodes with `features [nodes, features]`, which begin with the two coordinates.
    pub(crate) fn of(features: &[f32], nodes: usize) -> Self {
        let places: Vec<[f32; 2]> =
            features.chunks_exact(features.len() / nodes.max(1)).map(|row| [row[0], row[1]]).collect();
        let logarithm = |a: &[f32; 2], b: &[f32; 2]| ((a[0] - b[0]).hypot(a[1] - b[1]) + SMALLEST).ln();
        let logarithms = places.iter().flat_map(|a| places.iter().map(|b| logarithm(a, b))).collect();
        Self { nodes, logarithms }
    }
}

/// A partial solution whose nodes have a dynamic feature if distances are given: how near each is to the last one, in
/// comparison with the nearest one that may be chosen, `ln(nearest / distance)`. It is 0 for the nearest and below 0 for the
/// others, and depends on neither the number of nodes nor the scale.
#[derive(Clone, Debug)]
pub(crate) struct WithDistances<S> {
    pub(crate) state: S,
    distances: Option<Distances>,
}

impl<S> WithDistances<S> {
    pub(crate) fn new(state: S, distances: Option<Distances>) -> Self {
        Self { state, distances }
    }
}

impl<S: State> State for WithDistances<S> {
    fn done(&self) -> bool {
        self.state.done()
    }

    fn allowed(&self, allowed: &mut [bool]) {
        self.state.allowed(allowed);
    }

    fn first(&self) -> Option<usize> {
        self.state.first()
    }

    fn last(&self) -> Option<usize> {
        self.state.last()
    }

    fn scalars(&self, out: &mut [f32]) {
        self.state.scalars(out);
    }

    fn dynamic(&self, allowed: &[bool], out: &mut [f32]) {
        let Some(Distances { nodes, logarithms }) = &self.distances else { return self.state.dynamic(allowed, out) };
        let Some(last) = self.state.last() else { return out.fill(0.0) };
        let row = &logarithms[last * nodes..][..*nodes];
        // The last node itself may be open, as the depot is: it takes no part.
        let mut nearest = f32::INFINITY;
        for (node, (logarithm, allowed)) in row.iter().zip(allowed).enumerate() {
            let open = *allowed && node != last;
            out[node] = if open { *logarithm } else { f32::INFINITY };
            nearest = nearest.min(out[node]);
        }
        for out in out.iter_mut() {
            *out = if out.is_finite() { nearest - *out } else { 0.0 };
        }
    }

    fn reason(&self, node: usize) -> &'static str {
        self.state.reason(node)
    }

    fn step(&mut self, node: usize) {
        self.state.step(node);
    }
}

impl AttentionModel {
    /// The decoder with the context it was made for.
    pub fn rollout(&self) -> Rollout<'_> {
        let placeholder = self.placeholder.as_ref().map(Param::val);
        let uses_first = placeholder.is_some();
        Rollout { decoder: &self.decoder, placeholder, uses_first, scalars: self.scalars, distances: self.distances }
    }

    /// The most likely next node, again and again, from the given starts, one for each item of
    /// `features [batch, nodes, features]`; the first of equally likely nodes is taken. Run it on `model.valid()`: an
    /// autodiff device would record the encoder.
    ///
    /// # Panics
    /// If the last axis is not as long as the problem's features.
    pub fn construct_greedily<P: Problem>(&self, features: Tensor<3>, starts: Vec<P::State>) -> Constructed {
        let [batch, nodes, _] = features.dims();
        if batch * nodes == 0 {
            return Constructed { tours: vec![vec![]; batch], log_likelihood: vec![0.0; batch] };
        }
        let values: Vec<f32> = features.to_data().iter::<f32>().collect();
        let distances = values.chunks_exact(values.len() / batch).map(|own| Distances::of(own, nodes));
        let distances = distances.map(|own| self.distances.then_some(own));
        let starts = starts.into_iter().zip(distances);
        let starts = starts.map(|(start, distances)| vec![WithDistances::new(start, distances)]).collect();
        let outcomes = self.rollout().construct(self.encode(features), starts, NodeSelection::Greedy);
        let outcomes = outcomes.into_iter().flatten();
        let found = outcomes.map(|found| (P::solution(&found.state.state), found.log_probability));
        let (tours, log_likelihood) = found.unzip();
        Constructed { tours, log_likelihood }
    }
}

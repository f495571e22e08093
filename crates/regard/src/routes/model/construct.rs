//! Construction of solutions: partial solutions as the decoder sees them, and greedy construction (Kool et al. 2019, §5)
//! straight from a tensor of features.

use burn::module::Param;
use burn::tensor::Tensor;
use regard_nn::{NodeSelection, Rollout};
use regard_routing::Problem;

use super::AttentionModel;
use super::distances::{Distances, WithDistances};

/// Tours built node by node.
#[derive(Clone, Debug, PartialEq)]
pub struct Constructed {
    /// The nodes visited, in order, for each item of the batch.
    pub tours: Vec<Vec<usize>>,
    /// Log-probability of each tour; NaN where a probability was not a number, with a tour that is not complete.
    pub log_likelihood: Vec<f32>,
}

impl AttentionModel {
    /// The decoder with the context it was made for.
    pub fn rollout(&self) -> Rollout<'_> {
        let placeholder = self.placeholder.as_ref().map(Param::val);
        let uses_first = placeholder.is_some();
        Rollout { decoder: &self.decoder, placeholder, uses_first, scalars: self.scalars, distances: self.distances }
    }

    /// The most likely next node, again and again, from the given starts, one for each item of
    /// `features [batch, nodes, features]` as of [`Self::encode`]; the first of equally likely nodes is taken. Run it on
    /// `model.valid()`: an autodiff device would record the encoder.
    ///
    /// # Panics
    /// If the last axis is not as long as the problem's features.
    pub fn construct_greedily<P: Problem>(&self, features: Tensor<3>, starts: Vec<P::State>) -> Constructed {
        let [batch, nodes, _] = features.dims();
        if batch * nodes == 0 {
            return Constructed { tours: vec![vec![]; batch], log_likelihood: vec![0.0; batch] };
        }
        let values: Vec<f32> = features.to_data().iter::<f32>().collect();
        let distances =
            values.chunks_exact(values.len() / batch).map(|own| Distances::in_rows(own, nodes, P::FEATURES));
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

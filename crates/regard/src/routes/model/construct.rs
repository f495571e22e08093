//! Greedy construction (Kool et al. 2019, §5) straight from a tensor of points.

use burn::module::Param;
use burn::tensor::Tensor;
use regard_nn::{NodeSelection, Rollout};

use super::AttentionModel;
use crate::routes::problem::Problem;
use crate::routes::tsp::TravellingSalesman;

/// Tours built node by node.
#[derive(Clone, Debug, PartialEq)]
pub struct Constructed {
    /// One permutation of the nodes for each item of the batch.
    pub tours: Vec<Vec<usize>>,
    /// Log-probability of each tour.
    pub log_likelihood: Vec<f32>,
}

impl AttentionModel {
    /// The decoder with the context it was made for.
    pub fn rollout(&self) -> Rollout<'_> {
        let placeholder = self.placeholder.as_ref().map(Param::val);
        let uses_first = placeholder.is_some();
        Rollout { decoder: &self.decoder, placeholder, uses_first, scalars: self.scalars }
    }

    /// The most likely next node, again and again, over `points [batch, nodes, 2]`; the first of
    /// equally likely nodes is taken. Run it on `model.valid()`: an autodiff device would record
    /// the encoder.
    ///
    /// # Panics
    /// If the last axis is not 2 long.
    pub fn construct_greedily(&self, points: Tensor<3>) -> Constructed {
        let [batch, nodes, _] = points.dims();
        let start = TravellingSalesman::new(vec![[0.0; 2]; nodes]).start();
        if batch * nodes == 0 {
            return Constructed { tours: vec![vec![]; batch], log_likelihood: vec![0.0; batch] };
        }
        let outcomes = self.rollout().construct(self.encode(points), vec![vec![start]; batch], NodeSelection::Greedy);
        let outcomes = outcomes.into_iter().flatten();
        let (tours, log_likelihood) =
            outcomes.map(|found| (TravellingSalesman::solution(&found.state), found.log_probability)).unzip();
        Constructed { tours, log_likelihood }
    }
}

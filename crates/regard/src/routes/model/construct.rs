//! Greedy construction step by step (Kool et al. 2019, §5): the plain way, on any device.

use std::sync::Arc;

use burn::tensor::{Int, Tensor, TensorData};
use regard_nn::ops::{DenseMask, Mask};

use super::AttentionModel;

/// Tours built node by node.
#[derive(Clone, Debug, PartialEq)]
pub struct Constructed {
    /// One permutation of the nodes for each item of the batch.
    pub tours: Vec<Vec<usize>>,
    /// Log-probability of each tour.
    pub log_likelihood: Vec<f32>,
}

impl AttentionModel {
    /// The most likely next node, again and again, over `points [batch, nodes, 2]`.
    ///
    /// One pass of the decoder for each step; the first of equally likely nodes is taken. Run it
    /// on `model.valid()`: on an autodiff device the steps would be recorded.
    ///
    /// # Panics
    /// If the last axis is not 2 long.
    pub fn construct_greedily(&self, points: Tensor<3>) -> Constructed {
        let [batch, nodes, _] = points.dims();
        let mut built = Constructed { tours: vec![Vec::with_capacity(nodes); batch], log_likelihood: vec![0.0; batch] };
        if batch * nodes == 0 {
            return built;
        }
        let embeddings = self.encode(points);
        let tables = self.decoder.precompute(embeddings.clone());
        let mut unvisited = vec![true; batch * nodes];
        for _ in 0..nodes {
            let mask = DenseMask::new([batch, 1, nodes], unvisited.clone());
            let mask = Mask::Dense(Arc::new(mask));
            let context = self.context(&embeddings, &built.tours);
            let log_p = self.decoder.log_probabilities(&tables, context, &mask).into_data();
            let log_p: Vec<f32> = log_p.iter::<f32>().collect();
            for item in 0..batch {
                let row = item * nodes..(item + 1) * nodes;
                let (node, value) = best(&log_p[row.clone()], &unvisited[row]);
                unvisited[item * nodes + node] = false;
                built.tours[item].push(node);
                built.log_likelihood[item] += value;
            }
        }
        built
    }

    /// The context `[batch, 1, 2 * width]` after the nodes visited so far.
    fn context(&self, embeddings: &Tensor<3>, tours: &[Vec<usize>]) -> Tensor<3> {
        let [batch, nodes, width] = embeddings.dims();
        let ends: Option<Vec<[usize; 2]>> = tours.iter().map(|tour| Some([*tour.first()?, *tour.last()?])).collect();
        let Some(ends) = ends else {
            let start = self.placeholder.val().reshape([1, 1, 2 * width]);
            return start.expand([batch, 1, 2 * width]);
        };
        let rows = ends.iter().enumerate();
        let rows: Vec<i64> = rows.flat_map(|(item, ends)| ends.map(|node| (item * nodes + node) as i64)).collect();
        let data = TensorData::new(rows, [2 * batch]);
        let rows: Tensor<1, Int> = Tensor::from_data(data, &embeddings.device());
        let flat = embeddings.clone().reshape([batch * nodes, width]);
        flat.select(0, rows).reshape([batch, 1, 2 * width])
    }
}

/// The first of the best allowed entries, with its value.
fn best(values: &[f32], allowed: &[bool]) -> (usize, f32) {
    let entries = values.iter().zip(allowed).enumerate().filter(|(_, (_, allowed))| **allowed);
    let first = allowed.iter().position(|&allowed| allowed).unwrap_or(0);
    entries.fold((first, values[first]), |best, (node, (&value, _))| if value > best.1 { (node, value) } else { best })
}

#[cfg(test)]
mod tests {
    use super::best;

    #[test]
    fn only_allowed_nodes_and_the_first_of_equals() {
        assert_eq!(best(&[9.0, 1.0, 2.0, 2.0], &[false, true, true, true]), (2, 2.0));
        let (node, value) = best(&[f32::NAN, f32::NAN], &[false, true]);
        assert!(node == 1 && value.is_nan());
    }
}

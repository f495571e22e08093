//! The policy-gradient loss of whole tours (REINFORCE, Williams 1992; Kool et al. 2019, §4, eq. 9).
//!
//! `loss = Σ_k coefficient_k · log p(tour_k)`, where `log p` is computed by the pointer decoder: a
//! masked glimpse of the nodes for every step, then the log-probability of the chosen node.

mod composed;
mod tours;

use std::sync::Mutex;

use burn::tensor::Tensor;
use regard_kernels::rollout::Decoder;
use regard_kernels::tour as kernel;

use super::fused::{Array, Kernel, Output, has_kernels, input, run};
pub(crate) use composed::moved;
pub use composed::policy_loss_composed;
pub use tours::Tours;

/// Weights of the pointer decoder.
#[derive(Clone, Debug)]
pub struct TourWeights {
    /// Projection of a node to glimpse key, glimpse value and logit key, `[width, 3 * width]`.
    pub nodes: Tensor<2>,
    /// Projection of the mean embedding, `[width, width]`.
    pub fixed: Tensor<2>,
    /// Projection of the context, `[context, width]`: first node if there is a placeholder, last node,
    /// scalars.
    pub step: Tensor<2>,
    /// Output projection of the glimpse, `[width, width]`.
    pub out: Tensor<2>,
    /// Replaces first and last node before the first step, `[2 * width]`, if the context has both.
    pub placeholder: Option<Tensor<1>>,
    /// Weights of the dynamic feature of a node for glimpse key, glimpse value and logit key,
    /// `[1, 3 * width]`.
    pub dynamic: Option<Tensor<2>>,
    /// Number of heads of the glimpse.
    pub heads: usize,
    /// Logits are clipped to `(-clip, clip)`; 0 turns the clipping off.
    pub clip: f32,
}

/// A loss and the log-likelihoods of its tours.
#[derive(Clone, Debug)]
pub struct PolicyLoss {
    /// `Σ coefficient · log-likelihood`, `[1]`.
    pub loss: Tensor<1>,
    /// `[batch * trajectories]`, without a gradient.
    pub log_likelihood: Tensor<1>,
}

/// The loss of `tours` over `embeddings [batch, nodes, width]`, with one coefficient for each tour.
///
/// On the CPU one pass computes values and gradients: the coefficients do not depend on the weights, so
/// the loss is linear in the log-likelihoods, and only the gradients are saved for the backward pass.
///
/// # Panics
/// If the shapes do not match.
pub fn policy_loss(embeddings: Tensor<3>, weights: TourWeights, tours: &Tours, coefficient: Vec<f32>) -> PolicyLoss {
    check(&embeddings, &weights, tours, &coefficient);
    if !has_kernels(&embeddings.device()) || tours.is_empty() {
        return policy_loss_composed(embeddings, weights, tours, coefficient);
    }
    let TourWeights { nodes, fixed, step, out, placeholder, dynamic, heads, clip } = weights;
    let (starts, moves) = (placeholder.is_some(), dynamic.is_some());
    let fused = Fused { tours: tours.clone(), coefficient, heads, clip, starts, moves };
    let inputs = [input(embeddings), input(nodes), input(fixed), input(step), input(out)];
    let inputs = inputs.into_iter().chain(placeholder.map(input)).chain(dynamic.map(input)).collect();
    let (loss, log_likelihood) = run(fused, inputs);
    PolicyLoss { loss, log_likelihood }
}

fn check(embeddings: &Tensor<3>, weights: &TourWeights, tours: &Tours, coefficient: &[f32]) {
    let ([batch, nodes, _], [tour_batch, trajectories, tour_nodes]) = (embeddings.dims(), tours.shape());
    assert_eq!((batch, nodes), (tour_batch, tour_nodes), "policy loss: batch and nodes of embeddings and tours");
    assert_eq!(coefficient.len(), batch * trajectories, "policy loss: one coefficient for each tour");
    let moved = batch * trajectories * tours.steps() * nodes;
    let numbers = weights.dynamic.is_none() || tours.dynamic().len() == moved;
    assert!(numbers, "policy loss: weights that move nodes, and tours without numbers to move them by");
}

/// The kernel. Its inputs are embeddings, nodes, fixed, step, out, then optionally placeholder and
/// weights of the dynamic feature.
#[derive(Debug)]
struct Fused {
    tours: Tours,
    coefficient: Vec<f32>,
    heads: usize,
    clip: f32,
    /// If true, there is a placeholder.
    starts: bool,
    /// If true, nodes have a dynamic feature.
    moves: bool,
}

impl Fused {
    fn with_decoder<T>(&self, inputs: &[Array<'_>], body: impl FnOnce(&Decoder<'_>) -> T) -> T {
        let width = inputs[0].shape[2];
        let part = |index: usize| -> Vec<f32> {
            let rows = inputs[1].data.chunks_exact(3 * width);
            rows.flat_map(|row| &row[index * width..(index + 1) * width]).copied().collect()
        };
        let mut rest = inputs[5..].iter().map(|input| input.data);
        let placeholder = if self.starts { rest.next() } else { None };
        body(&Decoder {
            width,
            heads: self.heads,
            clip: self.clip,
            glimpse_key: &part(0),
            glimpse_value: &part(1),
            logit_key: &part(2),
            fixed: inputs[2].data,
            step: inputs[3].data,
            out: inputs[4].data,
            placeholder,
            uses_first: self.starts,
            scalars: self.tours.scalars(),
            dynamic: if self.moves { rest.next() } else { None },
        })
    }
}

impl Kernel for Fused {
    /// The gradients; the backward pass takes them out.
    type Saved = Mutex<Option<kernel::Gradients>>;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let (tours, embeddings) = (self.tours.view(self.moves), inputs[0].data);
        let (values, saved) = self.with_decoder(inputs, |decoder| {
            if !save {
                return (kernel::log_likelihood(decoder, &tours, embeddings), None);
            }
            let (values, gradients) = kernel::policy_gradient(decoder, &tours, embeddings, &self.coefficient);
            (values, Some(Mutex::new(Some(gradients))))
        });
        let terms = values.iter().zip(&self.coefficient).map(|(value, c)| f64::from(*value) * f64::from(*c));
        let loss = terms.sum::<f64>() as f32;
        Output { y: vec![loss], shape: vec![1], beside: values, saved }
    }

    fn backward(&self, _: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let gradients = saved.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        let Some(gradients) = gradients else { unreachable!("a graph is walked backward once") };
        let kernel::Gradients { embeddings, nodes, fixed, step, out, placeholder, dynamic } = gradients;
        let mut all = vec![embeddings, nodes, fixed, step, out];
        all.extend([placeholder, dynamic].into_iter().filter(|gradient| !gradient.is_empty()));
        if grad[0] != 1.0 {
            all.iter_mut().flatten().for_each(|value| *value *= grad[0]);
        }
        all
    }
}

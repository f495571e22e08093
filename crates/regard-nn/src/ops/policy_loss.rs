//! The policy-gradient loss of whole tours (Kool et al. 2019, §4, eq. 9; Williams 1992).
//!
//! `loss = Σ_k coefficient_k · log p(tour_k)`, where `log p` is the decoder's: for every step a
//! masked glimpse of the nodes, then a pointer to the one that was chosen.

use std::sync::{Arc, Mutex};

use burn::tensor::{Device, Int, Tensor, TensorData};
use regard_kernels::rollout::Decoder;
use regard_kernels::tour as kernel;

use super::fused::{Array, Kernel, Output, has_kernels, input, run};
use super::{AttentionOptions, DenseMask, Mask, attention_composed, pointer_composed};

/// Finished tours: every node once, in the order visited.
#[derive(Clone, Debug)]
pub struct Tours {
    shape: [usize; 3],
    forced: usize,
    order: Arc<Vec<u32>>,
}

impl Tours {
    /// Tours `[batch, trajectories, nodes]`, row-major; the first `forced` steps of each were given
    /// and not chosen, so they have no probability.
    ///
    /// # Panics
    /// Unless each tour is a permutation of its nodes.
    pub fn new(shape: [usize; 3], order: Vec<u32>, forced: usize) -> Self {
        let [batch, trajectories, nodes] = shape;
        assert_eq!(order.len(), batch * trajectories * nodes, "tours {shape:?}: number of steps");
        let mut seen = vec![usize::MAX; nodes];
        for (index, tour) in order.chunks_exact(nodes.max(1)).enumerate() {
            for &node in tour {
                let fresh = (node as usize) < nodes && std::mem::replace(&mut seen[node as usize], index) != index;
                assert!(fresh, "tour {index} is no permutation of {nodes} nodes");
            }
        }
        Self { shape, forced, order: Arc::new(order) }
    }

    /// `[batch, trajectories, nodes]`.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The nodes in the order visited, row-major.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    fn view(&self) -> kernel::Tours<'_> {
        let [batch, trajectories, nodes] = self.shape;
        kernel::Tours { batch, trajectories, nodes, forced: self.forced, order: &self.order }
    }
}

/// Weights of a decoder whose context is the first and the last node.
#[derive(Clone, Debug)]
pub struct TourWeights {
    /// Glimpse key, glimpse value and logit key of a node, `[width, 3 * width]`.
    pub nodes: Tensor<2>,
    /// From the mean embedding, `[width, width]`.
    pub fixed: Tensor<2>,
    /// From the context, `[2 * width, width]`.
    pub step: Tensor<2>,
    /// Output projection of the glimpse, `[width, width]`.
    pub out: Tensor<2>,
    /// The context before the first step, `[2 * width]`.
    pub placeholder: Tensor<1>,
    /// Heads of the glimpse.
    pub heads: usize,
    /// Logits are held to `(-clip, clip)`; 0 leaves them as they are.
    pub clip: f32,
}

/// A loss, and the log-likelihoods it is made of.
#[derive(Clone, Debug)]
pub struct PolicyLoss {
    /// `Σ coefficient · log-likelihood`, `[1]`.
    pub loss: Tensor<1>,
    /// `[batch * trajectories]`, without a gradient.
    pub log_likelihood: Tensor<1>,
}

/// The loss of `tours` over `embeddings [batch, nodes, width]`, with one coefficient a tour.
///
/// On the CPU one pass gives values and gradients: the coefficients do not depend on the weights,
/// so the loss is linear in the log-likelihoods and nothing has to be kept for the way back but
/// the gradients themselves.
///
/// # Panics
/// If the shapes do not fit together.
pub fn policy_loss(embeddings: Tensor<3>, weights: TourWeights, tours: &Tours, coefficient: Vec<f32>) -> PolicyLoss {
    check(&embeddings, tours, &coefficient);
    if !has_kernels(&embeddings.device()) || tours.shape.contains(&0) {
        return policy_loss_composed(embeddings, weights, tours, coefficient);
    }
    let TourWeights { nodes, fixed, step, out, placeholder, heads, clip } = weights;
    let fused = Fused { tours: tours.clone(), coefficient, heads, clip };
    let inputs = vec![input(embeddings), input(nodes), input(fixed), input(step), input(out), input(placeholder)];
    let (loss, log_likelihood) = run(fused, inputs);
    PolicyLoss { loss, log_likelihood }
}

/// [`policy_loss`] in ordinary tensor operations.
pub fn policy_loss_composed(
    embeddings: Tensor<3>,
    weights: TourWeights,
    tours: &Tours,
    coefficient: Vec<f32>,
) -> PolicyLoss {
    check(&embeddings, tours, &coefficient);
    let (device, [batch, trajectories, nodes]) = (embeddings.device(), tours.shape);
    let count = coefficient.len();
    let coefficient: Tensor<1> = Tensor::from_data(TensorData::new(coefficient, [count]), &device);
    let log_likelihood = if tours.shape.contains(&0) {
        Tensor::zeros([count], &device)
    } else {
        let log_p = all_steps(embeddings, weights, tours);
        let chosen: Vec<i64> = tours.order.iter().map(|&node| i64::from(node)).collect();
        let chosen: Tensor<3, Int> =
            Tensor::from_data(TensorData::new(chosen, [batch, trajectories * nodes, 1]), &device);
        let own: Tensor<3> = log_p.gather(2, chosen).reshape([batch, trajectories, nodes]);
        let forced = tours.forced.min(nodes);
        own.narrow(2, forced, nodes - forced).sum_dim(2).reshape([count])
    };
    PolicyLoss { loss: (log_likelihood.clone() * coefficient).sum(), log_likelihood: log_likelihood.detach() }
}

/// Log-probabilities of every node at every step, `[batch, trajectories * nodes, nodes]`.
fn all_steps(embeddings: Tensor<3>, weights: TourWeights, tours: &Tours) -> Tensor<3> {
    let [batch, nodes, width] = embeddings.dims();
    let steps = tours.shape[1] * nodes;
    let rows = |x: Tensor<3>, weight: Tensor<2>| {
        let [batch, rows, _] = x.dims();
        let [inputs, outputs] = weight.dims();
        x.reshape([batch * rows, inputs]).matmul(weight).reshape([batch, rows, outputs])
    };
    let fixed = rows(embeddings.clone().mean_dim(1), weights.fixed);
    let context = contexts(embeddings.clone(), weights.placeholder, tours);
    let query = rows(context, weights.step) + fixed.expand([batch, steps, width]);
    let tables = rows(embeddings, weights.nodes);
    let part = |index: usize| tables.clone().narrow(2, index * width, width);
    let mask = Mask::from(unvisited(tours));
    let options = AttentionOptions::new(weights.heads, width / weights.heads).with_mask(mask.clone());
    let glimpse = rows(attention_composed(query, part(0), part(1), None, &options), weights.out);
    pointer_composed(glimpse, part(2), &mask, weights.clip)
}

/// Contexts of all steps, `[batch, trajectories * nodes, 2 * width]`: first and last node, the
/// placeholder at the first step.
fn contexts(embeddings: Tensor<3>, placeholder: Tensor<1>, tours: &Tours) -> Tensor<3> {
    let [batch, trajectories, nodes] = tours.shape;
    let (width, device) = (embeddings.dims()[2], embeddings.device());
    let count = batch * trajectories;
    let start = placeholder.reshape([1, 1, 2 * width]).expand([count, 1, 2 * width]);
    let visited = |place: fn(usize) -> usize| {
        let tours = tours.order.chunks_exact(nodes).enumerate();
        let index = |(index, tour): (usize, &[u32])| -> Vec<i64> {
            (1..nodes).map(|t| (index / trajectories * nodes + tour[place(t)] as usize) as i64).collect()
        };
        gather(&embeddings, tours.flat_map(index).collect(), [count, nodes - 1, width], &device)
    };
    let all = if nodes == 1 {
        start
    } else {
        Tensor::cat(vec![start, Tensor::cat(vec![visited(|_| 0), visited(|t| t - 1)], 2)], 1)
    };
    all.reshape([batch, trajectories * nodes, 2 * width])
}

/// Rows of all instances' nodes taken together.
fn gather(embeddings: &Tensor<3>, rows: Vec<i64>, shape: [usize; 3], device: &Device) -> Tensor<3> {
    let [batch, nodes, width] = embeddings.dims();
    let count = rows.len();
    let rows: Tensor<1, Int> = Tensor::from_data(TensorData::new(rows, [count]), device);
    embeddings.clone().reshape([batch * nodes, width]).select(0, rows).reshape(shape)
}

/// The nodes left before each step, `[batch, trajectories * nodes, nodes]`.
fn unvisited(tours: &Tours) -> DenseMask {
    let [batch, trajectories, nodes] = tours.shape;
    let mut position = vec![0; tours.order.len()];
    for (tour, position) in tours.order.chunks_exact(nodes).zip(position.chunks_exact_mut(nodes)) {
        for (step, &node) in tour.iter().enumerate() {
            position[node as usize] = step;
        }
    }
    let open =
        |b: usize, row: usize, node: usize| position[(b * trajectories + row / nodes) * nodes + node] >= row % nodes;
    DenseMask::from_fn([batch, trajectories * nodes, nodes], open)
}

fn check(embeddings: &Tensor<3>, tours: &Tours, coefficient: &[f32]) {
    let ([batch, nodes, _], [tour_batch, trajectories, tour_nodes]) = (embeddings.dims(), tours.shape);
    assert_eq!((batch, nodes), (tour_batch, tour_nodes), "policy loss: batch and nodes of embeddings and tours");
    assert_eq!(coefficient.len(), batch * trajectories, "policy loss: one coefficient for each tour");
}

/// The kernel: embeddings, nodes, fixed, step, out, placeholder.
#[derive(Debug)]
struct Fused {
    tours: Tours,
    coefficient: Vec<f32>,
    heads: usize,
    clip: f32,
}

impl Fused {
    fn with_decoder<T>(&self, inputs: &[Array<'_>], body: impl FnOnce(&Decoder<'_>) -> T) -> T {
        let width = inputs[0].shape[2];
        let part = |index: usize| -> Vec<f32> {
            let rows = inputs[1].data.chunks_exact(3 * width);
            rows.flat_map(|row| &row[index * width..(index + 1) * width]).copied().collect()
        };
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
            placeholder: Some(inputs[5].data),
            uses_first: true,
            scalars: 0,
        })
    }
}

impl Kernel for Fused {
    /// The gradients, handed out by the one backward pass.
    type Saved = Mutex<Option<kernel::Gradients>>;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let (tours, embeddings) = (self.tours.view(), inputs[0].data);
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
        let kernel::Gradients { embeddings, nodes, fixed, step, out, placeholder } = gradients;
        let mut all = vec![embeddings, nodes, fixed, step, out, placeholder];
        if grad[0] != 1.0 {
            all.iter_mut().flatten().for_each(|value| *value *= grad[0]);
        }
        all
    }
}

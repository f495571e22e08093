//! The policy-gradient loss of whole tours (REINFORCE, Williams 1992; Kool et al. 2019, §4, eq. 9).
//!
//! `loss = Σ_k coefficient_k · log p(tour_k)`, where `log p` is computed by the pointer decoder: a
//! masked glimpse of the nodes for every step, then the log-probability of the chosen node.

use std::sync::Mutex;

use burn::tensor::{Device, Int, Tensor, TensorData};
use regard_kernels::{rollout::Decoder, tour as kernel};

use super::tours::Tours;
use super::{
    AttentionOptions, DenseMask, Mask, Projection, attention_composed,
    fused::{Array, Kernel, KernelResult, Output, has_kernels, input, run},
    pointer_composed,
};

/// Weights of the pointer decoder.
#[derive(Clone, Debug)]
pub struct DecoderWeights {
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
pub fn policy_loss(embeddings: Tensor<3>, weights: DecoderWeights, tours: &Tours, coefficient: Vec<f32>) -> PolicyLoss {
    check(&embeddings, &weights, tours, &coefficient);
    if !has_kernels(&embeddings.device()) || tours.is_empty() {
        return policy_loss_composed(embeddings, weights, tours, coefficient);
    }
    let DecoderWeights { nodes, fixed, step, out, placeholder, dynamic, heads, clip } = weights;
    let (has_placeholder, has_dynamic) = (placeholder.is_some(), dynamic.is_some());
    let fused = Fused { tours: tours.clone(), coefficient, heads, clip, has_placeholder, has_dynamic };
    let inputs = [input(embeddings), input(nodes), input(fixed), input(step), input(out)];
    let inputs = inputs.into_iter().chain(placeholder.map(input)).chain(dynamic.map(input)).collect();
    let KernelResult { y: loss, extra: log_likelihood } = run(fused, inputs);
    PolicyLoss { loss, log_likelihood }
}

fn check(embeddings: &Tensor<3>, weights: &DecoderWeights, tours: &Tours, coefficient: &[f32]) {
    let ([batch, nodes, _], [tour_batch, trajectories, tour_nodes]) = (embeddings.dims(), tours.shape());
    assert_eq!((batch, nodes), (tour_batch, tour_nodes), "policy loss: batch and nodes of embeddings and tours");
    assert_eq!(coefficient.len(), batch * trajectories, "policy loss: one coefficient for each tour");
    let count = batch * trajectories * tours.steps() * nodes;
    let features = weights.dynamic.is_none() || tours.dynamic().len() == count;
    assert!(features, "policy loss: the decoder has weights for a dynamic feature, but the tours do not record one");
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
    has_placeholder: bool,
    /// If true, nodes have a dynamic feature.
    has_dynamic: bool,
}

impl Fused {
    fn with_decoder<T>(&self, inputs: &[Array<'_>], body: impl FnOnce(&Decoder<'_>) -> T) -> T {
        let width = inputs[0].shape[2];
        let part = |index: usize| -> Vec<f32> {
            let rows = inputs[1].data.chunks_exact(3 * width);
            rows.flat_map(|row| &row[index * width..(index + 1) * width]).copied().collect()
        };
        let mut rest = inputs[5..].iter().map(|input| input.data);
        let placeholder = if self.has_placeholder { rest.next() } else { None };
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
            uses_first: self.has_placeholder,
            scalars: self.tours.scalars(),
            dynamic: if self.has_dynamic { rest.next() } else { None },
        })
    }
}

impl Kernel for Fused {
    /// The gradients; the backward pass takes them out.
    type Saved = Mutex<Option<kernel::Gradients>>;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let (tours, embeddings) = (self.tours.view(self.has_dynamic), inputs[0].data);
        let (values, saved) = self.with_decoder(inputs, |decoder| {
            if !save {
                return (kernel::log_likelihood(decoder, &tours, embeddings), None);
            }
            let (values, gradients) = kernel::policy_gradient(decoder, &tours, embeddings, &self.coefficient);
            (values, Some(Mutex::new(Some(gradients))))
        });
        let terms = values.iter().zip(&self.coefficient).map(|(value, c)| f64::from(*value) * f64::from(*c));
        let loss = terms.sum::<f64>() as f32;
        Output { y: vec![loss], shape: vec![1], extra: values, saved }
    }

    fn backward(&self, _: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let gradients = saved.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        let Some(gradients) = gradients else { unreachable!("the backward pass of a graph runs once") };
        let kernel::Gradients { embeddings, nodes, fixed, step, out, placeholder, dynamic } = gradients;
        let mut all = vec![embeddings, nodes, fixed, step, out];
        all.extend([placeholder, dynamic].into_iter().filter(|gradient| !gradient.is_empty()));
        if grad[0] != 1.0 {
            all.iter_mut().flatten().for_each(|value| *value *= grad[0]);
        }
        all
    }
}

/// [`policy_loss`](super::policy_loss) in ordinary tensor operations.
pub fn policy_loss_composed(
    embeddings: Tensor<3>,
    weights: DecoderWeights,
    tours: &Tours,
    coefficient: Vec<f32>,
) -> PolicyLoss {
    check(&embeddings, &weights, tours, &coefficient);
    let (device, [batch, trajectories, _], steps) = (embeddings.device(), tours.shape(), tours.steps());
    let count = coefficient.len();
    let coefficient: Tensor<1> = Tensor::from_data(TensorData::new(coefficient, [count]), &device);
    let log_likelihood = if tours.is_empty() {
        Tensor::zeros([count], &device)
    } else {
        let log_p = all_steps(embeddings, weights, tours);
        let nodes: Vec<i64> = tours.order().iter().map(|&node| i64::from(node)).collect();
        let nodes: Tensor<3, Int> =
            Tensor::from_data(TensorData::new(nodes, [batch, trajectories * steps, 1]), &device);
        let own: Tensor<2> = log_p.gather(2, nodes).reshape([count, steps]);
        let counts = |index| (0..steps).map(move |step| f32::from(u8::from(tours.chosen(index, step))));
        let counts: Vec<f32> = (0..count).flat_map(counts).collect();
        let counts: Tensor<2> = Tensor::from_data(TensorData::new(counts, [count, steps]), &device);
        (own * counts).sum_dim(1).reshape([count])
    };
    PolicyLoss { loss: (log_likelihood.clone() * coefficient).sum(), log_likelihood: log_likelihood.detach() }
}

/// Log-probabilities of every node at every step, `[batch, trajectories * steps, nodes]`.
fn all_steps(embeddings: Tensor<3>, weights: DecoderWeights, tours: &Tours) -> Tensor<3> {
    let [batch, nodes, width] = embeddings.dims();
    let steps = tours.shape()[1] * tours.steps();
    let rows = |x: Tensor<3>, weight: Tensor<2>| Projection { weight, bias: None }.of_rows(x);
    let fixed = rows(embeddings.clone().mean_dim(1), weights.fixed);
    let context = contexts(embeddings.clone(), weights.placeholder, tours);
    let query = rows(context, weights.step) + fixed.expand([batch, steps, width]);
    let tables = rows(embeddings, weights.nodes);
    let part = |index: usize| tables.clone().narrow(2, index * width, width);
    let mask = Mask::from(allowed(tours));
    let options = AttentionOptions::new(weights.heads, width / weights.heads);
    let Some(dynamic) = weights.dynamic else {
        let options = options.with_mask(mask.clone());
        let glimpse = rows(attention_composed(query, part(0), part(1), None, &options), weights.out);
        return pointer_composed(glimpse, part(2), &mask, weights.clip);
    };
    // The tables differ in every step: each step becomes an item of the batch with one query.
    let features = TensorData::new(tours.dynamic().to_vec(), [batch, steps, nodes]);
    let features: Tensor<3> = Tensor::from_data(features, &tables.device());
    let table =
        |index: usize| with_dynamic(part(index), features.clone(), dynamic.clone().narrow(1, index * width, width));
    let mask = Mask::from(DenseMask::from_fn([batch * steps, 1, nodes], |row, _, node| {
        mask.allows(row / steps, row % steps, node)
    }));
    let options = options.with_mask(mask.clone());
    let query = query.reshape([batch * steps, 1, width]);
    let glimpse = rows(attention_composed(query, table(0), table(1), None, &options), weights.out);
    pointer_composed(glimpse, table(2), &mask, weights.clip).reshape([batch, steps, nodes])
}

/// Adds the dynamic feature `features [batch, steps, nodes]` times its weights `direction [1, width]` to
/// `table [batch, nodes, width]` for every step: `[batch * steps, nodes, width]`.
pub(crate) fn with_dynamic(table: Tensor<3>, features: Tensor<3>, direction: Tensor<2>) -> Tensor<3> {
    let [batch, nodes, width] = table.dims();
    let steps = features.dims()[1];
    let shape = [batch, steps, nodes, width];
    let features: Tensor<4> = features.reshape([batch, steps, nodes, 1]).expand(shape);
    let direction: Tensor<4> = direction.reshape([1, 1, 1, width]).expand(shape);
    let table: Tensor<4> = table.reshape([batch, 1, nodes, width]).expand(shape);
    (table + features * direction).reshape([batch * steps, nodes, width])
}

/// Contexts of all steps, `[batch, trajectories * steps, context]`. With a placeholder: first and last
/// node, and the placeholder at the first step. Without one: the last node, and the depot at the first
/// step. The scalars follow.
fn contexts(embeddings: Tensor<3>, placeholder: Option<Tensor<1>>, tours: &Tours) -> Tensor<3> {
    let ([batch, trajectories, nodes], steps) = (tours.shape(), tours.steps());
    let (width, device) = (embeddings.dims()[2], embeddings.device());
    let count = batch * trajectories;
    let visited = |from: usize, place: fn(usize) -> Option<usize>| {
        let tours = tours.order().chunks_exact(steps).enumerate();
        let index = |(index, tour): (usize, &[u32])| -> Vec<i64> {
            let node = |t: usize| place(t).map_or(0, |step| tour[step] as usize);
            (from..steps).map(|t| (index / trajectories * nodes + node(t)) as i64).collect()
        };
        gather(&embeddings, tours.flat_map(index).collect(), [count, steps - from, width], &device)
    };
    let Some(placeholder) = placeholder else {
        let last = visited(0, |t| t.checked_sub(1)).reshape([batch, trajectories * steps, width]);
        if tours.scalars() == 0 {
            return last;
        }
        let shape = [batch, trajectories * steps, tours.scalars()];
        let features = Tensor::from_data(TensorData::new(tours.context_scalars().to_vec(), shape), &device);
        return Tensor::cat(vec![last, features], 2);
    };
    let start = placeholder.reshape([1, 1, 2 * width]).expand([count, 1, 2 * width]);
    let all = if steps == 1 {
        start
    } else {
        let ends = vec![visited(1, |_| Some(0)), visited(1, |t| t.checked_sub(1))];
        Tensor::cat(vec![start, Tensor::cat(ends, 2)], 1)
    };
    all.reshape([batch, trajectories * steps, 2 * width])
}

/// Selects rows from the nodes of all instances.
fn gather(embeddings: &Tensor<3>, rows: Vec<i64>, shape: [usize; 3], device: &Device) -> Tensor<3> {
    let [batch, nodes, width] = embeddings.dims();
    let count = rows.len();
    let rows: Tensor<1, Int> = Tensor::from_data(TensorData::new(rows, [count]), device);
    embeddings.clone().reshape([batch * nodes, width]).select(0, rows).reshape(shape)
}

/// The nodes allowed in each step, `[batch, trajectories * steps, nodes]`.
fn allowed(tours: &Tours) -> DenseMask {
    let ([batch, trajectories, nodes], steps) = (tours.shape(), tours.steps());
    let positions = tours.positions();
    let allowed = |b: usize, row: usize, node: usize| {
        tours.allowed(&positions, b * trajectories + row / steps, row % steps, node)
    };
    DenseMask::from_fn([batch, trajectories * steps, nodes], allowed)
}

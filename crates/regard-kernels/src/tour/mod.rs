//! The log-probability of whole tours in one pass, and its gradients.
//!
//! The steps of a finished tour are independent of one another: context and mask of every step are
//! known. The decoder (Kool et al. 2019, section 3.2) is then a masked attention of `[steps]` queries
//! over `[nodes]` keys. If every node is visited once, the masks follow from the positions in the
//! tour and are not stored. For other problems the mask of each step is recorded, one bit a node,
//! together with the dynamic feature of the nodes if there is one.
//!
//! REINFORCE knows the coefficient of each tour before the pass, and its loss is linear in the
//! log-probabilities. So values and gradients are computed in one pass over the instances, with the
//! scores, weights and gradients of a block in cache: no array of size `steps × nodes` is written to
//! memory. Trajectories of one instance (POMO, Kwon et al. 2020) share its tables.

mod block;
mod rows;
mod weights;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::{rollout::Decoder, simd, vector::add};
use block::{Block, WeightGradients};
use weights::FoldedWeights;

/// Finished tours; the nodes are in the order in which they were visited.
#[derive(Clone, Copy, Debug)]
pub struct Tours<'a> {
    /// Number of instances.
    pub batch: usize,
    /// Number of tours of one instance.
    pub trajectories: usize,
    /// Number of nodes of an instance.
    pub nodes: usize,
    /// Maximum number of steps of a tour.
    pub steps: usize,
    /// Number of first steps that were prescribed, not chosen; they do not count in the probability.
    pub forced: usize,
    /// `[batch, trajectories, steps]`.
    pub order: &'a [u32],
    /// Masks and contexts of the steps.
    pub inputs: StepInputs<'a>,
}

/// Masks and contexts of the steps of tours.
#[derive(Clone, Copy, Debug)]
pub enum StepInputs<'a> {
    /// Every node is visited once and there are as many steps as nodes: the unvisited nodes are
    /// allowed. The context is the first and the last node, and a placeholder before the first step.
    Unvisited,
    /// Masks and contexts are recorded for every step. The context is the first node if the decoder uses it, the last
    /// node and the decoder's scalars; before the first step it is the placeholder, without one the depot, node 0.
    Recorded {
        /// Number of steps of each tour, `[batch, trajectories]`.
        lengths: &'a [u32],
        /// Allowed nodes, one bit a node, `[batch, trajectories, steps, words]`; see [`words`].
        allowed: &'a [u64],
        /// Scalars of the context, `[batch, trajectories, steps, scalars]`.
        scalars: &'a [f32],
        /// Dynamic feature of each node, `[batch, trajectories, steps, nodes]`; empty without one.
        dynamic: &'a [f32],
    },
}

/// Number of 64-bit words that hold one bit a node.
pub const fn words(nodes: usize) -> usize {
    nodes.div_ceil(64)
}

impl<'a> Tours<'a> {
    /// Creates tours `[batch, trajectories, nodes]` that visit every node once.
    pub fn of_all_nodes([batch, trajectories, nodes]: [usize; 3], forced: usize, order: &'a [u32]) -> Self {
        Self { batch, trajectories, nodes, steps: nodes, forced, order, inputs: StepInputs::Unvisited }
    }
}

/// Gradients of `Σ coefficient · log-likelihood`, each in the shape of its input.
#[derive(Debug)]
pub struct Gradients {
    /// Gradient of the embeddings, `[batch, nodes, width]`.
    pub embeddings: Vec<f32>,
    /// Gradients of the projections to glimpse keys, glimpse values and logit keys side by side, `[width, 3·width]`.
    pub nodes: Vec<f32>,
    /// Gradient of the projection of the graph embedding, `[width, width]`.
    pub fixed: Vec<f32>,
    /// Gradient of the projection of the context, `[context, width]`.
    pub step: Vec<f32>,
    /// Gradient of the output projection of the glimpse, `[width, width]`.
    pub out: Vec<f32>,
    /// Gradient of the placeholder, `[2·width]`; empty without one.
    pub placeholder: Vec<f32>,
    /// Gradient of the weights of the dynamic feature, `[3·width]`; empty without one.
    pub dynamic: Vec<f32>,
}

/// Maximum number of groups of instances. Each group has gradient accumulators of its own. The groups
/// do not depend on the number of threads, which fixes the order of every sum.
const GROUPS: usize = 16;

/// Log-likelihoods `[batch, trajectories]` of `tours` over `embeddings [batch, nodes, width]`.
///
/// # Panics
/// If sizes do not match, or the decoder's context differs from that of the tours.
pub fn log_likelihood(decoder: &Decoder<'_>, tours: &Tours<'_>, embeddings: &[f32]) -> Vec<f32> {
    pass(decoder, tours, embeddings, None).0
}

/// As [`log_likelihood`], with the gradients of `Σ coefficient · log-likelihood` for
/// `coefficient [batch, trajectories]`.
///
/// # Panics
/// As [`log_likelihood`].
pub fn policy_gradient(
    decoder: &Decoder<'_>,
    tours: &Tours<'_>,
    embeddings: &[f32],
    coefficient: &[f32],
) -> (Vec<f32>, Gradients) {
    assert_eq!(coefficient.len(), tours.batch * tours.trajectories, "one coefficient for each tour");
    let (values, sums) = pass(decoder, tours, embeddings, Some(coefficient));
    let (embeddings, sums) = sums.unwrap_or_else(|| unreachable!("a pass with coefficients has gradients"));
    (values, weights::unfold(decoder, embeddings, sums))
}

type Backward = (Vec<f32>, WeightGradients);

fn pass(
    decoder: &Decoder<'_>,
    tours: &Tours<'_>,
    embeddings: &[f32],
    coefficient: Option<&[f32]>,
) -> (Vec<f32>, Option<Backward>) {
    let (width, nodes) = (decoder.width, tours.nodes);
    check(decoder, tours, embeddings);
    let mut values = vec![0.0; tours.batch * tours.trajectories];
    let mut gradient = vec![0.0; if coefficient.is_some() { embeddings.len() } else { 0 }];
    if values.is_empty() || nodes == 0 || tours.steps == 0 {
        return (values, coefficient.map(|_| (gradient, WeightGradients::zeros(decoder))));
    }
    let folded = FoldedWeights::new(decoder);
    let block = Block { folded: &folded, tours, embeddings, coefficient };
    // Accumulators cost time too, so a group is at least one block.
    let size = tours.batch.div_ceil(GROUPS).max(block.instances());
    let mut parts: Vec<&mut [f32]> = gradient.chunks_mut(size * nodes * width).collect();
    parts.resize_with(tours.batch.div_ceil(size), Default::default);
    let groups: Vec<WeightGradients> = values
        .par_chunks_mut(size * tours.trajectories)
        .zip(parts)
        .enumerate()
        .map(|(index, (values, gradient))| {
            simd::run(Group { block: &block, decoder, first: index * size, values, gradient })
        })
        .collect();
    (values, coefficient.map(|_| (gradient, sum_groups(groups, decoder))))
}

fn check(decoder: &Decoder<'_>, tours: &Tours<'_>, embeddings: &[f32]) {
    let (width, nodes) = (decoder.width, tours.nodes);
    let (count, steps) = (tours.batch * tours.trajectories, tours.steps);
    let context = if decoder.uses_first { 2 } else { 1 } * width + decoder.scalars;
    assert_eq!(decoder.step.len(), context * width, "step context is [context, width]");
    assert_eq!(embeddings.len(), tours.batch * nodes * width, "embeddings are [batch, nodes, width]");
    assert_eq!(tours.order.len(), count * steps, "tours are [batch, trajectories, steps]");
    if let StepInputs::Recorded { lengths, allowed, scalars, dynamic } = tours.inputs {
        assert_eq!(lengths.len(), count, "one length for each tour");
        assert_eq!(allowed.len(), count * steps * words(nodes), "one bit for each node and step");
        assert_eq!(scalars.len(), count * steps * decoder.scalars, "the decoder's scalars at every step");
        let count = if decoder.dynamic.is_some() { count * steps * nodes } else { 0 };
        assert_eq!(
            dynamic.len(),
            count,
            "one dynamic feature for each node and step if the decoder has weights for it"
        );
        assert!(
            decoder.dynamic.is_none_or(|rows| rows.len() == 3 * width),
            "weights of the dynamic feature are [3 · width]"
        );
        assert!(lengths.iter().all(|&length| length as usize <= steps), "lengths are at most {steps}");
        assert!(tours.order.iter().all(|&node| (node as usize) < nodes), "nodes are below {nodes}");
        return;
    }
    assert!(decoder.uses_first && decoder.scalars == 0, "the context is first and last node");
    assert!(decoder.dynamic.is_none(), "a dynamic feature needs recorded tours");
    assert_eq!(steps, nodes, "tours visit every node");
    let mut last_tour = vec![usize::MAX; nodes];
    for (index, tour) in tours.order.chunks_exact(nodes.max(1)).enumerate() {
        for &node in tour {
            let node = node as usize;
            assert!(node < nodes && last_tour[node] != index, "tour {index} is not a permutation of {nodes} nodes");
            last_tour[node] = index;
        }
    }
}

struct Group<'a> {
    block: &'a Block<'a>,
    decoder: &'a Decoder<'a>,
    first: usize,
    values: &'a mut [f32],
    gradient: &'a mut [f32],
}

impl WithSimd for Group<'_> {
    type Output = WeightGradients;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> WeightGradients {
        let Self { block, decoder, first, values, mut gradient } = self;
        let (tours, width) = (block.tours, block.folded.width);
        let mut sums =
            if block.coefficient.is_some() { WeightGradients::zeros(decoder) } else { WeightGradients::none() };
        let size = block.instances();
        for (index, values) in values.chunks_mut(size * tours.trajectories).enumerate() {
            let count = values.len() / tours.trajectories;
            let floats = if block.coefficient.is_some() { count * tours.nodes * width } else { 0 };
            let (own, rest) = gradient.split_at_mut(floats);
            gradient = rest;
            block.run(simd, first + index * size, values, own, &mut sums);
        }
        sums
    }
}

/// Sum of the groups, in their order; pieces of the matrices are summed in parallel.
fn sum_groups(groups: Vec<WeightGradients>, decoder: &Decoder<'_>) -> WeightGradients {
    const PIECE: usize = 4096;
    let mut sums = WeightGradients::zeros(decoder);
    let WeightGradients { tables, fixed, first, start, scalars, dynamic } = &mut sums;
    type Part = fn(&WeightGradients) -> &[f32];
    let parts: [(&mut [f32], Part); 6] = [
        (tables, |s| &s.tables),
        (fixed, |s| &s.fixed),
        (first, |s| &s.first),
        (start, |s| &s.start),
        (scalars, |s| &s.scalars),
        (dynamic, |s| &s.dynamic),
    ];
    for (sum, part) in parts {
        sum.par_chunks_mut(PIECE).enumerate().for_each(|(piece, sum)| {
            for group in &groups {
                add(&part(group)[piece * PIECE..][..sum.len()], sum);
            }
        });
    }
    sums
}

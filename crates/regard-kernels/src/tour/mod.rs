//! The log-probability of whole tours in one pass, and its gradients.
//!
//! Nothing passes between the steps of a tour but the tour itself: once it is known, every step's
//! context and mask are known too, and the decoder (Kool et al. 2019, section 3.2) is a masked
//! attention of `[steps]` queries over `[nodes]` keys. Where every node is visited once, the nodes
//! a step may see follow from the positions in the tour, and no mask is ever stored; of other
//! problems it is recorded what each step saw, one bit a node, and how far each node has moved where nodes do.
//!
//! REINFORCE knows the coefficient of each tour before the pass, and its loss is linear in the
//! log-probabilities. So values and gradients come from one walk over the instances, with a
//! block's scores, weights and their gradients in cache: nothing of size `steps × nodes` reaches
//! memory. Trajectories of one instance (Kwon et al. 2020) share its tables.

mod block;
mod rows;
mod weights;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::{rollout::Decoder, simd, vector::add};
use block::{Block, Sums};
use weights::Folded;

/// Finished tours, in the order visited.
#[derive(Clone, Copy, Debug)]
pub struct Tours<'a> {
    /// Instances.
    pub batch: usize,
    /// Tours of one instance.
    pub trajectories: usize,
    /// Nodes of an instance.
    pub nodes: usize,
    /// Steps of a tour, at most.
    pub steps: usize,
    /// First steps that were given and not chosen: they have no probability.
    pub forced: usize,
    /// `[batch, trajectories, steps]`.
    pub order: &'a [u32],
    /// What the steps saw.
    pub sight: Sight<'a>,
}

/// What the steps of tours saw: the nodes open to them, and their contexts.
#[derive(Clone, Copy, Debug)]
pub enum Sight<'a> {
    /// Every node is visited once, as many steps as nodes: the unvisited ones were open. The
    /// context is the first and the last node, a placeholder before the first step.
    Unvisited,
    /// Written down at every step. The context is the last node, the depot (node 0) before the
    /// first step, and the decoder's scalars.
    Recorded {
        /// Steps of each tour, `[batch, trajectories]`.
        lengths: &'a [u32],
        /// One bit a node, `[batch, trajectories, steps, words]` with [`words`] of the nodes.
        open: &'a [u64],
        /// `[batch, trajectories, steps, scalars]`.
        scalars: &'a [f32],
        /// What moves each node, `[batch, trajectories, steps, nodes]`; empty where nodes stay.
        dynamic: &'a [f32],
    },
}

/// Words of a row of bits, one bit a node.
pub const fn words(nodes: usize) -> usize {
    nodes.div_ceil(64)
}

impl<'a> Tours<'a> {
    /// Tours `[batch, trajectories, nodes]` that visit every node once.
    pub fn of_all_nodes([batch, trajectories, nodes]: [usize; 3], forced: usize, order: &'a [u32]) -> Self {
        Self { batch, trajectories, nodes, steps: nodes, forced, order, sight: Sight::Unvisited }
    }
}

/// Gradients of `Σ coefficient · log-likelihood`, each in the shape of what it belongs to.
#[derive(Debug)]
pub struct Gradients {
    /// Of the embeddings, `[batch, nodes, width]`.
    pub embeddings: Vec<f32>,
    /// Of glimpse keys, glimpse values and logit keys side by side, `[width, 3·width]`.
    pub nodes: Vec<f32>,
    /// Of the projection of the graph's embedding, `[width, width]`.
    pub fixed: Vec<f32>,
    /// Of the projection of the context, `[context, width]`.
    pub step: Vec<f32>,
    /// Of the glimpse's output projection, `[width, width]`.
    pub out: Vec<f32>,
    /// Of the placeholder, `[2·width]`; empty without one.
    pub placeholder: Vec<f32>,
    /// Of the directions in which nodes move, `[3·width]`; empty where they stay.
    pub dynamic: Vec<f32>,
}

/// Instances are cut into so many groups at most, each with accumulators of its own, whatever the number
/// of threads: that fixes the order of every sum.
const GROUPS: usize = 16;

/// Log-likelihoods `[batch, trajectories]` of `tours` over `embeddings [batch, nodes, width]`.
///
/// # Panics
/// If sizes do not fit together, or the decoder's context is not what the tours recorded.
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
    assert_eq!(coefficient.len(), tours.batch * tours.trajectories, "one coefficient a tour");
    let (values, sums) = pass(decoder, tours, embeddings, Some(coefficient));
    let (embeddings, sums) = sums.unwrap_or_else(|| unreachable!("a pass with coefficients has gradients"));
    (values, weights::unfold(decoder, embeddings, sums))
}

type Backward = (Vec<f32>, Sums);

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
    if values.is_empty() || nodes == 0 {
        return (values, coefficient.map(|_| (gradient, Sums::zeros(decoder))));
    }
    let folded = Folded::new(decoder);
    let block = Block { folded: &folded, tours, embeddings, coefficient };
    // Accumulators cost time too: a group has a whole block at least.
    let size = tours.batch.div_ceil(GROUPS).max(block.instances());
    let mut parts: Vec<&mut [f32]> = gradient.chunks_mut(size * nodes * width).collect();
    parts.resize_with(tours.batch.div_ceil(size), Default::default);
    let groups: Vec<Sums> = values
        .par_chunks_mut(size * tours.trajectories)
        .zip(parts)
        .enumerate()
        .map(|(index, (values, gradient))| {
            simd::run(Group { block: &block, decoder, first: index * size, values, gradient })
        })
        .collect();
    (values, coefficient.map(|_| (gradient, total(groups, decoder))))
}

fn check(decoder: &Decoder<'_>, tours: &Tours<'_>, embeddings: &[f32]) {
    let (width, nodes) = (decoder.width, tours.nodes);
    let (count, steps) = (tours.batch * tours.trajectories, tours.steps);
    let context = if decoder.uses_first { 2 } else { 1 } * width + decoder.scalars;
    assert_eq!(decoder.step.len(), context * width, "step context is [context, width]");
    assert_eq!(embeddings.len(), tours.batch * nodes * width, "embeddings are [batch, nodes, width]");
    assert_eq!(tours.order.len(), count * steps, "tours are [batch, trajectories, steps]");
    if let Sight::Recorded { lengths, open, scalars, dynamic } = tours.sight {
        assert!(!decoder.uses_first, "the context is the last node and scalars");
        assert_eq!(lengths.len(), count, "one length a tour");
        assert_eq!(open.len(), count * steps * words(nodes), "one bit a node and step");
        assert_eq!(scalars.len(), count * steps * decoder.scalars, "the decoder's scalars at every step");
        let moved = if decoder.dynamic.is_some() { count * steps * nodes } else { 0 };
        assert_eq!(dynamic.len(), moved, "one number a node and step where the decoder moves nodes by it");
        assert!(decoder.dynamic.is_none_or(|rows| rows.len() == 3 * width), "dynamic directions are [3 · width]");
        assert!(lengths.iter().all(|&length| length as usize <= steps), "lengths are at most {steps}");
        assert!(tours.order.iter().all(|&node| (node as usize) < nodes), "nodes are below {nodes}");
        return;
    }
    assert!(decoder.uses_first && decoder.scalars == 0, "the context is first and last node");
    assert!(decoder.dynamic.is_none(), "nodes move in recorded tours");
    assert_eq!(steps, nodes, "tours visit every node");
    let mut seen = vec![usize::MAX; nodes];
    for (index, tour) in tours.order.chunks_exact(nodes.max(1)).enumerate() {
        for &node in tour {
            let node = node as usize;
            assert!(node < nodes && seen[node] != index, "tour {index} is not a permutation of {nodes} nodes");
            seen[node] = index;
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
    type Output = Sums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums {
        let Self { block, decoder, first, values, mut gradient } = self;
        let (tours, width) = (block.tours, block.folded.width);
        let mut sums = if block.coefficient.is_some() { Sums::zeros(decoder) } else { Sums::none() };
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

/// Sums of the groups, in their order; pieces of the matrices go side by side.
fn total(groups: Vec<Sums>, decoder: &Decoder<'_>) -> Sums {
    const PIECE: usize = 4096;
    let mut sums = Sums::zeros(decoder);
    let Sums { tables, fixed, first, start, scalars, dynamic } = &mut sums;
    type Part = fn(&Sums) -> &[f32];
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

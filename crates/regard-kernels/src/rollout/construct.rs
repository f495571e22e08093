//! Greedy and sampled rollouts.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    NodeSelection, NodeSelector, PackedDecoder, State,
    decoder::Table,
    group::{GroupRollout, MIN_GROUP, group_size},
    step::{Scratch, logits},
};
use crate::simd;

/// A finished rollout, or one that ended early because a probability was not a number.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// The final state, which holds the tour.
    pub state: T,
    /// Sum of the log-probabilities of the selected nodes. NaN if the probabilities of a step are not numbers, as with
    /// weights that overflow: the rollout ends there, and the state is not a solution.
    pub log_probability: f32,
}

/// Maximum number of floats in the tables of a block of instances. It bounds memory and keeps the
/// tables in cache.
const TABLES: usize = 1 << 17;

/// Constructs solutions for `embeddings [batch, nodes, width]`. `starts[b]` are the initial states of
/// the trajectories of instance `b`, which share its tables. The results are in the same order.
///
/// # Panics
/// If `embeddings` does not hold `starts.len() · nodes · width` floats.
pub fn rollout<T: State>(
    packed: &PackedDecoder,
    nodes: usize,
    embeddings: &[f32],
    mut starts: Vec<Vec<T>>,
    selection: NodeSelection,
) -> Vec<Vec<Outcome<T>>> {
    let states = starts.iter_mut().map(|states| states.iter_mut().map(|state| state as &mut dyn State).collect());
    let log_probabilities = step_to_end(packed, nodes, embeddings, states.collect(), selection);
    let ended = |(state, log_probability)| Outcome { state, log_probability };
    let of_instance = |(states, own): (Vec<T>, Vec<f32>)| states.into_iter().zip(own).map(ended).collect();
    starts.into_iter().zip(log_probabilities).map(of_instance).collect()
}

/// Steps all states until they are done, and returns the log-probability of each. The kernels are compiled once and not for
/// every problem: a state is asked a few times in a step, which costs nothing beside the arithmetic.
fn step_to_end(
    packed: &PackedDecoder,
    nodes: usize,
    embeddings: &[f32],
    mut starts: Vec<Vec<&mut dyn State>>,
    selection: NodeSelection,
) -> Vec<Vec<f32>> {
    let row = nodes * packed.width;
    assert_eq!(embeddings.len(), starts.len() * row, "embeddings and instances");
    if row == 0 {
        return starts.iter().map(|states| vec![0.0; states.len()]).collect();
    }
    let block = (TABLES / (6 * row)).clamp(1, 16);
    starts
        .par_chunks_mut(block)
        .enumerate()
        .flat_map_iter(|(index, instances)| {
            let first = index * block;
            let tables = packed.tables(nodes, &embeddings[first * row..][..instances.len() * row]);
            let construct = |(b, states): (usize, &mut Vec<&mut dyn State>)| {
                let table = tables.of_instance(b);
                let stream = |k: usize| NodeSelection::stream(first + b, k);
                if states.len() < MIN_GROUP {
                    let one = |(k, state): (usize, &mut &mut dyn State)| {
                        simd::run(SingleRollout { table, state: *state, selection, stream: stream(k) })
                    };
                    return states.par_iter_mut().enumerate().map(one).collect::<Vec<_>>();
                }
                let size = group_size(states.len());
                let some = |(index, states)| {
                    simd::run(GroupRollout { table, states, selection, stream: stream(index * size) })
                };
                states.par_chunks_mut(size).enumerate().flat_map_iter(some).collect()
            };
            instances.iter_mut().enumerate().map(construct).collect::<Vec<_>>()
        })
        .collect()
}

struct SingleRollout<'a, 's> {
    table: Table<'a>,
    state: &'a mut (dyn State + 's),
    selection: NodeSelection,
    stream: u64,
}

impl WithSimd for SingleRollout<'_, '_> {
    /// The log-probability.
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let Self { table, state, selection, stream } = self;
        let mut scratch = Scratch::new(&table);
        let mut selector = NodeSelector::new(selection, stream);
        let mut total = 0f64;
        while !state.done() {
            let lse = logits(simd, &table, state, &mut scratch);
            // No node can be selected, and a state that visits the same node for ever never ends.
            if !lse.is_finite() {
                return f32::NAN;
            }
            let node = selector.select(&scratch.logits);
            total += f64::from(scratch.logits[node] - lse);
            state.step(node);
        }
        total as f32
    }
}

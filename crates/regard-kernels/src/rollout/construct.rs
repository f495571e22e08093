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
    starts: Vec<Vec<T>>,
    selection: NodeSelection,
) -> Vec<Vec<Outcome<T>>> {
    let row = nodes * packed.width;
    assert_eq!(embeddings.len(), starts.len() * row, "embeddings and instances");
    if row == 0 {
        let ended = |state| Outcome { state, log_probability: 0.0 };
        return starts.into_iter().map(|states| states.into_iter().map(ended).collect()).collect();
    }
    let block = (TABLES / (6 * row)).clamp(1, 16);
    let mut blocks: Vec<(usize, Vec<Vec<T>>)> = Vec::new();
    for (index, states) in starts.into_iter().enumerate() {
        match blocks.last_mut() {
            Some((_, block_states)) if block_states.len() < block => block_states.push(states),
            _ => blocks.push((index, vec![states])),
        }
    }
    blocks
        .into_par_iter()
        .flat_map_iter(|(first, block)| {
            let tables = packed.tables(nodes, &embeddings[first * row..][..block.len() * row]);
            let construct = |(b, states): (usize, Vec<T>)| {
                let table = tables.of_instance(b);
                let stream = |k: usize| NodeSelection::stream(first + b, k);
                if states.len() < MIN_GROUP {
                    let one = |(k, state): (usize, T)| {
                        simd::run(SingleRollout { table, state, selection, stream: stream(k) })
                    };
                    return states.into_par_iter().enumerate().map(one).collect::<Vec<_>>();
                }
                let size = group_size(states.len());
                let some = |(index, states): (usize, Vec<T>)| {
                    simd::run(GroupRollout { table, states, selection, stream: stream(index * size) })
                };
                chunks(states, size).into_par_iter().enumerate().flat_map_iter(some).collect()
            };
            block.into_iter().enumerate().map(construct).collect::<Vec<_>>()
        })
        .collect()
}

/// Splits `states` into pieces of `size`; the last one may be shorter.
fn chunks<T>(states: Vec<T>, size: usize) -> Vec<Vec<T>> {
    let mut pieces: Vec<Vec<T>> = Vec::with_capacity(states.len().div_ceil(size));
    for state in states {
        match pieces.last_mut() {
            Some(piece) if piece.len() < size => piece.push(state),
            _ => pieces.push(vec![state]),
        }
    }
    pieces
}

struct SingleRollout<'a, T> {
    table: Table<'a>,
    state: T,
    selection: NodeSelection,
    stream: u64,
}

impl<T: State> WithSimd for SingleRollout<'_, T> {
    type Output = Outcome<T>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Outcome<T> {
        let Self { table, mut state, selection, stream } = self;
        let mut scratch = Scratch::new(&table);
        let mut selector = NodeSelector::new(selection, stream);
        let mut total = 0f64;
        while !state.done() {
            let lse = logits(simd, &table, &state, &mut scratch);
            // No node can be selected, and a state that visits the same node for ever never ends.
            if !lse.is_finite() {
                return Outcome { state, log_probability: f32::NAN };
            }
            let node = selector.select(&scratch.logits);
            total += f64::from(scratch.logits[node] - lse);
            state.step(node);
        }
        Outcome { state, log_probability: total as f32 }
    }
}

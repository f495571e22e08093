//! Greedy and sampled rollouts.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Pick, Picker, Prepared, State,
    decoder::Table,
    step::{Scratch, logits},
    together::{FEW, Together, abreast},
};
use crate::simd;

/// A finished rollout.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// The final state, which holds the tour.
    pub state: T,
    /// Sum of the log-probabilities of the selected nodes.
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
    prepared: &Prepared,
    nodes: usize,
    embeddings: &[f32],
    starts: Vec<Vec<T>>,
    pick: Pick,
) -> Vec<Vec<Outcome<T>>> {
    let row = nodes * prepared.width;
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
            let tables = prepared.tables(nodes, &embeddings[first * row..][..block.len() * row]);
            let construct = |(b, states): (usize, Vec<T>)| {
                let table = tables.of_instance(b);
                let stream = |k: usize| Pick::stream(first + b, k);
                if states.len() < FEW {
                    let one = |(k, state): (usize, T)| simd::run(Construct { table, state, pick, stream: stream(k) });
                    return states.into_par_iter().enumerate().map(one).collect::<Vec<_>>();
                }
                let size = abreast(states.len());
                let some = |(index, states): (usize, Vec<T>)| {
                    simd::run(Together { table, states, pick, stream: stream(index * size) })
                };
                cut(states, size).into_par_iter().enumerate().flat_map_iter(some).collect()
            };
            block.into_iter().enumerate().map(construct).collect::<Vec<_>>()
        })
        .collect()
}

/// Splits `states` into pieces of `size`; the last one may be shorter.
fn cut<T>(states: Vec<T>, size: usize) -> Vec<Vec<T>> {
    let mut pieces: Vec<Vec<T>> = Vec::with_capacity(states.len().div_ceil(size));
    for state in states {
        match pieces.last_mut() {
            Some(piece) if piece.len() < size => piece.push(state),
            _ => pieces.push(vec![state]),
        }
    }
    pieces
}

struct Construct<'a, T> {
    table: Table<'a>,
    state: T,
    pick: Pick,
    stream: u64,
}

impl<T: State> WithSimd for Construct<'_, T> {
    type Output = Outcome<T>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Outcome<T> {
        let Self { table, mut state, pick, stream } = self;
        let mut scratch = Scratch::new(&table);
        let mut picker = Picker::new(pick, stream);
        let mut total = 0f64;
        while !state.done() {
            let lse = logits(simd, &table, &state, &mut scratch);
            let node = picker.pick(&scratch.logits);
            total += f64::from(scratch.logits[node] - lse);
            state.step(node);
        }
        Outcome { state, log_probability: total as f32 }
    }
}

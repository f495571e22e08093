//! Beam search over the policy's action probabilities.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Outcome, PackedDecoder, State,
    decoder::Table,
    step::{Scratch, logits},
};
use crate::{simd, vector::MASKED};

/// Beam search: keeps the `width` most probable partial solutions at every step. Returns the finished
/// solutions of each instance, most probable first. `starts[b]` is the initial state of instance `b`.
/// If the probabilities of a step are not numbers, the only result is that state, with a log-probability of NaN.
///
/// # Panics
/// If `embeddings` does not hold `starts.len() · nodes · width` floats.
pub fn beam<T: State + Clone>(
    packed: &PackedDecoder,
    nodes: usize,
    embeddings: &[f32],
    starts: Vec<T>,
    width: usize,
) -> Vec<Vec<Outcome<T>>> {
    let row = nodes * packed.width;
    assert_eq!(embeddings.len(), starts.len() * row, "embeddings and instances");
    starts
        .into_par_iter()
        .enumerate()
        .map(|(b, state)| {
            let start = Outcome { state, log_probability: 0.0 };
            if row == 0 {
                return vec![start];
            }
            let tables = packed.tables(nodes, &embeddings[b * row..][..row]);
            let table = tables.of_instance(0);
            let (mut scratch, mut rows) = (Scratch::new(&table), vec![]);
            let mut beam = vec![start];
            while beam.iter().any(|entry| !entry.state.done()) {
                rows.clear();
                for entry in &beam {
                    if !simd::run(Row { table, state: &entry.state, scratch: &mut scratch, rows: &mut rows }) {
                        return vec![Outcome { state: entry.state.clone(), log_probability: f32::NAN }];
                    }
                }
                beam = beam_step(beam, &rows, width.max(1));
            }
            beam
        })
        .collect()
}

/// Appends the log-probabilities of the next node of one entry, all masked if it is finished. False if they are not numbers.
struct Row<'a, 's> {
    table: Table<'a>,
    state: &'a (dyn State + 's),
    scratch: &'a mut Scratch,
    rows: &'a mut Vec<f32>,
}

impl WithSimd for Row<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { table, state, scratch, rows } = self;
        let nodes = table.nodes;
        if state.done() {
            rows.resize(rows.len() + nodes, MASKED);
            return true;
        }
        let lse = logits(simd, &table, state, scratch);
        rows.extend(scratch.logits[..nodes].iter().map(|logit| *logit - lse));
        lse.is_finite()
    }
}

/// One step of a beam search: expands the entries of `beam` and returns the `width` most probable
/// results. Row `i` of `log_probabilities [entries, nodes]` holds the log-probabilities of the next
/// node of entry `i`; values of −1e30 and below are masked. Finished entries are kept as they are.
/// Ties are broken by the earlier entry and then by the smaller node.
pub fn beam_step<T: State + Clone>(beam: Vec<Outcome<T>>, log_probabilities: &[f32], width: usize) -> Vec<Outcome<T>> {
    let nodes = log_probabilities.len() / beam.len().max(1);
    let mut next: Vec<(f32, usize, Option<usize>)> = Vec::new();
    for (index, entry) in beam.iter().enumerate() {
        if entry.state.done() {
            next.push((entry.log_probability, index, None));
            continue;
        }
        let row = log_probabilities[index * nodes..][..nodes].iter().enumerate();
        let allowed = row.filter(|(_, value)| **value > MASKED);
        next.extend(allowed.map(|(node, value)| (entry.log_probability + value, index, Some(node))));
    }
    next.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    next.truncate(width);
    let expand = |(log_probability, index, node): (f32, usize, Option<usize>)| {
        let mut state = beam[index].state.clone();
        if let Some(node) = node {
            state.step(node);
        }
        Outcome { state, log_probability }
    };
    next.into_iter().map(expand).collect()
}

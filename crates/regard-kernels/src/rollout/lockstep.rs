//! Decoding steps of many trajectories at once, for rules that know whole batches of partial solutions: a program in
//! another language computes masks and contexts of a step for all of them.
//!
//! The arithmetic is that of the rollouts of single states, to the bit.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    NodeSelection, NodeSelector, PackedDecoder, State,
    decoder::{Table, Tables},
    group::{MIN_GROUP, Rows, group_size},
    step::{Scratch, logits},
};
use crate::simd;

/// Masks and contexts of trajectories before a step; row `i` is that of trajectory `active[i]`.
#[derive(Clone, Copy, Debug)]
pub struct StepInputs<'a> {
    /// Trajectories that go on, in increasing order; those of instance `b` are numbered from `b · trajectories`.
    pub active: &'a [u32],
    /// Nodes that may be chosen, `[active, nodes]`.
    pub allowed: &'a [bool],
    /// Scalars of the context, `[active, scalars]`.
    pub scalars: &'a [f32],
    /// Dynamic feature of the nodes, `[active, nodes]`; empty without one.
    pub dynamic: &'a [f32],
    /// The last visited node, `[active]`; node 0 before the first.
    pub last: &'a [u32],
}

/// One row of [`StepInputs`] as a state.
struct Row<'a> {
    allowed: &'a [bool],
    scalars: &'a [f32],
    dynamic: &'a [f32],
    last: usize,
}

impl State for Row<'_> {
    fn done(&self) -> bool {
        false
    }

    fn allowed(&self, allowed: &mut [bool]) {
        allowed.copy_from_slice(self.allowed);
    }

    fn last(&self) -> Option<usize> {
        Some(self.last)
    }

    fn scalars(&self, out: &mut [f32]) {
        out.copy_from_slice(self.scalars);
    }

    fn dynamic(&self, _: &[bool], out: &mut [f32]) {
        out.copy_from_slice(self.dynamic);
    }

    fn step(&mut self, _: usize) {}
}

impl<'a> StepInputs<'a> {
    fn row(&self, at: usize, nodes: usize, scalars: usize) -> Row<'a> {
        let dynamic = if self.dynamic.is_empty() { &[][..] } else { &self.dynamic[at * nodes..][..nodes] };
        Row {
            allowed: &self.allowed[at * nodes..][..nodes],
            scalars: &self.scalars[at * scalars..][..scalars],
            dynamic,
            last: self.last[at] as usize,
        }
    }
}

/// The decoder of a batch of instances whose trajectories are stepped together. The context is the last node and scalars.
pub struct Lockstep<'a> {
    tables: Tables<'a>,
    instances: usize,
    /// Trajectories of an instance.
    trajectories: usize,
    selectors: Vec<NodeSelector>,
}

impl<'a> Lockstep<'a> {
    /// The decoder for `embeddings [instances, nodes, width]` with so many trajectories of each. Random numbers are those of
    /// instances numbered from `first`.
    ///
    /// # Panics
    /// If the context of the decoder has the first node, or `embeddings` do not hold whole instances.
    pub fn new(
        packed: &'a PackedDecoder,
        nodes: usize,
        embeddings: &'a [f32],
        trajectories: usize,
        selection: NodeSelection,
        first: usize,
    ) -> Self {
        assert!(!packed.uses_first(), "the context is the last node and scalars");
        let instances = embeddings.len() / (nodes * packed.width).max(1);
        assert_eq!(embeddings.len(), instances * nodes * packed.width, "embeddings of whole instances");
        let selector = |at: usize| {
            let (b, k) = (at / trajectories, at % trajectories);
            NodeSelector::new(selection, NodeSelection::stream(first + b, k))
        };
        let selectors = (0..instances * trajectories).map(selector).collect();
        Self { tables: packed.tables(nodes, embeddings), instances, trajectories, selectors }
    }

    /// Selects the next node of every active trajectory, with its log-probability; NaN where a probability is not a number
    /// or no node is allowed.
    ///
    /// # Panics
    /// If the inputs have another size.
    pub fn select(&mut self, inputs: &StepInputs<'_>) -> Vec<(u32, f32)> {
        let (nodes, scalars) = (self.tables.nodes, self.tables.packed.scalars);
        assert_eq!(inputs.allowed.len(), inputs.active.len() * nodes, "a mask for every active trajectory");
        let ranges = ranges(inputs.active, self.instances, self.trajectories);
        let mut chosen = vec![(0, f32::NAN); inputs.active.len()];
        let (tables, trajectories) = (&self.tables, self.trajectories);
        let of_instances = split(&mut chosen, &ranges);
        of_instances
            .into_par_iter()
            .zip(self.selectors.par_chunks_mut(trajectories.max(1)))
            .enumerate()
            .with_min_len(4)
            .for_each(|(b, (chosen, selectors))| {
                let range = ranges[b].clone();
                let members = Members { table: tables.of_instance(b), inputs, range, nodes, scalars };
                simd::run(Select { members, trajectories, first: b * trajectories, selectors, chosen });
            });
        chosen
    }

    /// Log-probabilities of the next node of every active trajectory, `[active, nodes]`, −∞ for nodes that are not allowed;
    /// NaN in rows where a probability is not a number or no node is allowed.
    ///
    /// # Panics
    /// As [`Self::select`].
    pub fn log_probabilities(&self, inputs: &StepInputs<'_>) -> Vec<f32> {
        let (nodes, scalars) = (self.tables.nodes, self.tables.packed.scalars);
        assert_eq!(inputs.allowed.len(), inputs.active.len() * nodes, "a mask for every active trajectory");
        let ranges = ranges(inputs.active, self.instances, self.trajectories);
        let mut rows = vec![0.0; inputs.active.len() * nodes];
        let wide: Vec<Range<usize>> = ranges.iter().map(|range| range.start * nodes..range.end * nodes).collect();
        split(&mut rows, &wide).into_par_iter().enumerate().for_each(|(b, rows)| {
            let members =
                Members { table: self.tables.of_instance(b), inputs, range: ranges[b].clone(), nodes, scalars };
            simd::run(LogProbabilities { members, rows });
        });
        rows
    }
}

/// The active rows of each instance.
fn ranges(active: &[u32], instances: usize, trajectories: usize) -> Vec<Range<usize>> {
    let mut at = 0;
    (0..instances)
        .map(|b| {
            let (start, end) = (at, ((b + 1) * trajectories) as u32);
            while active.get(at).is_some_and(|trajectory| *trajectory < end) {
                at += 1;
            }
            start..at
        })
        .collect()
}

/// Cuts a slice into pieces that follow each other.
fn split<'s, T>(mut rest: &'s mut [T], ranges: &[Range<usize>]) -> Vec<&'s mut [T]> {
    let mut pieces = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (piece, after) = rest.split_at_mut(range.len());
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The active trajectories of one instance.
struct Members<'a> {
    table: Table<'a>,
    inputs: &'a StepInputs<'a>,
    range: Range<usize>,
    nodes: usize,
    scalars: usize,
}

impl Members<'_> {
    fn row(&self, at: usize) -> Row<'_> {
        self.inputs.row(at, self.nodes, self.scalars)
    }
}

struct Select<'a> {
    members: Members<'a>,
    trajectories: usize,
    /// Number of the first trajectory of the instance.
    first: usize,
    selectors: &'a mut [NodeSelector],
    chosen: &'a mut [(u32, f32)],
}

impl WithSimd for Select<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { members, trajectories, first, selectors, chosen } = self;
        let own = |at: usize| members.inputs.active[at] as usize - first;
        let begin = members.range.start;
        if trajectories < MIN_GROUP {
            let mut scratch = Scratch::new(&members.table);
            for at in members.range.clone() {
                let lse = logits(simd, &members.table, &members.row(at), &mut scratch);
                if lse.is_finite() {
                    let node = selectors[own(at)].select(&scratch.logits);
                    chosen[at - begin] = (node as u32, scratch.logits[node] - lse);
                }
            }
            return;
        }
        // Groups as in a rollout of single states, so that products are added in the same order.
        let size = group_size(trajectories);
        let mut from = begin;
        while from < members.range.end {
            let group = own(from) / size;
            let mut to = from;
            while to < members.range.end && own(to) / size == group {
                to += 1;
            }
            let mut rows = Rows::new(&members.table, to - from);
            for (row, at) in (from..to).enumerate() {
                rows.read_state(simd, &members.table, row, row, &members.row(at));
            }
            rows.logits(simd, &members.table, to - from);
            for (row, at) in (from..to).enumerate() {
                let (logits, lse) = rows.clipped(simd, &members.table, row);
                if lse.is_finite() {
                    let node = selectors[own(at)].select(logits);
                    chosen[at - begin] = (node as u32, logits[node] - lse);
                }
            }
            from = to;
        }
    }
}

struct LogProbabilities<'a> {
    members: Members<'a>,
    rows: &'a mut [f32],
}

impl WithSimd for LogProbabilities<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { members, rows } = self;
        let mut scratch = Scratch::new(&members.table);
        for (out, at) in rows.chunks_exact_mut(members.nodes.max(1)).zip(members.range.clone()) {
            let lse = logits(simd, &members.table, &members.row(at), &mut scratch);
            if lse.is_finite() {
                out.iter_mut().zip(&scratch.logits).for_each(|(out, logit)| *out = logit - lse);
            } else {
                out.fill(f32::NAN);
            }
        }
    }
}

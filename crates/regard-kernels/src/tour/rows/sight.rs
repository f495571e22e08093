//! Steps of tours: the steps with a choice, the chosen nodes and the masks.

use super::{Rows, Scratch, Step};
use crate::tour::{Sight, Tours, words};

impl<'a> Tours<'a> {
    /// The tours of instance `b` only.
    pub(in crate::tour) fn of_instance(&self, b: usize, scalars: usize) -> Self {
        let (per, cells) = (self.trajectories, self.trajectories * self.steps);
        let numbers_of = |all: &'a [f32], count: usize| &all[b * cells * count..][..cells * count];
        let sight = match self.sight {
            Sight::Unvisited => Sight::Unvisited,
            Sight::Recorded { lengths, open, scalars: context, dynamic } => Sight::Recorded {
                lengths: &lengths[b * per..][..per],
                open: &open[b * cells * words(self.nodes)..][..cells * words(self.nodes)],
                scalars: numbers_of(context, scalars),
                dynamic: numbers_of(dynamic, if dynamic.is_empty() { 0 } else { self.nodes }),
            },
        };
        Self { batch: 1, order: &self.order[b * cells..][..cells], sight, ..*self }
    }
}

impl Rows<'_> {
    /// Number of steps that may have a choice. If every node is visited, the last step has none.
    pub(super) fn chosen_steps(&self, trajectory: usize) -> usize {
        match self.tours.sight {
            Sight::Unvisited => self.table.nodes.saturating_sub(1),
            Sight::Recorded { lengths, .. } => lengths[trajectory] as usize,
        }
    }

    /// The row of a step; `None` if only one node was allowed, which has probability one.
    #[inline(always)]
    pub(super) fn see(&self, scratch: &mut Scratch, trajectory: usize, step: usize) -> Option<Step> {
        let at = trajectory * self.tours.steps + step;
        let place = |before: usize| if self.ordered { step - before } else { self.tours.order[at - before] as usize };
        let Sight::Recorded { open, dynamic, .. } = self.tours.sight else {
            let last = (step > 0).then(|| place(1));
            return Some(Step { trajectory, step, sight: trajectory, now: step as f32, chosen: place(0), last });
        };
        let bits = words(self.table.nodes);
        let bits = &open[at * bits..][..bits];
        if bits.iter().map(|word| word.count_ones()).sum::<u32>() == 1 {
            return None;
        }
        let sight = scratch.steps.len();
        let padded = self.table.padded;
        scratch.positions.resize(scratch.block * padded, -1.0);
        let row = &mut scratch.positions[sight * padded..][..self.table.nodes];
        for (node, position) in row.iter_mut().enumerate() {
            *position = if bits[node / 64] >> (node % 64) & 1 == 1 { 1.0 } else { -1.0 };
        }
        if !dynamic.is_empty() {
            let numbers = &dynamic[at * self.table.nodes..][..self.table.nodes];
            scratch.numbers[sight * padded..][..self.table.nodes].copy_from_slice(numbers);
        }
        let last = Some(if step > 0 { place(1) } else { 0 });
        Some(Step { trajectory, step, sight, now: 0.0, chosen: place(0), last })
    }

    /// Writes the position of each node in each tour, −1 in the padding.
    pub(super) fn write_positions(&self, positions: &mut Vec<f32>) {
        let (steps, padded) = (self.tours.steps, self.table.padded);
        positions.resize(self.tours.trajectories * padded, -1.0);
        for (tour, positions) in self.tours.order.chunks_exact(steps).zip(positions.chunks_exact_mut(padded)) {
            for (step, &node) in tour.iter().enumerate() {
                positions[if self.ordered { step } else { node as usize }] = step as f32;
            }
        }
    }

    /// Scalars of the context of a step.
    #[inline(always)]
    pub(super) fn scalars(&self, step: &Step) -> &[f32] {
        match self.tours.sight {
            Sight::Unvisited => &[],
            Sight::Recorded { scalars, .. } => {
                let count = self.table.folded.scalars;
                &scalars[(step.trajectory * self.tours.steps + step.step) * count..][..count]
            }
        }
    }
}

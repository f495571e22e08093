//! How the rows of a ragged batch are cut into tasks, by the sizes alone.

use std::ops::Range;

pub(super) use crate::buffer::parts;

/// Rows worked on at a time: a block with what is made of it stays in the second-level cache.
pub(super) const BLOCK: usize = 120;
/// Tasks a large batch is cut into, about; each has sums of its own, added in order at the end.
const TASKS: usize = 40;

/// Consecutive rows of one set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) set: usize,
    /// Number of the piece among all pieces of the plan; a set has one where it is not cut.
    pub(super) slot: usize,
    /// Rows of the packed array.
    pub(super) rows: Range<usize>,
}

/// Consecutive rows of the packed array: several small sets, or a part of a large one.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) rows: Range<usize>,
    pub(super) pieces: Vec<Piece>,
}

/// Blocks of `rows` rows.
pub(super) fn blocks(rows: usize) -> usize {
    rows.div_ceil(BLOCK)
}

impl Task {
    /// The rows of the task, [`BLOCK`] at a time.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let Range { start, end } = self.rows;
        (start..end).step_by(BLOCK).map(move |first| first..(first + BLOCK).min(end))
    }

    /// What a block has of each set.
    pub(super) fn pieces_of(&self, block: Range<usize>) -> impl Iterator<Item = Piece> {
        let first = self.pieces.partition_point(|piece| piece.rows.end <= block.start);
        let here = self.pieces[first..].iter().take_while(move |piece| piece.rows.start < block.end);
        here.map(move |piece| Piece {
            rows: piece.rows.start.max(block.start)..piece.rows.end.min(block.end),
            ..piece.clone()
        })
    }
}

/// The tasks of a ragged batch, in the order of its rows. Sets without rows have no piece.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) tasks: Vec<Task>,
    /// Pieces of each set.
    pub(super) slots: Vec<Range<usize>>,
}

/// Rows of a task when there are `total`.
pub(super) fn task_rows(total: usize) -> usize {
    total.div_ceil(TASKS).next_multiple_of(BLOCK).max(2 * BLOCK)
}

impl Plan {
    /// Cuts sets larger than a task into equal parts and puts smaller ones together.
    pub(super) fn of(offsets: &[usize]) -> Self {
        let most = task_rows(offsets.last().copied().unwrap_or(0));
        let mut plan = Self { tasks: Vec::new(), slots: Vec::new() };
        let mut slot = 0;
        let mut open = false;
        for (set, bounds) in offsets.windows(2).enumerate() {
            let (start, end) = (bounds[0], bounds[1]);
            let parts = (end - start).div_ceil(most);
            let size = (end - start).div_ceil(parts.max(1)).next_multiple_of(12).max(1);
            let before = slot;
            for first in (start..end).step_by(size) {
                let piece = Piece { set, slot, rows: first..(first + size).min(end) };
                slot += 1;
                match plan.tasks.last_mut() {
                    Some(task) if open && parts == 1 && piece.rows.end - task.rows.start <= most => {
                        task.rows.end = piece.rows.end;
                        task.pieces.push(piece);
                    }
                    _ => plan.tasks.push(Task { rows: piece.rows.clone(), pieces: vec![piece] }),
                }
                open = parts == 1;
            }
            plan.slots.push(before..slot);
        }
        plan
    }

    /// Pieces of all sets.
    pub(super) fn pieces(&self) -> usize {
        self.slots.last().map_or(0, |slots| slots.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_every_set_is_in_one_piece() {
        for sizes in [vec![], vec![0], vec![5, 0, 1, 400, 3, 3, 0], vec![1000; 10], vec![1; 700], vec![100_000, 2]] {
            let mut offsets = vec![0];
            offsets.extend(sizes.iter().scan(0, |sum, size| {
                *sum += size;
                Some(*sum)
            }));
            let plan = Plan::of(&offsets);
            let mut next = 0;
            let mut slot = 0;
            for task in &plan.tasks {
                assert_eq!(task.rows.start, next);
                for block in task.blocks() {
                    for piece in task.pieces_of(block) {
                        assert!(piece.rows.start == next && piece.rows.end > next);
                        assert!(offsets[piece.set] <= next && piece.rows.end <= offsets[piece.set + 1]);
                        assert!(plan.slots[piece.set].contains(&piece.slot));
                        next = piece.rows.end;
                    }
                }
                for piece in &task.pieces {
                    assert_eq!(piece.slot, slot);
                    slot += 1;
                }
            }
            assert_eq!((next, slot), (offsets[sizes.len()], plan.pieces()));
        }
    }

    #[test]
    fn large_sets_are_cut_and_small_ones_put_together() {
        assert!(Plan::of(&[0, 1_000_000]).tasks.len() >= TASKS - 1);
        let offsets: Vec<usize> = (0..=1000).map(|i| 3 * i).collect();
        assert!(Plan::of(&offsets).tasks.len() <= 2 * TASKS);
    }
}

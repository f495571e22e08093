//! Partition of the rows of a ragged batch into tasks. It depends on the sizes alone.

use std::ops::Range;

pub(super) use crate::buffer::parts;

/// Number of rows in a block: the block and its intermediate results stay in the second-level cache.
pub(super) const BLOCK: usize = 120;
/// Approximate number of tasks of a large batch. Each task has its own sums, which are added in order.
const TASKS: usize = 40;

/// Consecutive rows of one set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) set: usize,
    /// Index of the piece among all pieces of the plan; a set that is not split has one piece.
    pub(super) index: usize,
    /// Range of rows in the packed array.
    pub(super) rows: Range<usize>,
}

/// Consecutive rows of the packed array: several small sets, or a part of a large one.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) rows: Range<usize>,
    pub(super) pieces: Vec<Piece>,
}

/// Number of blocks of `rows` rows.
pub(super) fn blocks(rows: usize) -> usize {
    rows.div_ceil(BLOCK)
}

impl Task {
    /// The rows of the task, [`BLOCK`] at a time.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let Range { start, end } = self.rows;
        (start..end).step_by(BLOCK).map(move |first| first..(first + BLOCK).min(end))
    }

    /// The part of each set that lies in a block.
    pub(super) fn pieces_of(&self, block: Range<usize>) -> impl Iterator<Item = Piece> {
        let first = self.pieces.partition_point(|piece| piece.rows.end <= block.start);
        let here = self.pieces[first..].iter().take_while(move |piece| piece.rows.start < block.end);
        here.map(move |piece| Piece {
            rows: piece.rows.start.max(block.start)..piece.rows.end.min(block.end),
            ..piece.clone()
        })
    }
}

/// The tasks of a ragged batch, in the order of its rows. Empty sets have no piece.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) tasks: Vec<Task>,
    /// Indices of the pieces of each set.
    pub(super) set_pieces: Vec<Range<usize>>,
}

/// Maximum number of rows of a task if there are `total` rows.
pub(super) fn task_rows(total: usize) -> usize {
    total.div_ceil(TASKS).next_multiple_of(BLOCK).max(2 * BLOCK)
}

impl Plan {
    /// Splits sets larger than a task into equal parts and combines smaller ones.
    pub(super) fn of(offsets: &[usize]) -> Self {
        let most = task_rows(offsets.last().copied().unwrap_or(0));
        let mut plan = Self { tasks: Vec::new(), set_pieces: Vec::new() };
        let mut index = 0;
        let mut combines = false;
        for (set, bounds) in offsets.windows(2).enumerate() {
            let (start, end) = (bounds[0], bounds[1]);
            let parts = (end - start).div_ceil(most);
            let size = (end - start).div_ceil(parts.max(1)).next_multiple_of(12).max(1);
            let before = index;
            for first in (start..end).step_by(size) {
                let piece = Piece { set, index, rows: first..(first + size).min(end) };
                index += 1;
                match plan.tasks.last_mut() {
                    Some(task) if combines && parts == 1 && piece.rows.end - task.rows.start <= most => {
                        task.rows.end = piece.rows.end;
                        task.pieces.push(piece);
                    }
                    _ => plan.tasks.push(Task { rows: piece.rows.clone(), pieces: vec![piece] }),
                }
                combines = parts == 1;
            }
            plan.set_pieces.push(before..index);
        }
        plan
    }

    /// Number of pieces of all sets.
    pub(super) fn pieces(&self) -> usize {
        self.set_pieces.last().map_or(0, |set_pieces| set_pieces.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_exactly_one_piece() {
        for sizes in [vec![], vec![0], vec![5, 0, 1, 400, 3, 3, 0], vec![1000; 10], vec![1; 700], vec![100_000, 2]] {
            let mut offsets = vec![0];
            offsets.extend(sizes.iter().scan(0, |sum, size| {
                *sum += size;
                Some(*sum)
            }));
            let plan = Plan::of(&offsets);
            let mut next = 0;
            let mut index = 0;
            for task in &plan.tasks {
                assert_eq!(task.rows.start, next);
                for block in task.blocks() {
                    for piece in task.pieces_of(block) {
                        assert!(piece.rows.start == next && piece.rows.end > next);
                        assert!(offsets[piece.set] <= next && piece.rows.end <= offsets[piece.set + 1]);
                        assert!(plan.set_pieces[piece.set].contains(&piece.index));
                        next = piece.rows.end;
                    }
                }
                for piece in &task.pieces {
                    assert_eq!(piece.index, index);
                    index += 1;
                }
            }
            assert_eq!((next, index), (offsets[sizes.len()], plan.pieces()));
        }
    }

    #[test]
    fn large_sets_are_split_and_small_ones_combined() {
        assert!(Plan::of(&[0, 1_000_000]).tasks.len() >= TASKS - 1);
        let offsets: Vec<usize> = (0..=1000).map(|i| 3 * i).collect();
        assert!(Plan::of(&offsets).tasks.len() <= 2 * TASKS);
    }
}

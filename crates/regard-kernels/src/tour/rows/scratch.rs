
use pulp::Simd;

use crate::{buffer::Workspace, tour::weights::Folded};

/// Number of floats of all heads' weights in a block. They take half of the second-level cache; the
/// rest is for the tables.
const WEIGHTS: usize = 1 << 15;

/// Scratch memory of one block of steps.
pub(in crate::tour) struct Scratch {
    /// Number of steps in a block.
    pub(super) block: usize,
    /// `[block, width]` each.
    pub(super) query: Workspace,
    pub(super) query_grad: Workspace,
    pub(super) glimpse: Workspace,
    pub(super) glimpse_grad: Workspace,
    /// `[heads, block, padded]`.
    pub(super) weights: Workspace,
    /// `[block, padded]`.
    pub(super) logits: Workspace,
    /// Rows that define the allowed nodes of steps, see [`Step::now`]: `[rows, padded]`.
    pub(super) positions: Vec<f32>,
    /// Dynamic feature of the nodes in each row, zeros in the padding: `[block, padded]`; empty without one.
    pub(super) numbers: Workspace,
    pub(super) steps: Vec<Step>,
}

/// One row of a block: a step of a tour.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// Index of the tour.
    pub(super) trajectory: usize,
    /// Index of the step.
    pub(super) step: usize,
    /// Row of the positions; a node is allowed if its position is at least `now`.
    pub(super) sight: usize,
    pub(super) now: f32,
    /// Indices of the chosen and of the last node among the rows of the table.
    pub(super) chosen: usize,
    pub(super) last: Option<usize>,
}

impl Scratch {
    pub(in crate::tour) fn new<S: Simd>(nodes: usize, folded: &Folded) -> Self {
        let (width, heads) = (folded.width, folded.heads);
        let padded = nodes.next_multiple_of(S::F32_LANES);
        let block = (WEIGHTS / (heads * padded) / 12 * 12).clamp(12, 96);
        let rows = || Workspace::lease(block * width);
        Self {
            block,
            query: rows(),
            query_grad: rows(),
            glimpse: rows(),
            glimpse_grad: rows(),
            weights: Workspace::lease(heads * block * padded),
            logits: Workspace::lease(block * padded),
            positions: Vec::new(),
            numbers: Workspace::zeros(if folded.moves { block * padded } else { 0 }),
            steps: Vec::with_capacity(block),
        }
    }
}

//! Self-attention of many short sequences as one sub-layer, `norm(x + dropout(MHA(x)·W + b))` or
//! `dropout(MHA(x)·W + b)` (PatchTST, Nie et al. 2023, section 3.1), forward and backward.
//!
//! Inside a block the layout is `[channels, positions]`, with the positions of the block's sequences
//! side by side. Scores of a head are then matrix products whose long side is the sequence, even if
//! the head is narrow: a row of values of a head of width four would fill a quarter of a register.
//! The forward pass computes scores key by key, so that a softmax runs over registers and needs no sum
//! across one. The backward pass computes them query by query, so that the gradients of keys and
//! values are products of the same kind.
//!
//! Largest score and sum of every row are saved. The backward pass computes the same products in the
//! same order, so its weights equal those of the forward pass to the bit.

mod backward;
mod forward;
mod heads;
mod projections;

pub use crate::sublayer::{Linear, Tail};
use crate::{
    buffer::Workspace,
    dropout::Dropout,
    norm::{Moments, Rows},
};
pub use backward::{Gradients, LinearGradients, sequence_attention_backward};
pub use forward::sequence_attention;
pub use projections::{Projections, Scores};

/// Sizes and dropout of the layer.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Number of sequences, patches per sequence and width of a patch.
    pub rows: Rows,
    /// Number of heads.
    pub heads: usize,
    /// Width of one head of queries and keys.
    pub key_width: usize,
    /// Width of one head of values.
    pub value_width: usize,
    /// Dropout of the attention weights; mask rows are `(sequence · heads + head) · patches + query`, mask
    /// columns are keys.
    pub weights_dropout: Option<Dropout>,
    /// Dropout of the result before the residual; mask rows are `sequence · patches + patch`.
    pub residual_dropout: Option<Dropout>,
}

impl Layer {
    fn keys(&self) -> usize {
        self.heads * self.key_width
    }

    fn values(&self) -> usize {
        self.heads * self.value_width
    }

    /// Stride from one channel of a block to the next, in floats.
    fn ld(&self) -> usize {
        self.rows.block().next_multiple_of(16)
    }
}

/// Values saved by the forward pass for the backward pass, one block after the other.
#[derive(Debug)]
pub struct Saved {
    /// `[projected channels, ld]` for each block.
    projected: Workspace,
    /// `[heads · value_width, ld]` for each block.
    attended: Workspace,
    /// `[heads, 2, patches]` for each sequence: largest score of a query and 1 / sum of its exponentials.
    softmax: Workspace,
    /// Input of the norm, `[rows, width]`, and its moments, if there is a norm.
    norm: Option<(Workspace, Moments)>,
}

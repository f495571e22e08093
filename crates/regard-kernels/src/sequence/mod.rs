//! Self-attention of many short sequences as one sub-layer, `norm(x + drop(MHA(x)·W + b))` or
//! `drop(MHA(x)·W + b)` (PatchTST, Nie et al. 2023, section 3.1), forward and backward.
//!
//! Inside a block numbers stand channel by channel, `[channels, positions]`, the positions of the
//! block's sequences side by side. Scores of a head are then products of matrices whose long side is
//! the sequence, however narrow the head is: with heads of four numbers a row of values would fill a
//! quarter of a register. Forward they are made key by key, so that softmax runs down the registers
//! and needs no sum across one; backward query by query, so that gradients of keys and values are
//! products of the same kind.
//!
//! Largest score and sum of every row are kept, and the same products in the same order make the
//! same scores again: weights come out to the bit as they were.

mod backward;
mod block;
mod forward;
mod gradients;
mod heads;
mod heads_backward;
mod maps;

pub use forward::sequence_attention;
pub use gradients::{Gradients, LinearGradients, sequence_attention_backward};
pub use maps::{Maps, Scores};

pub use crate::sublayer::{Linear, Tail};
use crate::{buffer::Workspace, dropout::Dropout, norm::Moments, norm::Rows};

/// Sizes and switches.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Sequences, patches of each, width of a patch.
    pub rows: Rows,
    /// Heads.
    pub heads: usize,
    /// Width of one head of queries and keys.
    pub key_width: usize,
    /// Width of one head of values.
    pub value_width: usize,
    /// Attention weights left out, by rows `(sequence · heads + head) · patches + query` and columns
    /// `key`.
    pub weights_dropout: Option<Dropout>,
    /// Numbers left out of the result before the residual, by rows `sequence · patches + patch`.
    pub residual_dropout: Option<Dropout>,
}

impl Layer {
    fn keys(&self) -> usize {
        self.heads * self.key_width
    }

    fn values(&self) -> usize {
        self.heads * self.value_width
    }

    /// Floats from one channel of a block to the next.
    fn ld(&self) -> usize {
        self.rows.block().next_multiple_of(16)
    }
}

/// What the backward pass needs beside its inputs; blocks one after the other.
#[derive(Debug)]
pub struct Saved {
    /// `[projected channels, ld]` a block.
    projected: Workspace,
    /// `[heads · value_width, ld]` a block.
    attended: Workspace,
    /// `[heads, 2, patches]` a sequence: the largest score of a query and 1 over its sum of exponentials.
    softmax: Workspace,
    /// `[rows, width]` before the norm, where there is one, and its moments.
    norm: Option<(Workspace, Moments)>,
}

//! Blocks in which every set has its own query rows: SAB, and the second half of an ISAB.
//!
//! Keys and values of all sets are projected first. Then blocks of query rows pass through
//! projection, attention, residual and feed-forward part while they are in cache.

mod attend;
mod backward;
mod forward;

use super::{Layer, Residual, Sets};
use crate::buffer::Workspace;
use attend::Heads;
pub(super) use backward::backward;
pub(super) use forward::forward;

/// Values saved by the forward pass for the backward pass.
#[derive(Debug)]
pub(super) struct Saved {
    /// Keys and values, `[key rows, 2 · width]`.
    kv: Workspace,
    /// Queries, `[query rows, width]`.
    q: Workspace,
    /// Attended values, `[query rows, width]`; empty without an output projection.
    attended: Workspace,
    /// Input of the feed-forward part, `[query rows, width]`; empty without one.
    o: Workspace,
    /// Gates of the feed-forward part, `[blocks of all tasks, gate words]`; empty without one.
    gates: Vec<u32>,
    /// `[query rows, heads, 2]`: largest score, inverse sum of exponentials.
    stats: Workspace,
}

impl Layer {
    fn heads(&self) -> Heads {
        Heads { count: self.heads, width: self.head(), scale: self.scale }
    }

    /// The residual of a block of query rows.
    fn residual_of<'a>(&self, x: &'a [f32], q: &'a [f32]) -> Option<&'a [f32]> {
        match self.residual {
            Residual::Projected => Some(q),
            Residual::Raw => Some(x),
            Residual::None => None,
        }
    }
}

/// Keys and values of one set.
fn of_set<'a>(kv: &'a [f32], keys: Sets<'_>, width: usize, set: usize) -> &'a [f32] {
    &kv[keys.offsets[set] * 2 * width..keys.offsets[set + 1] * 2 * width]
}

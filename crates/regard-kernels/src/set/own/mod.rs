//! Blocks in which every set has its own query rows: SAB, and the second half of an ISAB.
//!
//! Keys and values of all sets are projected first; then blocks of query rows go through
//! projection, attention, residual and feed-forward part while they are in cache.

mod attend;
mod backward;
mod forward;

use super::{Layer, Residual, Sets};
use crate::buffer::Workspace;
use attend::Heads;
pub(super) use backward::backward;
pub(super) use forward::forward;

/// What the backward pass needs of the forward pass.
#[derive(Debug)]
pub(super) struct Saved {
    /// `[key rows, 2 · width]`: keys, values.
    kv: Workspace,
    /// `[query rows, width]`.
    q: Workspace,
    /// `[query rows, width]` where there is an output projection, else empty.
    attended: Workspace,
    /// `[query rows, width]`: before the feed-forward part, where there is one, else empty.
    o: Workspace,
    /// Open units of the feed-forward part, `[blocks of all tasks, gate words]`, else empty.
    gates: Vec<u32>,
    /// `[query rows, heads, 2]`: largest score, inverse sum of exponentials.
    stats: Workspace,
}

impl Layer {
    fn heads(&self) -> Heads {
        Heads { count: self.heads, width: self.head(), scale: self.scale }
    }

    /// What a block of query rows adds its attention to.
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

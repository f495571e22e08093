//! The rollout: whole tours constructed node by node, without a framework call per step.
//!
//! Per instance, once: keys and values of the glimpse, logit keys with the glimpse's output
//! projection folded in, and every node's share of the step context as the node visited last.
//! A step is then `query = fixed + first + last + scalars`, a masked glimpse, logits, a pick:
//! about `3 · nodes · width` multiply-adds and no matrix product (Kool et al. 2019, section 3.2).
//! A number a node that changes from step to step moves keys and values along one direction each;
//! scores, glimpse and logits are corrected for it, the tables stay.
//!
//! What may be visited is the business of a [`State`]; the kernel knows masks and contexts only.

mod beam;
mod construct;
mod decoder;
mod pick;
mod step;
mod together;

pub use beam::{beam, survivors};
pub use construct::{Outcome, rollout};
pub(crate) use decoder::folded_logit_keys;
pub use decoder::{Decoder, Prepared};
pub use pick::{Pick, Picker};

/// A partial solution, as far as the decoder needs to know it.
pub trait State: Send {
    /// Whether nothing is left to choose.
    fn done(&self) -> bool;
    /// Sets `open[node]` to whether `node` may be chosen now. At least one may unless `done`.
    fn allowed(&self, open: &mut [bool]);
    /// The node the context names as first, once there is one.
    fn first(&self) -> Option<usize>;
    /// The node the context names as last visited, once there is one.
    fn last(&self) -> Option<usize>;
    /// Further numbers of the context (remaining capacity, …); as many as the decoder has weights for.
    fn scalars(&self, out: &mut [f32]);
    /// One number a node that changes from step to step (what is left to deliver there, …), for
    /// decoders that have weights for it: keys and values of node `j` move by `out[j]` times them.
    fn dynamic(&self, _out: &mut [f32]) {}
    /// Visits `node`.
    fn step(&mut self, node: usize);
}

//! Rollout of a routing policy: constructs whole tours node by node, without a tensor-library call
//! per step (Kool et al. 2019, "Attention, Learn to Solve Routing Problems!", section 3.2).
//!
//! The following is computed once per instance: keys and values of the glimpse, logit keys with the
//! output projection of the glimpse folded in, and the contribution of every node to the step context
//! as last node. A step is then `query = fixed + first + last + scalars`, a masked glimpse, the logits
//! and the choice of a node: about `3 · nodes · width` multiply-adds and no matrix product. A dynamic
//! feature of the nodes adds a multiple of one vector to each key and value. Scores, glimpse and
//! logits are corrected for it; the tables do not change.
//!
//! A [`State`] holds the rules of a problem; the kernel reads its masks and contexts only.

mod beam;
mod construct;
mod decoder;
mod group;
mod lockstep;
mod node_selection;
mod step;

pub use beam::{beam, beam_step};
pub use construct::{Outcome, rollout};
pub(crate) use decoder::folded_logit_keys;
pub use decoder::{Decoder, PackedDecoder};
pub use lockstep::{Lockstep, StepInputs};
pub use node_selection::{NodeSelection, NodeSelector};

/// A partial solution of a routing problem, as the decoder reads it.
pub trait State: Send {
    /// True if the solution is finished.
    fn done(&self) -> bool;
    /// Sets `allowed[node]` to true if `node` may be chosen now. At least one node may be chosen unless
    /// the solution is finished.
    fn allowed(&self, allowed: &mut [bool]);
    /// The first node of the context, once there is one; `None` throughout where the context has none.
    fn first(&self) -> Option<usize> {
        None
    }
    /// The last visited node of the context, once there is one.
    fn last(&self) -> Option<usize>;
    /// Writes the scalars of the context (remaining capacity, …); there are as many as the decoder has
    /// weights for.
    fn scalars(&self, out: &mut [f32]);
    /// Writes the dynamic feature of every node (remaining demand, …), for decoders with weights for it:
    /// keys and values of node `j` change by `out[j]` times these weights. `allowed` is what [`Self::allowed`] says.
    fn dynamic(&self, _allowed: &[bool], _out: &mut [f32]) {}
    /// Why `node` may not be chosen now; asked only of nodes that [`Self::allowed`] bars.
    fn reason(&self, _node: usize) -> &'static str {
        "visited"
    }
    /// Visits `node`.
    fn step(&mut self, node: usize);
}

//! The two sub-layers of a transformer encoder as single kernels: `norm(x + attention(x))` and
//! `norm(x + feed_forward(x))` (Kool et al. 2019, section 3.1, equations 2 and 3); and what stands
//! before and after an attention along edges, [`projections`] and [`output`].
//!
//! A block of instances goes through projections, attention, output projection and residual
//! while it is in the second-level cache. Norms over one instance or one row follow at once, as
//! does batch norm with running statistics, folded into the output projection; batch norm with
//! the batch's own statistics needs one global sum and is a second phase.

mod attention;
mod attention_backward;
mod feed_forward;
mod feed_forward_backward;
mod feed_forward_weights;
mod gelu;
mod group;
mod heads;
mod output;
mod projections;

pub use attention::{AttentionLayer, AttentionSaved, AttentionWeights, attention};
pub use attention_backward::{AttentionGradients, attention_backward};
pub use feed_forward::{FeedForwardSaved, feed_forward};
pub use feed_forward_backward::{FeedForwardGradients, feed_forward_backward};
pub use feed_forward_weights::{Dropouts, FeedForwardWeights, Tail};
pub(crate) use group::{Accumulators, total};
pub use heads::{Heads, Linear};
pub use output::{OutputGradients, OutputSaved, output, output_backward};
pub use projections::{ProjectionGradients, projections, projections_backward};

/// What a linear unit is followed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x · Φ(x)` with the exact normal distribution (Hendrycks & Gimpel 2016).
    Gelu,
}

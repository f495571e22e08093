//! The two sub-layers of a transformer encoder as single kernels: `norm(x + attention(x))` and
//! `norm(x + feed_forward(x))` (Kool et al. 2019, section 3.1, equations 2 and 3); and the linear
//! layers before and after an attention along graph edges, [`projections`] and [`output`].
//!
//! A block of instances passes through projections, attention, output projection and residual while
//! it is in the second-level cache. Instance and layer norm are applied to it at once. Batch norm with
//! running statistics is folded into the output projection. Batch norm with batch statistics needs a
//! sum over the whole batch and is applied in a second phase.

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

/// Activation functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x · Φ(x)` with the exact normal distribution (Hendrycks & Gimpel 2016).
    Gelu,
}

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
mod output;
mod projections;

use crate::{buffer::Workspace, norm::NormSums, vector::sum_in_order};
pub use attention::{AttentionLayer, AttentionSaved, AttentionWeights, Pairs, attention};
pub use attention_backward::{AttentionGradients, attention_backward};
pub use feed_forward::{Dropouts, FeedForwardSaved, FeedForwardWeights, Tail, feed_forward};
pub use feed_forward_backward::{FeedForwardGradients, feed_forward_backward};
pub use output::{OutputGradients, OutputSaved, output, output_backward};
pub use projections::{Heads, Linear, ProjectionGradients, projections, projections_backward};

/// Activation functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x · Φ(x)` with the exact normal distribution (Hendrycks & Gimpel 2016).
    Gelu,
}

/// Gradients of the weights, summed over one group of blocks.
pub(crate) struct Accumulators<const N: usize> {
    pub(crate) weights: [Workspace; N],
    pub(crate) norm: NormSums,
}

impl<const N: usize> Accumulators<N> {
    pub(crate) fn zeros(sizes: [usize; N], width: usize) -> Self {
        Self { weights: sizes.map(Workspace::zeros), norm: NormSums::zeros(width) }
    }
}

/// Sum of the groups, in order.
pub(crate) fn sum_groups<const N: usize>(
    groups: Vec<Accumulators<N>>,
    sizes: [usize; N],
) -> ([Vec<f32>; N], Vec<NormSums>) {
    let mut index = 0;
    let sums = sizes.map(|size| {
        let mut sum = vec![0.0; size];
        let parts: Vec<&[f32]> = groups.iter().map(|group| &group.weights[index][..]).collect();
        sum_in_order(&parts, &mut sum);
        index += 1;
        sum
    });
    (sums, groups.into_iter().map(|group| group.norm).collect())
}

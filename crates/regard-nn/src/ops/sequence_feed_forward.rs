//! The feed-forward half of an encoder layer over many short sequences (Vaswani et al. 2017, §3.3; with
//! the dropouts of PatchTST, Nie et al. 2023).
//!
//! `norm(x + drop(drop(act(x W₁ + b₁)) W₂ + b₂))`, or `x + drop(…norm(x)…)` with the norm first.

use burn::tensor::Tensor;

use super::dropout::dropped;
use super::sequence_attention::{linear, normed};
use super::{Activation, Dropout, NormArgs, Normed, Projection};

/// The two maps of a feed-forward part and what stands between them.
#[derive(Clone, Debug)]
pub struct FeedForwardMaps {
    /// `[width, hidden]`
    pub first: Projection,
    /// `[hidden, width]`
    pub second: Projection,
    /// Between the two.
    pub activation: Activation,
}

/// Switches of [`sequence_feed_forward`].
#[derive(Clone, Debug, Default)]
pub struct SequenceFeedForwardOptions {
    /// Numbers of the hidden layer left out, by rows `sequence · patches + patch`.
    pub hidden_dropout: Option<Dropout>,
    /// Numbers left out before the residual, by rows as there.
    pub residual_dropout: Option<Dropout>,
    /// Whether the norm stands before the first map instead of behind the residual.
    pub norm_first: bool,
}

/// One feed-forward sub-layer of `x [sequences, patches, width]`; `norm: None` leaves the norm out.
///
/// # Panics
/// If the shapes do not fit together, or a dropout's rate is not in `[0, 1)`.
pub fn sequence_feed_forward(
    x: Tensor<3>,
    maps: FeedForwardMaps,
    norm: Option<NormArgs>,
    options: &SequenceFeedForwardOptions,
) -> Normed {
    sequence_feed_forward_composed(x, maps, norm, options)
}

/// [`sequence_feed_forward`] in ordinary tensor operations.
///
/// # Panics
/// As there.
pub fn sequence_feed_forward_composed(
    x: Tensor<3>,
    maps: FeedForwardMaps,
    norm: Option<NormArgs>,
    options: &SequenceFeedForwardOptions,
) -> Normed {
    if x.dims().contains(&0) {
        return Normed { y: x, statistics: None };
    }
    let (first, last) = if options.norm_first { (norm, None) } else { (None, norm) };
    let Normed { y: tokens, statistics } = normed(x.clone(), first);
    let hidden = maps.activation.apply(linear(tokens, maps.first));
    let hidden = dropped(hidden, options.hidden_dropout);
    let y = x + dropped(linear(hidden, maps.second), options.residual_dropout);
    let result = normed(y, last);
    Normed { y: result.y, statistics: result.statistics.or(statistics) }
}

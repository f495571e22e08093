//! The operations of attention models, one in each file.
//!
//! Each public function has two implementations: a fused CPU kernel with a hand-written backward pass,
//! and `…_composed`, the same formula in ordinary tensor operations. The composed version is the
//! reference that the kernel is tested against, and the version that other devices run. The environment
//! variable `REGARD_KERNELS=off` selects the composed versions everywhere.
//!
//! Mismatched shapes panic, as in Burn's own operations: they are errors of the program, not of its
//! input files.

mod attention;
mod attention_sublayer;
mod dropout;
mod edge_attention;
mod feed_forward;
mod feed_forward_sublayer;
mod fused;
mod mask;
mod pointer;
mod policy_loss;
mod projections;
mod residual_norm;
mod sequence_attention;
mod sequence_feed_forward;
mod set_block;
mod set_sums;
mod switch;

pub(crate) use attention::split_heads;
pub use attention::{AttentionOptions, MASKED, attention, attention_composed, attention_weights};
pub use attention_sublayer::{AttentionWeights, attention_sublayer, attention_sublayer_composed};
pub use dropout::{Dropout, dropped};
pub use edge_attention::{
    EdgeAttentionArgs, EdgeAttentionOptions, EdgeDropout, EdgeList, EdgeSoftmax, HeadLayout, edge_attention,
    edge_attention_composed, edge_attention_weights,
};
pub use feed_forward::{Activation, feed_forward, feed_forward_composed};
pub use feed_forward_sublayer::{feed_forward_sublayer, feed_forward_sublayer_composed};
pub(crate) use fused::has_kernels;
pub use mask::{DenseMask, Mask};
pub use pointer::{pointer, pointer_chosen, pointer_chosen_composed, pointer_composed};
pub(crate) use policy_loss::moved;
pub use policy_loss::{PolicyLoss, TourWeights, Tours, policy_loss, policy_loss_composed};
pub use projections::{
    Projection, output, output_sublayer, output_sublayer_composed, projections, projections_composed,
};
pub use residual_norm::{
    BatchStatistics, NormArgs, NormKind, Normed, norm_composed, residual_norm, residual_norm_composed,
};
pub use sequence_attention::{
    Carried, SequenceAttentionOptions, SequenceProjections, sequence_attention, sequence_attention_composed,
};
pub use sequence_feed_forward::{
    FeedForwardMaps, SequenceFeedForwardOptions, sequence_feed_forward, sequence_feed_forward_composed,
};
pub use set_block::{Affine, Residual, SetBlockArgs, SetQueries, set_block, set_block_composed, set_block_weights};
pub use set_sums::{set_sums, set_sums_composed};
pub use switch::{kernels_enabled, with_kernels};

//! Attention blocks as Burn modules, built from the operations in [`ops`].
//!
//! Each block has a `…Config` with its sizes; `init` creates the module. Tensors are
//! `[batch, length, width]` with the heads side by side in the width; weights of linear layers are
//! `[inputs, outputs]`.

pub mod graph;
pub mod ops;

mod encoder;
mod encoder_layer;
mod feed_forward;
mod gradient_norm;
mod multi_head_attention;
mod normalization;
mod pointer_decoder;
mod prob_attention;
mod ragged;
mod rollout;
mod sampled_keys;
pub mod series;
pub mod set;
mod two_stage_attention;

pub use encoder::{Encoder, EncoderConfig};
pub use encoder_layer::{EncoderLayer, EncoderLayerConfig};
pub use feed_forward::{FeedForward, FeedForwardConfig};
pub use gradient_norm::{clip_gradient_norm, gradient_norm};
pub use multi_head_attention::{AttentionInput, MultiHeadAttention, MultiHeadAttentionConfig, ProjectionInit};
pub use normalization::{Normalization, NormalizationConfig};
pub use pointer_decoder::{DecoderTables, PointerDecoder, PointerDecoderConfig};
pub use prob_attention::{ProbAttention, ProbAttentionConfig};
pub use ragged::Ragged;
pub use rollout::{Outcome, Pick, Rollout, State};
pub use sampled_keys::SampledKeys;
pub use two_stage_attention::{TwoStageAttention, TwoStageAttentionConfig};

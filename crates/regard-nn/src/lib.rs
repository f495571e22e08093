//! Attention blocks as Burn modules, built from the operations in [`ops`].
//!
//! Each block has a `…Config` with its sizes; `init` creates the module. Tensors are
//! `[batch, length, width]` with the heads side by side in the width; weights of linear layers are
//! `[inputs, outputs]`.

mod encoder;
mod feed_forward;
mod gradient_norm;
pub mod graph;
mod input_gradient;
mod multi_head_attention;
mod normalization;
pub mod ops;
mod pointer_decoder;
mod ragged;
mod rollout;
mod seed;
pub mod series;
pub mod set;
pub mod trace;

pub use encoder::{Encoder, EncoderConfig, EncoderLayer, EncoderLayerConfig};
pub use feed_forward::{FeedForward, FeedForwardConfig};
pub use gradient_norm::{clip_gradient_norm, gradient_norm};
pub use input_gradient::with_input_gradient;
pub use multi_head_attention::{AttentionInput, MultiHeadAttention, MultiHeadAttentionConfig, ProjectionInit};
pub use normalization::{Normalization, NormalizationConfig};
pub use pointer_decoder::{DecoderTables, PointerDecoder, PointerDecoderConfig};
pub use ragged::Ragged;
pub use regard_kernels::precision;
pub use rollout::{LockstepDecoder, NodeSelection, Outcome, Rollout, State, StepInputs, beam_step};
pub use seed::{drawing, with_seed};

//! Blocks on sets: those of the Set Transformer (Lee et al. 2019) and the pooling of Deep Sets (Zaheer et
//! al. 2017), on [`Ragged`](crate::Ragged) batches.

mod attention_block;
mod induced_block;
mod norm;
mod pooling;
mod self_block;

pub use attention_block::{BlockNorm, QuerySource, ScoreScale, SetAttentionBlock, SetAttentionBlockConfig};
pub use induced_block::{InducedSetBlock, InducedSetBlockConfig};
pub use norm::{RaggedNorm, RaggedNormConfig, RaggedNormKind};
pub use pooling::{
    AttentionPooling, AttentionPoolingConfig, DotPooling, DotPoolingConfig, Reduction, reduce, reduction_weights,
};
pub use self_block::{SelfSetBlock, SelfSetBlockConfig};

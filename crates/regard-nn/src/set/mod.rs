//! Blocks on sets: those of the Set Transformer (Lee et al. 2019) and the pooling of Deep Sets (Zaheer et
//! al. 2017), on [`Ragged`](crate::Ragged) batches.

mod attention_block;
mod norm;
mod pooling;

pub use attention_block::{
    BlockNorm, InducedSetBlock, InducedSetBlockConfig, QuerySource, ScoreScale, SelfSetBlock, SelfSetBlockConfig,
    SetAttentionBlock, SetAttentionBlockConfig,
};
pub use norm::{RaggedNorm, RaggedNormConfig, RaggedNormKind};
pub use pooling::{
    AttentionPooling, AttentionPoolingConfig, DotPooling, DotPoolingConfig, GatedPooling, GatedPoolingConfig,
    Reduction, reduce, reduction_weights,
};

//! The set attention block, SAB (Lee et al. 2019, §3.1, eq. 8): a set attends to itself.

use burn::module::Module;
use burn::tensor::Device;

use super::{QuerySource, SetAttentionBlock, SetAttentionBlockConfig};
use crate::Ragged;

/// Sizes of a [`SelfSetBlock`]: those of its one block.
#[derive(Clone, Debug)]
pub struct SelfSetBlockConfig(pub SetAttentionBlockConfig);

/// `SAB(x) = MAB(x, x)`, in time `n²`.
#[derive(Module, Debug)]
pub struct SelfSetBlock {
    /// The block.
    pub mab: SetAttentionBlock,
}

impl SelfSetBlockConfig {
    /// Items of `inputs` numbers, in a block of `width`.
    pub fn new(inputs: usize, width: usize, heads: usize) -> Self {
        Self(SetAttentionBlockConfig::new(inputs, inputs, width, heads))
    }

    /// Fresh weights.
    ///
    /// # Panics
    /// As [`SetAttentionBlockConfig::init`].
    pub fn init(&self, device: &Device) -> SelfSetBlock {
        SelfSetBlock { mab: self.0.clone().with_queries(QuerySource::Keys).init(device) }
    }
}

impl SelfSetBlock {
    /// Every item in the light of its set.
    pub fn forward(&self, x: Ragged) -> Ragged {
        self.mab.forward_to_itself(x)
    }
}

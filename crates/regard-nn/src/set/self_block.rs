
use burn::module::Module;
use burn::tensor::Device;

use super::{QuerySource, SetAttentionBlock, SetAttentionBlockConfig};
use crate::Ragged;

/// Configuration of a [`SelfSetBlock`]: that of its one block.
#[derive(Clone, Debug)]
pub struct SelfSetBlockConfig(pub SetAttentionBlockConfig);

/// The set attention block, `SAB(x) = MAB(x, x)`, in time `n²`.
#[derive(Module, Debug)]
pub struct SelfSetBlock {
    /// The block.
    pub mab: SetAttentionBlock,
}

impl SelfSetBlockConfig {
    /// A block of width `width` for items of width `inputs`.
    pub fn new(inputs: usize, width: usize, heads: usize) -> Self {
        Self(SetAttentionBlockConfig::new(inputs, inputs, width, heads))
    }

    /// Initialises the weights.
    ///
    /// # Panics
    /// As [`SetAttentionBlockConfig::init`].
    pub fn init(&self, device: &Device) -> SelfSetBlock {
        SelfSetBlock { mab: self.0.clone().with_queries(QuerySource::Keys).init(device) }
    }
}

impl SelfSetBlock {
    /// One row for every item, which depends on its whole set.
    pub fn forward(&self, x: Ragged) -> Ragged {
        self.mab.forward_to_itself(x)
    }
}

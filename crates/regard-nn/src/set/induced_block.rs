
use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor};

use super::{QuerySource, SetAttentionBlock, SetAttentionBlockConfig};
use crate::Ragged;
use crate::ops::SetQueries;

/// Sizes of an [`InducedSetBlock`].
#[derive(Clone, Debug)]
pub struct InducedSetBlockConfig {
    /// Sizes and options of both blocks; its query and key width are the width of the items.
    pub block: SetAttentionBlockConfig,
    /// Number of inducing points.
    pub points: usize,
}

/// The induced set attention block, `ISAB(x) = MAB(x, h)` with `h = MAB(i, x)` for inducing points `i`, in
/// time `n · points`.
#[derive(Module, Debug)]
pub struct InducedSetBlock {
    /// `[points, width]`
    pub points: Param<Tensor<2>>,
    /// From the items to the inducing points.
    pub mab0: SetAttentionBlock,
    /// From the inducing points back to the items.
    pub mab1: SetAttentionBlock,
}

impl InducedSetBlockConfig {
    /// A block for items of width `inputs`, with `points` inducing points.
    pub fn new(inputs: usize, width: usize, heads: usize, points: usize) -> Self {
        Self { block: SetAttentionBlockConfig::new(inputs, inputs, width, heads), points }
    }

    /// Initialises the weights; the inducing points as PyTorch's `xavier_uniform_` for `[1, points, width]`.
    ///
    /// # Panics
    /// As [`SetAttentionBlockConfig::init`], or if there is no inducing point.
    pub fn init(&self, device: &Device) -> InducedSetBlock {
        let (inputs, width) = (self.block.key_width, self.block.width);
        let block = |queries: usize, keys: usize, source: QuerySource| {
            let config = self.block.clone().with_queries(source);
            SetAttentionBlockConfig { query_width: queries, key_width: keys, ..config }.init(device)
        };
        InducedSetBlock {
            points: learnt_rows(self.points, width, device),
            mab0: block(width, inputs, QuerySource::Learnt),
            mab1: block(inputs, width, QuerySource::Other),
        }
    }
}

impl InducedSetBlock {
    /// One row for every item, which depends on its whole set.
    pub fn forward(&self, x: Ragged) -> Ragged {
        let summary = self.mab0.forward(SetQueries::Shared(self.points.val()), x.clone());
        self.mab1.forward(SetQueries::Own(x), summary)
    }
}

/// Learnt rows `[count, width]`, uniform in ±√(6 / (width · (count + 1))).
pub(super) fn learnt_rows(count: usize, width: usize, device: &Device) -> Param<Tensor<2>> {
    assert!(count > 0, "at least one learnt row");
    let bound = (6.0 / (width as f64 * (count as f64 + 1.0))).sqrt();
    Initializer::Uniform { min: -bound, max: bound }.init([count, width], device)
}

//! Normalisation of `[batch, nodes, width]`: batch, instance and layer norm, forward and backward.
//!
//! `y = (x − mean) · rstd · gamma + beta`. The kinds differ in the values that mean and standard
//! deviation are computed over: a column of the whole batch (Ioffe & Szegedy 2015), a column of one
//! instance (Ulyanov et al. 2016), or a row (Ba et al. 2016). Variances are computed in two passes
//! over a block in cache, and blocks are merged by Chan's formula in a fixed order. This loses no
//! digits, and the result does not depend on the number of threads.

mod block;
mod residual;

use crate::buffer::Workspace;
pub(crate) use block::{
    BlockGradient, BlockMoments, BlockNorm, GradientMeans, NormSums, backward_block, block_moments, normalise_block,
};
pub(crate) use residual::{BatchMeans, batch_means, finish_moments, merge_sums, normalise};
pub use residual::{ResidualNormSaved, residual_norm, residual_norm_backward};

/// The values that mean and standard deviation are computed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// A column of the whole batch.
    Batch,
    /// A column of one instance.
    Instance,
    /// A row.
    Layer,
}

/// A normalisation and its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    /// The values that mean and standard deviation are computed over.
    pub kind: NormKind,
    /// Scale per column.
    pub gamma: &'a [f32],
    /// Shift per column.
    pub beta: &'a [f32],
    /// Running mean and variance; if given, [`NormKind::Batch`] uses them instead of batch statistics.
    pub running: Option<(&'a [f32], &'a [f32])>,
    /// Added to the variance.
    pub eps: f32,
}

impl Norm<'_> {
    /// True if statistics of the whole batch must be known before any block can be normalised.
    pub(crate) fn needs_batch(&self) -> bool {
        self.kind == NormKind::Batch && self.running.is_none()
    }

    /// [`Self::folded`], with the `bias` of the preceding layer folded in.
    pub(crate) fn folded_with(&self, bias: Option<&[f32]>) -> Option<(Vec<f32>, Vec<f32>)> {
        let (scale, mut shift) = self.folded()?;
        let bias = bias.into_iter().flatten();
        shift.iter_mut().zip(&scale).zip(bias).for_each(|((shift, scale), bias)| *shift += scale * bias);
        Some((scale, shift))
    }

    /// Scale and shift per column that are equal to [`NormKind::Batch`] with running statistics.
    pub(crate) fn folded(&self) -> Option<(Vec<f32>, Vec<f32>)> {
        let (mean, variance) = self.running.filter(|_| self.kind == NormKind::Batch)?;
        let scale: Vec<f32> = self.gamma.iter().zip(variance).map(|(g, v)| g / (v + self.eps).sqrt()).collect();
        let shift = self.beta.iter().zip(mean).zip(&scale).map(|((b, m), s)| b - m * s).collect();
        Some((scale, shift))
    }
}

/// Mean and variance of every column of a batch.
#[derive(Clone, Debug)]
pub struct BatchStatistics {
    /// Mean per column.
    pub mean: Vec<f32>,
    /// Biased variance per column.
    pub variance: Vec<f32>,
    /// Number of rows that they were computed over.
    pub count: usize,
}

/// Sizes of a `[batch, nodes, width]` array and its split into blocks and groups.
///
/// A block is a run of whole instances that fits into the second-level cache. A group is a run of
/// blocks that share one set of gradient accumulators. Both depend on the sizes alone, so sums do
/// not depend on the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Number of instances.
    pub batch: usize,
    /// Number of nodes of an instance.
    pub nodes: usize,
    /// Number of floats of a node.
    pub width: usize,
}

/// Approximate number of rows of a block.
const BLOCK_ROWS: usize = 120;
/// Maximum number of gradient accumulators.
const GROUPS: usize = 16;

impl Rows {
    /// The same rows with each row as an instance of its own, if an instance would exceed the cache and
    /// `kind` does not normalise over whole instances.
    pub(crate) fn split_instances(self, kind: Option<NormKind>) -> Self {
        if self.nodes <= BLOCK_ROWS || kind == Some(NormKind::Instance) {
            return self;
        }
        Self { batch: self.batch * self.nodes, nodes: 1, width: self.width }
    }

    /// Number of instances in a block.
    pub(crate) fn instances(&self) -> usize {
        (BLOCK_ROWS / self.nodes.max(1)).clamp(1, self.batch.max(1))
    }

    /// Number of rows in a block.
    pub(crate) fn block(&self) -> usize {
        self.instances() * self.nodes.max(1)
    }

    pub(crate) fn blocks(&self) -> usize {
        self.batch.div_ceil(self.instances())
    }

    /// Number of blocks in a group.
    pub(crate) fn group(&self) -> usize {
        self.blocks().div_ceil(GROUPS).max(1)
    }

    pub(crate) fn rows(&self) -> usize {
        self.batch * self.nodes
    }

    /// Length of the means of a block, and of its reciprocal standard deviations.
    pub(crate) fn moments_len(&self, kind: NormKind) -> usize {
        match kind {
            NormKind::Batch => self.width,
            NormKind::Instance => self.instances() * self.width,
            NormKind::Layer => self.block(),
        }
    }
}

/// Means and reciprocal standard deviations, saved for the backward pass.
#[derive(Debug)]
pub(crate) enum Moments {
    /// Per column of the batch. If `own` is true they are batch statistics, else running statistics.
    Columns { mean: Vec<f32>, rstd: Vec<f32>, own: bool },
    /// Per block, `[blocks, 2, moments_len]`.
    Blocks(Workspace),
}

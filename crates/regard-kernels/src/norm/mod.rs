//! Normalisation of `[batch, nodes, width]`: batch, instance and layer norm, forward and backward.
//!
//! `y = (x − mean) · rstd · gamma + beta`; what differs is what mean and deviation are taken over:
//! a column of the whole batch (Ioffe & Szegedy 2015), a column of one instance (Ulyanov et al.
//! 2016), a row (Ba et al. 2016). Variances are taken in two passes over a block in cache and
//! blocks are merged by Chan's formula in a fixed order: no digits are lost, and the result does
//! not depend on the number of threads.

mod block;
mod columns;
mod residual;
mod row;

pub(crate) use block::{BlockNorm, NormSums, backward_block, block_moments, normalise_block};
pub(crate) use columns::{batch_columns, gradient_columns};
pub(crate) use residual::{BatchMeans, batch_means, merge_sums, normalise, settle};
pub use residual::{ResidualNormSaved, residual_norm, residual_norm_backward};

use crate::buffer::Workspace;

/// What mean and deviation are taken over.
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
    /// What mean and deviation are taken over.
    pub kind: NormKind,
    /// Factor per column.
    pub gamma: &'a [f32],
    /// Shift per column.
    pub beta: &'a [f32],
    /// Running mean and variance, used instead of the batch's own by [`NormKind::Batch`].
    pub running: Option<(&'a [f32], &'a [f32])>,
    /// Added to the variance.
    pub eps: f32,
}

impl Norm<'_> {
    /// Whether statistics of the whole batch are needed before anything can be normalised.
    pub(crate) fn needs_batch(&self) -> bool {
        self.kind == NormKind::Batch && self.running.is_none()
    }

    /// [`Self::folded`] of a sum that `bias` is part of.
    pub(crate) fn folded_with(&self, bias: Option<&[f32]>) -> Option<(Vec<f32>, Vec<f32>)> {
        let (scale, mut shift) = self.folded()?;
        let bias = bias.into_iter().flatten();
        shift.iter_mut().zip(&scale).zip(bias).for_each(|((shift, scale), bias)| *shift += scale * bias);
        Some((scale, shift))
    }

    /// Factor and shift per column that [`NormKind::Batch`] with running statistics comes down to.
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
    /// Rows they were taken over.
    pub count: usize,
}

/// Sizes of a `[batch, nodes, width]` array and its split into blocks and groups.
///
/// A block is a run of whole instances that fits in the second-level cache; a group is a run of
/// blocks that share one set of gradient accumulators. Both follow from the sizes alone, which
/// is what makes sums independent of the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Instances.
    pub batch: usize,
    /// Nodes of an instance.
    pub nodes: usize,
    /// Floats of a node.
    pub width: usize,
}

/// Rows of a block, about.
const BLOCK_ROWS: usize = 120;
/// Sets of gradient accumulators.
const GROUPS: usize = 16;

impl Rows {
    /// The same rows, each an instance of its own where a large instance would be a block beyond the
    /// cache and `kind` does not look at whole instances.
    pub(crate) fn divided(self, kind: Option<NormKind>) -> Self {
        if self.nodes <= BLOCK_ROWS || kind == Some(NormKind::Instance) {
            return self;
        }
        Self { batch: self.batch * self.nodes, nodes: 1, width: self.width }
    }

    /// Instances of a block.
    pub(crate) fn instances(&self) -> usize {
        (BLOCK_ROWS / self.nodes.max(1)).clamp(1, self.batch.max(1))
    }

    /// Rows of a block.
    pub(crate) fn block(&self) -> usize {
        self.instances() * self.nodes.max(1)
    }

    pub(crate) fn blocks(&self) -> usize {
        self.batch.div_ceil(self.instances())
    }

    /// Blocks of a group.
    pub(crate) fn group(&self) -> usize {
        self.blocks().div_ceil(GROUPS).max(1)
    }

    pub(crate) fn rows(&self) -> usize {
        self.batch * self.nodes
    }

    /// Floats of one of the two halves of a block's moments.
    pub(crate) fn slots(&self, kind: NormKind) -> usize {
        match kind {
            NormKind::Batch => self.width,
            NormKind::Instance => self.instances() * self.width,
            NormKind::Layer => self.block(),
        }
    }
}

/// Mean and reciprocal deviation kept for the backward pass.
#[derive(Debug)]
pub(crate) enum Moments {
    /// Per column of the batch: mean, reciprocal deviation, and whether they are the batch's own.
    Columns { mean: Vec<f32>, rstd: Vec<f32>, own: bool },
    /// Per block, `[blocks, 2, slots]`.
    Blocks(Workspace),
}

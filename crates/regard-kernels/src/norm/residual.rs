//! The operation `norm(x + y)`: residual connection and normalisation, with batch statistics merged from those of
//! the blocks.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    BatchStatistics, BlockGradient, BlockMoments, BlockNorm, GradientMeans, Moments, Norm, NormSums, Rows,
    backward_block, block_moments, normalise_block,
};
use crate::{buffer::Workspace, simd, vector::add};

/// Values saved by [`residual_norm`] for the backward pass: `x + y` and its moments.
#[derive(Debug)]
pub struct ResidualNormSaved {
    pub(crate) pre: Workspace,
    pub(crate) moments: Moments,
}

struct ComputeMoments<'a>(&'a Norm<'a>, &'a Rows, &'a [f32], &'a mut [f32]);

impl WithSimd for ComputeMoments<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        block_moments(simd, self.0, self.1, self.2, self.3);
    }
}

struct NormaliseBlock<'a>(&'a Norm<'a>, &'a Rows, BlockMoments<'a>, &'a [f32], &'a mut [f32]);

impl WithSimd for NormaliseBlock<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        normalise_block(simd, self.0, self.1, self.2, self.3, self.4);
    }
}

/// Turns the moments of the blocks into those that [`normalise_block`] uses.
pub(crate) fn finish_moments(norm: &Norm<'_>, rows: &Rows, blocks: Workspace) -> (Moments, Option<BatchStatistics>) {
    if norm.needs_batch() {
        let statistics = batch_columns(rows, &blocks);
        let (mean, rstd) = norm.columns(Some(&statistics));
        return (Moments::Columns { mean, rstd, own: true }, Some(statistics));
    }
    if norm.running.is_some() && norm.kind == super::NormKind::Batch {
        let (mean, rstd) = norm.columns(None);
        return (Moments::Columns { mean, rstd, own: false }, None);
    }
    (Moments::Blocks(blocks), None)
}

/// Normalises all blocks of `pre` into `out`, in parallel.
pub(crate) fn normalise(norm: &Norm<'_>, rows: &Rows, moments: &Moments, pre: &[f32], out: &mut [f32]) {
    let size = (rows.block() * rows.width).max(1);
    pre.par_chunks(size).zip(out.par_chunks_mut(size)).enumerate().for_each(|(index, (pre, out))| {
        simd::run(NormaliseBlock(norm, rows, moments.of_block(rows, norm.kind, index), pre, out));
    });
}

/// Computes `norm(x + y)` of `[batch, nodes, width]` arrays. Also returns the batch statistics, if the
/// norm computes them.
pub fn residual_norm(
    rows: &Rows,
    norm: &Norm<'_>,
    x: &[f32],
    y: &[f32],
) -> (Vec<f32>, ResidualNormSaved, Option<BatchStatistics>) {
    let rows = &rows.split_instances(Some(norm.kind));
    let size = (rows.block() * rows.width).max(1);
    let moments_len = 2 * rows.moments_len(norm.kind);
    let mut pre = Workspace::lease(x.len());
    let mut blocks = Workspace::lease(rows.blocks() * moments_len);
    let parts = pre.par_chunks_mut(size).zip(blocks.par_chunks_mut(moments_len.max(1)));
    parts.zip(x.par_chunks(size).zip(y.par_chunks(size))).for_each(|((pre, moments), (x, y))| {
        pre.copy_from_slice(x);
        add(y, pre);
        simd::run(ComputeMoments(norm, rows, pre, moments));
    });
    let (moments, statistics) = finish_moments(norm, rows, blocks);
    let mut out = vec![0.0; x.len()];
    normalise(norm, rows, &moments, &pre, &mut out);
    (out, ResidualNormSaved { pre, moments }, statistics)
}

struct SumBlock<'a>(BlockMoments<'a>, &'a [f32], &'a [f32], &'a mut [f32]);

impl WithSimd for SumBlock<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.3.len() / 2;
        let mut sums = NormSums::zeros(width);
        sums.add(simd, self.0, self.1, self.2);
        self.3[..width].copy_from_slice(&sums.plain);
        self.3[width..].copy_from_slice(&sums.weighted);
    }
}

/// Column means that the backward pass of [`super::NormKind::Batch`] subtracts, and the gradients
/// of gamma and beta.
pub(crate) struct BatchMeans {
    pub(crate) plain: Vec<f32>,
    pub(crate) weighted: Vec<f32>,
    pub(crate) gamma: Vec<f32>,
    pub(crate) beta: Vec<f32>,
}

impl BatchMeans {
    /// The means that the second phase subtracts.
    pub(crate) fn means(&self) -> GradientMeans<'_> {
        GradientMeans { plain: &self.plain, weighted: &self.weighted }
    }
}

/// First phase of a backward pass: column sums over the batch. They are zero if the norm needs none.
pub(crate) fn batch_means(rows: &Rows, moments: &Moments, pre: &[f32], grad: &[f32]) -> BatchMeans {
    let width = rows.width;
    let Moments::Columns { mean, rstd, own } = moments else {
        let zeros = || vec![0.0; width];
        return BatchMeans { plain: zeros(), weighted: zeros(), gamma: zeros(), beta: zeros() };
    };
    let size = (rows.block() * width).max(1);
    let mut blocks = Workspace::lease(rows.blocks() * 2 * width);
    let parts = pre.par_chunks(size).zip(grad.par_chunks(size));
    blocks.par_chunks_mut((2 * width).max(1)).zip(parts).for_each(|(sums, (pre, grad))| {
        simd::run(SumBlock(BlockMoments { mean, rstd }, pre, grad, sums));
    });
    let (plain, weighted) = gradient_columns(width, &blocks);
    let share = if *own { 1.0 / rows.rows() as f64 } else { 0.0 };
    let narrow = |sums: &[f64], factor: f64| sums.iter().map(|s| (s * factor) as f32).collect::<Vec<_>>();
    BatchMeans {
        gamma: narrow(&weighted, 1.0),
        beta: narrow(&plain, 1.0),
        plain: narrow(&plain, share),
        weighted: narrow(&weighted, share),
    }
}

struct Group<'a> {
    norm: &'a Norm<'a>,
    rows: &'a Rows,
    saved: &'a ResidualNormSaved,
    means: &'a BatchMeans,
    grad: &'a [f32],
    first: usize,
    out: &'a mut [f32],
}

impl WithSimd for Group<'_> {
    type Output = NormSums;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> NormSums {
        let Self { norm, rows, saved, means, grad, first, out } = self;
        let size = rows.block() * rows.width;
        let mut sums = NormSums::zeros(rows.width);
        for (i, out) in out.chunks_mut(size.max(1)).enumerate() {
            let index = first + i;
            let at = index * size..index * size + out.len();
            let moments = saved.moments.of_block(rows, norm.kind, index);
            let data = BlockGradient { x: &saved.pre[at.clone()], grad: &grad[at] };
            let means = means.means();
            backward_block(simd, BlockNorm { norm, rows, moments, means }, data, out, &mut sums);
        }
        sums
    }
}

/// Gradients of [`residual_norm`] with respect to `x` (equal to that of `y`), gamma and beta.
pub fn residual_norm_backward(
    rows: &Rows,
    norm: &Norm<'_>,
    saved: &ResidualNormSaved,
    grad: &[f32],
) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let rows = &rows.split_instances(Some(norm.kind));
    let means = batch_means(rows, &saved.moments, &saved.pre, grad);
    let mut out = vec![0.0; grad.len()];
    let size = (rows.group() * rows.block() * rows.width).max(1);
    let sums: Vec<NormSums> = out
        .par_chunks_mut(size)
        .enumerate()
        .map(|(g, out)| simd::run(Group { norm, rows, saved, means: &means, grad, first: g * rows.group(), out }))
        .collect();
    let (gamma, beta) = merge_sums(means, &sums);
    (out, gamma, beta)
}

/// Adds the gradients of gamma and beta of the groups, in order.
pub(crate) fn merge_sums(means: BatchMeans, groups: &[NormSums]) -> (Vec<f32>, Vec<f32>) {
    let BatchMeans { mut gamma, mut beta, .. } = means;
    for sums in groups {
        add(&sums.weighted, &mut gamma);
        add(&sums.plain, &mut beta);
    }
    (gamma, beta)
}

/// Merges means and squared deviations of the blocks (`[blocks, 2, width]`) into statistics of the
/// batch (Chan, Golub & LeVeque 1979), in the order of the blocks.
pub(crate) fn batch_columns(rows: &Rows, blocks: &[f32]) -> BatchStatistics {
    let width = rows.width;
    let (mut mean, mut squares, mut count) = (vec![0f64; width], vec![0f64; width], 0f64);
    for (index, block) in blocks.chunks_exact((2 * width).max(1)).enumerate() {
        let here = rows.block().min(rows.rows() - index * rows.block()) as f64;
        let total = count + here;
        for j in 0..width {
            let delta = f64::from(block[j]) - mean[j];
            mean[j] += delta * here / total;
            squares[j] += f64::from(block[width + j]) + delta * delta * count * here / total;
        }
        count = total;
    }
    let variance = squares.iter().map(|s| (s / count.max(1.0)) as f32).collect();
    BatchStatistics { mean: mean.into_iter().map(|m| m as f32).collect(), variance, count: count as usize }
}

/// Adds the sums of the blocks (`[blocks, 2, width]`: gradient, gradient times normalised value) in order.
pub(crate) fn gradient_columns(width: usize, blocks: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let (mut plain, mut weighted) = (vec![0f64; width], vec![0f64; width]);
    for block in blocks.chunks_exact((2 * width).max(1)) {
        for j in 0..width {
            plain[j] += f64::from(block[j]);
            weighted[j] += f64::from(block[width + j]);
        }
    }
    (plain, weighted)
}

impl Norm<'_> {
    /// Mean and reciprocal standard deviation per column.
    pub(crate) fn columns(&self, statistics: Option<&BatchStatistics>) -> (Vec<f32>, Vec<f32>) {
        let (mean, variance) = match (statistics, self.running) {
            (Some(own), _) => (own.mean.as_slice(), own.variance.as_slice()),
            (None, Some(running)) => running,
            (None, None) => (&[][..], &[][..]),
        };
        let rstd = variance.iter().map(|v| (1.0 / (f64::from(*v) + f64::from(self.eps)).sqrt()) as f32).collect();
        (mean.to_vec(), rstd)
    }
}

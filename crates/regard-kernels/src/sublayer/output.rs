//! `norm(x + y · weight + bias)`, forward and backward: output projection, residual and norm after an
//! attention whose heads `y` are interleaved.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Accumulators,
    projections::{Heads, Linear},
    sum_groups,
};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, AddResidual, BiasResidual, Lhs, Panels, Residual, Rhs, Size, Store, gemm},
    norm::{
        BatchMeans, BatchStatistics, BlockGradient, BlockMoments, BlockNorm, Moments, Norm, Rows, backward_block,
        batch_means, block_moments, finish_moments, merge_sums, normalise, normalise_block,
    },
    simd,
    vector::column_sums,
};

/// Values saved by the forward pass for the backward pass.
#[derive(Debug)]
pub struct OutputSaved {
    /// Input of the norm, `[rows, width]`.
    pre: Workspace,
    moments: Moments,
}

/// Gradients of [`output`], each in the shape of its input.
#[derive(Debug)]
pub struct OutputGradients {
    /// Gradient of `x`.
    pub x: Vec<f32>,
    /// Gradient of `y`.
    pub y: Vec<f32>,
    /// Gradient of the weight.
    pub weight: Vec<f32>,
    /// Gradient of the bias, present even if there is no bias.
    pub bias: Vec<f32>,
    /// Gradient of the norm's gamma.
    pub gamma: Vec<f32>,
    /// Gradient of the norm's beta.
    pub beta: Vec<f32>,
}

/// Data shared by all blocks.
struct Shared<'a> {
    rows: Rows,
    heads: &'a Heads,
    panels: Panels,
    bias: Option<&'a [f32]>,
    norm: &'a Norm<'a>,
    /// Folded batch norm: scale and shift per column, including the bias.
    folded: Option<(Vec<f32>, Vec<f32>)>,
}

struct Block<'a> {
    shared: &'a Shared<'a>,
    x: &'a [f32],
    y: &'a [f32],
    moments: &'a mut [f32],
    /// Input of the norm, if it is saved; else the result is normalised at once.
    pre: Option<&'a mut [f32]>,
    out: Option<&'a mut [f32]>,
}

impl WithSimd for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Shared { rows, heads, panels, bias, norm, folded } = self.shared;
        let (width, x) = (rows.width, self.x);
        let size = Size { m: x.len() / width, n: width, k: heads.width };
        let left = Lhs::rows(self.y, heads.width);
        if let (Some((scale, shift)), Some(out)) = (folded, self.out.as_deref_mut()) {
            return gemm(simd, size, left, panels.rhs(), out, width, Residual { scale, shift, x, ldx: width });
        }
        let mut own = Workspace::lease(if self.pre.is_some() { 0 } else { x.len() });
        let pre = self.pre.unwrap_or(&mut own);
        match bias {
            Some(bias) => gemm(simd, size, left, panels.rhs(), pre, width, BiasResidual { bias, x, ldx: width }),
            None => gemm(simd, size, left, panels.rhs(), pre, width, AddResidual { x, ldx: width }),
        }
        block_moments(simd, norm, rows, pre, self.moments);
        if let Some(out) = self.out {
            let moments = BlockMoments::split(self.moments);
            normalise_block(simd, norm, rows, moments, pre, out);
        }
    }
}

fn rows_of(heads: &Heads, map: &Linear<'_>, norm: &Norm<'_>, x: &[f32], y: &[f32]) -> Rows {
    let width = norm.gamma.len();
    assert!(width > 0 && x.len().is_multiple_of(width), "output: whole rows");
    let rows = Rows { batch: x.len() / width, nodes: 1, width };
    assert!(heads.count > 0 && heads.width.is_multiple_of(heads.count), "output: heads divide the width");
    assert_eq!(y.len(), rows.batch * heads.width, "output: rows of the attention");
    assert_eq!(map.weight.len(), heads.width * width, "output: weight");
    assert!(map.bias.is_none_or(|bias| bias.len() == width), "output: bias");
    rows
}

/// `norm(x + y · weight + bias)` for `x [rows, width]` and `y [rows, heads.width]`, with the weight
/// `[heads.width, width]` in the order of the papers. Also returns the batch statistics, if the norm
/// computes them, and, if `save` is true, the values that [`output_backward`] needs.
///
/// # Panics
/// If sizes do not match.
pub fn output(
    heads: &Heads,
    map: &Linear<'_>,
    norm: &Norm<'_>,
    x: &[f32],
    y: &[f32],
    save: bool,
) -> (Vec<f32>, Option<OutputSaved>, Option<BatchStatistics>) {
    let rows = rows_of(heads, map, norm, x, y);
    let (channel_order, width) = (heads.channel_order(), rows.width);
    let folded = if save { None } else { norm.folded_with(map.bias) };
    let panels = match &folded {
        Some((scale, _)) => {
            Panels::pack_forward(heads.width, width, |p, j| map.weight[channel_order[p] * width + j] * scale[j])
        }
        None => Panels::pack_forward(heads.width, width, |p, j| map.weight[channel_order[p] * width + j]),
    };
    let shared = Shared { rows, heads, panels, bias: map.bias, norm, folded };
    let mut out = vec![0.0; x.len()];
    if save || norm.needs_batch() {
        let (saved, statistics) = shared.train(x, y, &mut out);
        return (out, save.then_some(saved), statistics);
    }
    shared.infer(x, y, &mut out);
    (out, None, None)
}

impl Shared<'_> {
    fn infer(&self, x: &[f32], y: &[f32], out: &mut [f32]) {
        let block = self.rows.block().max(1);
        let (size, inner) = (block * self.rows.width, block * self.heads.width.max(1));
        out.par_chunks_mut(size).zip(x.par_chunks(size)).zip(y.par_chunks(inner)).for_each(|((out, x), y)| {
            let mut moments = Workspace::lease(2 * self.rows.moments_len(self.norm.kind));
            simd::run(Block { shared: self, x, y, moments: &mut moments, pre: None, out: Some(out) });
        });
    }

    fn train(&self, x: &[f32], y: &[f32], out: &mut [f32]) -> (OutputSaved, Option<BatchStatistics>) {
        let (rows, norm) = (&self.rows, self.norm);
        let block = rows.block().max(1);
        let moments_len = 2 * rows.moments_len(norm.kind);
        let mut pre = Workspace::lease(x.len());
        let mut blocks = Workspace::lease(rows.blocks() * moments_len);
        x.par_chunks(block * rows.width)
            .zip(y.par_chunks(block * self.heads.width.max(1)))
            .zip(pre.par_chunks_mut(block * rows.width))
            .zip(blocks.par_chunks_mut(moments_len.max(1)))
            .for_each(|(((x, y), pre), moments)| {
                simd::run(Block { shared: self, x, y, moments, pre: Some(pre), out: None });
            });
        let (moments, statistics) = finish_moments(norm, rows, blocks);
        normalise(norm, rows, &moments, &pre, out);
        (OutputSaved { pre, moments }, statistics)
    }
}

struct Group<'a> {
    rows: &'a Rows,
    heads: &'a Heads,
    norm: &'a Norm<'a>,
    saved: &'a OutputSaved,
    means: &'a BatchMeans,
    /// The transposed weight, `[width, heads.width]`.
    transposed: &'a Panels,
    y: &'a [f32],
    grad: &'a [f32],
    first: usize,
    dx: &'a mut [f32],
    dy: &'a mut [f32],
}

impl WithSimd for Group<'_> {
    type Output = Accumulators<2>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Accumulators<2> {
        let Self { rows, heads, norm, saved, means, transposed, y, grad, first, dx, dy } = self;
        let (width, inner, block) = (rows.width, heads.width, rows.block());
        let mut sums = Accumulators::zeros([inner * width, width], width);
        let results = dx.chunks_mut(block * width).zip(dy.chunks_mut(block * inner));
        for (i, (dx, dy)) in results.enumerate() {
            let (index, count) = (first + i, dx.len() / width);
            let span = index * block * width..index * block * width + dx.len();
            let moments = saved.moments.of_block(rows, norm.kind, index);
            let data = BlockGradient { x: &saved.pre[span.clone()], grad: &grad[span] };
            let of_block = BlockNorm { norm, rows, moments, means: means.means() };
            backward_block(simd, of_block, data, dx, &mut sums.norm);
            column_sums(simd, dx, width, count, &mut sums.weights[1]);
            let y = &y[index * block * inner..][..count * inner];
            let size = Size { m: inner, n: width, k: count };
            let (left, right) = (Lhs::transposed(y, inner), Rhs::rows::<S>(dx, width));
            gemm(simd, size, left, right, &mut sums.weights[0], width, Accumulate);
            let size = Size { m: count, n: inner, k: width };
            gemm(simd, size, Lhs::rows(dx, width), transposed.rhs(), dy, inner, Store);
        }
        sums
    }
}

/// Gradients of [`output`] for `grad [rows, width]`, the gradient of its result.
///
/// # Panics
/// If sizes do not match.
pub fn output_backward(
    heads: &Heads,
    map: &Linear<'_>,
    norm: &Norm<'_>,
    y: &[f32],
    saved: &OutputSaved,
    grad: &[f32],
) -> OutputGradients {
    let rows = rows_of(heads, map, norm, grad, y);
    let (channel_order, width, inner) = (heads.channel_order(), rows.width, heads.width);
    let transposed = Panels::pack(width, inner, |p, j| map.weight[channel_order[j] * width + p]);
    let means = batch_means(&rows, &saved.moments, &saved.pre, grad);
    let (mut dx, mut dy) = (vec![0.0; grad.len()], vec![0.0; y.len()]);
    let group = (rows.group() * rows.block()).max(1);
    let runs = dx.par_chunks_mut(group * width).zip(dy.par_chunks_mut((group * inner).max(1))).enumerate();
    let groups: Vec<Accumulators<2>> = runs
        .map(|(g, (dx, dy))| {
            let (rows, saved, means, transposed) = (&rows, saved, &means, &transposed);
            let first = g * rows.group();
            simd::run(Group { rows, heads, norm, saved, means, transposed, y, grad, first, dx, dy })
        })
        .collect();
    let ([interleaved, bias], norms) = sum_groups(groups, [inner * width, width]);
    let mut weight = vec![0.0; inner * width];
    for (row, place) in interleaved.chunks_exact(width).zip(channel_order) {
        weight[place * width..][..width].copy_from_slice(row);
    }
    let (gamma, beta) = merge_sums(means, &norms);
    OutputGradients { x: dx, y: dy, weight, bias, gamma, beta }
}

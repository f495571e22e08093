//! Normalisation of one block of rows, or of one row, forward and backward.

use pulp::Simd;

use super::{Moments, Norm, NormKind, Rows};
use crate::vector::{split, split_mut};

/// Means and reciprocal standard deviations of a block: one for each column or one for each row.
#[derive(Clone, Copy)]
pub(crate) struct BlockMoments<'a> {
    pub(crate) mean: &'a [f32],
    pub(crate) rstd: &'a [f32],
}

impl<'a> BlockMoments<'a> {
    /// Splits `[2, moments_len]`.
    pub(crate) fn split(all: &'a [f32]) -> Self {
        let (mean, rstd) = all.split_at(all.len() / 2);
        Self { mean, rstd }
    }
}

/// Mean and reciprocal standard deviation of a row.
#[derive(Clone, Copy)]
struct RowMoments {
    mean: f32,
    rstd: f32,
}

/// Rows before normalisation, and the gradient of the normalised rows.
#[derive(Clone, Copy)]
pub(crate) struct BlockGradient<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) grad: &'a [f32],
}

/// Means of the gradient, and of the gradient times the normalised value.
#[derive(Clone, Copy)]
pub(crate) struct GradientMeans<'a> {
    pub(crate) plain: &'a [f32],
    pub(crate) weighted: &'a [f32],
}

/// Mean and sum of squared deviations of every column of `x`, in two passes.
#[inline(always)]
fn column_moments<S: Simd>(simd: S, x: &[f32], width: usize, mean: &mut [f32], squares: &mut [f32]) {
    let count = x.len() / width;
    mean.fill(0.0);
    squares.fill(0.0);
    crate::vector::column_sums(simd, x, width, count, mean);
    crate::vector::scale(simd, 1.0 / count as f32, mean);
    for row in x.chunks_exact(width) {
        let (x, x_rest) = split::<S>(row);
        let (m, m_rest) = split::<S>(mean);
        let (s, s_rest) = split_mut::<S>(squares);
        for ((x, m), s) in x.iter().zip(m).zip(s) {
            let d = simd.sub_f32s(*x, *m);
            *s = simd.mul_add_f32s(d, d, *s);
        }
        for ((x, m), s) in x_rest.iter().zip(m_rest).zip(s_rest) {
            *s += (x - m) * (x - m);
        }
    }
}

/// `out = (x − mean) · rstd · gamma + beta` for every row.
#[inline(always)]
fn affine_columns<S: Simd>(simd: S, norm: &Norm<'_>, moments: BlockMoments<'_>, x: &[f32], out: &mut [f32]) {
    let BlockMoments { mean, rstd } = moments;
    let width = norm.gamma.len();
    let (mean, mean_rest) = split::<S>(mean);
    let (rstd, rstd_rest) = split::<S>(rstd);
    let (gamma, gamma_rest) = split::<S>(norm.gamma);
    let (beta, beta_rest) = split::<S>(norm.beta);
    for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        let (x, x_rest) = split::<S>(x);
        let (out, out_rest) = split_mut::<S>(out);
        for j in 0..out.len() {
            let normal = simd.mul_f32s(simd.sub_f32s(x[j], mean[j]), rstd[j]);
            out[j] = simd.mul_add_f32s(normal, gamma[j], beta[j]);
        }
        for j in 0..out_rest.len() {
            out_rest[j] = ((x_rest[j] - mean_rest[j]) * rstd_rest[j]).mul_add(gamma_rest[j], beta_rest[j]);
        }
    }
}

/// First pass over a block: the moments it is normalised with. For [`NormKind::Batch`] these are the
/// column moments of the block, else mean and reciprocal standard deviation of its instances or
/// rows. `moments` is `[2, moments_len]`.
#[inline(always)]
pub(crate) fn block_moments<S: Simd>(simd: S, norm: &Norm<'_>, rows: &Rows, x: &[f32], moments: &mut [f32]) {
    let width = rows.width;
    let (first, second) = moments.split_at_mut(rows.moments_len(norm.kind));
    match norm.kind {
        NormKind::Batch => column_moments(simd, x, width, first, second),
        NormKind::Instance => {
            let parts = first.chunks_exact_mut(width).zip(second.chunks_exact_mut(width));
            for (x, (mean, rstd)) in x.chunks_exact(rows.nodes * width).zip(parts) {
                column_moments(simd, x, width, mean, rstd);
                for squares in rstd {
                    *squares = 1.0 / (*squares / rows.nodes as f32 + norm.eps).sqrt();
                }
            }
        }
        NormKind::Layer => {
            for (x, (mean, rstd)) in x.chunks_exact(width).zip(first.iter_mut().zip(second)) {
                let moments = row_moments(simd, x, norm.eps);
                (*mean, *rstd) = (moments.mean, moments.rstd);
            }
        }
    }
}

/// Second pass over a block: `out = norm(x)`.
#[inline(always)]
pub(crate) fn normalise_block<S: Simd>(
    simd: S,
    norm: &Norm<'_>,
    rows: &Rows,
    moments: BlockMoments<'_>,
    x: &[f32],
    out: &mut [f32],
) {
    let width = rows.width;
    match norm.kind {
        NormKind::Batch => affine_columns(simd, norm, moments, x, out),
        NormKind::Instance => {
            let size = rows.nodes * width;
            for (i, (x, out)) in x.chunks_exact(size).zip(out.chunks_exact_mut(size)).enumerate() {
                let at = i * width..(i + 1) * width;
                let moments = BlockMoments { mean: &moments.mean[at.clone()], rstd: &moments.rstd[at] };
                affine_columns(simd, norm, moments, x, out);
            }
        }
        NormKind::Layer => {
            for (i, (x, out)) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)).enumerate() {
                let moments = RowMoments { mean: moments.mean[i], rstd: moments.rstd[i] };
                normalise_row(simd, norm, moments, x, out);
            }
        }
    }
}

impl Moments {
    /// Means and reciprocal standard deviations of block `index`.
    #[inline(always)]
    pub(crate) fn of_block(&self, rows: &Rows, kind: NormKind, index: usize) -> BlockMoments<'_> {
        match self {
            Self::Columns { mean, rstd, .. } => BlockMoments { mean, rstd },
            Self::Blocks(all) => {
                let moments_len = rows.moments_len(kind);
                BlockMoments::split(&all[index * 2 * moments_len..][..2 * moments_len])
            }
        }
    }
}

/// Column sums of the gradient, and of the gradient times the normalised value.
#[derive(Clone, Debug)]
pub(crate) struct NormSums {
    pub(crate) plain: Vec<f32>,
    pub(crate) weighted: Vec<f32>,
}

impl NormSums {
    pub(crate) fn zeros(width: usize) -> Self {
        Self { plain: vec![0.0; width], weighted: vec![0.0; width] }
    }

    /// The sums, as means if they were scaled to such.
    fn means(&self) -> GradientMeans<'_> {
        GradientMeans { plain: &self.plain, weighted: &self.weighted }
    }

    /// Adds the column sums of `grad` over rows of `x`, which are normalised by the column `moments`.
    #[inline(always)]
    pub(crate) fn add<S: Simd>(&mut self, simd: S, moments: BlockMoments<'_>, x: &[f32], grad: &[f32]) {
        let BlockMoments { mean, rstd } = moments;
        let width = self.plain.len();
        for (x, grad) in x.chunks_exact(width).zip(grad.chunks_exact(width)) {
            let (x, x_rest) = split::<S>(x);
            let (g, g_rest) = split::<S>(grad);
            let (m, m_rest) = split::<S>(mean);
            let (r, r_rest) = split::<S>(rstd);
            let (plain, plain_rest) = split_mut::<S>(&mut self.plain);
            let (weighted, weighted_rest) = split_mut::<S>(&mut self.weighted);
            for j in 0..plain.len() {
                let normal = simd.mul_f32s(simd.sub_f32s(x[j], m[j]), r[j]);
                plain[j] = simd.add_f32s(plain[j], g[j]);
                weighted[j] = simd.mul_add_f32s(g[j], normal, weighted[j]);
            }
            for j in 0..plain_rest.len() {
                plain_rest[j] += g_rest[j];
                weighted_rest[j] += g_rest[j] * (x_rest[j] - m_rest[j]) * r_rest[j];
            }
        }
    }
}

/// `out = gamma · rstd · (grad − plain − normal · weighted)`, where `plain` and `weighted` are means
/// over the rows that the statistics were computed from.
#[inline(always)]
fn columns_backward<S: Simd>(
    simd: S,
    gamma: &[f32],
    moments: BlockMoments<'_>,
    means: GradientMeans<'_>,
    rows: BlockGradient<'_>,
    out: &mut [f32],
) {
    let (BlockMoments { mean, rstd }, GradientMeans { plain, weighted }) = (moments, means);
    let BlockGradient { x, grad } = rows;
    let width = gamma.len();
    let (gamma, gamma_rest) = split::<S>(gamma);
    let (mean, mean_rest) = split::<S>(mean);
    let (rstd, rstd_rest) = split::<S>(rstd);
    let (plain, plain_rest) = split::<S>(plain);
    let (weighted, weighted_rest) = split::<S>(weighted);
    let rows = x.chunks_exact(width).zip(grad.chunks_exact(width));
    for ((x, grad), out) in rows.zip(out.chunks_exact_mut(width)) {
        let (x, x_rest) = split::<S>(x);
        let (grad, grad_rest) = split::<S>(grad);
        let (out, out_rest) = split_mut::<S>(out);
        for j in 0..out.len() {
            let normal = simd.mul_f32s(simd.sub_f32s(x[j], mean[j]), rstd[j]);
            let centred = simd.sub_f32s(grad[j], plain[j]);
            let inner = simd.sub_f32s(centred, simd.mul_f32s(normal, weighted[j]));
            out[j] = simd.mul_f32s(simd.mul_f32s(gamma[j], rstd[j]), inner);
        }
        for j in 0..out_rest.len() {
            let normal = (x_rest[j] - mean_rest[j]) * rstd_rest[j];
            let inner = grad_rest[j] - plain_rest[j] - normal * weighted_rest[j];
            out_rest[j] = gamma_rest[j] * rstd_rest[j] * inner;
        }
    }
}

/// The norm of a block, its moments, and the column means that [`NormKind::Batch`] subtracts in the
/// backward pass (zeros with running statistics).
#[derive(Clone, Copy)]
pub(crate) struct BlockNorm<'a> {
    pub(crate) norm: &'a Norm<'a>,
    pub(crate) rows: &'a Rows,
    /// Means and reciprocal standard deviations.
    pub(crate) moments: BlockMoments<'a>,
    /// Column means of the gradient, and of the gradient times the normalised value.
    pub(crate) means: GradientMeans<'a>,
}

/// Backward pass of a block: computes `out` from `grad`, the gradient of the normalised block of `x`.
/// Instance and layer norm add the gradients of gamma and beta to `sums`.
#[inline(always)]
pub(crate) fn backward_block<S: Simd>(
    simd: S,
    block: BlockNorm<'_>,
    data: BlockGradient<'_>,
    out: &mut [f32],
    sums: &mut NormSums,
) {
    let (BlockNorm { norm, rows, moments, means }, BlockGradient { x, grad }) = (block, data);
    let BlockMoments { mean, rstd } = moments;
    let width = rows.width;
    match norm.kind {
        NormKind::Batch => columns_backward(simd, norm.gamma, moments, means, data, out),
        NormKind::Instance => {
            let size = rows.nodes * width;
            let parts = x.chunks_exact(size).zip(grad.chunks_exact(size)).zip(out.chunks_exact_mut(size));
            let mut own = NormSums::zeros(width);
            for (i, ((x, grad), out)) in parts.enumerate() {
                let moments = BlockMoments { mean: &mean[i * width..][..width], rstd: &rstd[i * width..][..width] };
                own.plain.fill(0.0);
                own.weighted.fill(0.0);
                own.add(simd, moments, x, grad);
                crate::vector::add_assign(simd, &own.plain, &mut sums.plain);
                crate::vector::add_assign(simd, &own.weighted, &mut sums.weighted);
                crate::vector::scale(simd, 1.0 / rows.nodes as f32, &mut own.plain);
                crate::vector::scale(simd, 1.0 / rows.nodes as f32, &mut own.weighted);
                columns_backward(simd, norm.gamma, moments, own.means(), BlockGradient { x, grad }, out);
            }
        }
        NormKind::Layer => {
            let parts = x.chunks_exact(width).zip(grad.chunks_exact(width)).zip(out.chunks_exact_mut(width));
            for (i, ((x, grad), out)) in parts.enumerate() {
                let moments = RowMoments { mean: mean[i], rstd: rstd[i] };
                row_backward(simd, norm.gamma, moments, BlockGradient { x, grad }, out, sums);
            }
        }
    }
}

/// Mean and reciprocal standard deviation of a row, in two passes.
#[inline(always)]
fn row_moments<S: Simd>(simd: S, x: &[f32], eps: f32) -> RowMoments {
    let (whole, rest) = split::<S>(x);
    let sum = whole.iter().fold(simd.splat_f32s(0.0), |sum, x| simd.add_f32s(sum, *x));
    let mean = (simd.reduce_sum_f32s(sum) + rest.iter().sum::<f32>()) / x.len() as f32;
    let middle = simd.splat_f32s(mean);
    let squares = whole.iter().fold(simd.splat_f32s(0.0), |squares, x| {
        let d = simd.sub_f32s(*x, middle);
        simd.mul_add_f32s(d, d, squares)
    });
    let rest: f32 = rest.iter().map(|x| (x - mean) * (x - mean)).sum();
    let variance = (simd.reduce_sum_f32s(squares) + rest) / x.len() as f32;
    RowMoments { mean, rstd: 1.0 / (variance + eps).sqrt() }
}

/// `out = (x − mean) · rstd · gamma + beta`.
#[inline(always)]
fn normalise_row<S: Simd>(simd: S, norm: &Norm<'_>, moments: RowMoments, x: &[f32], out: &mut [f32]) {
    let RowMoments { mean, rstd } = moments;
    let (middle, factor) = (simd.splat_f32s(mean), simd.splat_f32s(rstd));
    let (x, x_rest) = split::<S>(x);
    let (gamma, gamma_rest) = split::<S>(norm.gamma);
    let (beta, beta_rest) = split::<S>(norm.beta);
    let (out, out_rest) = split_mut::<S>(out);
    for (((x, gamma), beta), out) in x.iter().zip(gamma).zip(beta).zip(out) {
        *out = simd.mul_add_f32s(simd.mul_f32s(simd.sub_f32s(*x, middle), factor), *gamma, *beta);
    }
    for (((x, gamma), beta), out) in x_rest.iter().zip(gamma_rest).zip(beta_rest).zip(out_rest) {
        *out = ((x - mean) * rstd).mul_add(*gamma, *beta);
    }
}

/// Computes the gradient of a row and adds those of gamma and beta to `sums`.
#[inline(always)]
fn row_backward<S: Simd>(
    simd: S,
    gamma: &[f32],
    moments: RowMoments,
    row: BlockGradient<'_>,
    out: &mut [f32],
    sums: &mut NormSums,
) {
    let (RowMoments { mean, rstd }, BlockGradient { x, grad }) = (moments, row);
    let share = 1.0 / x.len() as f32;
    let (middle, factor) = (simd.splat_f32s(mean), simd.splat_f32s(rstd));
    let (x, x_rest) = split::<S>(x);
    let (grad, grad_rest) = split::<S>(grad);
    let (gamma, gamma_rest) = split::<S>(gamma);
    let (out, out_rest) = split_mut::<S>(out);
    let (of_beta, of_beta_rest) = split_mut::<S>(&mut sums.plain);
    let (of_gamma, of_gamma_rest) = split_mut::<S>(&mut sums.weighted);
    let (mut plain, mut weighted) = (simd.splat_f32s(0.0), simd.splat_f32s(0.0));
    for j in 0..x.len() {
        let normal = simd.mul_f32s(simd.sub_f32s(x[j], middle), factor);
        let scaled = simd.mul_f32s(grad[j], gamma[j]);
        of_beta[j] = simd.add_f32s(of_beta[j], grad[j]);
        of_gamma[j] = simd.mul_add_f32s(grad[j], normal, of_gamma[j]);
        plain = simd.add_f32s(plain, scaled);
        weighted = simd.mul_add_f32s(scaled, normal, weighted);
    }
    let (mut plain, mut weighted) = (simd.reduce_sum_f32s(plain), simd.reduce_sum_f32s(weighted));
    for j in 0..x_rest.len() {
        let (normal, scaled) = ((x_rest[j] - mean) * rstd, grad_rest[j] * gamma_rest[j]);
        of_beta_rest[j] += grad_rest[j];
        of_gamma_rest[j] += grad_rest[j] * normal;
        plain += scaled;
        weighted += scaled * normal;
    }
    (plain, weighted) = (plain * share, weighted * share);
    let (means, slopes) = (simd.splat_f32s(plain), simd.splat_f32s(weighted));
    for j in 0..x.len() {
        let normal = simd.mul_f32s(simd.sub_f32s(x[j], middle), factor);
        let centred = simd.sub_f32s(simd.mul_f32s(grad[j], gamma[j]), means);
        out[j] = simd.mul_f32s(factor, simd.sub_f32s(centred, simd.mul_f32s(normal, slopes)));
    }
    for j in 0..x_rest.len() {
        let normal = (x_rest[j] - mean) * rstd;
        out_rest[j] = rstd * (grad_rest[j] * gamma_rest[j] - plain - normal * weighted);
    }
}

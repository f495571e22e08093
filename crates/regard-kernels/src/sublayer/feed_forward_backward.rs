//! `feed_forward(x)` and `norm(x + feed_forward(x))`, backward.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Activation,
    feed_forward::{CHUNK, FeedForwardSaved, FeedForwardWeights, Tail, gelu_block},
    group::{Accumulators, total},
};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, AddResidual, Lhs, Panels, ReluGate, Rhs, Size, Store, gemm},
    norm::{BatchMeans, BlockNorm, Norm, Rows, backward_block, batch_means, merge_sums},
    simd,
    vector::column_sums,
};

/// Gradients, each in the shape of what it belongs to.
#[derive(Debug)]
pub struct FeedForwardGradients {
    /// Of the input.
    pub x: Vec<f32>,
    /// Of the first weights.
    pub w1: Vec<f32>,
    /// Of the first bias.
    pub b1: Vec<f32>,
    /// Of the second weights.
    pub w2: Vec<f32>,
    /// Of the second bias.
    pub b2: Vec<f32>,
    /// Of the norm's factor and shift, where there is a norm.
    pub norm: Option<(Vec<f32>, Vec<f32>)>,
}

struct Shared<'a> {
    rows: &'a Rows,
    hidden: usize,
    activation: Activation,
    saved: &'a FeedForwardSaved,
    norm: Option<(&'a Norm<'a>, &'a BatchMeans)>,
    /// Transposed weights `[hidden, width]` and `[width, hidden]`.
    first: &'a Panels,
    second: &'a Panels,
    x: &'a [f32],
    grad: &'a [f32],
}

struct Group<'a> {
    shared: &'a Shared<'a>,
    first: usize,
    out: &'a mut [f32],
}

impl WithSimd for Group<'_> {
    type Output = Accumulators<4>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Accumulators<4> {
        let (rows, hidden) = (self.shared.rows, self.shared.hidden);
        let mut sums = Accumulators::zeros(sizes(rows.width, hidden), rows.width);
        for (i, out) in self.out.chunks_mut((rows.block() * rows.width).max(1)).enumerate() {
            self.shared.block(simd, self.first + i, out, &mut sums);
        }
        sums
    }
}

/// Floats of the gradients of w1, b1, w2, b2.
fn sizes(width: usize, hidden: usize) -> [usize; 4] {
    [width * hidden, hidden, hidden * width, width]
}

impl Shared<'_> {
    #[inline(always)]
    fn block<S: Simd>(&self, simd: S, index: usize, out: &mut [f32], sums: &mut Accumulators<4>) {
        let (width, first) = (self.rows.width, index * self.rows.block());
        let count = out.len() / width;
        let span = first * width..(first + count) * width;
        let mut pre_grad = Workspace::lease(count * width);
        match (self.norm, &self.saved.norm) {
            (Some((norm, means)), Some((pre, moments))) => {
                let moments = moments.of_block(self.rows, norm.kind, index);
                let data = (&pre[span.clone()], &self.grad[span.clone()]);
                let means = (&means.plain[..], &means.weighted[..]);
                let block = BlockNorm { norm, rows: self.rows, moments, means };
                backward_block(simd, block, data, &mut pre_grad, &mut sums.norm);
            }
            _ => pre_grad.copy_from_slice(&self.grad[span.clone()]),
        }
        column_sums(simd, &pre_grad, width, count, &mut sums.weights[3]);
        let x = &self.x[span];
        let mut hidden_grad = Workspace::lease(count * CHUNK);
        let mut active = Workspace::lease(if self.activation == Activation::Gelu { count * CHUNK } else { 0 });
        for chunk in (0..self.hidden).step_by(CHUNK) {
            let wide = CHUNK.min(self.hidden - chunk);
            let hidden = &self.saved.hidden[first * self.hidden + chunk..];
            let size = Size { m: count, n: wide, k: width };
            let (left, second) = (Lhs::rows(&pre_grad, width), self.second.slice(0, chunk));
            let after = match self.activation {
                Activation::Relu => {
                    let gate = ReluGate { gate: hidden, ld: self.hidden };
                    gemm(simd, size, left, second, &mut hidden_grad, CHUNK, gate);
                    Lhs::transposed(hidden, self.hidden)
                }
                Activation::Gelu => {
                    gemm(simd, size, left, second, &mut hidden_grad, CHUNK, Store);
                    for r in 0..count {
                        let before = &hidden[r * self.hidden..][..wide];
                        gelu_block(simd, before, &mut active[r * CHUNK..][..wide]);
                        gelu_gradient(before, &mut hidden_grad[r * CHUNK..][..wide]);
                    }
                    Lhs::transposed(&active, CHUNK)
                }
            };
            column_sums(simd, &hidden_grad, CHUNK, count, &mut sums.weights[1][chunk..chunk + wide]);
            let size = Size { m: wide, n: width, k: count };
            let into = &mut sums.weights[2][chunk * width..];
            gemm(simd, size, after, Rhs::rows::<S>(&pre_grad, width), into, width, Accumulate);
            let size = Size { m: width, n: wide, k: count };
            let into = &mut sums.weights[0][chunk..];
            gemm(
                simd,
                size,
                Lhs::transposed(x, width),
                Rhs::rows::<S>(&hidden_grad, CHUNK),
                into,
                self.hidden,
                Accumulate,
            );
            let size = Size { m: count, n: width, k: wide };
            let (left, right) = (Lhs::rows(&hidden_grad, CHUNK), self.first.slice(chunk, 0));
            match (chunk, self.norm) {
                (0, Some(_)) => gemm(simd, size, left, right, out, width, AddResidual { x: &pre_grad, ldx: width }),
                (0, None) => gemm(simd, size, left, right, out, width, Store),
                _ => gemm(simd, size, left, right, out, width, Accumulate),
            }
        }
    }
}

/// `grad *= gelu'(x) = Φ(x) + x·φ(x)`.
fn gelu_gradient(x: &[f32], grad: &mut [f32]) {
    const INV_SQRT_TAU: f32 = 0.398_942_3;
    for (x, grad) in x.iter().zip(grad) {
        let density = INV_SQRT_TAU * (-0.5 * x * x).exp();
        // Φ(x) from GELU's own value, x·Φ(x), would divide by zero at 0: taken from erf instead.
        *grad *= normal_distribution(*x) + x * density;
    }
}

/// Φ(x), absolute error below 1e-7 (Abramowitz & Stegun 7.1.26).
fn normal_distribution(x: f32) -> f32 {
    let z = f64::from(x).abs() * std::f64::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let polynomial = [-1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let tail = polynomial.iter().fold(1.061_405_429, |p, c| p * t + c) * t * (-z * z).exp();
    let upper = 0.5 * tail;
    (if x < 0.0 { upper } else { 1.0 - upper }) as f32
}

/// Gradients of [`super::feed_forward`] for `grad`, the gradient of its result.
pub fn feed_forward_backward(
    rows: &Rows,
    weights: &FeedForwardWeights<'_>,
    tail: &Tail<'_>,
    x: &[f32],
    saved: &FeedForwardSaved,
    grad: &[f32],
) -> FeedForwardGradients {
    let rows = &rows.divided(tail.norm().map(|norm| norm.kind));
    let (width, hidden) = (rows.width, weights.b1.len());
    let means = match (tail.norm(), &saved.norm) {
        (Some(_), Some((pre, moments))) => Some(batch_means(rows, moments, pre, grad)),
        _ => None,
    };
    let first = Panels::of_transposed(weights.w1, hidden, width);
    let second = Panels::of_transposed(weights.w2, width, hidden);
    let activation = weights.activation;
    let norm = tail.norm().zip(means.as_ref());
    let shared = Shared { rows, hidden, activation, saved, norm, first: &first, second: &second, x, grad };
    let mut dx = vec![0.0; x.len()];
    let groups: Vec<Accumulators<4>> = dx
        .par_chunks_mut((rows.group() * rows.block() * width).max(1))
        .enumerate()
        .map(|(g, out)| simd::run(Group { shared: &shared, first: g * rows.group(), out }))
        .collect();
    let ([w1, b1, w2, b2], norms) = total(groups, sizes(width, hidden));
    FeedForwardGradients { x: dx, w1, b1, w2, b2, norm: means.map(|means| merge_sums(means, &norms)) }
}

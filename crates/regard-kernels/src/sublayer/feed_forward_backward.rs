//! The feed-forward network `feed_forward(x)` and the sub-layer `norm(x + feed_forward(x))`, backward pass.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Accumulators, Activation,
    feed_forward::{CHUNK, Dropouts, FeedForwardSaved, FeedForwardWeights, Tail, drop_rows},
    sum_groups,
};
use crate::{
    buffer::Workspace,
    dropout::add_dropped,
    gemm::{Accumulate, AddResidual, Bias, BiasRelu, Lhs, Panels, ReluGate, Rhs, Size, Store, gemm},
    norm::{BatchMeans, BlockGradient, BlockNorm, Norm, Rows, backward_block, batch_means, merge_sums},
    simd,
    vector::{column_sums, gelu_gradients, scale},
};

/// Gradients of the feed-forward network, each in the shape of its input.
#[derive(Debug)]
pub struct FeedForwardGradients {
    /// Gradient of the input.
    pub x: Vec<f32>,
    /// Gradient of the first weights.
    pub w1: Vec<f32>,
    /// Gradient of the first bias.
    pub b1: Vec<f32>,
    /// Gradient of the second weights.
    pub w2: Vec<f32>,
    /// Gradient of the second bias.
    pub b2: Vec<f32>,
    /// Gradients of the norm's gamma and beta, if there is a norm.
    pub norm: Option<(Vec<f32>, Vec<f32>)>,
}

struct Shared<'a> {
    rows: &'a Rows,
    hidden: usize,
    activation: Activation,
    dropouts: Dropouts,
    saved: &'a FeedForwardSaved,
    norm: Option<(&'a Norm<'a>, &'a BatchMeans)>,
    /// Transposed weights `[hidden, width]` and `[width, hidden]`.
    first: &'a Panels,
    second: &'a Panels,
    /// The first weights, not transposed, if the hidden layer was not saved.
    forward: &'a Panels,
    b1: &'a [f32],
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

/// Numbers of floats of the gradients of w1, b1, w2, b2.
fn sizes(width: usize, hidden: usize) -> [usize; 4] {
    [width * hidden, hidden, hidden * width, width]
}

/// Rows of the hidden layer, `ld` floats apart.
struct HiddenRows<'a> {
    data: &'a [f32],
    ld: usize,
}

/// Destinations of the gradient of a chunk of the hidden layer and, with GELU, of the activated values.
struct HiddenGradient<'g, 'a> {
    grad: &'g mut [f32],
    active: &'a mut [f32],
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
                let data = BlockGradient { x: &pre[span.clone()], grad: &self.grad[span.clone()] };
                let means = means.means();
                let block = BlockNorm { norm, rows: self.rows, moments, means };
                backward_block(simd, block, data, &mut pre_grad, &mut sums.norm);
            }
            _ => pre_grad.copy_from_slice(&self.grad[span.clone()]),
        }
        let result = self.dropouts.result;
        let mut own = Workspace::lease(if result.is_some() { pre_grad.len() } else { 0 });
        let branch: &[f32] = match result {
            None => &pre_grad,
            Some(_) => {
                own.copy_from_slice(&pre_grad);
                add_dropped(simd, result, first, None, width, &mut own);
                &own
            }
        };
        column_sums(simd, branch, width, count, &mut sums.weights[3]);
        let x = &self.x[span];
        let mut hidden_grad = Workspace::lease(count * CHUNK);
        let mut before = Workspace::lease(if self.saved.hidden.is_empty() { count * CHUNK } else { 0 });
        let mut active = Workspace::lease(if self.activation == Activation::Gelu { count * CHUNK } else { 0 });
        for chunk in (0..self.hidden).step_by(CHUNK) {
            let wide = CHUNK.min(self.hidden - chunk);
            let hidden = self.hidden(simd, first, x, chunk, &mut before);
            let gradient = HiddenGradient { grad: &mut hidden_grad, active: &mut active };
            let after = self.activation(simd, first, branch, chunk, hidden, gradient);
            column_sums(simd, &hidden_grad, CHUNK, count, &mut sums.weights[1][chunk..chunk + wide]);
            let size = Size { m: wide, n: width, k: count };
            let into = &mut sums.weights[2][chunk * width..];
            gemm(simd, size, after, Rhs::rows::<S>(branch, width), into, width, Accumulate);
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

    /// The hidden layer from column `chunk` on, after ReLU or before GELU. It is recomputed in `own` if it was
    /// not saved.
    #[inline(always)]
    fn hidden<'b, S: Simd>(
        &'b self,
        simd: S,
        first: usize,
        x: &[f32],
        chunk: usize,
        own: &'b mut [f32],
    ) -> HiddenRows<'b> {
        if !self.saved.hidden.is_empty() {
            return HiddenRows { data: &self.saved.hidden[first * self.hidden + chunk..], ld: self.hidden };
        }
        let (width, wide) = (self.rows.width, CHUNK.min(self.hidden - chunk));
        let size = Size { m: x.len() / width, n: wide, k: width };
        let (left, right, bias) = (Lhs::rows(x, width), self.forward.slice(0, chunk), &self.b1[chunk..chunk + wide]);
        match self.activation {
            Activation::Relu => {
                gemm(simd, size, left, right, own, CHUNK, BiasRelu(bias));
                if let Some(dropout) = &self.dropouts.hidden {
                    drop_rows(dropout, first, chunk, wide, CHUNK, own);
                }
            }
            Activation::Gelu => gemm(simd, size, left, right, own, CHUNK, Bias(bias)),
        }
        HiddenRows { data: own, ld: CHUNK }
    }

    /// Computes the gradient of [`Self::hidden`] from that of the second product. Returns the activated
    /// hidden layer, which is in `out.active` or `hidden`.
    #[inline(always)]
    fn activation<'b, S: Simd>(
        &self,
        simd: S,
        first: usize,
        branch: &[f32],
        chunk: usize,
        hidden: HiddenRows<'b>,
        out: HiddenGradient<'_, 'b>,
    ) -> Lhs<'b> {
        let (HiddenRows { data: hidden, ld }, HiddenGradient { grad, active }) = (hidden, out);
        let (width, wide) = (self.rows.width, CHUNK.min(self.hidden - chunk));
        let size = Size { m: branch.len() / width, n: wide, k: width };
        let (left, second) = (Lhs::rows(branch, width), self.second.slice(0, chunk));
        let dropout = &self.dropouts.hidden;
        if self.activation == Activation::Relu {
            gemm(simd, size, left, second, grad, CHUNK, ReluGate { gate: hidden, ld });
            if let Some(dropout) = dropout {
                // A dropped value is 0 in the saved layer, so the gate masks it already.
                scale(simd, dropout.sampler().keep_scale(), grad);
            }
            return Lhs::transposed(hidden, ld);
        }
        gemm(simd, size, left, second, grad, CHUNK, Store);
        let mut factors = [1.0; CHUNK];
        let rows = hidden.chunks(ld).zip(active.chunks_exact_mut(CHUNK)).zip(grad.chunks_exact_mut(CHUNK));
        for (r, ((before, active), grad)) in rows.take(size.m).enumerate() {
            if let Some(dropout) = dropout {
                dropout.sampler().along_row(dropout.row(first + r), chunk, &mut factors);
            }
            gelu_gradients(simd, &before[..wide], &factors[..wide], &mut active[..wide], &mut grad[..wide]);
        }
        Lhs::transposed(active, CHUNK)
    }
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
    let rows = &rows.split_instances(tail.norm().map(|norm| norm.kind));
    let (width, hidden) = (rows.width, weights.b1.len());
    let means = match (tail.norm(), &saved.norm) {
        (Some(_), Some((pre, moments))) => Some(batch_means(rows, moments, pre, grad)),
        _ => None,
    };
    let first = Panels::of_transposed(weights.w1, hidden, width);
    let second = Panels::of_transposed(weights.w2, width, hidden);
    let again = if saved.hidden.is_empty() { hidden } else { 0 };
    let forward = Panels::of_forward(weights.w1, width, again);
    let (activation, dropouts) = (weights.activation, weights.dropouts);
    let norm = tail.norm().zip(means.as_ref());
    let shared = Shared {
        rows,
        hidden,
        activation,
        dropouts,
        saved,
        norm,
        first: &first,
        second: &second,
        forward: &forward,
        b1: weights.b1,
        x,
        grad,
    };
    let mut dx = vec![0.0; x.len()];
    let groups: Vec<Accumulators<4>> = dx
        .par_chunks_mut((rows.group() * rows.block() * width).max(1))
        .enumerate()
        .map(|(g, out)| simd::run(Group { shared: &shared, first: g * rows.group(), out }))
        .collect();
    let ([w1, b1, w2, b2], norms) = sum_groups(groups, sizes(width, hidden));
    FeedForwardGradients { x: dx, w1, b1, w2, b2, norm: means.map(|means| merge_sums(means, &norms)) }
}

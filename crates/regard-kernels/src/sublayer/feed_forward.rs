//! The feed-forward network `FF(x) = act(x·w1 + b1)·w2 + b2` (Vaswani et al. 2017, section 3.3) and the sub-layer
//! `norm(x + FF(x))`: weights and forward pass.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::Activation;
use crate::{
    buffer::Workspace,
    dropout::{Dropout, add_dropped},
    gemm::{Accumulate, Bias, BiasRelu, BiasResidual, Epilogue, Lhs, Panels, Residual, Size, gemm},
    norm::{
        BatchStatistics, BlockMoments, Moments, Norm, Rows, block_moments, finish_moments, normalise, normalise_block,
    },
    simd,
    vector::gelu_block,
};

/// Weights of `activation(x·w1 + b1)·w2 + b2`, row-major `[in, out]`.
#[derive(Clone, Copy, Debug)]
pub struct FeedForwardWeights<'a> {
    /// `[width, hidden]`.
    pub w1: &'a [f32],
    /// `[hidden]`.
    pub b1: &'a [f32],
    /// `[hidden, width]`.
    pub w2: &'a [f32],
    /// `[width]`.
    pub b2: &'a [f32],
    /// Activation function between the two linear layers.
    pub activation: Activation,
    /// Dropout during training.
    pub dropouts: Dropouts,
}

/// Dropout of a feed-forward network; the rows of the masks are those of its input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dropouts {
    /// Dropout of the hidden layer.
    pub hidden: Option<Dropout>,
    /// Dropout of the result, before the residual.
    pub result: Option<Dropout>,
}

/// The operations after the second product.
#[derive(Clone, Copy, Debug)]
pub enum Tail<'a> {
    /// None: the result is returned as it is.
    Plain,
    /// Residual connection and norm.
    ResidualNorm(Norm<'a>),
}

impl<'a> Tail<'a> {
    pub(crate) fn norm(&self) -> Option<&Norm<'a>> {
        match self {
            Self::Plain => None,
            Self::ResidualNorm(norm) => Some(norm),
        }
    }
}

/// Values saved by the forward pass for the backward pass.
#[derive(Debug)]
pub struct FeedForwardSaved {
    /// Hidden layer `[rows, hidden]`, after ReLU or before GELU; empty if the backward pass recomputes it.
    pub(super) hidden: Workspace,
    /// Input of the norm, `[rows, width]`, and its moments, if there is a norm.
    pub(super) norm: Option<(Workspace, Moments)>,
}

/// Number of columns of the hidden layer in a chunk: the chunk of a block stays in the second-level cache.
pub(super) const CHUNK: usize = 128;

/// Largest width of the input for which the backward pass recomputes the hidden layer.
const NARROW: usize = 64;

/// Multiplies rows of a chunk of the hidden layer with their dropout factors. The chunk starts at row
/// `first` and column `chunk`.
#[inline(always)]
pub(super) fn drop_rows(dropout: &Dropout, first: usize, chunk: usize, wide: usize, ld: usize, x: &mut [f32]) {
    let (sampler, mut factors) = (dropout.sampler(), [0.0; CHUNK]);
    for (i, row) in x.chunks_mut(ld).enumerate() {
        sampler.along_row(dropout.row(first + i), chunk, &mut factors);
        row.iter_mut().zip(&factors[..wide]).for_each(|(x, factor)| *x *= factor);
    }
}

pub(super) struct Shared<'a> {
    pub(super) rows: Rows,
    pub(super) hidden: usize,
    pub(super) weights: &'a FeedForwardWeights<'a>,
    pub(super) first: &'a Panels,
    pub(super) second: &'a Panels,
    norm: Option<&'a Norm<'a>>,
    folded: Option<&'a (Vec<f32>, Vec<f32>)>,
}

/// Input rows of a block; `first` is the index of the first one in the batch.
#[derive(Clone, Copy)]
struct InputRows<'a> {
    first: usize,
    x: &'a [f32],
}

/// Memory for the hidden layer of a block: all columns if `whole` is true, else one chunk.
struct HiddenLayer<'a> {
    data: &'a mut [f32],
    whole: bool,
}

struct Block<'a> {
    shared: &'a Shared<'a>,
    /// First row of the block.
    first: usize,
    x: &'a [f32],
    hidden: HiddenLayer<'a>,
    pre: Option<&'a mut [f32]>,
    moments: &'a mut [f32],
    out: Option<&'a mut [f32]>,
}

impl Shared<'_> {
    /// Computes both products of a block, chunk by chunk. `epilogue` is applied to the product of the first
    /// chunk; those of the other chunks are added.
    #[inline(always)]
    fn products<S: Simd, E: Epilogue<S>>(
        &self,
        simd: S,
        rows: InputRows<'_>,
        hidden: HiddenLayer<'_>,
        out: &mut [f32],
        epilogue: E,
    ) {
        let InputRows { first, x } = rows;
        let HiddenLayer { data: hidden, whole } = hidden;
        let (width, rows) = (self.rows.width, x.len() / self.rows.width);
        let dropout = self.weights.dropouts.hidden.as_ref();
        let ld = if whole { self.hidden } else { CHUNK };
        let mut active = Workspace::lease(if self.weights.activation == Activation::Gelu { rows * CHUNK } else { 0 });
        for chunk in (0..self.hidden).step_by(CHUNK) {
            let wide = CHUNK.min(self.hidden - chunk);
            let into = if whole { &mut hidden[chunk..] } else { &mut hidden[..] };
            let size = Size { m: rows, n: wide, k: width };
            let bias = &self.weights.b1[chunk..chunk + wide];
            let (left, map) = (Lhs::rows(x, width), self.first.slice(0, chunk));
            let after = match self.weights.activation {
                Activation::Relu => {
                    gemm(simd, size, left, map, into, ld, BiasRelu(bias));
                    if let Some(dropout) = dropout {
                        drop_rows(dropout, first, chunk, wide, ld, &mut into[..(rows - 1) * ld + wide]);
                    }
                    Lhs::rows(into, ld)
                }
                Activation::Gelu => {
                    gemm(simd, size, left, map, into, ld, Bias(bias));
                    for (r, to) in active.chunks_exact_mut(CHUNK).enumerate() {
                        gelu_block(simd, &into[r * ld..][..wide], &mut to[..wide]);
                    }
                    if let Some(dropout) = dropout {
                        drop_rows(dropout, first, chunk, wide, CHUNK, &mut active);
                    }
                    Lhs::rows(&active, CHUNK)
                }
            };
            let size = Size { m: rows, n: width, k: wide };
            let second = self.second.slice(chunk, 0);
            if chunk == 0 {
                gemm(simd, size, after, second, out, width, epilogue);
            } else {
                gemm(simd, size, after, second, out, width, Accumulate);
            }
        }
    }
}

impl WithSimd for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let shared = self.shared;
        let (width, weights) = (shared.rows.width, shared.weights);
        let rows = InputRows { first: self.first, x: self.x };
        let dropout = weights.dropouts.result;
        let Some(norm) = shared.norm else {
            if let Some(out) = self.out {
                shared.products(simd, rows, self.hidden, out, Bias(weights.b2));
                add_dropped(simd, dropout, self.first, None, width, out);
            }
            return;
        };
        if let (Some((scale, shift)), Some(out)) = (shared.folded, self.out.as_deref_mut()) {
            let epilogue = Residual { scale, shift, x: self.x, ldx: width };
            return shared.products(simd, rows, self.hidden, out, epilogue);
        }
        let mut own = Workspace::lease(if self.pre.is_some() { 0 } else { self.x.len() });
        let pre = self.pre.unwrap_or(&mut own);
        if dropout.is_some() {
            shared.products(simd, rows, self.hidden, pre, Bias(weights.b2));
            add_dropped(simd, dropout, self.first, Some(self.x), width, pre);
        } else {
            let epilogue = BiasResidual { bias: weights.b2, x: self.x, ldx: width };
            shared.products(simd, rows, self.hidden, pre, epilogue);
        }
        block_moments(simd, norm, &shared.rows, pre, self.moments);
        if let Some(out) = self.out {
            let moments = BlockMoments::split(self.moments);
            normalise_block(simd, norm, &shared.rows, moments, pre, out);
        }
    }
}

/// `feed_forward(x)` followed by `tail`, for `x [batch, nodes, width]`. Also returns the batch statistics,
/// if the norm computes them, and, if `save` is true, the values that
/// [`super::feed_forward_backward`] needs.
pub fn feed_forward(
    rows: &Rows,
    weights: &FeedForwardWeights<'_>,
    tail: &Tail<'_>,
    x: &[f32],
    save: bool,
) -> (Vec<f32>, Option<FeedForwardSaved>, Option<BatchStatistics>) {
    assert_eq!(x.len(), rows.rows() * rows.width, "length of the input");
    let norm = tail.norm();
    let rows = &rows.split_instances(norm.map(|norm| norm.kind));
    let (width, hidden) = (rows.width, weights.b1.len());
    let folded = norm.filter(|_| !save && weights.dropouts.result.is_none());
    let folded = folded.and_then(|norm| norm.folded_with(Some(weights.b2)));
    let first = Panels::of_forward(weights.w1, width, hidden);
    let second = match &folded {
        Some((scale, _)) => Panels::pack_forward(hidden, width, |p, j| weights.w2[p * width + j] * scale[j]),
        None => Panels::of_forward(weights.w2, hidden, width),
    };
    let shared = Shared { rows: *rows, hidden, weights, first: &first, second: &second, norm, folded: folded.as_ref() };
    let two_phases = norm.is_some_and(Norm::needs_batch) || (save && norm.is_some());
    let mut out = vec![0.0; x.len()];
    if two_phases {
        let (saved, statistics) = shared.train(x, save, &mut out);
        return (out, save.then_some(saved), statistics);
    }
    let saved = shared.infer(x, save, &mut out);
    (out, save.then_some(FeedForwardSaved { hidden: saved, norm: None }), None)
}

impl Shared<'_> {
    /// True if the hidden layer is saved for the backward pass. For narrow inputs it is recomputed, which
    /// costs less than to write and read it.
    fn saves_hidden(&self) -> bool {
        self.rows.width > NARROW
    }

    /// Forward pass in one phase: each block is finished at once.
    fn infer(&self, x: &[f32], save_hidden: bool, out: &mut [f32]) -> Workspace {
        let rows = &self.rows;
        let size = (rows.block() * rows.width).max(1);
        let moments_len = self.norm.map_or(0, |norm| 2 * rows.moments_len(norm.kind));
        let stride = rows.block() * self.hidden;
        let save_hidden = save_hidden && self.saves_hidden();
        let mut all = Workspace::lease(if save_hidden { rows.rows() * self.hidden } else { 0 });
        let mut hidden_parts: Vec<&mut [f32]> = all.chunks_mut(stride.max(1)).collect();
        hidden_parts.resize_with(rows.blocks(), Default::default);
        let parts = out.par_chunks_mut(size).zip(x.par_chunks(size)).zip(hidden_parts.par_iter_mut()).enumerate();
        parts.for_each(|(index, ((out, x), hidden_parts))| {
            let first = index * rows.block();
            let mut moments = Workspace::lease(moments_len);
            let mut scratch = Workspace::lease(if save_hidden { 0 } else { x.len() / rows.width * CHUNK });
            let hidden = if save_hidden { &mut **hidden_parts } else { &mut scratch[..] };
            simd::run(Block {
                shared: self,
                first,
                x,
                hidden: HiddenLayer { data: hidden, whole: save_hidden },
                pre: None,
                moments: &mut moments,
                out: Some(out),
            });
        });
        drop(hidden_parts);
        all
    }

    /// Forward pass in two phases, with the batch statistics between them.
    fn train(&self, x: &[f32], save_hidden: bool, out: &mut [f32]) -> (FeedForwardSaved, Option<BatchStatistics>) {
        let rows = &self.rows;
        let Some(norm) = self.norm else {
            return (FeedForwardSaved { hidden: self.infer(x, save_hidden, out), norm: None }, None);
        };
        let (size, moments_len) = ((rows.block() * rows.width).max(1), 2 * rows.moments_len(norm.kind));
        let save_hidden = save_hidden && self.saves_hidden();
        let stride = rows.block() * self.hidden;
        let mut hidden = Workspace::lease(if save_hidden { rows.rows() * self.hidden } else { 0 });
        let mut pre = Workspace::lease(x.len());
        let mut blocks = Workspace::lease(rows.blocks() * moments_len);
        let mut hidden_parts: Vec<&mut [f32]> = hidden.chunks_mut(stride.max(1)).collect();
        hidden_parts.resize_with(rows.blocks(), Default::default);
        x.par_chunks(size)
            .zip(hidden_parts.par_iter_mut())
            .zip(pre.par_chunks_mut(size))
            .zip(blocks.par_chunks_mut(moments_len.max(1)))
            .enumerate()
            .for_each(|(index, (((x, hidden_parts), pre), moments))| {
                let first = index * rows.block();
                let mut scratch = Workspace::lease(if save_hidden { 0 } else { x.len() / rows.width * CHUNK });
                let hidden = if save_hidden { &mut **hidden_parts } else { &mut scratch[..] };
                simd::run(Block {
                    shared: self,
                    first,
                    x,
                    hidden: HiddenLayer { data: hidden, whole: save_hidden },
                    pre: Some(pre),
                    moments,
                    out: None,
                });
            });
        drop(hidden_parts);
        let (moments, statistics) = finish_moments(norm, rows, blocks);
        normalise(norm, rows, &moments, &pre, out);
        (FeedForwardSaved { hidden, norm: Some((pre, moments)) }, statistics)
    }
}

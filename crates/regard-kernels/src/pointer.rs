//! The pointer: a distribution over nodes for every decoding step (Vinyals et al. 2015; Bello et al. 2016;
//! Kool et al. 2019, section 3.2, equations 7 and 8), forward and backward.
//!
//! `log p_ij = log_softmax_j(clip · tanh(g_i·k_j / √width))` over the nodes that step `i` may
//! choose. With the nodes sorted in tour order and [`Mask::Remaining`], one call covers every step
//! of a whole tour.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::{
    attention::{Instance, Mask},
    buffer::Workspace,
    gemm::{Accumulate, Lhs, Rhs, Size, Store, gemm},
    simd,
    transpose::transpose,
    vector::{MASKED, exp, maximum, split_mut, tanh},
};

/// Sizes of a pointer call.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of instances.
    pub batch: usize,
    /// Number of steps (queries) of an instance.
    pub steps: usize,
    /// Number of nodes (keys) of an instance.
    pub nodes: usize,
    /// Width of glimpses and keys.
    pub width: usize,
    /// Logits are `clip · tanh(·)`; 0 turns the clipping off.
    pub clip: f32,
}

/// Gradient of the log-probabilities.
#[derive(Clone, Copy)]
enum LogProbGradient<'a> {
    /// One gradient for every node.
    All(&'a [f32]),
    /// One gradient, shared by the chosen node of each step.
    Chosen(&'a [u32], f32),
}

impl Shape {
    fn instance<'a>(&self, glimpse: &'a [f32], keys: &'a [f32], mask: Mask<'a>, b: usize) -> Instance<'a> {
        let (steps, nodes, width) = (self.steps, self.nodes, self.width);
        let keys = &keys[b * nodes * width..][..nodes * width];
        Instance {
            query: &glimpse[b * steps * width..][..steps * width],
            key: keys,
            value: keys,
            query_ld: width,
            key_ld: width,
            value_ld: width,
            queries: steps,
            keys: nodes,
            heads: 1,
            key_width: width,
            value_width: width,
            scale: 1.0 / (width as f32).sqrt(),
            clamp: None,
            mask: mask.of_instance(b),
            bias: None,
        }
    }
}

/// Turns scores into clipped logits (−∞ where masked) and returns their log-sum-exp.
#[inline(always)]
pub(crate) fn logits<S: Simd>(simd: S, clip: f32, row: &mut [f32]) -> f32 {
    let masked = simd.splat_f32s(MASKED);
    if clip > 0.0 {
        let clip = simd.splat_f32s(clip);
        for z in split_mut::<S>(row).0 {
            let unmasked = simd.less_than_f32s(masked, *z);
            let logit = simd.mul_f32s(clip, tanh(simd, *z));
            *z = simd.select_f32s(unmasked, logit, simd.splat_f32s(f32::NEG_INFINITY));
        }
    }
    let max = maximum(simd, row);
    let (top, zero) = (simd.splat_f32s(max), simd.splat_f32s(0.0));
    let mut sum = zero;
    for u in split_mut::<S>(row).0 {
        let unmasked = simd.less_than_f32s(masked, *u);
        sum = simd.add_f32s(sum, simd.select_f32s(unmasked, exp(simd, simd.sub_f32s(*u, top)), zero));
    }
    max + simd.reduce_sum_f32s(sum).ln()
}

struct Forward<'a> {
    instance: Instance<'a>,
    clip: f32,
    chosen: Option<&'a [u32]>,
    /// Log-probabilities of all nodes, or the single sum over the chosen nodes.
    out: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let x = &self.instance;
        let (padded, block, nodes) = (x.padded::<S>(), x.block::<S>(), x.keys);
        let mut scratch = Workspace::lease((x.key_width + block) * padded);
        let (keys, scores) = scratch.split_at_mut(x.key_width * padded);
        transpose(x.key, x.key_ld, nodes, x.key_width, padded, keys);
        let mut total = 0f64;
        for first in (0..x.queries).step_by(block) {
            let rows = block.min(x.queries - first);
            x.scores(simd, 0, first, rows, keys, scores);
            for (r, row) in scores.chunks_exact_mut(padded).take(rows).enumerate() {
                let lse = logits(simd, self.clip, row);
                match self.chosen {
                    Some(chosen) => total += f64::from(row[chosen[first + r] as usize].max(MASKED) - lse),
                    None => {
                        let out = &mut self.out[(first + r) * nodes..][..nodes];
                        for (out, u) in out.iter_mut().zip(row) {
                            *out = if *u > MASKED { *u - lse } else { MASKED };
                        }
                    }
                }
            }
        }
        if self.chosen.is_some() {
            self.out[0] = total as f32;
        }
    }
}

struct Backward<'a> {
    instance: Instance<'a>,
    clip: f32,
    gradient: LogProbGradient<'a>,
    glimpse: &'a mut [f32],
    keys: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let x = &self.instance;
        let (padded, block, nodes, width) = (x.padded::<S>(), x.block::<S>(), x.keys, x.key_width);
        let mut scratch = Workspace::lease((width + 2 * block) * padded);
        let (keys, rest) = scratch.split_at_mut(width * padded);
        let (scores, grads) = rest.split_at_mut(block * padded);
        transpose(x.key, x.key_ld, nodes, width, padded, keys);
        for first in (0..x.queries).step_by(block) {
            let rows = block.min(x.queries - first);
            x.scores(simd, 0, first, rows, keys, scores);
            let pairs = scores.chunks_exact_mut(padded).zip(grads.chunks_exact_mut(padded));
            for (r, (row, grad)) in pairs.take(rows).enumerate() {
                grad.fill(0.0);
                match self.gradient {
                    LogProbGradient::All(all) => grad[..nodes].copy_from_slice(&all[(first + r) * nodes..][..nodes]),
                    LogProbGradient::Chosen(chosen, value) => grad[chosen[first + r] as usize] = value,
                }
                score_gradients(simd, self.clip, x.scale, row, grad);
            }
            let key = Rhs::rows::<S>(x.key, x.key_ld);
            let size = Size { m: rows, n: width, k: nodes };
            gemm(simd, size, Lhs::rows(grads, padded), key, &mut self.glimpse[first * width..], width, Store);
            let glimpse = Rhs::rows::<S>(&x.query[first * width..], width);
            let size = Size { m: nodes, n: width, k: rows };
            gemm(simd, size, Lhs::transposed(grads, padded), glimpse, self.keys, width, Accumulate);
        }
    }
}

/// Turns one row of `grad` from the gradient of the log-probabilities into that of the raw products.
#[inline(always)]
fn score_gradients<S: Simd>(simd: S, clip: f32, scale: f32, row: &mut [f32], grad: &mut [f32]) {
    let lse = simd.splat_f32s(logits(simd, clip, row));
    let (masked, zero, one) = (simd.splat_f32s(MASKED), simd.splat_f32s(0.0), simd.splat_f32s(1.0));
    let (row, grad) = (split_mut::<S>(row).0, split_mut::<S>(grad).0);
    let mut sum = zero;
    for (u, g) in row.iter().zip(grad.iter_mut()) {
        // The log-probability of a masked node is constant.
        *g = simd.select_f32s(simd.less_than_f32s(masked, *u), *g, zero);
        sum = simd.add_f32s(sum, *g);
    }
    let sum = simd.splat_f32s(simd.reduce_sum_f32s(sum));
    // Without clipping the derivative is the scale.
    let (unclip, factor) = if clip > 0.0 { (1.0 / clip, clip * scale) } else { (0.0, scale) };
    let (unclip, factor) = (simd.splat_f32s(unclip), simd.splat_f32s(factor));
    for (u, g) in row.iter().zip(grad) {
        let unmasked = simd.less_than_f32s(masked, *u);
        let p = exp(simd, simd.sub_f32s(*u, lse));
        let t = simd.mul_f32s(*u, unclip);
        let slope = simd.mul_f32s(factor, simd.sub_f32s(one, simd.mul_f32s(t, t)));
        let gradient = simd.mul_f32s(simd.sub_f32s(*g, simd.mul_f32s(p, sum)), slope);
        *g = simd.select_f32s(unmasked, gradient, zero);
    }
}

/// Log-probabilities `[batch, steps, nodes]` of `glimpse [batch, steps, width]` and
/// `keys [batch, nodes, width]`; −1e30 where masked.
pub fn log_probabilities(shape: &Shape, glimpse: &[f32], keys: &[f32], mask: Mask<'_>) -> Vec<f32> {
    let mut out = vec![0.0; shape.batch * shape.steps * shape.nodes];
    out.par_chunks_mut((shape.steps * shape.nodes).max(1)).enumerate().for_each(|(b, out)| {
        let instance = shape.instance(glimpse, keys, mask, b);
        simd::run(Forward { instance, clip: shape.clip, chosen: None, out });
    });
    out
}

/// Sum over the steps of the log-probability of the chosen nodes, `[batch]`, for
/// `chosen [batch, steps]`.
pub fn chosen(shape: &Shape, glimpse: &[f32], keys: &[f32], mask: Mask<'_>, chosen: &[u32]) -> Vec<f32> {
    let mut out = vec![0.0; shape.batch];
    out.par_chunks_mut(1).enumerate().for_each(|(b, out)| {
        let instance = shape.instance(glimpse, keys, mask, b);
        let chosen = Some(&chosen[b * shape.steps..][..shape.steps]);
        simd::run(Forward { instance, clip: shape.clip, chosen, out });
    });
    out
}

/// Gradients of [`log_probabilities`] with respect to glimpses and keys.
pub fn log_probabilities_backward(
    shape: &Shape,
    glimpse: &[f32],
    keys: &[f32],
    mask: Mask<'_>,
    grad: &[f32],
) -> (Vec<f32>, Vec<f32>) {
    let cells = shape.steps * shape.nodes;
    backward(shape, glimpse, keys, mask, |b| LogProbGradient::All(&grad[b * cells..][..cells]))
}

/// Gradients of [`chosen`] with respect to glimpses and keys.
pub fn chosen_backward(
    shape: &Shape,
    glimpse: &[f32],
    keys: &[f32],
    mask: Mask<'_>,
    chosen: &[u32],
    grad: &[f32],
) -> (Vec<f32>, Vec<f32>) {
    let steps = shape.steps;
    backward(shape, glimpse, keys, mask, |b| LogProbGradient::Chosen(&chosen[b * steps..][..steps], grad[b]))
}

fn backward<'a>(
    shape: &Shape,
    glimpse: &'a [f32],
    keys: &'a [f32],
    mask: Mask<'a>,
    gradient: impl Fn(usize) -> LogProbGradient<'a> + Sync,
) -> (Vec<f32>, Vec<f32>) {
    let (mut glimpse_grad, mut keys_grad) = (vec![0.0; glimpse.len()], vec![0.0; keys.len()]);
    glimpse_grad
        .par_chunks_mut((shape.steps * shape.width).max(1))
        .zip(keys_grad.par_chunks_mut((shape.nodes * shape.width).max(1)))
        .enumerate()
        .for_each(|(b, (glimpse_grad, keys_grad))| {
            let instance = shape.instance(glimpse, keys, mask, b);
            let gradient = gradient(b);
            simd::run(Backward { instance, clip: shape.clip, gradient, glimpse: glimpse_grad, keys: keys_grad });
        });
    (glimpse_grad, keys_grad)
}

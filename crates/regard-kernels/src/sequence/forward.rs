//! Forward pass of sequence attention: blocks of sequences, then the norm if it needs batch statistics.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Layer, Projections, Saved, Tail, heads::QUERIES};
use crate::{
    buffer::Workspace,
    dropout::add_dropped,
    gemm::{Bias, BiasResidual, Lhs, Panels, Residual, RowBias, Size, Transposed, gemm},
    norm::{BatchStatistics, BlockMoments, Norm, NormKind, block_moments, finish_moments, normalise, normalise_block},
    simd,
};

/// Data shared by all blocks.
struct Shared<'a> {
    layer: &'a Layer,
    projections: &'a Projections<'a>,
    /// Projections of the patches, one output channel a row, and their biases.
    channels: Vec<f32>,
    biases: Vec<f32>,
    output: Panels,
    output_bias: Vec<f32>,
    norm: Option<&'a Norm<'a>>,
    /// Folded batch norm: scale and shift per column, including the bias.
    folded: Option<(Vec<f32>, Vec<f32>)>,
    x: &'a [f32],
}

/// One block of sequences. Slices that are not saved are empty; the block then uses scratch memory.
struct Block<'a> {
    shared: &'a Shared<'a>,
    index: usize,
    projected: &'a mut [f32],
    attended: &'a mut [f32],
    softmax: &'a mut [f32],
    to: Destination<'a>,
}

/// Destinations of the result of a block.
struct Destination<'a> {
    /// Input of the norm, if it is saved or normalised in a second phase.
    pre: Option<&'a mut [f32]>,
    moments: &'a mut [f32],
    out: Option<&'a mut [f32]>,
}

/// Returns `kept`, or `own` with `len` floats if `kept` is empty.
fn saved_or_scratch<'a>(saved: &'a mut [f32], own: &'a mut Workspace, len: usize) -> &'a mut [f32] {
    if !saved.is_empty() {
        return saved;
    }
    *own = Workspace::lease(len);
    own
}

impl WithSimd for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Shared { layer, projections, channels, biases, x, .. } = self.shared;
        let (rows, ld) = (&layer.rows, layer.ld());
        let first = self.index * rows.block();
        let count = rows.block().min(rows.rows() - first);
        let x = &x[first * rows.width..][..count * rows.width];
        let mut own: [Workspace; 3] = std::array::from_fn(|_| Workspace::lease(0));
        let [own_projected, own_attended, own_softmax] = &mut own;
        let projected = saved_or_scratch(self.projected, own_projected, biases.len() * ld);
        let attended = saved_or_scratch(self.attended, own_attended, layer.values() * ld);
        let softmax = saved_or_scratch(self.softmax, own_softmax, count * layer.heads * 2);

        let size = Size { m: biases.len(), n: count, k: rows.width };
        let (left, right) = (Lhs::rows(channels, rows.width), Transposed::forward(x, count, rows.width, ld));
        gemm(simd, size, left, right.rhs::<S>(), projected, ld, RowBias(biases));

        let given = layer.gather(projections, first, count);
        let channels = layer.channels(projections, projected, &given);
        // Lanes beyond the last query are computed too, so they must be finite.
        let mut scratch = Workspace::zeros(rows.nodes * QUERIES);
        let parts = softmax.chunks_exact_mut((2 * rows.nodes).max(1));
        for (i, softmax) in parts.take(count / rows.nodes * layer.heads).enumerate() {
            let (s, h) = (i / layer.heads, i % layer.heads);
            let head = layer.head(&channels, s, first / rows.nodes + s, h);
            let out = &mut attended[h * layer.value_width * ld + s * rows.nodes..];
            head.attend(simd, out, softmax, &mut scratch);
        }
        self.shared.finish(simd, first, x, attended, self.to);
    }
}

impl Shared<'_> {
    /// Applies output projection, dropout, residual and norm to the block that starts at row `first`.
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, first: usize, x: &[f32], attended: &[f32], to: Destination<'_>) {
        let Destination { pre, moments, out } = to;
        let (layer, width) = (self.layer, self.layer.rows.width);
        let size = Size { m: x.len() / width, n: width, k: layer.values() };
        let (left, right) = (Lhs::transposed(attended, layer.ld()), self.output.rhs());
        let (bias, dropout) = (&self.output_bias[..], layer.residual_dropout);
        let Some(norm) = self.norm else {
            if let Some(out) = out {
                gemm(simd, size, left, right, out, width, Bias(bias));
                add_dropped(simd, dropout, first, None, width, out);
            }
            return;
        };
        if let Some((scale, shift)) = &self.folded {
            if let Some(out) = out {
                gemm(simd, size, left, right, out, width, Residual { scale, shift, x, ldx: width });
            }
            return;
        }
        let mut own = Workspace::lease(if pre.is_some() { 0 } else { x.len() });
        let pre = pre.unwrap_or(&mut own);
        match dropout {
            None => gemm(simd, size, left, right, pre, width, BiasResidual { bias, x, ldx: width }),
            Some(_) => {
                gemm(simd, size, left, right, pre, width, Bias(bias));
                add_dropped(simd, dropout, first, Some(x), width, pre);
            }
        }
        block_moments(simd, norm, &layer.rows, pre, moments);
        if let Some(out) = out {
            let moments = BlockMoments::split(moments);
            normalise_block(simd, norm, &layer.rows, moments, pre, out);
        }
    }
}

/// Self-attention of `x [sequences, patches, width]` followed by `tail`. Also returns the batch
/// statistics, if the norm computes them, and, if `save` is true, the values that
/// [`super::sequence_attention_backward`] needs.
///
/// # Panics
/// If sizes do not match.
pub fn sequence_attention(
    layer: &Layer,
    projections: &Projections<'_>,
    tail: &Tail<'_>,
    x: &[f32],
    save: bool,
) -> (Vec<f32>, Option<Saved>, Option<BatchStatistics>) {
    projections.check(layer, x);
    let (norm, width, values) = (tail.norm(), layer.rows.width, layer.values());
    // A folded norm would scale the product before dropout.
    let folded = norm.filter(|_| !save && layer.residual_dropout.is_none());
    let folded = folded.and_then(|norm| norm.folded_with(projections.out.bias));
    let weight = projections.out.weight;
    let output = match &folded {
        Some((scale, _)) => Panels::pack_forward(values, width, |p, j| weight[p * width + j] * scale[j]),
        None => Panels::of_forward(weight, values, width),
    };
    let shared = Shared {
        layer,
        projections,
        channels: projections.channels(layer),
        biases: projections.channel_biases(layer),
        output,
        output_bias: projections.out.bias.map_or_else(|| vec![0.0; width], <[f32]>::to_vec),
        norm,
        folded,
        x,
    };
    shared.run(save)
}

/// Splits saved values into those of each block; the parts are empty if nothing is saved.
fn split_blocks(all: &mut [f32], stride: usize, blocks: usize) -> Vec<&mut [f32]> {
    let mut split_blocks: Vec<&mut [f32]> = all.chunks_mut(stride.max(1)).collect();
    split_blocks.resize_with(blocks, Default::default);
    split_blocks
}

impl Shared<'_> {
    fn run(&self, save: bool) -> (Vec<f32>, Option<Saved>, Option<BatchStatistics>) {
        let (layer, rows) = (self.layer, &self.layer.rows);
        let (blocks, size) = (rows.blocks(), (rows.block() * rows.width).max(1));
        let later = self.norm.is_some_and(|norm| norm.needs_batch() || (save && norm.kind == NormKind::Batch));
        let moments_len = self.norm.map_or(0, |norm| 2 * rows.moments_len(norm.kind));
        let strides = [
            self.biases.len() * layer.ld(),
            layer.values() * layer.ld(),
            rows.instances() * layer.heads * 2 * rows.nodes,
        ];
        let mut saved = strides.map(|stride| Workspace::lease(if save { blocks * stride } else { 0 }));
        let keep_pre = later || (save && self.norm.is_some());
        let mut pre = Workspace::lease(if keep_pre { self.x.len() } else { 0 });
        let mut moments = Workspace::lease(blocks * moments_len);
        let mut out = vec![0.0; self.x.len()];
        {
            let [projected, attended, softmax] = &mut saved;
            let pre = split_blocks(&mut pre, size, blocks).into_par_iter();
            let outs = split_blocks(&mut out, size, blocks).into_par_iter();
            let parts = split_blocks(projected, strides[0], blocks).into_par_iter();
            let parts =
                parts.zip(split_blocks(attended, strides[1], blocks)).zip(split_blocks(softmax, strides[2], blocks));
            let parts = parts.zip(pre).zip(split_blocks(&mut moments, moments_len, blocks)).zip(outs).enumerate();
            parts.for_each(|(index, (((((projected, attended), softmax), pre), moments), out))| {
                let pre = keep_pre.then_some(pre);
                let to = Destination { pre, moments, out: (!later).then_some(out) };
                simd::run(Block { shared: self, index, projected, attended, softmax, to });
            });
        }
        let [projected, attended, softmax] = saved;
        let Some(norm) = self.norm else {
            return (out, save.then_some(Saved { projected, attended, softmax, norm: None }), None);
        };
        if !keep_pre {
            return (out, None, None);
        }
        let (moments, statistics) = finish_moments(norm, rows, moments);
        if later {
            normalise(norm, rows, &moments, &pre, &mut out);
        }
        let norm = Some((pre, moments));
        (out, save.then_some(Saved { projected, attended, softmax, norm }), statistics)
    }
}

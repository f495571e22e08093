//! The attention sub-layer `norm(x + attention(x))`, forward pass.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::{
    attention::{BiasView, Instance, InstanceMask, attend},
    buffer::Workspace,
    gemm::{AddResidual, Lhs, Panels, Residual, Rhs, Size, Store, gemm},
    norm::{
        BatchStatistics, BlockMoments, Moments, Norm, Rows, block_moments, finish_moments, normalise, normalise_block,
    },
    simd,
};

/// Projections of multi-head self-attention, row-major `[in, out]`, without biases.
#[derive(Clone, Copy, Debug)]
pub struct AttentionWeights<'a> {
    /// `[width, heads·key_width]`.
    pub query: &'a [f32],
    /// `[width, heads·key_width]`.
    pub key: &'a [f32],
    /// `[width, heads·value_width]`.
    pub value: &'a [f32],
    /// `[heads·value_width, width]`.
    pub out: &'a [f32],
}

/// Numbers of each pair of nodes, from which the scores have a bias: that of query `i` and key `j` in head `h` is
/// `Σ_k weights[h, k] · values[k, i, j]`.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    /// `[batch, features, nodes, nodes]`.
    pub values: &'a [f32],
    /// `[heads, features]`.
    pub weights: &'a [f32],
    /// Numbers of a pair.
    pub features: usize,
}

impl<'a> Pairs<'a> {
    /// The values of instance `b` of so many nodes, `[features, nodes, nodes]`.
    #[inline(always)]
    pub(super) fn of_instance(&self, b: usize, nodes: usize) -> &'a [f32] {
        let size = self.features * nodes * nodes;
        &self.values[b * size..][..size]
    }

    /// Writes the bias `[heads, nodes, nodes]` of instance `b`.
    #[inline(always)]
    pub(super) fn write_bias<S: Simd>(&self, simd: S, b: usize, layer: &AttentionLayer, bias: &mut [f32]) {
        let nodes = layer.rows.nodes;
        let size = Size { m: layer.heads, n: nodes * nodes, k: self.features };
        let values = Rhs::rows::<S>(self.of_instance(b, nodes), nodes * nodes);
        gemm(simd, size, Lhs::rows(self.weights, self.features), values, bias, nodes * nodes, Store);
    }
}

/// Sizes of the attention sub-layer.
#[derive(Clone, Copy, Debug)]
pub struct AttentionLayer {
    /// Sizes of the input.
    pub rows: Rows,
    /// Number of heads.
    pub heads: usize,
    /// Width of one head of queries and keys.
    pub key_width: usize,
    /// Width of one head of values.
    pub value_width: usize,
}

impl AttentionLayer {
    pub(super) fn keys(&self) -> usize {
        self.heads * self.key_width
    }

    pub(super) fn values(&self) -> usize {
        self.heads * self.value_width
    }

    /// Number of floats of a row of queries, keys and values together.
    pub(super) fn projected(&self) -> usize {
        2 * self.keys() + self.values()
    }

    /// Factor of the scores; it is folded into the query projection.
    pub(super) fn scale(&self) -> f32 {
        1.0 / (self.key_width as f32).sqrt()
    }

    /// Floats of the bias of an instance, where there are pairs.
    pub(super) fn bias_len(&self, pairs: Option<Pairs<'_>>) -> usize {
        pairs.map_or(0, |_| self.heads * self.rows.nodes * self.rows.nodes)
    }

    /// The attention of one instance whose queries, keys and values are in `projected`, with the bias
    /// `[heads, nodes, nodes]`, if it is not empty.
    #[inline(always)]
    pub(super) fn instance<'a>(&self, projected: &'a [f32], bias: &'a [f32]) -> Instance<'a> {
        let (keys, row, nodes) = (self.keys(), self.projected(), self.rows.nodes);
        Instance {
            query: projected,
            key: &projected[keys..],
            value: &projected[2 * keys..],
            query_ld: row,
            key_ld: row,
            value_ld: row,
            queries: nodes,
            keys: nodes,
            heads: self.heads,
            key_width: self.key_width,
            value_width: self.value_width,
            // The factor is folded into the query projection.
            scale: 1.0,
            clamp: None,
            mask: InstanceMask::None,
            bias: (!bias.is_empty()).then_some(BiasView { data: bias, batch: 0, head: nodes * nodes, query: nodes }),
        }
    }

    /// Packs the three projections side by side.
    pub(super) fn pack_projections(&self, weights: &AttentionWeights<'_>) -> Panels {
        let (keys, values, scale) = (self.keys(), self.values(), self.scale());
        Panels::pack_forward(self.rows.width, self.projected(), |p, j| match j {
            j if j < keys => weights.query[p * keys + j] * scale,
            j if j < 2 * keys => weights.key[p * keys + j - keys],
            j => weights.value[p * values + j - 2 * keys],
        })
    }
}

/// Values saved by the forward pass for the backward pass.
#[derive(Debug)]
pub struct AttentionSaved {
    /// `[rows, projected]`.
    pub(super) projected: Workspace,
    /// `[rows, heads·value_width]`.
    pub(super) attended: Workspace,
    /// `[batch, heads, nodes]`.
    pub(super) lse: Workspace,
    /// Input of the norm, `[rows, width]`.
    pub(super) pre: Workspace,
    pub(super) moments: Moments,
}

struct Block<'a> {
    layer: &'a AttentionLayer,
    projections: &'a Panels,
    output: &'a Panels,
    norm: &'a Norm<'a>,
    /// Folded batch norm: scale and shift per column.
    folded: Option<&'a (Vec<f32>, Vec<f32>)>,
    pairs: Option<Pairs<'a>>,
    /// Number of the first instance of the block.
    first: usize,
    x: &'a [f32],
    projected: &'a mut [f32],
    attended: &'a mut [f32],
    lse: Option<&'a mut [f32]>,
    /// Input of the norm, if it is saved; else the sum is computed in `out` and normalised there.
    pre: Option<&'a mut [f32]>,
    moments: &'a mut [f32],
    out: Option<&'a mut [f32]>,
}

impl WithSimd for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let layer = self.layer;
        let (width, nodes) = (layer.rows.width, layer.rows.nodes);
        let (row, values) = (layer.projected(), layer.values());
        let rows = self.x.len() / width;
        let size = Size { m: rows, n: row, k: width };
        gemm(simd, size, Lhs::rows(self.x, width), self.projections.rhs(), self.projected, row, Store);
        {
            let example = layer.instance(self.projected, &[]);
            let needed = (layer.key_width + example.block::<S>()) * example.padded::<S>();
            let (mut scratch, mut bias) = (Workspace::lease(needed), Workspace::lease(layer.bias_len(self.pairs)));
            for b in 0..rows / nodes {
                if let Some(pairs) = self.pairs {
                    pairs.write_bias(simd, self.first + b, layer, &mut bias);
                }
                let instance = layer.instance(&self.projected[b * nodes * row..][..nodes * row], &bias);
                let lse = self.lse.as_deref_mut().map(|lse| &mut lse[b * layer.heads * nodes..][..layer.heads * nodes]);
                attend(simd, &instance, &mut self.attended[b * nodes * values..], values, lse, &mut scratch);
            }
        }
        let size = Size { m: rows, n: width, k: values };
        let attended = Lhs::rows(self.attended, values);
        if let (Some((scale, shift)), Some(out)) = (self.folded, self.out.as_deref_mut()) {
            let epilogue = Residual { scale, shift, x: self.x, ldx: width };
            return gemm(simd, size, attended, self.output.rhs(), out, width, epilogue);
        }
        let mut own = Workspace::lease(if self.pre.is_some() { 0 } else { rows * width });
        let pre = self.pre.unwrap_or(&mut own);
        gemm(simd, size, attended, self.output.rhs(), pre, width, AddResidual { x: self.x, ldx: width });
        block_moments(simd, self.norm, &layer.rows, pre, self.moments);
        if let Some(out) = self.out {
            let moments = BlockMoments::split(self.moments);
            normalise_block(simd, self.norm, &layer.rows, moments, pre, out);
        }
    }
}

/// `norm(x + attention(x))` for `x [batch, nodes, width]`, with a bias of the scores from `pairs`. Also returns the batch
/// statistics, if the norm computes them, and, if `save` is true, the values that [`super::attention_backward`] needs.
pub fn attention(
    layer: &AttentionLayer,
    weights: &AttentionWeights<'_>,
    norm: &Norm<'_>,
    pairs: Option<Pairs<'_>>,
    x: &[f32],
    save: bool,
) -> (Vec<f32>, Option<AttentionSaved>, Option<BatchStatistics>) {
    let rows = &layer.rows;
    assert_eq!(x.len(), rows.rows() * rows.width, "length of the input");
    let folded = if save { None } else { norm.folded() };
    let projections = layer.pack_projections(weights);
    let (values, width) = (layer.values(), rows.width);
    let output = match &folded {
        Some((scale, _)) => Panels::pack_forward(values, width, |p, j| weights.out[p * width + j] * scale[j]),
        None => Panels::of_forward(weights.out, values, width),
    };
    let block = Shared { layer, projections: &projections, output: &output, norm, folded: folded.as_ref(), pairs };
    if !save && !norm.needs_batch() {
        return (block.infer(x), None, None);
    }
    let (out, saved, statistics) = block.train(x);
    (out, save.then_some(saved), statistics)
}

/// Data shared by all blocks.
struct Shared<'a> {
    layer: &'a AttentionLayer,
    projections: &'a Panels,
    output: &'a Panels,
    norm: &'a Norm<'a>,
    folded: Option<&'a (Vec<f32>, Vec<f32>)>,
    pairs: Option<Pairs<'a>>,
}

impl Shared<'_> {
    fn infer(&self, x: &[f32]) -> Vec<f32> {
        let rows = &self.layer.rows;
        let size = (rows.block() * rows.width).max(1);
        let mut out = vec![0.0; x.len()];
        let instances = rows.block() / rows.nodes.max(1);
        out.par_chunks_mut(size).zip(x.par_chunks(size)).enumerate().for_each(|(index, (out, x))| {
            let count = x.len() / rows.width;
            let mut projected = Workspace::lease(count * self.layer.projected());
            let mut attended = Workspace::lease(count * self.layer.values());
            let mut moments = Workspace::lease(2 * rows.moments_len(self.norm.kind));
            simd::run(Block {
                layer: self.layer,
                projections: self.projections,
                output: self.output,
                norm: self.norm,
                folded: self.folded,
                pairs: self.pairs,
                first: index * instances,
                x,
                projected: &mut projected,
                attended: &mut attended,
                lse: None,
                pre: None,
                moments: &mut moments,
                out: Some(out),
            });
        });
        out
    }

    fn train(&self, x: &[f32]) -> (Vec<f32>, AttentionSaved, Option<BatchStatistics>) {
        let (layer, rows, norm) = (self.layer, &self.layer.rows, self.norm);
        let (width, count, block) = (rows.width, rows.rows(), rows.block());
        let moments_len = 2 * rows.moments_len(norm.kind);
        let mut projected = Workspace::lease(count * layer.projected());
        let mut attended = Workspace::lease(count * layer.values());
        let mut lse = Workspace::lease(count * layer.heads);
        let mut pre = Workspace::lease(count * width);
        let mut blocks = Workspace::lease(rows.blocks() * moments_len);
        x.par_chunks((block * width).max(1))
            .zip(projected.par_chunks_mut((block * layer.projected()).max(1)))
            .zip(attended.par_chunks_mut((block * layer.values()).max(1)))
            .zip(lse.par_chunks_mut((block * layer.heads).max(1)))
            .zip(pre.par_chunks_mut((block * width).max(1)))
            .zip(blocks.par_chunks_mut(moments_len.max(1)))
            .enumerate()
            .for_each(|(index, (((((x, projected), attended), lse), pre), moments))| {
                simd::run(Block {
                    layer,
                    projections: self.projections,
                    output: self.output,
                    norm,
                    folded: None,
                    pairs: self.pairs,
                    first: index * (block / rows.nodes.max(1)),
                    x,
                    projected,
                    attended,
                    lse: Some(lse),
                    pre: Some(pre),
                    moments,
                    out: None,
                });
            });
        let (moments, statistics) = finish_moments(norm, rows, blocks);
        let mut out = vec![0.0; x.len()];
        normalise(norm, rows, &moments, &pre, &mut out);
        (out, AttentionSaved { projected, attended, lse, pre, moments }, statistics)
    }
}

//! The attention sub-layer `norm(x + attention(x))`, backward pass.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Accumulators,
    attention::{AttentionLayer, AttentionSaved, AttentionWeights, Pairs},
    sum_groups,
};
use crate::{
    attention::{GradientsMut, attend_backward, backward_scratch},
    buffer::Workspace,
    gemm::{Accumulate, AddResidual, Lhs, Panels, Rhs, Size, Store, gemm},
    norm::{BatchMeans, BlockGradient, BlockNorm, Norm, NormSums, backward_block, batch_means, merge_sums},
    simd,
    vector::dot,
};

/// Gradients of the attention sub-layer, each in the shape of its input.
#[derive(Debug)]
pub struct AttentionGradients {
    /// Gradient of the input.
    pub x: Vec<f32>,
    /// Gradient of the query projection.
    pub query: Vec<f32>,
    /// Gradient of the key projection.
    pub key: Vec<f32>,
    /// Gradient of the value projection.
    pub value: Vec<f32>,
    /// Gradient of the output projection.
    pub out: Vec<f32>,
    /// Gradient of the norm's gamma.
    pub gamma: Vec<f32>,
    /// Gradient of the norm's beta.
    pub beta: Vec<f32>,
    /// Gradient of the weights of pairs; empty where there are none.
    pub pairs: Vec<f32>,
}

struct Shared<'a> {
    layer: &'a AttentionLayer,
    norm: &'a Norm<'a>,
    saved: &'a AttentionSaved,
    means: &'a BatchMeans,
    /// Transposed query, key and value projections `[projected, width]` and output projection `[width, values]`.
    projections: &'a Panels,
    output: &'a Panels,
    pairs: Option<Pairs<'a>>,
    x: &'a [f32],
    grad: &'a [f32],
}

struct Group<'a> {
    shared: &'a Shared<'a>,
    first: usize,
    out: &'a mut [f32],
}

impl WithSimd for Group<'_> {
    type Output = Accumulators<3>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Accumulators<3> {
        let layer = self.shared.layer;
        let rows = &layer.rows;
        let size = rows.block() * rows.width;
        let mut sums = Accumulators::zeros(layer.gradient_sizes(self.shared.pairs), rows.width);
        for (i, out) in self.out.chunks_mut(size.max(1)).enumerate() {
            self.shared.block(simd, self.first + i, out, &mut sums);
        }
        sums
    }
}

impl AttentionLayer {
    /// Number of floats of the gradients of the query, key and value projections together, of the output
    /// projection, and of the weights of pairs.
    fn gradient_sizes(&self, pairs: Option<Pairs<'_>>) -> [usize; 3] {
        let pairs = pairs.map_or(0, |pairs| self.heads * pairs.features);
        [self.rows.width * self.projected(), self.values() * self.rows.width, pairs]
    }
}

impl Shared<'_> {
    #[inline(always)]
    fn block<S: Simd>(&self, simd: S, index: usize, out: &mut [f32], sums: &mut Accumulators<3>) {
        let (layer, rows) = (self.layer, &self.layer.rows);
        let (width, row, values) = (rows.width, layer.projected(), layer.values());
        let first = index * rows.block();
        let count = out.len() / width;
        let span = first * width..(first + count) * width;
        let mut scratch = Workspace::lease(count * (width + values + row));
        let (pre_grad, rest) = scratch.split_at_mut(count * width);
        let (attended_grad, projected_grad) = rest.split_at_mut(count * values);
        let moments = self.saved.moments.of_block(rows, self.norm.kind, index);
        let means = self.means.means();
        let data = BlockGradient { x: &self.saved.pre[span.clone()], grad: &self.grad[span.clone()] };
        let block = BlockNorm { norm: self.norm, rows, moments, means };
        backward_block(simd, block, data, pre_grad, &mut sums.norm);

        let size = Size { m: count, n: values, k: width };
        gemm(simd, size, Lhs::rows(pre_grad, width), self.output.rhs(), attended_grad, values, Store);
        let attended = &self.saved.attended[first * values..][..count * values];
        let size = Size { m: values, n: width, k: count };
        let right = Rhs::rows::<S>(pre_grad, width);
        gemm(simd, size, Lhs::transposed(attended, values), right, &mut sums.weights[1], width, Accumulate);

        self.attention(simd, first, count, attended_grad, projected_grad, &mut sums.weights[2]);

        let size = Size { m: width, n: row, k: count };
        let x = Lhs::transposed(&self.x[span], width);
        gemm(simd, size, x, Rhs::rows::<S>(projected_grad, row), &mut sums.weights[0], row, Accumulate);
        let size = Size { m: count, n: width, k: row };
        let residual = AddResidual { x: pre_grad, ldx: width };
        gemm(simd, size, Lhs::rows(projected_grad, row), self.projections.rhs(), out, width, residual);
    }

    /// Gradients of queries, keys and values of the block's instances, side by side; that of the weights of pairs is added
    /// to `of_pairs`.
    #[inline(always)]
    fn attention<S: Simd>(
        &self,
        simd: S,
        first: usize,
        count: usize,
        grad: &[f32],
        out: &mut [f32],
        of_pairs: &mut [f32],
    ) {
        let layer = self.layer;
        let (nodes, row, values, keys) = (layer.rows.nodes, layer.projected(), layer.values(), layer.keys());
        let projected = &self.saved.projected[first * row..][..count * row];
        let mut scratch = Workspace::lease(backward_scratch::<S>(&layer.instance(projected, &[])));
        let mut own = Workspace::lease(nodes * row);
        let size = layer.bias_len(self.pairs);
        let (mut bias, mut scores) = (Workspace::lease(size), Workspace::lease(size));
        for b in 0..count / nodes {
            if let Some(pairs) = self.pairs {
                pairs.write_bias(simd, first / nodes + b, layer, &mut bias);
            }
            let instance = layer.instance(&projected[b * nodes * row..][..nodes * row], &bias);
            let lse = &self.saved.lse[(first + b * nodes) * layer.heads..][..nodes * layer.heads];
            let (query, rest) = own.split_at_mut(nodes * keys);
            let (key, value) = rest.split_at_mut(nodes * keys);
            key.fill(0.0);
            value.fill(0.0);
            let scores_of = self.pairs.is_some().then_some(&mut scores[..]);
            let into =
                GradientsMut { query, key, value, query_ld: keys, key_ld: keys, value_ld: values, scores: scores_of };
            attend_backward(
                simd,
                &instance,
                lse,
                &grad[b * nodes * values..][..nodes * values],
                values,
                into,
                &mut scratch,
            );
            if let Some(pairs) = self.pairs {
                let values = pairs.of_instance(first / nodes + b, nodes);
                let of_heads = scores.chunks_exact(nodes * nodes).zip(of_pairs.chunks_exact_mut(pairs.features));
                for (scores, sums) in of_heads {
                    for (values, sum) in values.chunks_exact(nodes * nodes).zip(sums) {
                        *sum += dot(simd, scores, values);
                    }
                }
            }
            let (query, rest) = own.split_at(nodes * keys);
            let (key, value) = rest.split_at(nodes * keys);
            for (i, out) in out[b * nodes * row..][..nodes * row].chunks_exact_mut(row).enumerate() {
                out[..keys].copy_from_slice(&query[i * keys..][..keys]);
                out[keys..2 * keys].copy_from_slice(&key[i * keys..][..keys]);
                out[2 * keys..].copy_from_slice(&value[i * values..][..values]);
            }
        }
    }
}

/// Gradients of [`super::attention`] for `grad`, the gradient of its result.
pub fn attention_backward(
    layer: &AttentionLayer,
    weights: &AttentionWeights<'_>,
    norm: &Norm<'_>,
    pairs: Option<Pairs<'_>>,
    x: &[f32],
    saved: &AttentionSaved,
    grad: &[f32],
) -> AttentionGradients {
    let rows = &layer.rows;
    let (width, keys, values, row) = (rows.width, layer.keys(), layer.values(), layer.projected());
    let (means, scale) = (batch_means(rows, &saved.moments, &saved.pre, grad), layer.scale());
    let projections = Panels::pack(row, width, |p, j| match p {
        p if p < keys => weights.query[j * keys + p] * scale,
        p if p < 2 * keys => weights.key[j * keys + p - keys],
        p => weights.value[j * values + p - 2 * keys],
    });
    let output = Panels::of_transposed(weights.out, width, values);
    let shared =
        Shared { layer, norm, saved, means: &means, projections: &projections, output: &output, pairs, x, grad };
    let mut dx = vec![0.0; x.len()];
    let groups: Vec<Accumulators<3>> = dx
        .par_chunks_mut((rows.group() * rows.block() * width).max(1))
        .enumerate()
        .map(|(g, out)| simd::run(Group { shared: &shared, first: g * rows.group(), out }))
        .collect();
    let ([projected, out, pairs], norms): (_, Vec<NormSums>) = sum_groups(groups, layer.gradient_sizes(pairs));
    let (gamma, beta) = merge_sums(means, &norms);
    let part = |from: usize, wide: usize| -> Vec<f32> {
        projected.chunks_exact(row).flat_map(|row| row[from..from + wide].iter().copied()).collect()
    };
    AttentionGradients {
        x: dx,
        query: part(0, keys).into_iter().map(|gradient| gradient * scale).collect(),
        key: part(keys, keys),
        value: part(2 * keys, values),
        out,
        gamma,
        beta,
        pairs,
    }
}

//! Gradients of edge attention for a chunk of edges of one target.

use pulp::Simd;

use super::{
    lanes::{Lanes, part, part_mut},
    rows::Rows,
};
use crate::vector::{abs, split, split_mut};

/// Some edges of one target, all in the kernel layout.
pub(super) struct Chunk<'a, S: Simd> {
    pub(super) lanes: &'a Lanes,
    /// Scaled query of the target.
    pub(super) query: &'a [S::f32s],
    /// Gradient of the target's result.
    pub(super) grad: &'a [S::f32s],
    pub(super) key: Rows<'a>,
    pub(super) sources: &'a [u32],
    /// Gradient of each edge's score, one value for each head.
    pub(super) deltas: &'a [S::f32s],
    /// Weight of each edge.
    pub(super) weights: &'a [S::f32s],
    /// If true, these are the first edges of the target.
    pub(super) is_first: bool,
}

/// The edge stream of a [`Chunk`].
pub(super) struct Stream<'a> {
    pub(super) factors: &'a [f32],
    /// Gradient of the per-channel products, if any.
    pub(super) grad: Option<&'a [f32]>,
    /// Receives the gradient of the factors.
    pub(super) into: &'a mut [f32],
}

/// Sums of the gradients of keys and values of consecutive nodes, `[nodes, 2 · row]`.
pub(super) struct KeyValueSums<'a> {
    pub(super) sums: &'a mut [f32],
    /// Index of the first node.
    pub(super) first: usize,
}

impl KeyValueSums<'_> {
    /// Key and value gradient of a node.
    #[inline(always)]
    fn of<S: Simd>(&mut self, source: u32, row: usize) -> (&mut [S::f32s], &mut [S::f32s]) {
        let both = &mut self.sums[(source as usize - self.first) * 2 * row..][..2 * row];
        let (key, value) = both.split_at_mut(row);
        (split_mut::<S>(key).0, split_mut::<S>(value).0)
    }
}

impl<S: Simd> Chunk<'_, S> {
    /// Adds the contribution of the chunk to the gradient of the query (without the factor of the
    /// scores; the first chunk starts at zero) and, if `into` is given, to those of keys and values.
    #[inline(always)]
    pub(super) fn plain<const B: usize, const ONE: bool>(
        &self,
        simd: S,
        query_grad: &mut [S::f32s],
        mut into: Option<&mut KeyValueSums<'_>>,
    ) {
        let Self { lanes, key, .. } = *self;
        let phases = lanes.phases::<ONE>();
        for block in 0..query_grad.len() / B {
            let query_grad = part_mut::<_, B>(query_grad, block);
            let phase = |j: usize| lanes.phase::<ONE>(block * B + j);
            let (query, grad) = (*part::<_, B>(self.query, block), *part::<_, B>(self.grad, block));
            let mut sum = if self.is_first { [simd.splat_f32s(0.0); B] } else { *query_grad };
            let heads = self.deltas.chunks_exact(phases).zip(self.weights.chunks_exact(phases));
            for (source, (delta, weight)) in self.sources.iter().zip(heads) {
                let (delta, weight) = (repeated::<_, B>(delta, phase), repeated::<_, B>(weight, phase));
                let key = part::<_, B>(key.registers::<S>(*source as usize), block);
                for j in 0..B {
                    sum[j] = simd.mul_add_f32s(delta[j], key[j], sum[j]);
                }
                if let Some(into) = &mut into {
                    let (key, value) = into.of::<S>(*source, lanes.row());
                    let (key, value) = (part_mut::<_, B>(key, block), part_mut::<_, B>(value, block));
                    for j in 0..B {
                        key[j] = simd.mul_add_f32s(delta[j], query[j], key[j]);
                        value[j] = simd.mul_add_f32s(weight[j], grad[j], value[j]);
                    }
                }
            }
            *query_grad = sum;
        }
    }

    /// As [`Chunk::plain`], and computes the gradient of the edge stream too.
    #[inline(always)]
    pub(super) fn streamed<const B: usize, const ONE: bool>(
        &self,
        simd: S,
        stream: &mut Stream<'_>,
        query_grad: &mut [S::f32s],
        mut into: Option<&mut KeyValueSums<'_>>,
    ) {
        let Self { lanes, key, .. } = *self;
        let phases = lanes.phases::<ONE>();
        let row = lanes.row();
        for block in 0..query_grad.len() / B {
            let query_grad = part_mut::<_, B>(query_grad, block);
            let phase = |j: usize| lanes.phase::<ONE>(block * B + j);
            let (query, grad) = (*part::<_, B>(self.query, block), *part::<_, B>(self.grad, block));
            let mut sum = if self.is_first { [simd.splat_f32s(0.0); B] } else { *query_grad };
            let heads = self.deltas.chunks_exact(phases).zip(self.weights.chunks_exact(phases));
            for (i, (source, (delta, weight))) in self.sources.iter().zip(heads).enumerate() {
                let place = i * row..(i + 1) * row;
                let key = part::<_, B>(key.registers::<S>(*source as usize), block);
                let factor = part::<_, B>(split::<S>(&stream.factors[place.clone()]).0, block);
                let factor_grad = part_mut::<_, B>(split_mut::<S>(&mut stream.into[place.clone()]).0, block);
                let (mut products, weight) = (repeated::<_, B>(delta, phase), repeated::<_, B>(weight, phase));
                if let Some(grad) = stream.grad {
                    let grad = part::<_, B>(split::<S>(&grad[place]).0, block);
                    for j in 0..B {
                        products[j] = simd.add_f32s(products[j], grad[j]);
                    }
                }
                for j in 0..B {
                    factor_grad[j] = simd.mul_f32s(products[j], simd.mul_f32s(query[j], key[j]));
                    products[j] = simd.mul_f32s(products[j], factor[j]);
                    sum[j] = simd.mul_add_f32s(products[j], key[j], sum[j]);
                }
                if let Some(into) = &mut into {
                    let (key, value) = into.of::<S>(*source, row);
                    let (key, value) = (part_mut::<_, B>(key, block), part_mut::<_, B>(value, block));
                    for j in 0..B {
                        key[j] = simd.mul_add_f32s(products[j], query[j], key[j]);
                        value[j] = simd.mul_add_f32s(weight[j], grad[j], value[j]);
                    }
                }
            }
            *query_grad = sum;
        }
    }
}

/// Repeats a value for each head over the registers of a block.
#[inline(always)]
pub(super) fn repeated<T: Copy, const B: usize>(heads: &[T], phase: impl Fn(usize) -> usize) -> [T; B] {
    let mut all = [heads[0]; B];
    for (j, to) in all.iter_mut().enumerate() {
        *to = heads[phase(j)];
    }
    all
}

/// Turns the exponentials of a target into weights, and the gradients of the weights into those of
/// the scores: `δ = w·(dw − Σ w·dw)`. The gradient is 0 where the score was clamped, which a
/// negative exponential marks.
#[inline(always)]
pub(super) fn score_gradients<S: Simd, const ONE: bool>(
    simd: S,
    phases: usize,
    inverse: &[S::f32s],
    mean: &[S::f32s],
    weights: &mut [S::f32s],
    deltas: &mut [S::f32s],
) {
    let zero = simd.splat_f32s(0.0);
    let phases = if ONE { 1 } else { phases };
    for (weights, deltas) in weights.chunks_exact_mut(phases).zip(deltas.chunks_exact_mut(phases)) {
        for phase in 0..phases {
            let unclamped = simd.less_than_f32s(zero, weights[phase]);
            let weight = simd.mul_f32s(abs(simd, weights[phase]), inverse[phase]);
            let gradient = simd.mul_f32s(weight, simd.sub_f32s(deltas[phase], mean[phase]));
            deltas[phase] = simd.select_f32s(unclamped, gradient, zero);
            weights[phase] = weight;
        }
    }
}

/// `sums = rescale · sums + Σ |weights| · deltas` over the edges; without `rescale` the sums start
/// at zero.
#[inline(always)]
pub(super) fn weighted_sums<S: Simd, const ONE: bool>(
    simd: S,
    weights: &[S::f32s],
    deltas: &[S::f32s],
    rescale: Option<&[S::f32s]>,
    sums: &mut [S::f32s],
) {
    let phases = if ONE { 1 } else { sums.len() };
    for phase in 0..phases {
        let mut sum = simd.splat_f32s(0.0);
        if let Some(rescale) = rescale {
            sum = simd.mul_f32s(sums[phase], rescale[phase]);
        }
        for (weights, deltas) in weights.chunks_exact(phases).zip(deltas.chunks_exact(phases)) {
            sum = simd.mul_add_f32s(abs(simd, weights[phase]), deltas[phase], sum);
        }
        sums[phase] = sum;
    }
}

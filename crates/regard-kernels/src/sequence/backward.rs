//! Backward pass of sequence attention. Groups of blocks have gradient accumulators of their own, which are summed
//! in order.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Layer, Projections, Saved, Scores, Tail,
    heads::{GradientsMut, HeadSaved},
};
use crate::{
    buffer::Workspace,
    dropout::add_dropped,
    gemm::{Accumulate, AddResidual, Lhs, Panels, Rhs, Size, Store, gemm},
    norm::{BatchMeans, BlockGradient, BlockNorm, Norm, backward_block, batch_means, merge_sums},
    simd,
    sublayer::{Accumulators, sum_groups},
    transpose::transpose,
    vector::{column_sums, row_sums},
};

/// Gradients of a linear projection. The gradient of the bias is present even if there is no bias.
#[derive(Debug, Default)]
pub struct LinearGradients {
    /// `[in, out]`.
    pub weight: Vec<f32>,
    /// `[out]`.
    pub bias: Vec<f32>,
}

/// Gradients of [`super::sequence_attention`], each in the shape of its input.
#[derive(Debug)]
pub struct Gradients {
    /// Gradient of the input.
    pub x: Vec<f32>,
    /// Gradients of the query and key projections, if there are such.
    pub projected: Option<[LinearGradients; 2]>,
    /// Gradients of the given queries and keys.
    pub given: Vec<Vec<f32>>,
    /// Gradient of the value projection.
    pub value: LinearGradients,
    /// Gradient of the output projection.
    pub out: LinearGradients,
    /// Gradients of the norm's gamma and beta, if there is a norm.
    pub norm: Option<(Vec<f32>, Vec<f32>)>,
}

/// Gradients of [`super::sequence_attention`] for `grad`, the gradient of its result.
///
/// # Panics
/// If sizes do not match.
pub fn sequence_attention_backward(
    layer: &Layer,
    projections: &Projections<'_>,
    tail: &Tail<'_>,
    x: &[f32],
    saved: &Saved,
    grad: &[f32],
) -> Gradients {
    projections.check(layer, x);
    let (rows, width) = (&layer.rows, layer.rows.width);
    let means = match (tail.norm(), &saved.norm) {
        (Some(_), Some((pre, moments))) => Some(batch_means(rows, moments, pre, grad)),
        _ => None,
    };
    let (channels, all) = (projections.channels(layer), projections.projected(layer));
    let queries = if matches!(projections.scores, Scores::Precomputed(_)) { 0 } else { layer.keys() };
    let shared = Shared {
        layer,
        projections,
        norm: tail.norm().zip(means.as_ref()),
        saved,
        query: projections.panels(&channels, 0, queries, width),
        others: projections.panels(&channels, queries, all, width),
        other_rows: all - queries,
        x,
        grad,
    };
    let (x, given, groups) = shared.run();
    let (mut weights, norms) = sum_groups(groups, shared.sizes());
    let norm = means.map(|means| merge_sums(means, &norms));
    let mut take = |index: usize| std::mem::take(&mut weights[index]);
    let query = LinearGradients { weight: take(QUERY), bias: take(QUERY_BIAS) };
    let out = LinearGradients { weight: take(OUT), bias: take(OUT_BIAS) };
    let (others, biases) = (take(OTHERS), take(OTHERS_BIAS));
    let part = |from: usize, to: usize| LinearGradients {
        weight: (0..(to - from) * width)
            .map(|at| others[(from + at % (to - from)) * width + at / (to - from)])
            .collect(),
        bias: biases[from..to].to_vec(),
    };
    let values = all - queries - layer.values();
    let projected = match projections.scores {
        Scores::Projected { scale, .. } => Some([query.times(scale), part(0, values)]),
        Scores::Precomputed(_) => None,
    };
    Gradients { x, projected, given, value: part(values, all - queries), out, norm }
}

impl LinearGradients {
    fn times(self, factor: f32) -> Self {
        let times = |x: Vec<f32>| x.into_iter().map(|x| x * factor).collect();
        Self { weight: times(self.weight), bias: times(self.bias) }
    }
}

pub(super) struct Shared<'a> {
    pub(super) layer: &'a Layer,
    pub(super) projections: &'a Projections<'a>,
    pub(super) norm: Option<(&'a Norm<'a>, &'a BatchMeans)>,
    pub(super) saved: &'a Saved,
    /// Query projection, transposed `[keys, width]` and scaled; empty if queries are given.
    pub(super) query: Panels,
    /// The other projections of patches, transposed in the same way.
    pub(super) others: Panels,
    /// Number of rows of the accumulator of the other projections.
    pub(super) other_rows: usize,
    pub(super) x: &'a [f32],
    pub(super) grad: &'a [f32],
}

/// Indices of the accumulators.
pub(super) const QUERY: usize = 0;
pub(super) const QUERY_BIAS: usize = 1;
pub(super) const OTHERS: usize = 2;
pub(super) const OTHERS_BIAS: usize = 3;
pub(super) const OUT: usize = 4;
pub(super) const OUT_BIAS: usize = 5;

/// Patches of a block, and the gradient of the residual connection, if there is one.
struct PatchRows<'a> {
    x: &'a [f32],
    residual: Option<&'a [f32]>,
}

struct Group<'a> {
    shared: &'a Shared<'a>,
    first: usize,
    out: &'a mut [f32],
    /// Gradients of the given queries and keys.
    given: Vec<&'a mut [f32]>,
}

impl WithSimd for Group<'_> {
    type Output = Accumulators<6>;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Accumulators<6> {
        let (layer, shared) = (self.shared.layer, self.shared);
        let (rows, wide) = (&layer.rows, 2 * layer.keys());
        let mut sums = Accumulators::zeros(shared.sizes(), rows.width);
        for (i, out) in self.out.chunks_mut((rows.block() * rows.width).max(1)).enumerate() {
            let (at, count) = (i * rows.block() * wide, out.len() / rows.width);
            let given = self.given.iter_mut().map(|given| &mut given[at..][..count * wide]).collect();
            shared.block(simd, self.first + i, out, given, &mut sums);
        }
        sums
    }
}

impl Shared<'_> {
    pub(super) fn sizes(&self) -> [usize; 6] {
        let (layer, width) = (self.layer, self.layer.rows.width);
        let query = if matches!(self.projections.scores, Scores::Precomputed(_)) { 0 } else { layer.keys() };
        let others = self.other_rows;
        [query * width, query, others * width, others, layer.values() * width, width]
    }

    #[inline(always)]
    fn block<S: Simd>(
        &self,
        simd: S,
        index: usize,
        out: &mut [f32],
        given: Vec<&mut [f32]>,
        sums: &mut Accumulators<6>,
    ) {
        let (layer, width, ld) = (self.layer, self.layer.rows.width, self.layer.ld());
        let (first, values) = (index * layer.rows.block(), layer.values());
        let count = out.len() / width;
        let span = first * width..(first + count) * width;
        let mut scratch = Workspace::lease(2 * count * width + (width + values) * ld);
        let (own, rest) = scratch.split_at_mut(count * width);
        let (branch, rest) = rest.split_at_mut(count * width);
        let (across, attended_grad) = rest.split_at_mut(width * ld);
        let before = self.before_norm(simd, index, span.clone(), own, sums);
        branch.copy_from_slice(before);
        add_dropped(simd, layer.residual_dropout, first, None, width, branch);

        column_sums(simd, branch, width, count, &mut sums.weights[OUT_BIAS]);
        let attended = &self.saved.attended[index * values * ld..][..values * ld];
        let size = Size { m: values, n: width, k: count };
        let right = Rhs::rows::<S>(branch, width);
        gemm(simd, size, Lhs::rows(attended, ld), right, &mut sums.weights[OUT], width, Accumulate);
        transpose(branch, width, count, width, ld, across);
        let size = Size { m: values, n: count, k: width };
        let (left, right) = (Lhs::rows(self.projections.out.weight, width), Rhs::rows::<S>(across, ld));
        gemm(simd, size, left, right, attended_grad, ld, Store);

        let depths = layer.depths(self.projections);
        let mut query = Workspace::lease(count * depths);
        let mut others = Workspace::lease((depths + values) * ld);
        self.heads(simd, index, count, attended_grad, &mut query, &mut others);
        for (l, given) in given.into_iter().enumerate() {
            layer.scatter(self.projections.layers(), l, &query, &others, given);
        }
        let residual = self.norm.is_some().then_some(before);
        let inputs = PatchRows { x: &self.x[span], residual };
        self.projections(simd, inputs, &query, &others, out, sums);
    }

    /// Gradient of the input of the norm: computed into `own`, or the gradient of the result without a norm.
    #[inline(always)]
    fn before_norm<'b, S: Simd>(
        &'b self,
        simd: S,
        index: usize,
        span: std::ops::Range<usize>,
        own: &'b mut [f32],
        sums: &mut Accumulators<6>,
    ) -> &'b [f32] {
        let (Some((norm, means)), Some((pre, moments))) = (self.norm, &self.saved.norm) else {
            return &self.grad[span];
        };
        let rows = &self.layer.rows;
        let moments = moments.of_block(rows, norm.kind, index);
        let means = means.means();
        let data = BlockGradient { x: &pre[span.clone()], grad: &self.grad[span] };
        backward_block(simd, BlockNorm { norm, rows, moments, means }, data, own, &mut sums.norm);
        own
    }

    /// Gradients of queries `[positions, depths]`, and of keys and values, one channel a row.
    #[inline(always)]
    fn heads<S: Simd>(&self, simd: S, index: usize, count: usize, grad: &[f32], query: &mut [f32], others: &mut [f32]) {
        let (layer, ld, patches) = (self.layer, self.layer.ld(), self.layer.rows.nodes);
        let (rows, depths, values) = (&layer.rows, layer.depths(self.projections), layer.values());
        let first = index * rows.block();
        let projected = self.projections.projected(layer) * ld;
        let projected = &self.saved.projected[index * projected..][..projected];
        let attended = &self.saved.attended[index * values * ld..][..values * ld];
        let softmax = &self.saved.softmax[first * layer.heads * 2..][..count * layer.heads * 2];
        let given = layer.gather(self.projections, first, count);
        let channels = layer.channels(self.projections, projected, &given);
        let mut keys = Workspace::lease(count * depths);
        transpose(channels.key, ld, depths, count, depths, &mut keys);
        let (key_grad, value_grad) = others.split_at_mut(depths * ld);
        let mut scratch = Workspace::zeros(layer.head(&channels, 0, 0, 0).backward_scratch());
        for (i, softmax) in softmax.chunks_exact((2 * patches).max(1)).enumerate() {
            let (s, h) = (i / layer.heads, i % layer.heads);
            let head = layer.head(&channels, s, first / patches + s, h);
            let (at, depth) = (s * patches, head.depth);
            let of_value = h * layer.value_width * ld + at;
            let of_head = HeadSaved {
                attended: &attended[of_value..],
                grad: &grad[of_value..],
                softmax,
                keys: &keys[at * depths + h * depth..],
                key_ld: depths,
            };
            let into = GradientsMut {
                query: &mut query[at * depths + h * depth..],
                query_ld: depths,
                key: &mut key_grad[h * depth * ld + at..],
                value: &mut value_grad[of_value..],
            };
            head.backward(simd, &of_head, into, &mut scratch);
        }
    }

    /// Gradients of the projections of patches and of the patches.
    #[inline(always)]
    fn projections<S: Simd>(
        &self,
        simd: S,
        inputs: PatchRows<'_>,
        query: &[f32],
        others: &[f32],
        out: &mut [f32],
        sums: &mut Accumulators<6>,
    ) {
        let PatchRows { x, residual } = inputs;
        let (layer, width, ld) = (self.layer, self.layer.rows.width, self.layer.ld());
        let (count, keys, wide) = (x.len() / width, layer.keys(), self.other_rows);
        let others = &others[others.len() - wide * ld..];
        let size = Size { m: wide, n: width, k: count };
        let right = Rhs::rows::<S>(x, width);
        gemm(simd, size, Lhs::rows(others, ld), right, &mut sums.weights[OTHERS], width, Accumulate);
        row_sums(simd, others, ld, count, &mut sums.weights[OTHERS_BIAS]);
        let size = Size { m: count, n: width, k: wide };
        let (left, right) = (Lhs::transposed(others, ld), self.others.rhs());
        match residual {
            Some(x) => gemm(simd, size, left, right, out, width, AddResidual { x, ldx: width }),
            None => gemm(simd, size, left, right, out, width, Store),
        }
        if matches!(self.projections.scores, Scores::Precomputed(_)) {
            return;
        }
        let size = Size { m: width, n: keys, k: count };
        let right = Rhs::rows::<S>(query, keys);
        gemm(simd, size, Lhs::transposed(x, width), right, &mut sums.weights[QUERY], keys, Accumulate);
        column_sums(simd, query, keys, count, &mut sums.weights[QUERY_BIAS]);
        let size = Size { m: count, n: width, k: keys };
        gemm(simd, size, Lhs::rows(query, keys), self.query.rhs(), out, width, Accumulate);
    }
}

impl Shared<'_> {
    pub(super) fn run(&self) -> (Vec<f32>, Vec<Vec<f32>>, Vec<Accumulators<6>>) {
        let (rows, wide) = (&self.layer.rows, 2 * self.layer.keys());
        let layers = if let Scores::Precomputed(layers) = self.projections.scores { layers.len() } else { 0 };
        let mut dx = vec![0.0; self.x.len()];
        let mut given = vec![vec![0.0; rows.rows() * wide]; layers];
        let span = rows.group() * rows.block();
        let groups = rows.blocks().div_ceil(rows.group());
        let mut parts: Vec<Vec<&mut [f32]>> = std::iter::repeat_with(Vec::new).take(groups).collect();
        for given in &mut given {
            parts.iter_mut().zip(given.chunks_mut((span * wide).max(1))).for_each(|(part, given)| part.push(given));
        }
        let runs = dx.par_chunks_mut((span * rows.width).max(1)).zip(parts).enumerate();
        let groups = runs
            .map(|(g, (out, given))| simd::run(Group { shared: self, first: g * rows.group(), out, given }))
            .collect();
        (dx, given, groups)
    }
}

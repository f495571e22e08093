//! Several linear projections of the same rows side by side, forward and backward: queries, keys and values of
//! nodes, factors of edges. The heads of each projection are interleaved.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Accumulators, sum_groups};
use crate::{
    gemm::{Accumulate, Bias, Lhs, Panels, Rhs, Size, Store, gemm},
    norm::Rows,
    simd,
    vector::column_sums,
};

/// A linear layer `x · weight + bias` with a row-major weight.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a> {
    /// `[in, out]`.
    pub weight: &'a [f32],
    /// `[out]`.
    pub bias: Option<&'a [f32]>,
}

/// Rows of heads whose channels are interleaved: channel `c` of head `h` is at `c · count + h`; in the
/// weights of the papers it is at `h · (width / count) + c`.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Number of heads; must divide the width.
    pub count: usize,
    /// Number of channels of all heads.
    pub width: usize,
}

impl Heads {
    /// For each channel of an interleaved row, its index in the weights of the papers.
    ///
    /// # Panics
    /// If the heads do not divide the width.
    pub fn channel_order(&self) -> Vec<usize> {
        assert!(self.count > 0 && self.width.is_multiple_of(self.count), "{} heads in {}", self.count, self.width);
        let channels = self.width / self.count;
        (0..self.width).map(|j| (j % self.count) * channels + j / self.count).collect()
    }

    /// Packs weights `[inputs, width]` side by side, with interleaved columns.
    pub(super) fn side_by_side(&self, maps: &[Linear<'_>], inputs: usize) -> Panels {
        let (channel_order, width) = (self.channel_order(), self.width);
        Panels::pack_forward(inputs, maps.len() * width, |p, j| {
            maps[j / width].weight[p * width + channel_order[j % width]]
        })
    }

    /// The transpose of [`Self::side_by_side`].
    pub(super) fn side_by_side_transposed(&self, maps: &[Linear<'_>], inputs: usize) -> Panels {
        let (channel_order, width) = (self.channel_order(), self.width);
        Panels::pack(maps.len() * width, inputs, |j, p| maps[j / width].weight[p * width + channel_order[j % width]])
    }

    /// Biases side by side, interleaved; `None` if no layer has one.
    pub(super) fn biases(&self, maps: &[Linear<'_>]) -> Option<Vec<f32>> {
        let channel_order = self.channel_order();
        maps.iter().any(|map| map.bias.is_some()).then(|| {
            let of_map = |map: &Linear<'_>| -> Vec<f32> {
                channel_order.iter().map(|&place| map.bias.map_or(0.0, |bias| bias[place])).collect()
            };
            maps.iter().flat_map(of_map).collect()
        })
    }
}

/// Gradients of [`projections`].
#[derive(Debug)]
pub struct ProjectionGradients {
    /// Gradient of the rows, `[rows, width]`.
    pub x: Vec<f32>,
    /// Gradients of the weights, in the order of the papers.
    pub weights: Vec<Vec<f32>>,
    /// Gradients of the biases, in the order of the papers, present even if there is no bias.
    pub biases: Vec<Vec<f32>>,
}

struct Block<'a> {
    panels: &'a Panels,
    bias: Option<&'a [f32]>,
    width: usize,
    columns: usize,
    x: &'a [f32],
    out: &'a mut [f32],
}

impl WithSimd for Block<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { panels, bias, width, columns, x, out } = self;
        let size = Size { m: x.len() / width, n: columns, k: width };
        let (left, right) = (Lhs::rows(x, width), panels.rhs());
        match bias {
            Some(bias) => gemm(simd, size, left, right, out, columns, Bias(bias)),
            None => gemm(simd, size, left, right, out, columns, Store),
        }
    }
}

/// Projects `x [rows, width]` with `maps`, each `[width, heads.width]`. Returns
/// `[rows, maps · heads.width]`, with the heads of each projection interleaved.
///
/// # Panics
/// If sizes do not match.
pub fn projections(heads: &Heads, maps: &[Linear<'_>], width: usize, x: &[f32]) -> Vec<f32> {
    let columns = maps.len() * heads.width;
    let rows = rows_of(heads, maps, width, x);
    let (panels, bias) = (heads.side_by_side(maps, width), heads.biases(maps));
    let mut out = vec![0.0; rows.batch * columns];
    let runs = out.par_chunks_mut((rows.block() * columns).max(1)).zip(x.par_chunks((rows.block() * width).max(1)));
    runs.for_each(|(out, x)| {
        simd::run(Block { panels: &panels, bias: bias.as_deref(), width, columns, x, out });
    });
    out
}

fn rows_of(heads: &Heads, maps: &[Linear<'_>], width: usize, x: &[f32]) -> Rows {
    assert!(width > 0 && heads.count > 0 && heads.width.is_multiple_of(heads.count), "projections: sizes");
    assert!(x.len().is_multiple_of(width), "projections: whole rows");
    assert!(maps.iter().all(|map| map.weight.len() == width * heads.width), "projections: weights");
    assert!(maps.iter().all(|map| map.bias.is_none_or(|bias| bias.len() == heads.width)), "projections: biases");
    Rows { batch: x.len() / width, nodes: 1, width }
}

struct Group<'a> {
    rows: &'a Rows,
    columns: usize,
    transposed: &'a Panels,
    x: &'a [f32],
    grad: &'a [f32],
    out: &'a mut [f32],
}

impl WithSimd for Group<'_> {
    type Output = Accumulators<2>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Accumulators<2> {
        let Self { rows, columns, transposed, x, grad, out } = self;
        let (width, block) = (rows.width, rows.block());
        let mut sums = Accumulators::zeros([width * columns, columns], 0);
        let inputs = x.chunks(block * width).zip(grad.chunks(block * columns));
        for ((x, grad), out) in inputs.zip(out.chunks_mut(block * width)) {
            let count = x.len() / width;
            column_sums(simd, grad, columns, count, &mut sums.weights[1]);
            let size = Size { m: width, n: columns, k: count };
            let (left, right) = (Lhs::transposed(x, width), Rhs::rows::<S>(grad, columns));
            gemm(simd, size, left, right, &mut sums.weights[0], columns, Accumulate);
            let size = Size { m: count, n: width, k: columns };
            gemm(simd, size, Lhs::rows(grad, columns), transposed.rhs(), out, width, Store);
        }
        sums
    }
}

/// Gradients of [`projections`] for `grad [rows, maps · heads.width]`, the gradient of its result.
///
/// # Panics
/// If sizes do not match.
pub fn projections_backward(
    heads: &Heads,
    maps: &[Linear<'_>],
    width: usize,
    x: &[f32],
    grad: &[f32],
) -> ProjectionGradients {
    let columns = maps.len() * heads.width;
    let rows = rows_of(heads, maps, width, x);
    assert_eq!(grad.len(), rows.batch * columns, "projections: gradient of the result");
    let transposed = heads.side_by_side_transposed(maps, width);
    let mut dx = vec![0.0; x.len()];
    let group = (rows.group() * rows.block()).max(1);
    let runs = dx.par_chunks_mut(group * width).zip(x.par_chunks(group * width)).zip(grad.par_chunks(group * columns));
    let groups: Vec<Accumulators<2>> = runs
        .map(|((out, x), grad)| simd::run(Group { rows: &rows, columns, transposed: &transposed, x, grad, out }))
        .collect();
    let ([weights, biases], _) = sum_groups(groups, [width * columns, columns]);
    let channel_order = heads.channel_order();
    let apart = |all: &[f32], inputs: usize| -> Vec<Vec<f32>> {
        let mut parts = vec![vec![0.0; inputs * heads.width]; maps.len()];
        for (p, row) in all.chunks_exact(columns.max(1)).enumerate() {
            for (part, row) in parts.iter_mut().zip(row.chunks_exact(heads.width)) {
                channel_order.iter().zip(row).for_each(|(&place, value)| part[p * heads.width + place] = *value);
            }
        }
        parts
    };
    ProjectionGradients { x: dx, weights: apart(&weights, width), biases: apart(&biases, 1) }
}

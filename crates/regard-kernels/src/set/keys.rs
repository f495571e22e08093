//! Projections to keys and values, forward and backward.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Layer, LinearGradients, Sums, Weights,
    plan::{BLOCK, task_rows},
};
use crate::{
    buffer::Workspace,
    gemm::{Accumulate, Bias, Lhs, Panels, Rhs, Size, Store, gemm},
    simd,
    vector::column_sums,
};

/// Packs the projections to keys and values side by side, `[key_width, 2 · width]`.
fn pack(layer: &Layer, weights: &Weights<'_>) -> Panels {
    let d = layer.width;
    Panels::pack_forward(layer.key_width, 2 * d, |p, j| match j {
        j if j < d => weights.key.weight[p * d + j],
        j => weights.value.weight[p * d + j - d],
    })
}

/// Both projections of key rows.
pub(super) struct KeyProjection {
    key_width: usize,
    panels: Panels,
    /// The bias of the values; that of the keys changes no result and is omitted.
    bias: Vec<f32>,
}

impl KeyProjection {
    pub(super) fn of(layer: &Layer, weights: &Weights<'_>) -> Self {
        let bias = [&vec![0.0; layer.width][..], weights.value.bias].concat();
        Self { key_width: layer.key_width, panels: pack(layer, weights), bias }
    }

    /// `out = y·[Wk | Wv] + [0 | bv]`.
    #[inline(always)]
    pub(super) fn rows<S: Simd>(&self, simd: S, y: &[f32], out: &mut [f32]) {
        let Self { key_width, panels, bias } = self;
        let size = Size { m: y.len() / key_width, n: bias.len(), k: *key_width };
        gemm(simd, size, Lhs::rows(y, *key_width), panels.rhs(), out, bias.len(), Bias(bias));
    }

    /// Keys and values of all rows, `[key rows, 2 · width]`.
    pub(super) fn all(&self, y: &[f32]) -> Workspace {
        struct Rows<'a>(&'a KeyProjection, &'a [f32], &'a mut [f32]);
        impl WithSimd for Rows<'_> {
            type Output = ();
            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) {
                self.0.rows(simd, self.1, self.2);
            }
        }
        let width = self.bias.len();
        let mut kv = Workspace::lease(y.len() / self.key_width * width);
        kv.par_chunks_mut(BLOCK * width)
            .zip(y.par_chunks(BLOCK * self.key_width))
            .for_each(|(out, y)| simd::run(Rows(self, y, out)));
        kv
    }
}

/// Backward pass of both projections.
pub(super) struct KeyProjectionBackward {
    key_width: usize,
    width: usize,
    /// `[2 · width, key_width]`, if the gradient of the rows is required.
    transposed: Option<Panels>,
}

/// Number of sums of [`KeyProjectionBackward`]: both weights side by side, both biases.
pub(super) const KEY_SUMS: usize = 2;

impl KeyProjectionBackward {
    pub(super) fn of(layer: &Layer, weights: &Weights<'_>, requires_grad: bool) -> Self {
        let (d, wide) = (layer.width, layer.key_width);
        let transposed = requires_grad.then(|| {
            Panels::pack(2 * d, wide, |p, j| match p {
                p if p < d => weights.key.weight[j * d + p],
                p => weights.value.weight[j * d + p - d],
            })
        });
        Self { key_width: wide, width: d, transposed }
    }

    pub(super) fn sizes(&self) -> [usize; KEY_SUMS] {
        [self.key_width * 2 * self.width, 2 * self.width]
    }

    /// Adds the contribution of the rows `y`, given the gradients `dkv` of their keys and values, to the
    /// gradients of the weights. Writes the gradient of the rows if it is required.
    #[inline(always)]
    pub(super) fn rows<S: Simd, const N: usize>(
        &self,
        simd: S,
        y: &[f32],
        dkv: &[f32],
        dy: &mut [f32],
        sums: &mut Sums<N>,
        at: usize,
    ) {
        let (wide, n) = (self.key_width, 2 * self.width);
        let rows = y.len() / wide;
        let size = Size { m: wide, n, k: rows };
        gemm(simd, size, Lhs::transposed(y, wide), Rhs::rows::<S>(dkv, n), &mut sums.0[at], n, Accumulate);
        column_sums(simd, dkv, n, rows, &mut sums.0[at + 1]);
        if let Some(transposed) = &self.transposed {
            let size = Size { m: rows, n: wide, k: n };
            gemm(simd, size, Lhs::rows(dkv, n), transposed.rhs(), dy, wide, Store);
        }
    }

    /// Gradients of both projections, from the sums over all rows.
    pub(super) fn split(&self, matrix: &[f32], bias: &[f32]) -> (LinearGradients, LinearGradients) {
        let d = self.width;
        let part = |from: usize| matrix.chunks_exact(2 * d).flat_map(|row| &row[from..from + d]).copied().collect();
        let key = LinearGradients { weight: part(0), bias: vec![0.0; d] };
        (key, LinearGradients { weight: part(d), bias: bias[d..].to_vec() })
    }
}

/// Gradients of the rows (if required) and of both projections, from `dkv [key rows, 2 · width]`.
pub(super) fn keys_backward(
    layer: &Layer,
    weights: &Weights<'_>,
    y: &[f32],
    dkv: &[f32],
    requires_grad: bool,
) -> (Option<Vec<f32>>, LinearGradients, LinearGradients) {
    struct Rows<'a>(&'a KeyProjectionBackward, (&'a [f32], &'a [f32]), &'a mut [f32]);
    impl WithSimd for Rows<'_> {
        type Output = Sums<KEY_SUMS>;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Sums<KEY_SUMS> {
            let Self(back, (y, dkv), dy) = self;
            let mut sums = Sums::zeros(back.sizes());
            let (wide, n) = (back.key_width, 2 * back.width);
            let dy_size = if back.transposed.is_some() { BLOCK * wide } else { 0 };
            for (i, (y, dkv)) in y.chunks(BLOCK * wide).zip(dkv.chunks(BLOCK * n)).enumerate() {
                back.rows(simd, y, dkv, &mut dy[i * dy_size..], &mut sums, 0);
            }
            sums
        }
    }
    let (wide, n) = (layer.key_width, 2 * layer.width);
    let back = KeyProjectionBackward::of(layer, weights, requires_grad);
    let rows = task_rows(y.len() / wide);
    let mut dy = vec![0.0; if requires_grad { y.len() } else { 0 }];
    let mut dy_parts: Vec<&mut [f32]> = dy.chunks_mut(rows * wide).collect();
    dy_parts.resize_with((y.len() / wide).div_ceil(rows), Default::default);
    let tasks = y.par_chunks(rows * wide).zip(dkv.par_chunks(rows * n)).zip(dy_parts);
    let sums: Vec<Sums<KEY_SUMS>> = tasks.map(|(data, dy)| simd::run(Rows(&back, data, dy))).collect();
    let [matrix, bias] = Sums::total(&sums, back.sizes());
    let (key, value) = back.split(&matrix, &bias);
    (requires_grad.then_some(dy), key, value)
}

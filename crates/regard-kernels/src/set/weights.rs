//! Attention weights of set attention blocks, for explaining a result.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Layer, Queries, Sets, Weights, keys::KeyProjection, plan::parts};
use crate::{
    buffer::Workspace,
    gemm::{Bias, Lhs, Panels, Rhs, Size, Store, gemm},
    simd,
    transpose::transpose,
    vector::{exponentials, maximum, scale},
};

struct OfSet<'a> {
    layer: &'a Layer,
    query: &'a Panels,
    query_bias: &'a [f32],
    x: &'a [f32],
    keys: &'a KeyProjection,
    y: &'a [f32],
    /// `[heads, queries, keys]`.
    out: &'a mut [f32],
}

impl WithSimd for OfSet<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Layer { query_width: wide, key_width, width: d, .. } = *self.layer;
        let (queries, keys, head) = (self.x.len() / wide, self.y.len() / key_width, self.layer.head());
        let padded = keys.next_multiple_of(S::F32_LANES);
        let mut q = Workspace::lease(queries * d);
        let mut kv = Workspace::lease(keys * 2 * d);
        let mut transposed = Workspace::lease(head * padded);
        let mut row = Workspace::lease(padded);
        let size = Size { m: queries, n: d, k: wide };
        gemm(simd, size, Lhs::rows(self.x, wide), self.query.rhs(), &mut q, d, Bias(self.query_bias));
        self.keys.rows(simd, self.y, &mut kv);
        for (h, out) in self.out.chunks_exact_mut(queries * keys).enumerate() {
            transpose(&kv[h * head..], 2 * d, keys, head, padded, &mut transposed);
            scale(simd, self.layer.scale, &mut transposed);
            let right = Rhs::rows::<S>(&transposed, padded);
            let size = Size { m: queries, n: keys, k: head };
            gemm(simd, size, Lhs::rows(&q[h * head..], d), right, out, keys, Store);
            for out in out.chunks_exact_mut(keys) {
                row[..keys].copy_from_slice(out);
                row[keys..].fill(f32::NEG_INFINITY);
                let max = maximum(simd, &row);
                let sum = exponentials(simd, &mut row, max);
                scale(simd, 1.0 / sum, &mut row);
                out.copy_from_slice(&row[..keys]);
            }
        }
    }
}

/// The attention weights `A` of the queries over the keys of their set: `[heads, queries, keys]` for each
/// set, one set after the other.
///
/// # Panics
/// If a slice does not have the size its shape requires.
pub fn attention_weights(layer: &Layer, weights: &Weights<'_>, queries: Queries<'_>, keys: Sets<'_>) -> Vec<f32> {
    super::check(layer, weights, queries, keys);
    let query = Panels::of_forward(weights.query.weight, layer.query_width, layer.width);
    let projection = KeyProjection::of(layer, weights);
    let x_of = |set: usize| match queries {
        Queries::Own(Sets { rows, offsets }) => {
            &rows[offsets[set] * layer.query_width..offsets[set + 1] * layer.query_width]
        }
        Queries::Shared(rows) => rows,
    };
    let y_of = |set: usize| &keys.rows[keys.offsets[set] * layer.key_width..keys.offsets[set + 1] * layer.key_width];
    let cells = |set: usize| layer.heads * (x_of(set).len() / layer.query_width) * (y_of(set).len() / layer.key_width);
    let sizes: Vec<usize> = (0..keys.count()).map(cells).collect();
    let mut out = vec![0.0; sizes.iter().sum()];
    parts(&mut out, sizes).into_par_iter().enumerate().filter(|(_, out)| !out.is_empty()).for_each(|(set, out)| {
        let (x, y) = (x_of(set), y_of(set));
        let (query, query_bias) = (&query, weights.query.bias);
        simd::run(OfSet { layer, query, query_bias, x, keys: &projection, y, out });
    });
    out
}

//! Decoder weights folded for one pass, and the gradients of the original weights.

use super::{Gradients, block::WeightGradients};
use crate::gemm::{Lhs, Panels, Rhs, Size, Store, gemm};
use crate::rollout::{Decoder, folded_logit_keys};
use crate::simd;
use pulp::{Simd, WithSimd};

/// Number of tables of a node, side by side: glimpse keys (scaled), glimpse values, logit keys (with
/// output projection and scale folded in), contribution to the query as last node.
pub(super) const TABLES: usize = 4;

/// Weights packed for the forward and backward pass.
pub(super) struct FoldedWeights {
    pub(super) width: usize,
    pub(super) heads: usize,
    pub(super) clip: f32,
    /// `[width, TABLES·width]`.
    pub(super) tables: Panels,
    /// Its transpose.
    pub(super) tables_back: Panels,
    pub(super) fixed: Panels,
    pub(super) fixed_back: Panels,
    /// Contribution to the query as first node, `[width, width]`, if the context has one.
    pub(super) first: Option<Panels>,
    pub(super) first_back: Option<Panels>,
    /// Number of scalars in the context, and their contribution to the query, `[scalars, width]`.
    pub(super) scalars: usize,
    pub(super) scalar_rows: Vec<f32>,
    /// Contribution of the placeholder to the query.
    pub(super) start: Vec<f32>,
    /// If true, nodes have a dynamic feature.
    pub(super) has_dynamic: bool,
    /// Weights of the dynamic feature for keys, values and logit keys, scaled and folded as in the tables,
    /// `[3·width]`; zeros without a dynamic feature.
    pub(super) dynamic: Vec<f32>,
}

fn head_scale(decoder: &Decoder<'_>) -> f32 {
    1.0 / ((decoder.width / decoder.heads) as f32).sqrt()
}

impl FoldedWeights {
    pub(super) fn new(decoder: &Decoder<'_>) -> Self {
        let d = decoder.width;
        let (logit, scale) = (folded_logit_keys(decoder.logit_key, decoder.out, d), head_scale(decoder));
        let (first, rest) = decoder.step.split_at(if decoder.uses_first { d * d } else { 0 });
        let (last, scalar_rows) = rest.split_at(d * d);
        let mut tables = vec![0.0; d * TABLES * d];
        for (p, row) in tables.chunks_exact_mut(TABLES * d).enumerate() {
            let at = p * d..(p + 1) * d;
            row[..d].iter_mut().zip(&decoder.glimpse_key[at.clone()]).for_each(|(x, w)| *x = w * scale);
            row[d..2 * d].copy_from_slice(&decoder.glimpse_value[at.clone()]);
            row[2 * d..3 * d].copy_from_slice(&logit[at.clone()]);
            row[3 * d..].copy_from_slice(&last[at]);
        }
        let mut start = vec![0.0; d];
        for (x, row) in decoder.placeholder.unwrap_or(&[]).iter().zip(decoder.step.chunks_exact(d)) {
            start.iter_mut().zip(row).for_each(|(sum, w)| *sum += x * w);
        }
        let mut dynamic = vec![0.0; 3 * d];
        if let Some(rows) = decoder.dynamic {
            dynamic[..2 * d].copy_from_slice(&rows[..2 * d]);
            dynamic[..d].iter_mut().for_each(|x| *x *= scale);
            dynamic[2 * d..].copy_from_slice(&folded_logit_keys(&rows[2 * d..], decoder.out, d));
        }
        Self {
            width: d,
            heads: decoder.heads,
            clip: decoder.clip,
            tables: Panels::of_forward(&tables, d, TABLES * d),
            tables_back: Panels::of_transposed(&tables, TABLES * d, d),
            fixed: Panels::of_forward(decoder.fixed, d, d),
            fixed_back: Panels::of_transposed(decoder.fixed, d, d),
            first: decoder.uses_first.then(|| Panels::of_forward(first, d, d)),
            first_back: decoder.uses_first.then(|| Panels::of_transposed(first, d, d)),
            scalars: decoder.scalars,
            scalar_rows: scalar_rows.to_vec(),
            start,
            has_dynamic: decoder.dynamic.is_some(),
            dynamic,
        }
    }
}

/// Computes the gradients of the original decoder weights from those of the folded ones.
pub(super) fn unfold(decoder: &Decoder<'_>, embeddings: Vec<f32>, sums: WeightGradients) -> Gradients {
    let d = decoder.width;
    let (scale, root) = (head_scale(decoder), 1.0 / (d as f32).sqrt());
    let mut nodes = vec![0.0; d * 3 * d];
    let mut step = sums.first.to_vec();
    let mut folded = Vec::with_capacity((d + 1) * d);
    for (row, nodes) in sums.tables.chunks_exact(TABLES * d).zip(nodes.chunks_exact_mut(3 * d)) {
        nodes[..d].iter_mut().zip(row).for_each(|(x, g)| *x = g * scale);
        nodes[d..2 * d].copy_from_slice(&row[d..2 * d]);
        folded.extend(row[2 * d..3 * d].iter().map(|g| g * root));
        step.extend_from_slice(&row[3 * d..]);
    }
    step.extend_from_slice(&sums.scalars);
    let mut keys = decoder.logit_key.to_vec();
    let mut dynamic = vec![0.0; decoder.dynamic.map_or(0, <[f32]>::len)];
    if let Some(rows) = decoder.dynamic {
        dynamic.copy_from_slice(&sums.dynamic);
        dynamic[..d].iter_mut().for_each(|x| *x *= scale);
        // The weights of the dynamic feature for logit keys are folded like one more row.
        folded.extend(sums.dynamic[2 * d..].iter().map(|g| g * root));
        keys.extend_from_slice(&rows[2 * d..]);
    }
    // folded = root · keys · outᵀ
    let rows = keys.len() / d;
    let (mut logit, mut out) = (vec![0.0; rows * d], vec![0.0; d * d]);
    let size = |m, k| Size { m, n: d, k };
    simd::run(Product { size: size(rows, d), a: Lhs::rows(&folded, d), b: decoder.out, c: &mut logit });
    simd::run(Product { size: size(d, rows), a: Lhs::transposed(&folded, d), b: &keys, c: &mut out });
    for (nodes, logit) in nodes.chunks_exact_mut(3 * d).zip(logit.chunks_exact(d)) {
        nodes[2 * d..].copy_from_slice(logit);
    }
    if let Some(direction) = dynamic.get_mut(2 * d..) {
        direction.copy_from_slice(&logit[d * d..]);
    }
    // start = placeholder · step
    let mut placeholder = vec![0.0; decoder.placeholder.map_or(0, <[f32]>::len)];
    for (i, (gradient, row)) in placeholder.iter_mut().zip(decoder.step.chunks_exact(d)).enumerate() {
        *gradient = row.iter().zip(sums.start.iter()).map(|(w, g)| w * g).sum();
        let x = decoder.placeholder.map_or(0.0, |placeholder| placeholder[i]);
        step[i * d..][..d].iter_mut().zip(sums.start.iter()).for_each(|(sum, g)| *sum += x * g);
    }
    Gradients { embeddings, nodes, fixed: sums.fixed.to_vec(), step, out, placeholder, dynamic }
}

/// Computes `c = a · b`; the rows of `b` and `c` are contiguous.
struct Product<'a> {
    size: Size,
    a: Lhs<'a>,
    b: &'a [f32],
    c: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n = self.size.n;
        gemm(simd, self.size, self.a, Rhs::rows::<S>(self.b, n), self.c, n, Store);
    }
}

//! Weights of the decoder, and the tables that are computed from them for an instance.

use pulp::{Simd, WithSimd};

use crate::{
    buffer::Workspace,
    gemm::{Lhs, Panels, Size, Store, gemm},
    simd,
    transpose::transpose,
    vector::{column_sums, scale},
};

/// Weights of the decoder; matrices are row-major `[in, out]`.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    /// Width of embeddings and queries.
    pub width: usize,
    /// Number of heads of the glimpse; must divide the width.
    pub heads: usize,
    /// Logits are `clip · tanh(·)`; 0 turns the clipping off.
    pub clip: f32,
    /// Projection to the keys of the glimpse, `[width, width]`.
    pub glimpse_key: &'a [f32],
    /// Projection to the values of the glimpse, `[width, width]`.
    pub glimpse_value: &'a [f32],
    /// Projection to the keys of the logits, `[width, width]`.
    pub logit_key: &'a [f32],
    /// Projection of the graph embedding to the query, `[width, width]`.
    pub fixed: &'a [f32],
    /// Projection of the step context to the query, `[context, width]`: rows for the embedding of the
    /// first node if `uses_first`, rows for that of the last node, then one row for each scalar.
    pub step: &'a [f32],
    /// Output projection of the glimpse, `[width, width]`.
    pub out: &'a [f32],
    /// Replaces the embeddings of first and last node before the first step.
    pub placeholder: Option<&'a [f32]>,
    /// If true, the context contains the embedding of the first node.
    pub uses_first: bool,
    /// Number of scalars in the context.
    pub scalars: usize,
    /// Weights of the dynamic feature of a node, see [`State::dynamic`](super::State::dynamic): the
    /// feature times these vectors is added to glimpse key, glimpse value and logit key of the node,
    pub dynamic: Option<&'a [f32]>,
}

/// Decoder weights, packed for use on many instances.
#[derive(Debug)]
pub struct PackedDecoder {
    pub(super) width: usize,
    pub(super) heads: usize,
    pub(super) clip: f32,
    pub(super) scalars: usize,
    /// `[width, 4·width]`: glimpse keys (scaled), glimpse values, logit keys (with output projection and
    /// scale folded in), contribution to the query as last node.
    tables: Panels,
    fixed: Panels,
    /// `[width, width]`: contribution to the query as first node.
    first: Option<Vec<f32>>,
    /// `[scalars, width]`.
    scalar_rows: Vec<f32>,
    /// Contribution of the placeholder to the query.
    start: Vec<f32>,
    pub(super) dynamic: Option<Dynamic>,
}

/// Weights of the dynamic feature, `[width]` each, scaled and folded as the tables are.
#[derive(Debug)]
pub(super) struct Dynamic {
    pub(super) glimpse_key: Vec<f32>,
    pub(super) glimpse_value: Vec<f32>,
    pub(super) logit_key: Vec<f32>,
}

impl PackedDecoder {
    /// Packs the weights of `decoder`.
    ///
    /// # Panics
    /// If a matrix does not have the size its documentation gives.
    pub fn new(decoder: &Decoder<'_>) -> Self {
        let d = decoder.width;
        let square = [decoder.glimpse_key, decoder.glimpse_value, decoder.logit_key, decoder.fixed, decoder.out];
        assert!(square.iter().all(|matrix| matrix.len() == d * d), "decoder matrices are [width, width]");
        let embeddings = if decoder.uses_first { 2 } else { 1 };
        assert_eq!(decoder.step.len(), (embeddings * d + decoder.scalars) * d, "step context is [context, width]");
        assert!(
            decoder.dynamic.is_none_or(|rows| rows.len() == 3 * d),
            "weights of the dynamic feature are [3 · width]"
        );
        let folded = folded_logit_keys(decoder.logit_key, decoder.out, d);
        let head_scale = 1.0 / ((d / decoder.heads) as f32).sqrt();
        let last = &decoder.step[(embeddings - 1) * d * d..][..d * d];
        let tables = Panels::pack_forward(d, 4 * d, |p, j| match j / d {
            0 => decoder.glimpse_key[p * d + j] * head_scale,
            1 => decoder.glimpse_value[p * d + j - d],
            2 => folded[p * d + j - 2 * d],
            _ => last[p * d + j - 3 * d],
        });
        let mut start = vec![0.0; d];
        for (row, weight) in decoder.placeholder.unwrap_or(&[]).iter().zip(decoder.step.chunks_exact(d)) {
            start.iter_mut().zip(weight).for_each(|(sum, w)| *sum += row * w);
        }
        Self {
            width: d,
            heads: decoder.heads,
            clip: decoder.clip,
            scalars: decoder.scalars,
            tables,
            fixed: Panels::of_forward(decoder.fixed, d, d),
            first: decoder.uses_first.then(|| decoder.step[..d * d].to_vec()),
            scalar_rows: decoder.step[embeddings * d * d..].to_vec(),
            start,
            dynamic: decoder.dynamic.map(|rows| Dynamic {
                glimpse_key: rows[..d].iter().map(|x| x * head_scale).collect(),
                glimpse_value: rows[d..2 * d].to_vec(),
                logit_key: folded_logit_keys(&rows[2 * d..], decoder.out, d),
            }),
        }
    }

    /// If true, the context contains the embedding of the first node.
    pub(super) fn uses_first(&self) -> bool {
        self.first.is_some()
    }

    /// Computes the tables of instances of `nodes` nodes from their embeddings.
    pub(super) fn tables<'a>(&'a self, nodes: usize, embeddings: &'a [f32]) -> Tables<'a> {
        simd::run(Build { packed: self, nodes, embeddings })
    }
}

/// `rows · outᵀ / √width` for logit keys `rows [_, width]`, so that a logit is one inner product of
/// glimpse and node.
pub(crate) fn folded_logit_keys(rows: &[f32], out: &[f32], width: usize) -> Vec<f32> {
    let d = width;
    let root = 1.0 / (d as f32).sqrt();
    let out = Panels::of_transposed(out, d, d);
    let mut folded = vec![0.0; rows.len()];
    struct Fold<'a>(&'a [f32], &'a Panels, &'a mut [f32], usize);
    impl WithSimd for Fold<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let d = self.3;
            let m = self.0.len() / d;
            gemm(simd, Size { m, n: d, k: d }, Lhs::rows(self.0, d), self.1.rhs(), self.2, d, Store);
        }
    }
    simd::run(Fold(rows, &out, &mut folded, d));
    folded.iter_mut().for_each(|x| *x *= root);
    folded
}

/// The arrays that decoding steps read, for a block of instances.
pub(super) struct Tables<'a> {
    pub(super) packed: &'a PackedDecoder,
    pub(super) nodes: usize,
    /// Number of nodes, rounded up to whole registers.
    pub(super) padded: usize,
    embeddings: &'a [f32],
    /// `[instances, nodes, 4·width]`.
    rows: Workspace,
    /// `[instances, 2, width, padded]`: glimpse keys and logit keys, transposed.
    columns: Workspace,
    /// `[instances, width]`.
    fixed: Workspace,
}

/// The tables of one instance.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    pub(super) packed: &'a PackedDecoder,
    pub(super) nodes: usize,
    pub(super) padded: usize,
    pub(super) glimpse_keys: &'a [f32],
    pub(super) logit_keys: &'a [f32],
    /// `[nodes, 4·width]`.
    rows: &'a [f32],
    fixed: &'a [f32],
    embeddings: &'a [f32],
}

struct Build<'a> {
    packed: &'a PackedDecoder,
    nodes: usize,
    embeddings: &'a [f32],
}

impl<'a> WithSimd for Build<'a> {
    type Output = Tables<'a>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Tables<'a> {
        let Self { packed, nodes, embeddings } = self;
        let d = packed.width;
        let padded = nodes.next_multiple_of(S::F32_LANES);
        let all = embeddings.len() / d;
        let count = all / nodes.max(1);
        let mut rows = Workspace::lease(all * 4 * d);
        let size = Size { m: all, n: 4 * d, k: d };
        gemm(simd, size, Lhs::rows(embeddings, d), packed.tables.rhs(), &mut rows, 4 * d, Store);
        let mut columns = Workspace::lease(count * 2 * d * padded);
        let mut mean = Workspace::zeros(count * d);
        for b in 0..count {
            let own = &rows[b * nodes * 4 * d..][..nodes * 4 * d];
            let (keys, logits) = columns[b * 2 * d * padded..][..2 * d * padded].split_at_mut(d * padded);
            transpose(own, 4 * d, nodes, d, padded, keys);
            transpose(&own[2 * d..], 4 * d, nodes, d, padded, logits);
            let mean = &mut mean[b * d..][..d];
            column_sums(simd, &embeddings[b * nodes * d..], d, nodes, mean);
            scale(simd, 1.0 / nodes as f32, mean);
        }
        let mut fixed = Workspace::lease(count * d);
        let size = Size { m: count, n: d, k: d };
        gemm(simd, size, Lhs::rows(&mean, d), packed.fixed.rhs(), &mut fixed, d, Store);
        Tables { packed, nodes, padded, embeddings, rows, columns, fixed }
    }
}

impl Tables<'_> {
    pub(super) fn of_instance(&self, b: usize) -> Table<'_> {
        let d = self.packed.width;
        let (keys, logits) = self.columns[b * 2 * d * self.padded..][..2 * d * self.padded].split_at(d * self.padded);
        Table {
            packed: self.packed,
            nodes: self.nodes,
            padded: self.padded,
            glimpse_keys: keys,
            logit_keys: logits,
            rows: &self.rows[b * self.nodes * 4 * d..][..self.nodes * 4 * d],
            fixed: &self.fixed[b * d..][..d],
            embeddings: &self.embeddings[b * self.nodes * d..][..self.nodes * d],
        }
    }
}

impl Table<'_> {
    /// Glimpse value of `node`.
    #[inline(always)]
    pub(super) fn value(&self, node: usize) -> &[f32] {
        let d = self.packed.width;
        &self.rows[node * 4 * d + d..][..d]
    }

    /// Glimpse values of all nodes, starting at column `column`, and the stride between nodes in floats.
    #[inline(always)]
    pub(super) fn values(&self, column: usize) -> (&[f32], usize) {
        let d = self.packed.width;
        (&self.rows[d + column..], 4 * d)
    }

    /// The part of the query that is constant once the first node is known.
    #[inline(always)]
    pub(super) fn base<S: Simd>(&self, simd: S, first: Option<usize>, out: &mut [f32]) {
        let d = self.packed.width;
        out.copy_from_slice(self.fixed);
        if let (Some(matrix), Some(node)) = (&self.packed.first, first) {
            for (x, row) in self.embeddings[node * d..][..d].iter().zip(matrix.chunks_exact(d)) {
                crate::vector::axpy(simd, *x, row, out);
            }
        }
    }

    /// The query of a step, from the constant part, the last node and the scalars.
    #[inline(always)]
    pub(super) fn query<S: Simd>(&self, simd: S, base: &[f32], last: Option<usize>, scalars: &[f32], out: &mut [f32]) {
        let d = self.packed.width;
        out.copy_from_slice(base);
        let share = match last {
            Some(node) => &self.rows[node * 4 * d + 3 * d..][..d],
            None => &self.packed.start,
        };
        crate::vector::add_assign(simd, share, out);
        for (x, row) in scalars.iter().zip(self.packed.scalar_rows.chunks_exact(d)) {
            crate::vector::axpy(simd, *x, row, out);
        }
    }
}

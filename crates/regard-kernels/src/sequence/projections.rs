//! The linear projections of a layer, and the layout of queries, keys and values in a block: one channel a row.

use super::{Layer, Linear, heads::Head};
use crate::{
    buffer::Workspace,
    gemm::Panels,
    transpose::{transpose, transpose_into},
};

/// Source of queries and keys.
#[derive(Clone, Copy, Debug)]
pub enum Scores<'a> {
    /// Queries and keys are projected from the patches.
    Projected {
        /// Query projection, `[width, heads · key_width]`.
        query: Linear<'a>,
        /// Key projection, `[width, heads · key_width]`.
        key: Linear<'a>,
        /// Factor of the scores.
        scale: f32,
    },
    /// Queries and keys are given, for one layer or for several whose scores are added: each
    /// `[rows, 2 · heads · key_width]`, queries before keys. The caller has applied the factor of the scores.
    Precomputed(&'a [&'a [f32]]),
}

/// The linear projections of one attention layer.
#[derive(Clone, Copy, Debug)]
pub struct Projections<'a> {
    /// Queries and keys.
    pub scores: Scores<'a>,
    /// Value projection, `[width, heads · value_width]`.
    pub value: Linear<'a>,
    /// Output projection, `[heads · value_width, width]`.
    pub out: Linear<'a>,
}

impl Projections<'_> {
    /// Number of layers whose scores are added.
    pub(super) fn layers(&self) -> usize {
        match self.scores {
            Scores::Projected { .. } => 1,
            Scores::Precomputed(layers) => layers.len(),
        }
    }

    /// Number of channels projected from the patches.
    pub(super) fn projected(&self, layer: &Layer) -> usize {
        match self.scores {
            Scores::Projected { .. } => 2 * layer.keys() + layer.values(),
            Scores::Precomputed(_) => layer.values(),
        }
    }

    /// # Panics
    /// If sizes do not match.
    pub(super) fn check(&self, layer: &Layer, x: &[f32]) {
        let (rows, width) = (layer.rows.rows(), layer.rows.width);
        assert_eq!(x.len(), rows * width, "sequence attention: input");
        assert!(x.is_empty() || layer.keys() * layer.values() > 0, "sequence attention: widths of heads are positive");
        let fits = |map: &Linear<'_>, inputs: usize, outputs: usize| {
            map.weight.len() == inputs * outputs && map.bias.is_none_or(|bias| bias.len() == outputs)
        };
        match self.scores {
            Scores::Projected { query, key, .. } => {
                assert!(fits(&query, width, layer.keys()), "sequence attention: query projection");
                assert!(fits(&key, width, layer.keys()), "sequence attention: key projection");
            }
            Scores::Precomputed(layers) => {
                assert!(!layers.is_empty(), "sequence attention: at least one layer of queries and keys");
                let whole = layers.iter().all(|given| given.len() == rows * 2 * layer.keys());
                assert!(whole, "sequence attention: queries and keys");
            }
        }
        assert!(fits(&self.value, width, layer.values()), "sequence attention: value projection");
        assert!(fits(&self.out, layer.values(), width), "sequence attention: output projection");
        for dropout in [layer.weights_dropout, layer.residual_dropout].into_iter().flatten() {
            assert!((0.0..1.0).contains(&dropout.rate), "sequence attention: dropout rate in [0, 1)");
        }
    }

    /// The projections of patches, each with its number of outputs and its factor.
    fn parts(&self, layer: &Layer) -> Vec<(Linear<'_>, usize, f32)> {
        let value = (self.value, layer.values(), 1.0);
        match self.scores {
            Scores::Projected { query, key, scale } => {
                vec![(query, layer.keys(), scale), (key, layer.keys(), 1.0), value]
            }
            Scores::Precomputed(_) => vec![value],
        }
    }

    /// All projections of patches, `[projected, width]`: one output channel a row, times its factor.
    pub(super) fn channels(&self, layer: &Layer) -> Vec<f32> {
        let width = layer.rows.width;
        let of_part = |(map, wide, factor): (Linear<'_>, usize, f32)| -> Vec<f32> {
            (0..wide * width).map(|at| map.weight[(at % width) * wide + at / width] * factor).collect()
        };
        self.parts(layer).into_iter().flat_map(of_part).collect()
    }

    /// The biases of [`Self::channels`], times their factors.
    pub(super) fn channel_biases(&self, layer: &Layer) -> Vec<f32> {
        let of_part = |(map, wide, factor): (Linear<'_>, usize, f32)| -> Vec<f32> {
            (0..wide).map(|j| map.bias.map_or(0.0, |bias| bias[j] * factor)).collect()
        };
        self.parts(layer).into_iter().flat_map(of_part).collect()
    }

    /// Rows `from..to` of [`Self::channels`] as right factor.
    pub(super) fn panels(&self, channels: &[f32], from: usize, to: usize, width: usize) -> Panels {
        Panels::of(&channels[from * width..to * width], to - from, width)
    }
}

/// Queries, keys and values of a block, one channel a row, one head after the other.
#[derive(Clone, Copy)]
pub(super) struct Channels<'a> {
    query: &'a [f32],
    pub(super) key: &'a [f32],
    value: &'a [f32],
    depth: usize,
}

impl Layer {
    /// Number of channels of all queries, or of all keys, of a block.
    pub(super) fn depths(&self, projections: &Projections<'_>) -> usize {
        self.keys() * projections.layers()
    }

    /// Given queries and keys of the rows from `first` on, `[2 · depths, ld]`; empty if they are projected
    /// from the patches.
    #[inline(always)]
    pub(super) fn gather(&self, projections: &Projections<'_>, first: usize, count: usize) -> Workspace {
        let Scores::Precomputed(layers) = projections.scores else { return Workspace::lease(0) };
        let (keys, ld, half) = (self.keys(), self.ld(), self.depths(projections) * self.ld());
        let mut all = Workspace::lease(2 * half);
        for (l, rows) in layers.iter().enumerate() {
            let rows = &rows[first * 2 * keys..][..count * 2 * keys];
            for (part, to) in all.chunks_exact_mut(half.max(1)).enumerate() {
                for h in 0..self.heads {
                    let to = &mut to[(h * layers.len() + l) * self.key_width * ld..];
                    transpose(&rows[part * keys + h * self.key_width..], 2 * keys, count, self.key_width, ld, to);
                }
            }
        }
        all
    }

    /// Writes the gradient of layer `l` of the given `layers`, `[positions, 2 · keys]`, from those of
    /// queries `[positions, depths]` and keys `[depths, ld]`.
    #[inline(always)]
    pub(super) fn scatter(&self, layers: usize, l: usize, query: &[f32], key: &[f32], into: &mut [f32]) {
        let (keys, width, ld) = (self.keys(), self.key_width, self.ld());
        for (i, into) in into.chunks_exact_mut(2 * keys).enumerate() {
            let query = &query[i * keys * layers..][..keys * layers];
            for h in 0..self.heads {
                let (to, from) = (h * width, (h * layers + l) * width);
                into[to..to + width].copy_from_slice(&query[from..from + width]);
            }
        }
        let count = into.len() / (2 * keys);
        for h in 0..self.heads {
            let (to, from) = (&mut into[keys + h * width..], &key[(h * layers + l) * width * ld..]);
            transpose_into(from, ld, width, count, to, 2 * keys);
        }
    }

    /// The channels of a block, from the projected values and the result of [`Self::gather`].
    #[inline(always)]
    pub(super) fn channels<'a>(
        &self,
        projections: &Projections<'_>,
        projected: &'a [f32],
        given: &'a [f32],
    ) -> Channels<'a> {
        let (ld, depth) = (self.ld(), self.key_width * projections.layers());
        let half = self.heads * depth * ld;
        match projections.scores {
            Scores::Projected { .. } => {
                let (query, rest) = projected.split_at(half);
                let (key, value) = rest.split_at(half);
                Channels { query, key, value, depth }
            }
            Scores::Precomputed(_) => {
                let (query, key) = given.split_at(half);
                Channels { query, key, value: projected, depth }
            }
        }
    }

    /// Head `h` of sequence `s` of the block, which has index `sequence` in the batch.
    #[inline(always)]
    pub(super) fn head<'a>(&self, channels: &Channels<'a>, s: usize, sequence: usize, h: usize) -> Head<'a> {
        let (patches, ld) = (self.rows.nodes, self.ld());
        let (at, depth) = (s * patches, channels.depth);
        Head {
            query: &channels.query[h * depth * ld + at..],
            key: &channels.key[h * depth * ld + at..],
            value: &channels.value[h * self.value_width * ld + at..],
            ld,
            patches,
            depth,
            value_width: self.value_width,
            dropout: self.weights_dropout.map(|dropout| (dropout, (sequence * self.heads + h) * patches)),
        }
    }
}

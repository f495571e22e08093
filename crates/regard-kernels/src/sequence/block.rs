//! The layout of queries, keys and values in a block: one channel a row.

use super::{Layer, Maps, Scores, heads::Head};
use crate::{
    buffer::Workspace,
    transpose::{transpose, transpose_into},
};

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
    pub(super) fn depths(&self, maps: &Maps<'_>) -> usize {
        self.keys() * maps.layers()
    }

    /// Given queries and keys of the rows from `first` on, `[2 · depths, ld]`; empty if they are projected
    /// from the patches.
    #[inline(always)]
    pub(super) fn gather(&self, maps: &Maps<'_>, first: usize, count: usize) -> Workspace {
        let Scores::Given(layers) = maps.scores else { return Workspace::lease(0) };
        let (keys, ld, half) = (self.keys(), self.ld(), self.depths(maps) * self.ld());
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
            transpose_into((from, ld), width, count, (to, 2 * keys));
        }
    }

    /// The channels of a block, from the projected values and the result of [`Self::gather`].
    #[inline(always)]
    pub(super) fn channels<'a>(&self, maps: &Maps<'_>, projected: &'a [f32], given: &'a [f32]) -> Channels<'a> {
        let (ld, depth) = (self.ld(), self.key_width * maps.layers());
        let half = self.heads * depth * ld;
        match maps.scores {
            Scores::Projected { .. } => {
                let (query, rest) = projected.split_at(half);
                let (key, value) = rest.split_at(half);
                Channels { query, key, value, depth }
            }
            Scores::Given(_) => {
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

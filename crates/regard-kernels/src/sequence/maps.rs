//! The linear projections of a layer and their layout for matrix products.

use super::{Layer, Linear};
use crate::gemm::Panels;

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
    Given(&'a [&'a [f32]]),
}

/// The linear projections of one attention layer.
#[derive(Clone, Copy, Debug)]
pub struct Maps<'a> {
    /// Queries and keys.
    pub scores: Scores<'a>,
    /// Value projection, `[width, heads · value_width]`.
    pub value: Linear<'a>,
    /// Output projection, `[heads · value_width, width]`.
    pub out: Linear<'a>,
}

impl Maps<'_> {
    /// Number of layers whose scores are added.
    pub(super) fn layers(&self) -> usize {
        match self.scores {
            Scores::Projected { .. } => 1,
            Scores::Given(layers) => layers.len(),
        }
    }

    /// Number of channels projected from the patches.
    pub(super) fn projected(&self, layer: &Layer) -> usize {
        match self.scores {
            Scores::Projected { .. } => 2 * layer.keys() + layer.values(),
            Scores::Given(_) => layer.values(),
        }
    }

    /// # Panics
    /// If sizes do not match.
    pub(super) fn check(&self, layer: &Layer, x: &[f32]) {
        let (rows, width) = (layer.rows.rows(), layer.rows.width);
        assert_eq!(x.len(), rows * width, "sequence attention: input");
        assert!(x.is_empty() || layer.keys() * layer.values() > 0, "sequence attention: heads have a width");
        let fits = |map: &Linear<'_>, inputs: usize, outputs: usize| {
            map.weight.len() == inputs * outputs && map.bias.is_none_or(|bias| bias.len() == outputs)
        };
        match self.scores {
            Scores::Projected { query, key, .. } => {
                assert!(fits(&query, width, layer.keys()), "sequence attention: query map");
                assert!(fits(&key, width, layer.keys()), "sequence attention: key map");
            }
            Scores::Given(layers) => {
                assert!(!layers.is_empty(), "sequence attention: queries and keys are given");
                let whole = layers.iter().all(|given| given.len() == rows * 2 * layer.keys());
                assert!(whole, "sequence attention: queries and keys");
            }
        }
        assert!(fits(&self.value, width, layer.values()), "sequence attention: value map");
        assert!(fits(&self.out, layer.values(), width), "sequence attention: output map");
        for dropout in [layer.weights_dropout, layer.residual_dropout].into_iter().flatten() {
            assert!((0.0..1.0).contains(&dropout.rate), "sequence attention: a part below one is left out");
        }
    }

    /// The projections of patches, each with its number of outputs and its factor.
    fn parts(&self, layer: &Layer) -> Vec<(Linear<'_>, usize, f32)> {
        let value = (self.value, layer.values(), 1.0);
        match self.scores {
            Scores::Projected { query, key, scale } => {
                vec![(query, layer.keys(), scale), (key, layer.keys(), 1.0), value]
            }
            Scores::Given(_) => vec![value],
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

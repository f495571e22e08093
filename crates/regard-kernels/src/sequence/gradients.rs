//! Backward pass of the whole layer: gradients summed over the groups of blocks.

use super::{
    Layer, Maps, Saved, Scores, Tail,
    backward::{OTHERS, OTHERS_BIAS, OUT, OUT_BIAS, QUERY, QUERY_BIAS, Shared},
};
use crate::{
    norm::{batch_means, merge_sums},
    sublayer::total,
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
    maps: &Maps<'_>,
    tail: &Tail<'_>,
    x: &[f32],
    saved: &Saved,
    grad: &[f32],
) -> Gradients {
    maps.check(layer, x);
    let (rows, width) = (&layer.rows, layer.rows.width);
    let means = match (tail.norm(), &saved.norm) {
        (Some(_), Some((pre, moments))) => Some(batch_means(rows, moments, pre, grad)),
        _ => None,
    };
    let (channels, all) = (maps.channels(layer), maps.projected(layer));
    let queries = if matches!(maps.scores, Scores::Given(_)) { 0 } else { layer.keys() };
    let shared = Shared {
        layer,
        maps,
        norm: tail.norm().zip(means.as_ref()),
        saved,
        query: maps.panels(&channels, 0, queries, width),
        others: maps.panels(&channels, queries, all, width),
        other_rows: all - queries,
        x,
        grad,
    };
    let (x, given, groups) = shared.run();
    let (mut weights, norms) = total(groups, shared.sizes());
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
    let projected = match maps.scores {
        Scores::Projected { scale, .. } => Some([query.times(scale), part(0, values)]),
        Scores::Given(_) => None,
    };
    Gradients { x, projected, given, value: part(values, all - queries), out, norm }
}

impl LinearGradients {
    fn times(self, factor: f32) -> Self {
        let times = |x: Vec<f32>| x.into_iter().map(|x| x * factor).collect();
        Self { weight: times(self.weight), bias: times(self.bias) }
    }
}

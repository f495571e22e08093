//! The gradients of a layer, put together from those of its blocks.

use super::{
    Layer, Maps, Saved, Scores, Tail,
    backward::{OTHERS, OTHERS_BIAS, OUT, OUT_BIAS, QUERY, QUERY_BIAS, Shared},
};
use crate::{
    norm::{batch_means, merge_sums},
    sublayer::total,
};

/// Gradients of a map; that of the bias is there whether the map has one or not.
#[derive(Debug, Default)]
pub struct LinearGradients {
    /// `[in, out]`.
    pub weight: Vec<f32>,
    /// `[out]`.
    pub bias: Vec<f32>,
}

/// Gradients of [`super::sequence_attention`], each in the shape of what it belongs to.
#[derive(Debug)]
pub struct Gradients {
    /// Of the input.
    pub x: Vec<f32>,
    /// Of the query and key maps, where there are such.
    pub projected: Option<[LinearGradients; 2]>,
    /// Of given queries and keys.
    pub given: Vec<Vec<f32>>,
    /// Of the value map.
    pub value: LinearGradients,
    /// Of the output map.
    pub out: LinearGradients,
    /// Of the norm's factor and shift, where there is a norm.
    pub norm: Option<(Vec<f32>, Vec<f32>)>,
}

/// Gradients of [`super::sequence_attention`] for `grad`, the gradient of its result.
///
/// # Panics
/// If sizes do not fit together.
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

//! Code that the golden tests of the routing models share.

pub(crate) mod instances;

use regard::routes::model::{AttentionModelConfig, Norm};
use regard::store::{Array, Weights};
use regard_testing::{Case, Values};
use serde_json::Value;

/// The network a case describes.
pub(crate) fn config(case: &Case) -> AttentionModelConfig {
    // Trained models keep their sizes among the arguments of the training command.
    let entry = |key: &str| match &case.config[key] {
        Value::Null => &case.config["args"][key],
        value => value,
    };
    let size = |key: &str| {
        let value = entry(key).as_u64();
        value.unwrap_or_else(|| panic!("{}: no size {key}", case.name)) as usize
    };
    AttentionModelConfig {
        width: size("embedding_dim"),
        heads: size("n_heads"),
        layers: size("n_encode_layers"),
        feedforward_width: size("feed_forward_hidden"),
        norm: match entry("normalization").as_str() {
            Some("batch") => Norm::Batch,
            Some("instance") => Norm::Instance,
            other => panic!("{}: normalisation {other:?}", case.name),
        },
        tanh_clipping: entry("tanh_clipping").as_f64().expect("a clip") as f32,
        ..AttentionModelConfig::kool_2019()
    }
}

/// The weights of a case, under their original names.
pub(crate) fn weights(case: &Case) -> Weights {
    let prefixed: Weights = named(case.with_prefix("weight."));
    if prefixed.is_empty() { named(case.with_prefix("")) } else { prefixed }
}

fn named<'a>(values: impl Iterator<Item = (&'a str, &'a Values)>) -> Weights {
    let array = |values: &Values| Array { shape: values.shape.clone(), data: values.f32() };
    values.map(|(name, values)| (name.to_owned(), array(values))).collect()
}

/// Length of a closed tour over item `item` of `points [batch, nodes, 2]`.
pub(crate) fn length(points: &Values, item: usize, tour: &[usize]) -> f64 {
    let nodes = points.shape[1];
    let at = |node: usize| {
        let place = 2 * (item * nodes + node);
        [points.data[place], points.data[place + 1]]
    };
    let next = tour.iter().cycle().skip(1);
    tour.iter()
        .zip(next)
        .map(|(&a, &b)| {
            let ([ax, ay], [bx, by]) = (at(a), at(b));
            (ax - bx).hypot(ay - by)
        })
        .sum()
}

//! Descriptions of models, as text and as JSON.

use regard::store::{Manifest, NetworkConfig, NetworkDir, Provenance, Weights};
use serde::Serialize;

use super::{Align, Table, number};
use crate::models::Model;

/// `regard model show --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ModelResult<'a> {
    name: &'a str,
    place: String,
    kind: &'a str,
    preset: Option<&'a str>,
    problem: &'a str,
    width: usize,
    heads: usize,
    layers: usize,
    feedforward_width: usize,
    norm: &'static str,
    tanh_clipping: f32,
    /// If true, the decoder sees how near each node is to the last one.
    distances: bool,
    /// If true, the encoder sees the distance between two nodes.
    distance_bias: bool,
    /// Trainable parameters.
    parameters: usize,
    /// Running means and variances of batch normalisation.
    running_statistics: usize,
    tensors: Vec<TensorResult<'a>>,
    manifest: Option<&'a Manifest>,
}

/// One tensor of the weights file.
#[derive(Debug, Serialize)]
struct TensorResult<'a> {
    name: &'a str,
    shape: &'a [usize],
}

/// Collects the description.
pub(crate) fn json(model: &Model) -> ModelResult<'_> {
    let config = &model.info.config;
    let (parameters, running_statistics) = sizes(model);
    ModelResult {
        name: &model.info.name,
        place: model.info.place.describe(),
        kind: &config.kind,
        preset: config.preset.as_deref(),
        problem: &config.problem,
        width: config.width,
        heads: config.heads,
        layers: config.layers,
        feedforward_width: config.feedforward_width,
        norm: config.norm.name(),
        tanh_clipping: config.tanh_clipping,
        distances: config.distances,
        distance_bias: config.distance_bias,
        parameters,
        running_statistics,
        tensors: model.weights.iter().map(|(name, array)| TensorResult { name, shape: &array.shape }).collect(),
        manifest: model.info.manifest.as_ref(),
    }
}

/// The description of a network on sets, graphs or series.
pub(crate) fn network_json<C: NetworkConfig>(found: &NetworkDir<C>, weights: &Weights) -> serde_json::Value {
    let tensors = weights.iter().map(|(name, array)| TensorResult { name, shape: &array.shape }).collect::<Vec<_>>();
    let parameters = found.config().trainable();
    serde_json::json!({
        "name": found.name(),
        "place": found.path().display().to_string(),
        "kind": found.config().kind(),
        "preset": found.config().card().preset,
        "parameters": parameters,
        "running_statistics": elements(weights).saturating_sub(parameters),
        "tensors": tensors,
        "config": found.config(),
        "manifest": found.manifest(),
    })
}

/// The same as text; with every tensor when `verbose`.
pub(crate) fn network_plain<C: NetworkConfig>(found: &NetworkDir<C>, weights: &Weights, verbose: bool) -> String {
    let card = found.config().card();
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut line = |key: &str, value: String| table.row([key.to_owned(), value]);
    line("kind", found.config().kind().to_owned());
    line("preset", card.preset.unwrap_or_else(|| "none".to_owned()));
    line("network", card.what);
    for (name, value) in card.rows {
        line(name, value);
    }
    line("parameters", parameters_text(found.config().trainable(), weights));
    for (key, value) in found.manifest().map(history).unwrap_or_default() {
        line(key, value);
    }
    let mut text = format!("{}   {}\n{}", found.name(), found.path().display(), table.render(2, 2));
    if verbose {
        text.push_str(&tensors(weights));
    }
    text
}

/// For example `710,016, and 768 running statistics`.
fn parameters_text(parameters: usize, weights: &Weights) -> String {
    match elements(weights).saturating_sub(parameters) {
        0 => number::count(parameters),
        statistics => format!("{}, and {} running statistics", number::count(parameters), number::count(statistics)),
    }
}

fn elements(weights: &Weights) -> usize {
    weights.values().map(|array| array.data.len()).sum()
}

/// The description as text; with every tensor when `verbose`.
pub(crate) fn plain(model: &Model, verbose: bool) -> String {
    let config = &model.info.config;
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut line = |key: &str, value: String| table.row([key.to_owned(), value]);
    line("kind", config.kind.clone());
    line("preset", config.preset.clone().unwrap_or_else(|| "none".to_owned()));
    line("problem", config.problem.clone());
    line(
        "network",
        format!(
            "layers {}, width {}, heads {}, feed-forward {}, {} norm, tanh clipping {}",
            config.layers,
            config.width,
            config.heads,
            config.feedforward_width,
            config.norm.name(),
            config.tanh_clipping
        ),
    );
    match (config.distances, config.distance_bias) {
        (true, true) => line("distances", "seen by decoder and encoder (`model.distance_bias`)".to_owned()),
        (true, false) => line("distances", "seen by the decoder".to_owned()),
        (false, true) => line("distances", "seen by the encoder (`model.distance_bias`)".to_owned()),
        (false, false) => {}
    }
    line("parameters", parameters_text(config.parameters(), &model.weights));
    if let Some(manifest) = &model.info.manifest {
        for (key, value) in history(manifest) {
            line(key, value);
        }
    }
    let mut text = format!("{}   {}\n{}", model.info.name, model.info.place.describe(), table.render(2, 2));
    if verbose {
        text.push_str(&tensors(&model.weights));
    }
    text
}

/// Trainable parameters and running statistics.
fn sizes(model: &Model) -> (usize, usize) {
    let trainable = model.info.config.parameters();
    (trainable, elements(&model.weights).saturating_sub(trainable))
}

fn history(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut line = |key, value: Option<String>| lines.extend(value.map(|value| (key, value)));
    line("about", manifest.description.clone());
    line("created", manifest.created.clone());
    line("command", manifest.command.clone());
    line("seed", manifest.seed.map(|seed| seed.to_string()));
    line("training time", manifest.wall_seconds.map(number::seconds));
    for training in &manifest.earlier {
        let time = training.wall_seconds.map(|seconds| format!("{}: ", number::seconds(seconds)));
        let command = training.command.clone().unwrap_or_default();
        line("trained before", Some(format!("{}{command}", time.unwrap_or_default())));
    }
    let of_all = manifest.wall_seconds_of_all().filter(|_| !manifest.earlier.is_empty());
    line("time in all", of_all.map(number::seconds));
    line("licence", manifest.licence.clone());
    for (name, value) in &manifest.metrics {
        line("measured", Some(format!("{name} {value}")));
    }
    if let Some(provenance) = &manifest.provenance {
        lines.extend(origin(provenance));
    }
    lines
}

fn origin(provenance: &Provenance) -> Vec<(&'static str, String)> {
    let mut lines = vec![("origin", provenance.origin.clone())];
    lines.extend(provenance.repository.clone().map(|repository| ("from", repository)));
    lines.push(("file", provenance.file.clone()));
    lines.push(("sha256", provenance.sha256.clone()));
    if !provenance.training.is_empty() {
        let settings: Vec<String> = provenance.training.iter().map(|(key, value)| format!("{key} {value}")).collect();
        lines.push(("training", settings.join(", ")));
    }
    lines
}

fn tensors(weights: &Weights) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right]);
    for (name, array) in weights {
        let shape: Vec<String> = array.shape.iter().map(usize::to_string).collect();
        table.row([name.clone(), shape.join(" x "), number::count(array.data.len())]);
    }
    format!("tensors\n{}", table.render(2, 2))
}

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
        parameters,
        running_statistics,
        tensors: model.weights.iter().map(|(name, array)| TensorResult { name, shape: &array.shape }).collect(),
        manifest: model.info.manifest.as_ref(),
    }
}

/// The description of a network on sets, graphs or series.
pub(crate) fn network_json<C: NetworkConfig>(found: &NetworkDir<C>) -> serde_json::Value {
    serde_json::json!({
        "name": found.name(),
        "place": found.path().display().to_string(),
        "kind": found.config().kind(),
        "parameters": found.config().trainable(),
        "config": found.config(),
        "manifest": found.manifest(),
    })
}

/// The same as text.
pub(crate) fn network_plain<C: NetworkConfig>(found: &NetworkDir<C>) -> String {
    let about = found.config().card();
    let mut table = Table::new(&[Align::Left, Align::Left]);
    table.row(["kind".to_owned(), found.config().kind().to_owned()]);
    table.row(["preset".to_owned(), about.preset.unwrap_or_else(|| "none".to_owned())]);
    for (name, value) in about.rows {
        table.row([name.to_owned(), value]);
    }
    table.row(["parameters".to_owned(), number::count(found.config().trainable())]);
    for (name, value) in found.manifest().iter().flat_map(|manifest| &manifest.metrics) {
        table.row([name.clone(), format!("{value}")]);
    }
    format!("{}  {}\n{}", found.name(), about.what, table.render(0, 2))
}

/// The description as text; with every tensor when `verbose`.
pub(crate) fn plain(model: &Model, verbose: bool) -> String {
    let config = &model.info.config;
    let (parameters, statistics) = sizes(model);
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
    let also =
        if statistics > 0 { format!(", and {} running statistics", number::count(statistics)) } else { String::new() };
    line("parameters", format!("{}{also}", number::count(parameters)));
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
    let all: usize = model.weights.values().map(|array| array.data.len()).sum();
    let trainable = model.info.config.parameters();
    (trainable, all.saturating_sub(trainable))
}

fn history(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut line = |key, value: Option<String>| lines.extend(value.map(|value| (key, value)));
    line("about", manifest.description.clone());
    line("created", manifest.created.clone());
    line("command", manifest.command.clone());
    line("seed", manifest.seed.map(|seed| seed.to_string()));
    line("training time", manifest.wall_seconds.map(number::seconds));
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

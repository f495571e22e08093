//! Names and layouts of the published codes: the authors' (`PatchTST_supervised/models/PatchTST.py`) for
//! networks with batch norm in their layers, TSLib's (`models/PatchTST.py`) for those with layer norm; names
//! in their manner for what they do not have.

use burn::tensor::Device;
use regard_nn::series::standardised_sine_positions;

use super::config::PatchTstConfig;
use super::switches::{FinalNorm, LayerNorm, Positions};
use crate::series::task::SeriesTask;
use crate::store::renamed::{Form, Renamed, Table};
use crate::store::{Array, Weights};

/// Every array of a network of `config`, under our path and theirs.
pub(super) fn table(config: &PatchTstConfig) -> Vec<Renamed> {
    let mut table = Table::default();
    for (at, place) in places(config).into_iter().enumerate() {
        let ours = format!("backbones.{at}");
        for part in ["weight", "bias"] {
            let affine = format!("affine_{part}");
            table.add(format!("{ours}.window_norm.{affine}"), format!("{place}revin_layer.{affine}"), Form::Same);
        }
        match config.norm {
            LayerNorm::Batch => official(&mut table, config, &ours, &place),
            LayerNorm::Layer => tslib(&mut table, config, &ours, &place),
        }
        head(&mut table, config, &ours, &place);
        for part in
            ["covariate_patches", "readout.covariate_steps.0", "readout.covariate_steps.1", "statics", "shortcut"]
        {
            let theirs = part.trim_start_matches("readout.");
            table.linear(&format!("{ours}.{part}"), &format!("{place}{theirs}"));
        }
    }
    table.0
}

/// Constants of the authors' files beside numbers that are learnt: factors of the scores, and positions that
/// are computed.
pub(super) fn constants(config: &PatchTstConfig) -> Weights {
    if config.norm == LayerNorm::Layer {
        return Weights::new();
    }
    let mut all = Weights::new();
    for place in places(config) {
        let scale = 1.0 / ((config.width / config.heads.max(1)) as f32).sqrt();
        for layer in 0..config.layers {
            let name = format!("{place}backbone.encoder.layers.{layer}.self_attn.sdp_attn.scale");
            all.insert(name, Array { shape: vec![], data: vec![scale] });
        }
        if config.positions == Positions::StandardisedSine {
            let (rows, width) = (config.patches(), config.width);
            let table = standardised_sine_positions(rows, width, &Device::flex());
            let data = table.into_data().iter::<f32>().collect();
            all.insert(format!("{place}backbone.W_pos"), Array { shape: vec![rows, width], data });
        }
    }
    all
}

/// The prefix of the names of each part: one network, or one for the trend and one for the rest.
fn places(config: &PatchTstConfig) -> Vec<String> {
    match (config.decomposition_kernel, config.norm) {
        (0, LayerNorm::Batch) => vec!["model.".into()],
        (0, LayerNorm::Layer) => vec![String::new()],
        _ => vec!["model_trend.".into(), "model_res.".into()],
    }
}

fn official(table: &mut Table, config: &PatchTstConfig, ours: &str, place: &str) {
    let theirs = format!("{place}backbone");
    table.linear(&format!("{ours}.embedding"), &format!("{theirs}.W_P"));
    table.add(format!("{ours}.positions"), format!("{theirs}.W_pos"), Form::Same);
    for layer in 0..config.layers {
        let (ours, theirs) = (format!("{ours}.layers.{layer}"), format!("{theirs}.encoder.layers.{layer}"));
        let linears = [
            ("query", "self_attn.W_Q"),
            ("key", "self_attn.W_K"),
            ("value", "self_attn.W_V"),
            ("out", "self_attn.to_out.0"),
            ("feed.inner", "ff.0"),
            ("feed.outer", "ff.3"),
        ];
        linears.iter().for_each(|(a, b)| table.linear(&format!("{ours}.{a}"), &format!("{theirs}.{b}")));
        norm(table, &format!("{ours}.attention_norm"), &format!("{theirs}.norm_attn.1"));
        norm(table, &format!("{ours}.feed_norm"), &format!("{theirs}.norm_ffn.1"));
    }
    norm(table, &format!("{ours}.final_norm"), &format!("{theirs}.encoder.norm"));
}

fn tslib(table: &mut Table, config: &PatchTstConfig, ours: &str, place: &str) {
    table.linear(&format!("{ours}.embedding"), &format!("{place}patch_embedding.value_embedding"));
    table.add(format!("{ours}.positions"), format!("{place}patch_embedding.position_embedding.pe"), Form::Same);
    for layer in 0..config.layers {
        let (ours, theirs) = (format!("{ours}.layers.{layer}"), format!("{place}encoder.attn_layers.{layer}"));
        for name in ["query", "key", "value", "out"] {
            table.linear(&format!("{ours}.{name}"), &format!("{theirs}.attention.{name}_projection"));
        }
        for (a, b) in [("inner", "conv1"), ("outer", "conv2")] {
            table.add(format!("{ours}.feed.{a}.weight"), format!("{theirs}.{b}.weight"), Form::Convolution);
            table.add(format!("{ours}.feed.{a}.bias"), format!("{theirs}.{b}.bias"), Form::Same);
        }
        norm(table, &format!("{ours}.attention_norm"), &format!("{theirs}.norm1"));
        norm(table, &format!("{ours}.feed_norm"), &format!("{theirs}.norm2"));
    }
    // TSLib wraps its batch norm between two transpositions, TFB has the layer norm itself.
    let last = match config.final_norm {
        FinalNorm::Batch => "encoder.norm.1",
        _ => "encoder.norm",
    };
    norm(table, &format!("{ours}.final_norm"), &format!("{place}{last}"));
}

fn head(table: &mut Table, config: &PatchTstConfig, ours: &str, place: &str) {
    match (config.task, config.individual) {
        (SeriesTask::Classification, _) => {
            table.linear(&format!("{ours}.readout.head.0"), &format!("{place}projection"))
        }
        (_, false) => table.linear(&format!("{ours}.readout.head.0"), &format!("{place}head.linear")),
        (_, true) => (0..config.channels).for_each(|channel| {
            table.linear(&format!("{ours}.readout.head.{channel}"), &format!("{place}head.linears.{channel}"));
        }),
    }
}

fn norm(table: &mut Table, ours: &str, theirs: &str) {
    let parts =
        [("gamma", "weight"), ("beta", "bias"), ("running_mean", "running_mean"), ("running_variance", "running_var")];
    for (a, b) in parts {
        table.add(format!("{ours}.{a}"), format!("{theirs}.{b}"), Form::Same);
    }
}

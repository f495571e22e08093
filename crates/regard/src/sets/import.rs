//! Import of checkpoints of the code of the Set Transformer: juho-lee/set_transformer (MIT).

use std::path::Path;

use super::SetTransformerConfig;
use super::model::{Decoding, EncoderKind, NormName, PoolingKind};
use super::task::TaskKind;
use crate::import::{Assignments, Imported, Project, another_network, count, finish, read, shape};
use crate::store::{Provenance, Weights};
use crate::{Error, Result};

const PROJECT: Project = Project {
    origin: "a checkpoint of the code of the Set Transformer (Lee et al. 2019)",
    repository: "https://github.com/juho-lee/set_transformer",
    licence: "The licence of the authors of the checkpoint.",
};

/// Reads a checkpoint of the authors' code: `results/set_transformer/NAME/model.tar` of `run.py` (clusters), the weights
/// of `main_pointcloud.py` (classes), or a network of the same blocks; also their Deep Sets.
///
/// Sizes come from the shapes. The file does not tell the number of heads (4 in the code) and the task: several seeds
/// with `inputs + 2` outputs are taken for clusters, one seed with one output for a number, else for classes. `sets` are
/// assignments of settings of `config.json`, such as `heads=8`.
///
/// # Errors
/// Those of reading the file; [`Error::Unsupported`] for weights of another network; [`Error::Config`] for settings that
/// do not hold together; [`Error::Weights`] with every tensor that is missing, not expected or of another shape.
pub fn set_transformer(path: &Path, sets: &[String]) -> Result<Imported<SetTransformerConfig>> {
    let sets = Assignments::parse(sets)?;
    let (weights, provenance) = read(path, &PROJECT)?;
    if weights.contains_key("enc.0.weight") {
        return deep_sets(path, (weights, provenance), &sets);
    }
    let from_clouds = weights.contains_key("dec.1.S");
    let weights = if from_clouds { without_dropout(weights) } else { weights };
    let base = SetTransformerConfig::set_transformer_2019();
    let (encoder, block) = match weights.contains_key("enc.0.I") {
        true => (EncoderKind::Isab, "enc.0.mab0"),
        false => (EncoderKind::Sab, "enc.0.mab"),
    };
    let inner = |name: &str| shape::<2>(&weights, &format!("{block}.{name}.weight"));
    let (Some([width, _]), Some([_, inputs])) = (inner("fc_q"), inner("fc_k")) else {
        return Err(another_network(path, &weights, "`enc.0.mab0.fc_q.weight` or `enc.0.mab.fc_q.weight`"));
    };
    let last = count(&weights, "dec").saturating_sub(1);
    let outputs = shape::<2>(&weights, &format!("dec.{last}.weight")).map_or(base.outputs, |[outputs, _]| outputs);
    let num_seeds = shape::<3>(&weights, "dec.0.S").map_or(base.num_seeds, |[_, seeds, _]| seeds);
    let config = SetTransformerConfig {
        inputs,
        outputs,
        encoder,
        layers: count(&weights, "enc"),
        width,
        heads: if width.is_multiple_of(base.heads) { base.heads } else { 1 },
        inducing_points: shape::<3>(&weights, "enc.0.I").map_or(base.inducing_points, |[_, points, _]| points),
        num_seeds,
        decoder_layers: last.saturating_sub(1),
        norm: if weights.contains_key(&format!("{block}.ln0.weight")) { NormName::Post } else { NormName::None },
        dropout: if from_clouds { 0.5 } else { 0.0 },
        ..base
    };
    let config = with_task(config, &sets)?;
    finish(&config, (weights, provenance), &sets, &["heads", "task"], path)
}

/// The network of their class `DeepSet`.
fn deep_sets(path: &Path, read: (Weights, Provenance), sets: &Assignments) -> Result<Imported<SetTransformerConfig>> {
    let weights = &read.0;
    let base = SetTransformerConfig::deep_sets_2017();
    let [width, inputs] = shape(weights, "enc.0.weight").unwrap_or([base.width, base.inputs]);
    let last = count(weights, "dec").saturating_sub(1);
    let [columns, _] = shape(weights, &format!("dec.{last}.weight")).unwrap_or([base.outputs, width]);
    let rows =
        sets.whole("num_seeds").unwrap_or(if columns.is_multiple_of(inputs + 2) { columns / (inputs + 2) } else { 1 });
    let config = SetTransformerConfig {
        inputs,
        outputs: columns / rows.max(1),
        layers: count(weights, "enc").div_ceil(2),
        width,
        heads: 1,
        num_seeds: rows,
        decoder_layers: last / 2,
        pooling: PoolingKind::Mean,
        ..base
    };
    let config = with_task(config, sets)?;
    finish(&config, read, sets, &["num_seeds", "task"], path)
}

/// The task that fits the outputs, or the one given, with its decoding.
fn with_task(config: SetTransformerConfig, sets: &Assignments) -> Result<SetTransformerConfig> {
    let SetTransformerConfig { inputs, outputs, num_seeds, .. } = config;
    let task = match sets.get("task") {
        Some(word) => serde_json::from_value(word.clone()).map_err(|error| Error::config("task", error.to_string()))?,
        None if num_seeds > 1 && [inputs + 2, 2 * inputs + 1].contains(&outputs) => TaskKind::Clustering,
        None if outputs == 1 => TaskKind::Regression,
        None => TaskKind::Classification,
    };
    let decoding = match task {
        TaskKind::Clustering if outputs == 2 * inputs + 1 && inputs != 1 => Decoding::DiagonalMixture,
        other => super::experiment::decoding(other),
    };
    let mut config = SetTransformerConfig { task, decoding, ..config };
    if task == TaskKind::Classification {
        config.data.classes = (0..outputs).map(|class| class.to_string()).collect();
    }
    Ok(config)
}

/// The network of `main_pointcloud.py` counts two layers of dropout among those of the decoder.
fn without_dropout(weights: Weights) -> Weights {
    let renamed = |name: &str| match name.strip_prefix("dec.1.").map(|rest| format!("dec.0.{rest}")) {
        Some(name) => name,
        None => name.strip_prefix("dec.3.").map_or_else(|| name.to_owned(), |rest| format!("dec.1.{rest}")),
    };
    weights.into_iter().map(|(name, array)| (renamed(&name), array)).collect()
}

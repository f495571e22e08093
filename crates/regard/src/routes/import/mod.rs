//! Importers of other projects' checkpoints.
//!
//! `kool`: wouterkool/attention-learn-to-route (MIT). Its `pretrained/*/epoch-99.pt` and any other
//! file of the same tensors, as `.pt` or safetensors, with or without the `args.json` of the run
//! beside it.

mod args;
mod problem;

use std::fs;
use std::path::{Path, PathBuf};

use super::model::{AttentionModelConfig, Norm};
use crate::import::{Project, count, read, shape};
use crate::store::{Provenance, Weights, layout};
use crate::{Error, Result};
use args::Args;
use problem::problem;

const PROJECT: Project = Project {
    origin: "a checkpoint of the code of Attention, Learn to Solve Routing Problems! (Kool, van Hoof, Welling 2019)",
    repository: "https://github.com/wouterkool/attention-learn-to-route",
    licence: "Checkpoints released in that repository: MIT, (c) 2018 Wouter Kool. Other checkpoints: the licence of their \
              authors.",
};

/// Reads a checkpoint of Kool's code: a `.pt` or safetensors file, or the folder of a run
/// (`epoch-N.pt` with the largest N, and `args.json`).
///
/// Sizes come from the shapes, the normalisation from the names of the tensors; the clip of the
/// pointer from `args.json` (or `NAME.args.json` beside `NAME.*`), 10 where there is none. Some
/// problems have networks of the same shape: `problem` decides, else `args.json`, else the name of
/// the file or its folder (`op_dist_20/epoch-99.pt`).
///
/// # Errors
/// [`Error::Io`] and [`Error::Parse`] of the file; [`Error::Unsupported`] for variants of the
/// network that are not built and where the problem cannot be told; [`Error::Config`] when
/// `problem` or `args.json` contradicts the weights; [`Error::Weights`] with every tensor that is missing, not expected or
/// of another shape.
pub fn kool(path: &Path, problem: Option<&str>) -> Result<(AttentionModelConfig, Weights, Provenance)> {
    let path = &checkpoint(path)?;
    let (weights, mut provenance) = read(path, &PROJECT)?;
    let args = Args::beside(path)?;
    let config = infer(&weights, &args, problem, path).map_err(|error| error.in_file(path))?;
    config.validate().and_then(|()| layout::check(&config, &weights)).map_err(|error| error.in_file(path))?;
    provenance.training = args.training();
    Ok((config, weights, provenance))
}

/// The file itself, or the last epoch of a folder.
fn checkpoint(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let epoch = |path: &Path| -> Option<u64> {
        path.file_name()?.to_str()?.strip_prefix("epoch-")?.strip_suffix(".pt")?.parse().ok()
    };
    let entries = fs::read_dir(path).map_err(|error| Error::io(path, error))?;
    let files = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    files.filter_map(|file| epoch(&file).map(|epoch| (epoch, file))).max().map(|(_, file)| file).ok_or_else(|| {
        let reason = "has no checkpoint `epoch-N.pt`".into();
        Error::Parse { path: path.to_owned(), line: 0, field: String::new(), reason }
    })
}

/// Settings of the network from its tensors; `asked` is the problem that the caller says.
fn infer(weights: &Weights, args: &Args, asked: Option<&str>, path: &Path) -> Result<AttentionModelConfig> {
    let problem = problem(weights, args, asked, path)?;
    let defaults = AttentionModelConfig { problem: problem.into(), ..AttentionModelConfig::kool_2019() };
    let [width, _] = shape(weights, "init_embed.weight").unwrap_or([defaults.width, 2]);
    let [heads, _, _] = shape(weights, "embedder.layers.0.0.module.W_query").unwrap_or([defaults.heads, 0, 0]);
    let [feed_forward, _] =
        shape(weights, "embedder.layers.0.2.module.0.weight").unwrap_or([defaults.feedforward_width, 0]);
    let layers = count(weights, "embedder.layers").max(1);
    let norm = norm(weights, args)?;
    Ok(AttentionModelConfig {
        width,
        heads,
        layers,
        feedforward_width: feed_forward,
        norm,
        tanh_clipping: args.clip()?,
        ..defaults
    })
}

/// Batch normalisation keeps running statistics, instance normalisation does not.
fn norm(weights: &Weights, args: &Args) -> Result<Norm> {
    let running = weights.contains_key("embedder.layers.0.1.normalizer.running_mean");
    let norm = if running { Norm::Batch } else { Norm::Instance };
    match args.text("normalization") {
        Some(said) if said != norm.name() => Err(args.refuse(
            "normalization",
            &format!("is `{said}`, but the weights are those of {} normalisation", norm.name()),
        )),
        _ => Ok(norm),
    }
}

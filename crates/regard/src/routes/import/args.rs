//! The `args.json` that Kool's code writes beside its checkpoints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::store::file;
use crate::{Error, Result};

/// Settings of the training run that are kept in the provenance.
const TRAINING: [&str; 9] = [
    "graph_size",
    "n_epochs",
    "epoch_size",
    "batch_size",
    "baseline",
    "lr_model",
    "lr_decay",
    "data_distribution",
    "seed",
];

/// The `args.json` of a training run, empty where there is none.
pub(super) struct Args {
    path: PathBuf,
    values: BTreeMap<String, Value>,
}

impl Args {
    /// `NAME.args.json` for `NAME.*` (longest name first), else `args.json` in the same folder.
    pub(super) fn beside(path: &Path) -> Result<Self> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let stems = name.match_indices('.').map(|(at, _)| format!("{}.args.json", &name[..at]));
        let candidates = stems.collect::<Vec<_>>().into_iter().rev().chain(["args.json".to_owned()]);
        let Some(path) = candidates.map(|name| path.with_file_name(name)).find(|path| path.is_file()) else {
            return Ok(Self { path: PathBuf::new(), values: BTreeMap::new() });
        };
        let values = file::read_json(&path)?;
        Ok(Self { path, values })
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).and_then(Value::as_str)
    }

    pub(super) fn training(&self) -> BTreeMap<String, Value> {
        let kept = |key: &&str| self.values.get(*key).filter(|value| !value.is_null());
        TRAINING.iter().filter_map(|key| Some(((*key).to_owned(), kept(key)?.clone()))).collect()
    }

    /// The clip of the pointer; 10 where nothing is said.
    pub(super) fn clip(&self) -> Result<f32> {
        match self.values.get("tanh_clipping") {
            None | Some(Value::Null) => Ok(10.0),
            Some(value) => match value.as_f64() {
                Some(clip) if clip > 0.0 && clip < 1e6 => Ok(clip as f32),
                _ => Err(self.refuse("tanh_clipping", &format!("is {value}; expected a number above 0"))),
            },
        }
    }

    pub(super) fn refuse(&self, key: &str, reason: &str) -> Error {
        Error::config(key, reason).in_file(&self.path)
    }
}

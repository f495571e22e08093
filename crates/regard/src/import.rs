//! Checkpoints of other projects: their file, and settings of a network that weights do not tell.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::experiment::value_of;
use crate::store::manifest::sha256;
use crate::store::{NetworkConfig, Provenance, Weights, file, layout, legacy_torch, safetensors};
use crate::{Error, Result};

/// A network read from another project's checkpoint.
#[derive(Clone, Debug)]
pub struct Imported<C> {
    /// The settings of the network.
    pub config: C,
    /// Its weights, under the names of the original project.
    pub weights: Weights,
    /// The file, and where its code comes from.
    pub provenance: Provenance,
    /// Settings that the file does not tell and that nobody gave, such as `heads = 4`.
    pub assumed: Vec<String>,
}

/// The project that a checkpoint comes from.
pub(crate) struct Project {
    /// The code, in a few words.
    pub(crate) origin: &'static str,
    pub(crate) repository: &'static str,
    pub(crate) licence: &'static str,
}

/// Weights of a `.pt` or safetensors file under their names in the code, and their origin.
///
/// # Errors
/// Those of the readers.
pub(crate) fn read(path: &Path, project: &Project) -> Result<(Weights, Provenance)> {
    let bytes = file::read(path, file::WEIGHTS_LIMIT)?;
    let raw = if bytes.get(8) == Some(&b'{') {
        safetensors::parse(&bytes, path)?
    } else {
        legacy_torch::parse(&bytes, path)?
    };
    let provenance = Provenance {
        origin: project.origin.into(),
        repository: Some(project.repository.into()),
        file: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        sha256: sha256(&bytes),
        licence: Some(project.licence.into()),
        ..Provenance::default()
    };
    Ok((original_names(raw), provenance))
}

/// Drops the prefix of `DataParallel` and the counters of batch normalisation.
fn original_names(raw: Weights) -> Weights {
    raw.into_iter()
        .map(|(name, array)| (name.strip_prefix("module.").map(str::to_owned).unwrap_or(name), array))
        .filter(|(name, _)| !name.ends_with(".num_batches_tracked"))
        .collect()
}

/// Assignments `KEY=VALUE` of settings of `config.json`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assignments(Vec<(String, Value)>);

impl Assignments {
    /// Reads assignments; a value is one of TOML, or a word.
    ///
    /// # Errors
    /// [`Error::Config`] for one without `=`.
    pub(crate) fn parse(sets: &[String]) -> Result<Self> {
        let one = |text: &String| {
            let (key, value) = text.split_once('=').ok_or_else(|| {
                Error::config("--set", format!("`{text}` has no `=`; expected KEY=VALUE, such as heads=4"))
            })?;
            let value = serde_json::to_value(value_of(value.trim()))
                .map_err(|error| Error::config(key.trim(), error.to_string()))?;
            Ok((key.trim().to_owned(), value))
        };
        sets.iter().map(one).collect::<Result<_>>().map(Self)
    }

    /// The last value given to a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// The whole number given to a key; one of another type is refused where the settings are read.
    pub(crate) fn whole(&self, key: &str) -> Option<usize> {
        self.get(key)?.as_u64().and_then(|value| usize::try_from(value).ok())
    }

    /// `config` with these settings; `data.KEY` stands for a key of the preparation.
    fn applied<C: NetworkConfig>(&self, config: &C) -> Result<C> {
        let mut value = serde_json::to_value(config).map_err(|error| Error::config("config", error.to_string()))?;
        for (key, given) in &self.0 {
            let place = match key.strip_prefix("data.") {
                Some(inner) => value["data"].as_object_mut().map(|data| (data, inner)),
                None => value.as_object_mut().map(|all| (all, key.as_str())),
            };
            let Some((object, key)) = place else { continue };
            object.insert(key.to_owned(), given.clone());
        }
        C::from_json(&value)
    }
}

/// The network of `weights`, with the settings of `sets`; `guessed` are the settings that the weights do not tell.
///
/// # Errors
/// [`Error::Config`] for settings that do not hold together; [`Error::Weights`] with every tensor that is missing, not
/// expected or of another shape.
pub(crate) fn finish<C: NetworkConfig + Serialize>(
    config: &C,
    (weights, provenance): (Weights, Provenance),
    sets: &Assignments,
    guessed: &[&str],
    path: &Path,
) -> Result<Imported<C>> {
    let config = sets.applied(config)?;
    layout::check(&config, &weights).map_err(|error| error.in_file(path))?;
    let value = serde_json::to_value(&config).map_err(|error| Error::config("config", error.to_string()))?;
    let assumed = guessed.iter().filter(|key| sets.get(key).is_none());
    let assumed = assumed.map(|key| match &value[*key] {
        Value::String(word) => format!("{key} = {word}"),
        other => format!("{key} = {other}"),
    });
    let assumed = assumed.collect();
    Ok(Imported { config, weights, provenance, assumed })
}

/// The shape of a tensor with so many axes.
pub(crate) fn shape<const AXES: usize>(weights: &Weights, name: &str) -> Option<[usize; AXES]> {
    weights.get(name)?.shape.as_slice().try_into().ok()
}

/// One more than the largest `N` of the names `PREFIX.N.…`; 0 where there is none.
pub(crate) fn count(weights: &Weights, prefix: &str) -> usize {
    let number = |name: &String| name.strip_prefix(prefix)?.strip_prefix('.')?.split('.').next()?.parse::<usize>().ok();
    weights.keys().filter_map(number).max().map_or(0, |last| last.saturating_add(1))
}

/// The error for a file that lacks the tensor by which the network is known.
pub(crate) fn another_network(path: &Path, weights: &Weights, expected: &str) -> Error {
    let some: Vec<&str> = weights.keys().take(3).map(String::as_str).collect();
    let reason = format!("has no tensor {expected}; its first are: {}", some.join(", "));
    Error::Unsupported { what: path.display().to_string(), reason }
        .with_hint("other layouts of the weights cannot be imported")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Array;

    #[test]
    fn names_lose_what_wrappers_add() {
        let one = || Array { shape: vec![1], data: vec![0.0] };
        let raw = ["module.enc.0.I", "enc.2.num_batches_tracked", "enc.10.w"].map(|name| (name.to_owned(), one()));
        let names = original_names(raw.into_iter().collect());
        assert_eq!(names.keys().collect::<Vec<_>>(), ["enc.0.I", "enc.10.w"]);
        assert_eq!((count(&names, "enc"), count(&names, "dec")), (11, 0));
    }

    #[test]
    fn assignments_are_toml_or_words() {
        let sets = Assignments::parse(&["heads=4".into(), "readout=sum".into(), "heads = 8".into()]).unwrap();
        assert_eq!((sets.whole("heads"), sets.get("readout")), (Some(8), Some(&"sum".into())));
        assert!(Assignments::parse(&["heads".into()]).unwrap_err().to_string().contains("KEY=VALUE"));
    }
}

//! The model of a command: `--model DIR`, else `$REGARD_MODEL`, else the one for the problem
//! that is built into the binary.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regard::Device;
use regard::routes::model::AttentionModel;
use regard::routes::model::{AttentionModelConfig, ModelDir};
use regard::routing::registry;
use regard::store::{Manifest, Weights, built_in};

use crate::failure::Failure;

/// The environment variable that names a model folder.
pub(crate) const VARIABLE: &str = "REGARD_MODEL";

/// The problem of the model that stands where no problem is named.
const FIRST: &str = registry::DEFAULT;

/// The model for a problem that is built into the binary.
fn built_in(problem: &str) -> Option<PathBuf> {
    built_in::path(&format!("regard-{problem}"))
}

/// The problems for which there is a model in the binary.
pub(crate) fn built_in_problems() -> impl Iterator<Item = &'static str> {
    registry::NAMES.into_iter().filter(|problem| built_in(problem).is_some())
}

/// Location of a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    /// A folder given by `--model`, an argument or the environment.
    Folder(PathBuf),
    /// The binary itself, the model for this problem.
    BuiltIn(&'static str),
}

impl Place {
    /// The place for reports.
    pub(crate) fn describe(&self) -> String {
        match self {
            Place::Folder(path) => path.display().to_string(),
            Place::BuiltIn(_) => "built into the binary".to_owned(),
        }
    }
}

/// Description of a model without its weights.
#[derive(Debug, Clone)]
pub(crate) struct ModelInfo {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) config: AttentionModelConfig,
    pub(crate) manifest: Option<Manifest>,
    /// A few words on what it is, for reports.
    pub(crate) note: Option<String>,
}

/// A model ready to be built.
pub(crate) struct Model {
    pub(crate) info: ModelInfo,
    pub(crate) weights: Weights,
}

/// Location of the model that `--model`, the environment or the binary provides; of those in the binary
/// the one for the default problem.
pub(crate) fn locate(folder: Option<PathBuf>) -> anyhow::Result<Place> {
    locate_for(folder, FIRST)?.ok_or_else(|| missing(FIRST))
}

/// Location of the model for `problem`; `None` if neither `folder` nor the environment names one and
/// the binary has none.
fn locate_for(folder: Option<PathBuf>, problem: &str) -> anyhow::Result<Option<Place>> {
    let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let folder = folder.or(named.map(PathBuf::from)).map(Place::Folder);
    let known = built_in_problems().find(|known| *known == problem);
    Ok(folder.or_else(|| known.map(Place::BuiltIn)))
}

fn missing(problem: &str) -> anyhow::Error {
    Failure::new(format!("no model for `{problem}` is built into this binary"))
        .hint(format!("give a model folder with --model DIR or {VARIABLE}"))
        .into()
}

/// Reads the model of `place` with its weights.
pub(crate) fn open(place: Place) -> anyhow::Result<Model> {
    match &place {
        Place::BuiltIn(problem) => open_folder(&built_in(problem).ok_or_else(|| missing(problem))?, place),
        Place::Folder(path) => open_folder(path, place.clone()),
    }
}

fn open_folder(path: &Path, place: Place) -> anyhow::Result<Model> {
    let folder = ModelDir::open(path)?;
    let weights = folder.weights()?;
    let manifest = folder.manifest().cloned();
    Ok(Model { info: info(folder.name(), place, folder.config().clone(), manifest), weights })
}

fn info(name: String, place: Place, config: AttentionModelConfig, manifest: Option<Manifest>) -> ModelInfo {
    let note = note(&name, &config, manifest.as_ref());
    ModelInfo { name, place, config, manifest, note }
}

/// `kool-2019, made 2026-01-31` from the records of the folder; a preset that the name says is left out.
fn note(name: &str, config: &AttentionModelConfig, manifest: Option<&Manifest>) -> Option<String> {
    let day = manifest.and_then(|manifest| manifest.created.as_deref()).and_then(|time| time.get(..10));
    let imported = manifest.is_some_and(|manifest| manifest.provenance.is_some());
    let made = if imported { "imported" } else { "made" };
    let parts: Vec<String> =
        [config.preset.clone().filter(|preset| preset != name), day.map(|day| format!("{made} {day}"))]
            .into_iter()
            .flatten()
            .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The problem of the model that `folder` or the environment names.
pub(crate) fn problem_of(folder: Option<PathBuf>) -> anyhow::Result<Option<String>> {
    match locate_for(folder, "")? {
        Some(Place::Folder(path)) => Ok(Some(ModelDir::open(&path)?.config().problem.clone())),
        Some(Place::BuiltIn(problem)) => Ok(Some(problem.to_owned())),
        None => Ok(None),
    }
}

/// The networks that a command needs, by problem.
#[derive(Default)]
pub(crate) struct Networks(BTreeMap<&'static str, (AttentionModel, ModelInfo)>);

impl Networks {
    /// Networks for `problems`: the model named by `folder` or the environment must
    /// solve all of them; of those built in there may be none for a problem, which is then solved
    /// without.
    pub(crate) fn of(
        problems: impl Iterator<Item = &'static str>,
        folder: Option<PathBuf>,
        device: &Device,
    ) -> anyhow::Result<Self> {
        let mut all = Self::default();
        for problem in problems {
            if all.0.contains_key(problem) {
                continue;
            }
            if let Some(place) = locate_for(folder.clone(), problem)? {
                all.0.insert(problem, build(place, problem, device)?);
            }
        }
        Ok(all)
    }

    /// The network for a problem.
    pub(crate) fn get(&self, problem: &str) -> Option<&(AttentionModel, ModelInfo)> {
        self.0.get(problem)
    }

    /// Descriptions of the models.
    pub(crate) fn infos(&self) -> impl Iterator<Item = &ModelInfo> {
        self.0.values().map(|(_, info)| info)
    }
}

/// The network of a model that solves `problem`.
pub(crate) fn load(
    folder: Option<PathBuf>,
    problem: &str,
    device: &Device,
) -> anyhow::Result<(AttentionModel, ModelInfo)> {
    build(locate_for(folder, problem)?.ok_or_else(|| missing(problem))?, problem, device)
}

fn build(place: Place, problem: &str, device: &Device) -> anyhow::Result<(AttentionModel, ModelInfo)> {
    let model = open(place)?;
    if model.info.config.problem != problem {
        return Err(Failure::new(format!(
            "{}: the model solves `{}`, but the problem is `{problem}`",
            model.info.place.describe(),
            model.info.config.problem
        ))
        .into());
    }
    network(model, device)
}

/// The network of the model of `place`, whatever problem it solves.
#[cfg(feature = "serve")]
pub(crate) fn open_network(place: Place, device: &Device) -> anyhow::Result<(AttentionModel, ModelInfo)> {
    network(open(place)?, device)
}

fn network(Model { info, weights }: Model, device: &Device) -> anyhow::Result<(AttentionModel, ModelInfo)> {
    let network = AttentionModel::from_weights(&info.config, &weights, device)?;
    Ok((network, info))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_asked_for_comes_first() {
        let place = locate(Some("some/model".into())).unwrap();
        assert_eq!(place, Place::Folder("some/model".into()));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = open(Place::Folder("no/such/model".into())).err().unwrap();
        assert!(error.to_string().contains("no/such/model"), "{error}");
    }

    #[test]
    fn the_note_says_what_the_folder_tells() {
        let config = AttentionModelConfig::kool_2019();
        let manifest = Manifest { created: Some("2026-01-31T12:00:00Z".into()), ..Manifest::default() };
        assert_eq!(note("mine", &config, Some(&manifest)).as_deref(), Some("kool-2019, made 2026-01-31"));
        assert_eq!(note("kool-2019", &config, Some(&manifest)).as_deref(), Some("made 2026-01-31"));
        let bare = AttentionModelConfig { preset: None, ..config };
        assert_eq!(note("mine", &bare, None), None);
    }
}

//! The models that are served: opened at start, kept in memory, shared by all requests.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context;
use axum::http::StatusCode;
use regard::Device;
use regard::graphs::model::KIND as GRAPH_TRANSFORMER;
use regard::graphs::{GraphTransformerConfig, Graphs};
use regard::routes::model::AttentionModel;
use regard::series::model::KIND as PATCHTST;
use regard::series::{PatchTstConfig, TimeSeries};
use regard::sets::model::KIND as SET_TRANSFORMER;
use regard::sets::{SetTransformerConfig, Sets};
use regard::store::{NetworkConfig, NetworkDir, built_in, kind_of};
use regard::supervised::base::Only;
use regard::supervised::{Family, Model};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::error::ApiError;
use crate::failure::Failure;
use crate::models::{self, ModelInfo, Place};

/// The models that are served.
pub(super) struct Models {
    all: Vec<ServedModel>,
}

/// A model in memory.
pub(super) struct ServedModel {
    pub(super) entry: ModelEntry,
    pub(super) network: ServedNetwork,
}

/// The network of a model, with what is needed for an answer.
pub(super) enum ServedNetwork {
    Routes(Box<(AttentionModel, ModelInfo)>),
    Sets(Box<Parts<Sets>>),
    Graphs(Box<Parts<Graphs>>),
    Series(Box<Parts<TimeSeries>>),
}

/// A model, and its parts alone where a request asked for them.
pub(super) struct Parts<F: Family> {
    blend: Model<F>,
    network: OnceLock<Model<F>>,
    base: OnceLock<Model<F>>,
}

impl<F: Family> Parts<F> {
    fn of(blend: Model<F>) -> Self {
        Self { blend, network: OnceLock::new(), base: OnceLock::new() }
    }

    /// The model, or one part of it.
    pub(super) fn get(&self, only: Option<Only>) -> regard::Result<&Model<F>> {
        let place = match only {
            None => return Ok(&self.blend),
            Some(Only::Network) => &self.network,
            Some(Only::Base) => &self.base,
        };
        if let Some(part) = place.get() {
            return Ok(part);
        }
        let part = self.blend.clone().with_only(only)?;
        Ok(place.get_or_init(|| part))
    }
}

/// The description of a model.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct ModelEntry {
    /// Name, by which requests choose it.
    pub(super) name: String,
    /// `routes`, `sets`, `graphs` or `series`.
    pub(super) family: &'static str,
    /// Routes: the problem that it solves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// The task of a model of another family.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<Value>,
    /// A sentence or two about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Trainable parameters.
    parameters: usize,
    /// `built in` or `folder`.
    source: &'static str,
    layers: usize,
    heads: usize,
    /// Columns that a file needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    features: Vec<String>,
    /// Names of its targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<String>,
    /// Classes that it predicts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    classes: Vec<String>,
    /// Column of set identifiers in training.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_by: Option<String>,
    /// Column of SMILES in training.
    #[serde(skip_serializing_if = "Option::is_none")]
    smiles: Option<String>,
    /// Series: future values at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    horizon: Option<usize>,
    /// Series: past values that it looks at.
    #[serde(skip_serializing_if = "Option::is_none")]
    look_back: Option<usize>,
    /// Routes: true for the model that its problem gets where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<bool>,
}

impl Models {
    /// Opens the built-in models and those of folders; `note` hears of a folder that takes the place of a built-in model.
    ///
    /// # Errors
    /// The first model that cannot be loaded, by its folder.
    pub(super) fn open(folders: &[PathBuf], device: &Device, note: &dyn Fn(&str)) -> anyhow::Result<Self> {
        let mut all: Vec<ServedModel> = Vec::new();
        for folder in folders.iter().flat_map(|folder| models_in(folder)) {
            let model = open(&folder, "folder", device).with_context(|| format!("--models {}", folder.display()))?;
            if all.iter().any(|other| other.entry.name == model.entry.name) {
                let what = format!("--models {}: another folder has the name `{}`", folder.display(), model.entry.name);
                return Err(Failure::new(what).hint("rename one of the folders").into());
            }
            all.push(model);
        }
        for name in built_in::names() {
            if let Some(taken) = all.iter().find(|other| other.entry.name == name) {
                note(&format!("the model `{}` of a folder takes the place of the built-in model", taken.entry.name));
            } else if let Some(path) = built_in::path(name) {
                all.push(open(&path, "built in", device).with_context(|| format!("the built-in model {name}"))?);
            }
        }
        all.sort_by(|a, b| a.entry.name.cmp(&b.entry.name));
        let mut models = Self { all };
        models.mark_defaults();
        Ok(models)
    }

    /// Marks the model that each routing problem gets: the built-in model of the problem, else the first for it.
    fn mark_defaults(&mut self) {
        let mut defaults: Vec<(String, usize)> = Vec::new();
        for (at, model) in self.all.iter().enumerate() {
            let Some(problem) = &model.entry.problem else { continue };
            let own = model.entry.name == format!("regard-{problem}");
            match defaults.iter_mut().find(|(known, _)| known == problem) {
                Some((_, place)) if own => *place = at,
                Some(_) => {}
                None => defaults.push((problem.clone(), at)),
            }
        }
        for (_, at) in defaults {
            self.all[at].entry.default = Some(true);
        }
    }

    /// Descriptions of all models.
    pub(super) fn entries(&self) -> impl Iterator<Item = &ModelEntry> {
        self.all.iter().map(|model| &model.entry)
    }

    /// The model of a name.
    ///
    /// # Errors
    /// 404 with the nearest name.
    pub(super) fn get(&self, name: &str) -> Result<&ServedModel, ApiError> {
        self.all.iter().find(|model| model.entry.name == name).ok_or_else(|| {
            let names = || self.entries().map(|entry| entry.name.as_str());
            let shown = regard::data::shown(name);
            let error = ApiError::new(StatusCode::NOT_FOUND, format!("there is no model `{shown}`"))
                .at("model")
                .expected(format!("one of {}", names().collect::<Vec<_>>().join(", ")));
            match regard::data::names::nearest(name, names()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("models are named when the service starts: regard serve --models DIR"),
            }
        })
    }

    /// The model for a routing problem: the one that is named, else the default; `None` where there is none.
    ///
    /// # Errors
    /// 404 for an unknown name, 422 for a model that does not solve the problem.
    pub(super) fn of_problem(
        &self,
        name: Option<&str>,
        problem: &str,
    ) -> Result<Option<&(AttentionModel, ModelInfo)>, ApiError> {
        let Some(name) = name else {
            let found = self
                .all
                .iter()
                .find(|model| model.entry.default == Some(true) && model.entry.problem.as_deref() == Some(problem));
            return Ok(found.and_then(|model| match &model.network {
                ServedNetwork::Routes(network) => Some(&**network),
                _ => None,
            }));
        };
        match &self.get(name)?.network {
            ServedNetwork::Routes(network) if network.1.config.problem == problem => Ok(Some(network)),
            ServedNetwork::Routes(network) => {
                let solves = &network.1.config.problem;
                let what = format!("{name}: the model solves `{solves}`, but the problem is `{problem}`");
                Err(anyhow::Error::from(Failure::new(what)).into())
            }
            _ => Err(anyhow::Error::from(
                Failure::new(format!("{name}: the model solves no routing problem, but the problem is `{problem}`"))
                    .hint("leave `model` out, or choose a model of the family `routes`"),
            )
            .into()),
        }
    }
}

/// The model folder itself, or those inside it.
fn models_in(folder: &Path) -> Vec<PathBuf> {
    let is_model = |path: &Path| path.join("config.json").is_file();
    let inside = || -> Option<Vec<PathBuf>> {
        let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_model(path))
            .collect();
        found.sort();
        (!found.is_empty()).then_some(found)
    };
    if is_model(folder) { vec![folder.to_owned()] } else { inside().unwrap_or_else(|| vec![folder.to_owned()]) }
}

/// Opens the model of a folder.
fn open(folder: &Path, source: &'static str, device: &Device) -> anyhow::Result<ServedModel> {
    match kind_of(folder).as_deref() {
        Ok(SET_TRANSFORMER) => {
            let model = Model::<Sets>::open(folder, device)?;
            let data = &model.config.data;
            let entry = ModelEntry {
                layers: model.config.layers,
                heads: model.config.heads,
                task: serde_json::to_value(model.config.task).ok(),
                features: data.features.clone(),
                classes: data.classes.clone(),
                group_by: model
                    .experiment
                    .as_ref()
                    .map(|experiment| experiment.data.group_by.clone())
                    .filter(|text| !text.is_empty()),
                ..entry::<SetTransformerConfig>(folder, Sets::NAME, source)?
            };
            Ok(ServedModel { entry, network: ServedNetwork::Sets(Box::new(Parts::of(model))) })
        }
        Ok(GRAPH_TRANSFORMER) => {
            let model = Model::<Graphs>::open(folder, device)?;
            let entry = ModelEntry {
                layers: model.config.layers,
                heads: model.config.heads,
                task: serde_json::to_value(model.config.task).ok(),
                features: model.config.data.node_columns.clone(),
                targets: model.config.data.tasks.clone(),
                classes: model.config.data.classes.clone(),
                smiles: model
                    .experiment
                    .as_ref()
                    .map(|experiment| experiment.data.smiles.clone())
                    .filter(|text| !text.is_empty()),
                ..entry::<GraphTransformerConfig>(folder, Graphs::NAME, source)?
            };
            Ok(ServedModel { entry, network: ServedNetwork::Graphs(Box::new(Parts::of(model))) })
        }
        Ok(PATCHTST) => {
            let model = Model::<TimeSeries>::open(folder, device)?;
            let entry = ModelEntry {
                layers: model.config.layers,
                heads: model.config.heads,
                task: serde_json::to_value(model.config.task).ok(),
                features: model.config.data.names.clone(),
                horizon: Some(model.config.horizon).filter(|horizon| *horizon > 0),
                look_back: Some(model.config.look_back),
                ..entry::<PatchTstConfig>(folder, TimeSeries::NAME, source)?
            };
            Ok(ServedModel { entry, network: ServedNetwork::Series(Box::new(Parts::of(model))) })
        }
        _ => {
            // The error of a folder that is no model's says why.
            let (network, info) = models::open_network(Place::Folder(folder.to_owned()), device)?;
            let config = &info.config;
            let entry = ModelEntry {
                problem: Some(config.problem.clone()),
                layers: config.layers,
                heads: config.heads,
                ..blank(
                    info.name.clone(),
                    "routes",
                    source,
                    config.parameters(),
                    info.manifest.as_ref().and_then(|manifest| manifest.description.clone()),
                )
            };
            Ok(ServedModel { entry, network: ServedNetwork::Routes(Box::new((network, info))) })
        }
    }
}

/// The description of a model of a supervised family, without what only its family has.
fn entry<C: NetworkConfig>(folder: &Path, family: &'static str, source: &'static str) -> anyhow::Result<ModelEntry> {
    let found = NetworkDir::<C>::open(folder)?;
    let description = found.manifest().and_then(|manifest| manifest.description.clone());
    Ok(blank(found.name(), family, source, found.config().trainable(), description))
}

fn blank(
    name: String,
    family: &'static str,
    source: &'static str,
    parameters: usize,
    description: Option<String>,
) -> ModelEntry {
    ModelEntry {
        name,
        family,
        problem: None,
        task: None,
        description,
        parameters,
        source,
        layers: 0,
        heads: 0,
        features: vec![],
        targets: vec![],
        classes: vec![],
        group_by: None,
        smiles: None,
        horizon: None,
        look_back: None,
        default: None,
    }
}

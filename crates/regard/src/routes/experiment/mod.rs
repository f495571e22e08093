//! Experiments on routing problems: the settings of a training run, as a TOML file.
//!
//! Without a preset of its own `[model]` takes that of `[train]`, which is the first of the presets unless another is
//! named.

mod settings;
mod train;
mod validate;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

pub use settings::{DataSettings, Distribution, DuplicateRows, EvalSettings, Sizes, Task};
pub use train::{BaselineKind, FirstNode, Loss, TrainSettings};

use super::model::{AttentionModelConfig, PRESETS};
use crate::experiment::{self, Given, Section, Sections, named_preset, under};
use crate::{Error, Result};

/// A complete experiment on a routing problem, with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteExperiment {
    /// Routing problem.
    pub task: Task,
    /// Instances to train on.
    pub data: DataSettings,
    /// Architecture of the network.
    pub model: AttentionModelConfig,
    /// Training of the network.
    pub train: TrainSettings,
    /// Evaluation of the network.
    pub eval: EvalSettings,
}

impl RouteExperiment {
    /// The experiment that [`find`](experiment::find) finds, overruled by `sets`.
    ///
    /// # Errors
    /// Those of [`find`](experiment::find) and [`Self::parse`].
    pub fn load(name_or_path: &str, sets: &[String]) -> Result<Self> {
        experiment::load(name_or_path, sets)
    }

    /// The experiment that `text` describes, overruled by `sets`, assignments of the form
    /// `section.key=value` of which the last one counts. A value that is not TOML is a string.
    ///
    /// # Errors
    /// [`Error::Parse`] with the line for text that is not TOML. [`Error::Config`] for a section or
    /// a key that is unknown (with the nearest known one), and for a value of another type or out
    /// of range; `path` and the line are named unless the value came from `sets`.
    pub fn parse(text: &str, path: &Path, sets: &[String]) -> Result<Self> {
        experiment::sections(text, path, sets)
    }

    /// Describes every setting of the experiment `text`, overruled by `sets`. Values are not validated.
    ///
    /// # Errors
    /// [`Error::Parse`] and [`Error::Config`] for text that is not TOML,
    /// unknown keys and values of another type.
    pub fn settings(text: &str, path: &Path, sets: &[String]) -> Result<Vec<Section>> {
        experiment::describe::<Self>(text, path, sets)
    }

    /// The experiment as TOML with every key written out; [`Self::parse`] reads it back unchanged.
    ///
    /// # Errors
    /// [`Error::Config`] for what [`Self::validate`] refuses.
    pub fn to_toml(&self) -> Result<String> {
        self.validate()?;
        toml::to_string(self).map_err(|error| Error::config("experiment", error.to_string()))
    }

    /// Checks every setting, and that they fit together.
    ///
    /// # Errors
    /// [`Error::Config`] with the section, the key and what was expected.
    pub fn validate(&self) -> Result<()> {
        validate::validate(self)
    }

    /// Training steps of an epoch, at least 1; instances that do not fill a batch are left out.
    pub fn steps_per_epoch(&self) -> usize {
        (self.train.epoch_size / self.train.batch_size.max(1)).max(1)
    }
}

impl Sections for RouteExperiment {
    fn base(given: &Given) -> Result<Self> {
        base(given)
    }

    fn validate(&self) -> Result<()> {
        RouteExperiment::validate(self)
    }
}

fn base(given: &Given) -> Result<RouteExperiment> {
    let of_train = preset(given, "train")?;
    let of_model = preset(given, "model")?.or(of_train).unwrap_or(PRESETS[0]);
    let mut train = TrainSettings::preset(of_train.unwrap_or(PRESETS[0])).map_err(|error| under("train", error))?;
    let mut model = AttentionModelConfig::preset(of_model).map_err(|error| under("model", error))?;
    if let Some(Ok(baseline)) = given.get("train", "baseline").map(|value| value.clone().try_into()) {
        train.baseline = baseline;
        train.num_starts = train.baseline.usual_starts();
    }
    let mut task = Task { problem: model.problem.clone() };
    let problem = |section| given.get(section, "problem").and_then(Value::as_str);
    if let Some(problem) = problem("task").or(problem("model")) {
        task.problem = problem.to_owned();
        model.problem = problem.to_owned();
    }
    Ok(RouteExperiment { task, data: DataSettings::default(), model, train, eval: EvalSettings::default() })
}

/// The preset that a section names.
fn preset<'a>(given: &'a Given, section: &str) -> Result<Option<&'a str>> {
    named_preset(given, section, &PRESETS)
}

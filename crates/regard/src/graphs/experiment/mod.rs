//! Experiments on graphs: what is asked, where the graphs come from, the network, its training.

mod settings;
mod validate;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{GraphTransformerConfig, PRESETS};
use super::task::LevelName;
use crate::Result;
use crate::experiment::{Given, Section, Sections, describe, load, named_preset, sections, under, written};
use crate::train::{Schedule, Settings};
pub use settings::{
    Asked, AtomRule, GraphData, GraphEval, GraphTaskSettings, GraphTraining, Keep, RateSchedule, SourceKind,
};

/// A complete experiment on graphs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphExperiment {
    /// Task of the network.
    pub task: GraphTaskSettings,
    /// Data to train on.
    pub data: GraphData,
    /// Architecture of the network. Sizes that follow from the data are filled in when it is read.
    pub model: GraphTransformerConfig,
    /// Training of the network.
    pub train: GraphTraining,
    /// Evaluation of the network.
    pub eval: GraphEval,
}

impl GraphExperiment {
    /// The experiment that `text` describes, overruled by `sets`, assignments `section.key=value`.
    ///
    /// # Errors
    /// As [`Experiment::parse`](crate::experiment::Experiment::parse).
    pub fn parse(text: &str, path: &Path, sets: &[String]) -> Result<Self> {
        sections(text, path, sets)
    }

    /// Describes every setting of the experiment `text`, overruled by `sets`. Values are not validated.
    ///
    /// # Errors
    /// [`Error::Parse`](crate::Error::Parse) and [`Error::Config`](crate::Error::Config) for text that is not TOML,
    /// unknown keys and values of another type.
    pub fn settings(text: &str, path: &Path, sets: &[String]) -> Result<Vec<Section>> {
        describe::<Self>(text, path, sets)
    }

    /// The experiment found under a name or in a file, overruled by `sets`.
    ///
    /// # Errors
    /// As [`Experiment::load`](crate::experiment::Experiment::load).
    pub fn load(name_or_path: &str, sets: &[String]) -> Result<Self> {
        load(name_or_path, sets)
    }
}

impl Sections for GraphExperiment {
    fn base(given: &Given) -> Result<Self> {
        let preset = named_preset(given, "model", &PRESETS)?.unwrap_or(PRESETS[0]);
        let mut model = GraphTransformerConfig::preset(preset).map_err(|error| under("model", error))?;
        let read = |key: &str| given.get("task", key).cloned();
        let kind = read("kind").and_then(|kind| kind.try_into().ok()).unwrap_or(Asked::Regression);
        let level = read("level").and_then(|level| level.try_into().ok()).unwrap_or(LevelName::Graph);
        (model.task, model.level) = (kind.said().unwrap_or(model.task), level);
        Ok(Self {
            task: GraphTaskSettings { kind, level },
            data: GraphData::default(),
            model,
            train: GraphTraining::default(),
            eval: GraphEval::default(),
        })
    }

    fn validate(&self) -> Result<()> {
        validate::validate(self)
    }
}

impl Settings for GraphExperiment {
    fn parse(text: &str, path: &Path) -> Result<Self> {
        Self::parse(text, path, &[])
    }

    fn to_toml(&self) -> Result<String> {
        written(self, "graphs")
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            // The learner says so when it knows the data.
            steps_per_epoch: 1,
            epochs: self.train.epochs as u64,
            batch: self.train.batch_size as u64,
            log_steps: self.train.log_steps as u64,
            checkpoint_minutes: self.train.checkpoint_minutes,
            seed: self.train.seed,
        }
    }

    fn continuing(&self, before: &Self) -> Self {
        let mut settings = self.clone();
        settings.train.checkpoint_minutes = before.train.checkpoint_minutes;
        settings
    }
}

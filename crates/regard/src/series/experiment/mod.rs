//! Experiments on time series: what is asked, where the series come from, the network, its training.

mod settings;
mod validate;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{PRESETS, PatchTstConfig};
use super::task::SeriesTask;
use crate::Result;
use crate::experiment::{Given, Section, Sections, describe, load, named_preset, sections, under, written};
use crate::train::{Schedule, Settings};
pub use settings::{
    KeepSeries, Moving, SeriesData, SeriesEval, SeriesLayout, SeriesLoss, SeriesSplit, SeriesTaskSettings,
    SeriesTraining,
};

/// A complete experiment on time series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeriesExperiment {
    /// Task of the network.
    pub task: SeriesTaskSettings,
    /// Data to train on.
    pub data: SeriesData,
    /// Architecture of the network. Sizes that follow from the data are filled in when it is read.
    pub model: PatchTstConfig,
    /// Training of the network.
    pub train: SeriesTraining,
    /// Evaluation of the network.
    pub eval: SeriesEval,
}

impl SeriesExperiment {
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

impl Sections for SeriesExperiment {
    fn base(given: &Given) -> Result<Self> {
        let preset = named_preset(given, "model", &PRESETS)?.unwrap_or(PRESETS[0]);
        let mut model = PatchTstConfig::preset(preset).map_err(|error| under("model", error))?;
        let read = |key: &str| given.get("task", key).cloned();
        let kind = read("kind").and_then(|kind| kind.try_into().ok()).unwrap_or(SeriesTask::Forecast);
        let horizon = read("horizon").and_then(|horizon| horizon.try_into().ok()).unwrap_or(model.horizon);
        (model.task, model.horizon) = (kind, horizon);
        if kind == SeriesTask::Classification {
            // As many as there are, once the data is known.
            model.classes = 2;
        }
        Ok(Self {
            task: SeriesTaskSettings { kind, horizon },
            data: SeriesData::default(),
            model,
            train: SeriesTraining::preset(preset),
            eval: SeriesEval::preset(preset),
        })
    }

    fn validate(&self) -> Result<()> {
        validate::validate(self)
    }
}

impl Settings for SeriesExperiment {
    fn parse(text: &str, path: &Path) -> Result<Self> {
        Self::parse(text, path, &[])
    }

    fn to_toml(&self) -> Result<String> {
        written(self, "series")
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

//! Experiments on sets: what is asked, where the sets come from, the network, its training.

mod settings;
mod validate;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{Decoding, PRESETS, PoolingKind, SetTransformerConfig};
use super::task::TaskKind;
use crate::Result;
use crate::experiment::{Given, Section, Sections, describe, load, named_preset, sections, under, written};
use crate::train::{Schedule, Settings};
pub use settings::{RateSchedule, SetData, SetEval, SetTask, SetTraining, SourceKind};

/// A complete experiment on sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetExperiment {
    /// Task of the network.
    pub task: SetTask,
    /// Data to train on.
    pub data: SetData,
    /// Architecture of the network. Sizes that follow from the data are filled in when it is read.
    pub model: SetTransformerConfig,
    /// Training of the network.
    pub train: SetTraining,
    /// Evaluation of the network.
    pub eval: SetEval,
}

impl SetExperiment {
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

    /// Steps of the whole training.
    pub fn steps(&self) -> u64 {
        (self.train.steps_per_epoch * self.train.epochs) as u64
    }
}

impl Sections for SetExperiment {
    fn base(given: &Given) -> Result<Self> {
        let preset = named_preset(given, "model", &PRESETS)?.unwrap_or(PRESETS[0]);
        let mut model = SetTransformerConfig::preset(preset).map_err(|error| under("model", error))?;
        let kind = given.get("task", "kind").map(|kind| kind.clone().try_into());
        let kind = match kind {
            Some(Ok(kind)) => kind,
            _ => TaskKind::Regression,
        };
        (model.task, model.decoding, model.num_seeds) = (kind, decoding(kind), 1);
        if kind == TaskKind::Clustering {
            model.num_seeds = 4;
        }
        if kind.of_items() {
            model.pooling = PoolingKind::None;
        }
        let source = if given.get("data", "path").is_some() { SourceKind::File } else { SourceKind::Max };
        Ok(Self {
            task: SetTask { kind },
            data: SetData { source, ..SetData::default() },
            model,
            train: SetTraining::default(),
            eval: SetEval::default(),
        })
    }

    fn validate(&self) -> Result<()> {
        validate::validate(self)
    }
}

/// How answers of a task are usually read.
fn decoding(kind: TaskKind) -> Decoding {
    match kind {
        TaskKind::Classification => Decoding::Classes,
        TaskKind::Counting => Decoding::Rate,
        TaskKind::Clustering => Decoding::IsotropicMixture,
        TaskKind::Regression | TaskKind::Ranking | TaskKind::Anomaly => Decoding::Number,
    }
}

impl Settings for SetExperiment {
    fn parse(text: &str, path: &Path) -> Result<Self> {
        Self::parse(text, path, &[])
    }

    fn to_toml(&self) -> Result<String> {
        written(self, "sets")
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            steps_per_epoch: self.train.steps_per_epoch as u64,
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

//! Experiments of all supervised families.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Family;
use crate::Result;
use crate::experiment::{Given, Section, Sections, describe, load, sections, written};
use crate::train::{DataFiles, RunLength, Settings, TrainSettings};

/// A complete experiment, with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(bound = "")]
pub struct SupervisedExperiment<F: Family> {
    /// Task to learn.
    pub task: F::Task,
    /// Examples to train on.
    pub data: F::Data,
    /// Network; sizes that follow from the data are filled in when it is read.
    pub model: F::Config,
    /// Training of the network.
    pub train: TrainSettings<F::Train>,
    /// Evaluation of the network.
    pub eval: F::Eval,
}

impl<F: Family> SupervisedExperiment<F> {
    /// The experiment that `text` describes, overridden by `sets`, assignments `section.key=value`; `path` is for
    /// errors.
    ///
    /// # Errors
    /// [`Error::Parse`](crate::Error::Parse) for text that is not TOML, with the line;
    /// [`Error::Config`](crate::Error::Config) for a section or a key that is unknown, and for a value of another type
    /// or out of range.
    pub fn parse(text: &str, path: &Path, sets: &[String]) -> Result<Self> {
        sections(text, path, sets)
    }

    /// Describes every setting of the experiment `text`, overridden by `sets`. Values are not validated.
    ///
    /// # Errors
    /// [`Error::Parse`](crate::Error::Parse) and [`Error::Config`](crate::Error::Config) for text that is not TOML,
    /// unknown keys and values of another type.
    pub fn settings(text: &str, path: &Path, sets: &[String]) -> Result<Vec<Section>> {
        describe::<Self>(text, path, sets)
    }

    /// The experiment found under a name or in a file, overridden by `sets`.
    ///
    /// # Errors
    /// Those of [`find`](crate::experiment::find) and [`Self::parse`].
    pub fn load(name_or_path: &str, sets: &[String]) -> Result<Self> {
        load(name_or_path, sets)
    }
}

impl<F: Family> Sections for SupervisedExperiment<F> {
    fn base(given: &Given) -> Result<Self> {
        F::defaults(given)
    }

    fn validate(&self) -> Result<()> {
        self.train.validate()?;
        F::validate(self)
    }
}

impl<F: Family> Settings for SupervisedExperiment<F> {
    fn parse(text: &str, path: &Path) -> Result<Self> {
        Self::parse(text, path, &[])
    }

    fn to_toml(&self) -> Result<String> {
        written(self, F::NAME)
    }

    fn run_length(&self) -> RunLength {
        RunLength {
            // The learner gives the number when it knows the data.
            steps_per_epoch: self.train.steps_per_epoch.max(1) as u64,
            epochs: self.train.epochs as u64,
            batch: self.train.batch_size as u64,
            log_steps: self.train.log_steps as u64,
            checkpoint_minutes: self.train.checkpoint_minutes,
            seed: self.train.seed,
        }
    }

    fn shards(&self) -> usize {
        self.train.shards
    }

    fn set_shards(&mut self, shards: usize) {
        self.train.shards = shards;
    }

    fn continuing(&self, before: &Self) -> Self {
        let mut settings = self.clone();
        settings.train.checkpoint_minutes = before.train.checkpoint_minutes;
        if before.may_change_epochs() {
            settings.train.epochs = before.train.epochs;
        }
        settings
    }

    fn may_change_epochs(&self) -> bool {
        !self.train.schedule.depends_on_epochs()
    }

    fn data_files(&self) -> Option<DataFiles> {
        F::data_files(&self.data)
    }

    fn init_from(&mut self) -> &mut String {
        &mut self.train.init_from
    }
}

//! Experiments: everything a training run is made from, as a TOML file.
//!
//! An experiment has the sections `[task]`, `[data]`, `[model]`, `[train]` and `[eval]`; every key
//! has a default. `[model]` and `[train]` may name a `preset`, and keys written out overrule it.
//! Without a preset of its own `[model]` takes that of `[train]`, which is `regard-tsp` unless
//! another is named. Assignments such as `train.learning_rate=0.001` overrule the file.
//!
//! ```
//! use regard::experiment::Experiment;
//!
//! let experiment = Experiment::load("routes/tsp20", &["train.epochs=3".into()])?;
//! assert_eq!((experiment.data.nodes.high(), experiment.train.epochs), (20, 3));
//! # Ok::<(), regard::Error>(())
//! ```

mod built_in;
mod describe;
mod given;
mod resolve;
mod settings;
#[cfg(test)]
mod tests;
mod train;
mod validate;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use built_in::{built_in, description, find};
pub use describe::{Section, Setting, Word};
pub use settings::{DataSettings, Distribution, EvalSettings, Sizes, Task};
pub use train::{BaselineKind, FirstNode, Loss, TrainSettings};

use crate::store::AttentionModelConfig;
use crate::{Error, Result};
pub(crate) use describe::describe;
pub use given::Given;
pub(crate) use resolve::{Sections, named_preset};
pub(crate) use validate::under;

/// The families of experiments: values of `task.family`, and folders of the built-in experiments.
pub const FAMILIES: [&str; 4] = ["routes", "sets", "graphs", "series"];

/// The family of an experiment (`task.family`), one of [`FAMILIES`]; the first one where the text names none.
///
/// # Errors
/// [`Error::Parse`] for text that is not TOML, [`Error::Config`] for an unknown family.
pub fn family(text: &str, path: &Path) -> Result<&'static str> {
    let given = Given::parse(text, path)?;
    let Some(named) = given.get("task", "family").map(|family| family.as_str().unwrap_or_default()) else {
        return Ok(FAMILIES[0]);
    };
    FAMILIES.into_iter().find(|family| *family == named).ok_or_else(|| {
        let near = regard_data::names::suggestion(named, FAMILIES);
        let known = regard_data::names::list(FAMILIES);
        given.locate(Error::config("task.family", format!("`{named}` is no family{near}; families: {known}")), path)
    })
}

/// Reads sections of settings, overruled by `sets`; the family they are of is no setting.
pub(crate) fn sections<E: Sections>(text: &str, path: &Path, sets: &[String]) -> Result<E> {
    let mut given = Given::parse(text, path)?;
    for assignment in sets {
        given.set(assignment)?;
    }
    given.take("task", "family");
    resolve::resolve(&given).map_err(|error| given.locate(error, path))
}

/// The settings found under a name or in a file, overruled by `sets`.
pub(crate) fn load<E: Sections>(name_or_path: &str, sets: &[String]) -> Result<E> {
    let (text, path) = find(name_or_path)?;
    sections(&text, &path, sets)
}

/// Settings as TOML with every key written out, and the family they are of.
pub(crate) fn written<E: Sections>(experiment: &E, family: &str) -> Result<String> {
    experiment.validate()?;
    let failed = |error: toml::ser::Error| Error::config("experiment", error.to_string());
    let mut table = toml::Table::try_from(experiment).map_err(failed)?;
    if let Some(toml::Value::Table(task)) = table.get_mut("task") {
        task.insert("family".into(), toml::Value::String(family.into()));
    }
    toml::to_string(&table).map_err(failed)
}

/// A complete experiment, with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
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

impl Experiment {
    /// The text of an experiment and its name in errors: the file at this path, else the built-in
    /// experiment of this name, with or without `.toml`.
    ///
    /// # Errors
    /// [`Error::Io`] when there is neither, naming the nearest built-in experiment, or when the
    /// file cannot be read; [`Error::Parse`] when it is not text.
    pub fn find(name_or_path: &str) -> Result<(String, PathBuf)> {
        built_in::find(name_or_path)
    }

    /// The experiment that [`Self::find`] finds, overruled by `sets`.
    ///
    /// # Errors
    /// Those of [`Self::find`] and [`Self::parse`].
    pub fn load(name_or_path: &str, sets: &[String]) -> Result<Self> {
        load(name_or_path, sets)
    }

    /// The experiment that `text` describes, overruled by `sets`, assignments of the form
    /// `section.key=value` of which the last one counts. A value that is not TOML is a string.
    ///
    /// # Errors
    /// [`Error::Parse`] with the line for text that is not TOML. [`Error::Config`] for a section or
    /// a key that is unknown (with the nearest known one), and for a value of another type or out
    /// of range; `path` and the line are named unless the value came from `sets`.
    pub fn parse(text: &str, path: &Path, sets: &[String]) -> Result<Self> {
        sections(text, path, sets)
    }

    /// Describes every setting of the experiment `text`, overruled by `sets`. Values are not validated.
    ///
    /// # Errors
    /// [`Error::Parse`] and [`Error::Config`] for text that is not TOML,
    /// unknown keys and values of another type.
    pub fn settings(text: &str, path: &Path, sets: &[String]) -> Result<Vec<Section>> {
        describe::<Self>(text, path, sets)
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

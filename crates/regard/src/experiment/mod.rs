//! Experiments: everything a training run is made from, as a TOML file.
//!
//! An experiment has the sections `[task]`, `[data]`, `[model]`, `[train]` and `[eval]`; every key
//! has a default. `[model]` and `[train]` may name a `preset`, and keys written out overrule it.
//! Assignments such as `train.learning_rate=0.001` overrule the file.
//!
//! ```
//! use regard::routes::RouteExperiment;
//!
//! let experiment = RouteExperiment::load("routes/tsp20", &["train.epochs=3".into()])?;
//! assert_eq!((experiment.data.nodes.high(), experiment.train.epochs), (20, 3));
//! # Ok::<(), regard::Error>(())
//! ```

mod built_in;
mod given;
mod resolve;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use built_in::{built_in, description};

use crate::{Error, Result};
pub(crate) use given::Given;
pub(crate) use resolve::{Sections, named_preset, under};

/// The families of experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Routing problems.
    Routes,
    /// Sets.
    Sets,
    /// Graphs.
    Graphs,
    /// Time series.
    Series,
}

/// The family that an experiment says it is of (`task.family`), that of routes where it says nothing.
///
/// # Errors
/// [`Error::Parse`] for text that is not TOML, [`Error::Config`] for a family that there is not.
pub fn family(text: &str, path: &Path) -> Result<Family> {
    let given = Given::parse(text, path)?;
    match given.get("task", "family").map(|family| family.as_str().unwrap_or_default()) {
        None | Some("routes") => Ok(Family::Routes),
        Some("sets") => Ok(Family::Sets),
        Some("graphs") => Ok(Family::Graphs),
        Some("series") => Ok(Family::Series),
        Some(other) => {
            let near = regard_data::names::suggestion(other, ["routes", "sets", "graphs", "series"]);
            let reason = format!("`{other}` is no family{near}; families: `routes`, `sets`, `graphs`, `series`");
            Err(given.locate(Error::config("task.family", reason), path))
        }
    }
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

/// The text of an experiment and its name in errors: the file at this path, else the built-in experiment of this name,
/// with or without `.toml`.
///
/// # Errors
/// [`Error::Io`] when there is neither, naming the nearest built-in experiment, or when the file cannot be read;
/// [`Error::Parse`] when it is not text.
pub fn find(name_or_path: &str) -> Result<(String, PathBuf)> {
    built_in::find(name_or_path)
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

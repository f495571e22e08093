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
mod decimal;
mod describe;
mod given;
mod resolve;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use built_in::{built_in, description, find};
pub use decimal::DecimalMark;
pub use describe::{Section, Setting, Word};

use crate::{Error, Result};
pub(crate) use describe::describe;
pub use given::Given;
pub(crate) use given::value_of;
pub(crate) use resolve::{Sections, named_preset, under};

/// The families of experiments: values of `task.family`, and folders of the built-in experiments.
pub const FAMILIES: [&str; 4] = ["routes", "sets", "graphs", "series"];

/// The family of an experiment (`task.family`), one of [`FAMILIES`]; the first one where the text names none.
///
/// # Errors
/// [`Error::Parse`] for text that is not TOML, [`Error::Config`] for an unknown family.
pub fn family(text: &str, path: &Path) -> Result<&'static str> {
    let given = Given::parse(text, path)?;
    given.family().map_err(|error| given.locate(error, path))
}

/// The settings of a text, overruled by `sets`, without the family they are of.
fn given(text: &str, path: &Path, sets: &[String]) -> Result<Given> {
    let mut given = Given::parse(text, path)?;
    let family = given.family().map_err(|error| given.locate(error, path))?;
    for assignment in sets {
        given.set(assignment)?;
    }
    given.take_family(family).map_err(|error| given.locate(error, path))?;
    Ok(given)
}

/// Reads sections of settings, overruled by `sets`; the family they are of is no setting.
pub(crate) fn sections<E: Sections>(text: &str, path: &Path, sets: &[String]) -> Result<E> {
    let given = given(text, path, sets)?;
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

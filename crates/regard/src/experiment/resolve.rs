//! From what is written to a complete experiment.

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::given::Given;
use crate::{Error, Result};
use regard_data::names::{list, suggestion};

/// Settings in sections, every one with a default.
pub(crate) trait Sections: Serialize + DeserializeOwned + Sized {
    /// The presets, and the defaults that follow from what is written.
    fn base(given: &Given) -> Result<Self>;
    /// Checks every setting, and that they fit together.
    fn validate(&self) -> Result<()>;
}

/// Fills in the defaults and validates; errors do not know the file yet.
pub(super) fn resolve<E: Sections>(given: &Given) -> Result<E> {
    let experiment: E = merge(given)?;
    experiment.validate()?;
    Ok(experiment)
}

/// Fills in the defaults; errors do not know the file yet.
pub(super) fn merge<E: Sections>(given: &Given) -> Result<E> {
    let base = E::base(given)?;
    let template = Table::try_from(&base).map_err(|error| Error::config("experiment", error.to_string()))?;
    check_names(given, &template)?;
    let mut merged = template.clone();
    for (section, key, value) in given.values() {
        if let Some(reason) = mistake::<E>(&template, section, key, value) {
            return Err(Error::config(format!("{section}.{key}"), reason));
        }
        put(&mut merged, section, key, value);
    }
    merged.try_into().map_err(|error: toml::de::Error| Error::config("experiment", error.message()))
}

/// The preset that a section names, one of `known`.
pub(crate) fn named_preset<'a>(given: &'a Given, section: &str, known: &[&'static str]) -> Result<Option<&'a str>> {
    match given.get(section, "preset") {
        None => Ok(None),
        Some(Value::String(name)) => Ok(Some(name)),
        Some(other) => {
            let reason = format!("is {other}; expected one of {}", list(known.iter().copied()));
            Err(Error::config(format!("{section}.preset"), reason))
        }
    }
}

/// Refuses sections and keys that `template` does not have.
fn check_names(given: &Given, template: &Table) -> Result<()> {
    let sections = || template.keys().map(String::as_str);
    for (section, keys) in &given.sections {
        let Some(Value::Table(known)) = template.get(section) else {
            let near = belongs(section, template).unwrap_or_else(|| suggestion(section, sections()));
            let reason = format!("is not a section{near}; sections: {}", list(sections()));
            return Err(Error::config(section, reason));
        };
        let Value::Table(keys) = keys else {
            let reason = format!("is of type {}; expected a section that begins with [{section}]", keys.type_str());
            return Err(Error::config(section, reason));
        };
        let names = || known.keys().map(String::as_str);
        if let Some(key) = keys.keys().find(|&key| !known.contains_key(key)) {
            let near = belongs(key, template).unwrap_or_else(|| suggestion(key, names()));
            let reason = format!("is not a setting{near}; settings of [{section}]: {}", list(names()));
            return Err(Error::config(format!("{section}.{key}"), reason));
        }
    }
    Ok(())
}

/// ` (it belongs in [section])` for a key of other sections.
fn belongs(key: &str, template: &Table) -> Option<String> {
    let has = |keys: &Value| keys.as_table().is_some_and(|keys| keys.contains_key(key));
    let homes = template.iter().filter(|(_, keys)| has(keys)).map(|(section, _)| format!("[{section}]"));
    let homes = homes.collect::<Vec<_>>().join(" or ");
    (!homes.is_empty()).then(|| format!(" (it belongs in {homes})"))
}

fn put(sections: &mut Table, section: &str, key: &str, value: &Value) {
    if let Some(Value::Table(keys)) = sections.get_mut(section) {
        keys.insert(key.to_owned(), value.clone());
    }
}

/// Message about a value of a wrong type: the value and the expected type.
fn mistake<E: DeserializeOwned>(template: &Table, section: &str, key: &str, value: &Value) -> Option<String> {
    // One setting at a time, so that an error belongs to its key.
    let refusal = |value: &Value| {
        let mut one = template.clone();
        put(&mut one, section, key, value);
        one.try_into::<E>().err().map(|error| error.message().trim().to_owned())
    };
    let mut message = refusal(value)?;
    if message.ends_with("expected string only") || message.ends_with("expected string or map") {
        // One of several words: only a wrong word gives the list of them.
        message = refusal(&Value::String(String::new())).unwrap_or(message);
    }
    let expected = message.rsplit_once("expected ").map_or(message.as_str(), |(_, expected)| expected);
    let expected = match expected {
        "f64" | "f32" => "a number",
        "u64" | "u32" | "usize" => "an integer that is not negative",
        "a string" => "a string in quotes",
        other => other,
    };
    let near = match value {
        // The words that are allowed stand in backquotes.
        Value::String(word) => suggestion(word, expected.split('`').skip(1).step_by(2)),
        _ => String::new(),
    };
    Some(format!("is {value}{near}; expected {expected}"))
}

/// The error of a setting with its section in front of the key.
pub(crate) fn under(section: &str, error: Error) -> Error {
    match error {
        Error::Config { key, reason } => Error::config(format!("{section}.{key}"), reason),
        other => other,
    }
}

//! The settings that every network has.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::layout::ParamSpec;
use crate::{Error, Result};
use regard_data::names::{list, suggestion};

/// Version of `config.json` that this crate writes and reads.
pub const FORMAT: u32 = 1;

/// Settings from which a network is rebuilt; the content of `config.json`.
pub trait NetworkConfig: Serialize + Clone + PartialEq + Debug + Sized {
    /// The kind of network, the key `kind`.
    fn kind(&self) -> &str;
    /// The validated settings of a JSON object.
    ///
    /// # Errors
    /// [`Error::Config`] for what is unknown, missing, of another type or out of range.
    fn from_json(value: &Value) -> Result<Self>;
    /// Checks every setting, and that they fit together.
    ///
    /// # Errors
    /// [`Error::Config`] with the setting and what was expected.
    fn validate(&self) -> Result<()>;
    /// Every tensor of the network.
    fn param_specs(&self) -> Vec<ParamSpec>;
    /// The text of the model's card.
    fn card(&self) -> CardText;

    /// Number of trainable parameters (running statistics are not counted).
    fn trainable(&self) -> usize {
        self.param_specs().iter().filter(|slot| slot.trainable).map(ParamSpec::elements).sum()
    }
}

/// Parts of a model's card.
#[derive(Clone, Debug)]
pub struct CardText {
    /// The network, in a sentence.
    pub what: String,
    /// The preset it started from.
    pub preset: Option<String>,
    /// The main settings.
    pub rows: Vec<(&'static str, String)>,
    /// Commands that use it; `{name}` stands for the model.
    pub usage: Vec<&'static str>,
}

/// Checks the kind and the format of settings: those of an experiment are not read from a `config.json`.
pub(crate) fn check_version(kind: &str, format: u32, known: &str) -> Result<()> {
    if kind != known {
        return Err(Error::config("kind", format!("is `{kind}`; this version reads `{known}`")));
    }
    if format != FORMAT {
        return Err(Error::config("format", format!("is {format}; this version reads format {FORMAT}")));
    }
    Ok(())
}

/// Kinds of models, what they are for, and the command that uses one.
const KINDS: [(&str, &str, &str); 4] = [
    ("attention-model", "routing problems", "`regard solve FILE --model DIR`"),
    ("set-transformer", "sets", "`regard predict --model DIR FILE`"),
    ("graph-transformer", "graphs", "`regard predict --model DIR FILE`"),
    ("patchtst", "time series", "`regard forecast --model DIR FILE`"),
];

/// The error for a model of another kind than `known`.
fn other_kind(kind: Option<&str>, known: &str) -> Error {
    let of = |name: &str| KINDS.iter().find(|(kind, ..)| *kind == name);
    match (kind.and_then(of), of(known)) {
        (Some((kind, what, command)), Some((_, expected, _))) => {
            let reason = format!("is `{kind}`, a model for {what}; expected `{known}`, a model for {expected}");
            Error::config("kind", reason).with_hint(format!("{command} uses it"))
        }
        _ => {
            let found = kind.map_or("is missing".to_owned(), |kind| format!("is `{kind}`"));
            Error::config("kind", format!("{found}; this version reads `{known}`"))
        }
    }
}

/// Settings of a JSON object that has the keys of `template`; `preset` and `data` may be left out.
pub(crate) fn from_object<T: Serialize + DeserializeOwned>(value: &Value, template: &T, known: &str) -> Result<T> {
    let Value::Object(given) = value else {
        return Err(Error::config("config", "expected a JSON object `{ … }`"));
    };
    let kind = given.get("kind").and_then(Value::as_str);
    if kind != Some(known) {
        return Err(other_kind(kind, known));
    }
    if given.get("format") != Some(&FORMAT.into()) {
        let found = given.get("format").map_or("is missing".to_owned(), |format| format!("is {format}"));
        return Err(Error::config("format", format!("{found}; this version reads format {FORMAT}")));
    }
    let text = |error: serde_json::Error| Error::config("config", error.to_string());
    let Value::Object(template) = serde_json::to_value(template).map_err(text)? else {
        return Err(Error::config("config", "is not an object"));
    };
    let keys = || template.keys().map(String::as_str);
    for (key, value) in given {
        if !template.contains_key(key) {
            let reason = format!("is not a setting{}; settings: {}", suggestion(key, keys()), list(keys()));
            return Err(Error::config(key, reason));
        }
        // One setting at a time, so that an error of type belongs to its key.
        let mut one = template.clone();
        one.insert(key.clone(), value.clone());
        T::deserialize(Value::Object(one)).map_err(|error| Error::config(key, error.to_string()))?;
    }
    // What has a default may be missing: files that were written before a setting existed lack it.
    let needed = |key: &str| {
        let mut without = template.clone();
        without.remove(key);
        T::deserialize(Value::Object(without)).is_err()
    };
    if let Some(key) = keys().find(|&key| !given.contains_key(key) && needed(key)) {
        return Err(Error::config(key, "is missing"));
    }
    T::deserialize(value).map_err(text)
}

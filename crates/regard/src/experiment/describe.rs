//! Descriptions of settings for a reader: type, default, range and meaning of every key of an experiment.
//!
//! Everything comes from the types of the settings themselves: keys and types from their schema, meanings from their
//! doc comments, defaults from the presets and the experiment.

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

use super::resolve::{Sections, merge};
use crate::{Error, Result};

/// A setting of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// Section, for example `train`.
    pub section: String,
    /// Key within the section, for example `learning_rate`.
    pub key: String,
    /// Type of the value, for example `integer`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Allowed words, if the value is one of several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<Word>,
    /// Value in this experiment: that of its file, else of its presets, else the general default. `None` for a
    /// value that is taken from the data.
    pub default: Option<Value>,
    /// If true, the file of the experiment or an assignment gives the value.
    pub given: bool,
    /// Range of the value, for example `1 to 64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// Meaning in one or two sentences.
    pub meaning: String,
}

/// An allowed word of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Word {
    /// The word.
    pub word: String,
    /// Meaning in one sentence; empty for names of presets and problems.
    pub meaning: String,
}

/// A section of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    /// Name, for example `train`.
    pub name: String,
    /// Meaning in a few words.
    pub meaning: String,
    /// Settings in the order of the code.
    pub settings: Vec<Setting>,
}

/// Describes the settings of the experiment `text`, overruled by `sets`. Values are not validated, since an
/// experiment may need a file that the reader has yet to name.
///
/// # Errors
/// Those of reading an experiment: text that is not TOML, unknown keys, values of another type.
pub(crate) fn describe<E: Sections + JsonSchema>(text: &str, path: &Path, sets: &[String]) -> Result<Vec<Section>> {
    let given = super::given(text, path, sets)?;
    let experiment: E = merge(&given).map_err(|error| given.locate(error, path))?;
    let values = toml::Table::try_from(&experiment).map_err(|error| Error::config("experiment", error.to_string()))?;
    let schema = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    let schema = schema.into_generator().into_root_schema_for::<E>();
    let empty = Map::new();
    let properties = |value: Option<&Value>| value.and_then(|value| value.get("properties")?.as_object().cloned());
    let sections = properties(Some(schema.as_value())).unwrap_or_default();
    let describe_section = |(name, keys): (&String, &toml::Value)| {
        let section = sections.get(name);
        let schemas = properties(section).unwrap_or_default();
        let known = keys.as_table().into_iter().flatten().filter_map(|(key, value)| {
            let schema = schemas.get(key)?.as_object().unwrap_or(&empty);
            let value = if schema.contains_key("x-from-data") { None } else { serde_json::to_value(value).ok() };
            Some(setting(name, key, schema, value, given.get(name, key).is_some()))
        });
        Section {
            name: name.clone(),
            meaning: section.and_then(Value::as_object).map(meaning).unwrap_or_default(),
            settings: known.collect(),
        }
    };
    Ok(values.iter().map(describe_section).collect())
}

fn setting(section: &str, key: &str, schema: &Map<String, Value>, default: Option<Value>, given: bool) -> Setting {
    Setting {
        section: section.into(),
        key: key.into(),
        kind: kind(schema),
        words: words(schema),
        default,
        given,
        range: range(schema),
        meaning: meaning(schema),
    }
}

/// The doc comment on one line.
fn meaning(schema: &Map<String, Value>) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kind(schema: &Map<String, Value>) -> String {
    if let Some(kind) = schema.get("x-type").and_then(Value::as_str) {
        return kind.into();
    }
    let name = |kind: &str| match kind {
        "integer" => "integer",
        "number" => "number",
        "boolean" => "true or false",
        _ => "string",
    };
    // An optional value has the type `[type, "null"]`.
    let first = |kind: &Value| kind.as_array().and_then(|kinds| kinds.first()).unwrap_or(kind).clone();
    let kind = |schema: &Map<String, Value>| schema.get("type").map(first);
    match kind(schema).as_ref().and_then(Value::as_str) {
        _ if !words(schema).is_empty() => "one of".into(),
        Some("array") => {
            let items = schema.get("items").and_then(Value::as_object).and_then(kind);
            format!("list of {}s", name(items.as_ref().and_then(Value::as_str).unwrap_or_default()))
        }
        kind => name(kind.unwrap_or_default()).into(),
    }
}

fn words(schema: &Map<String, Value>) -> Vec<Word> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(Value::Array(words)) = schema.get("x-words") {
        return words.iter().map(|word| Word { word: text(word), meaning: String::new() }).collect();
    }
    let variants = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let words =
        variants.filter_map(|variant| Some(Word { word: text(variant.get("const")?), meaning: meaning(variant) }));
    words.collect()
}

fn range(schema: &Map<String, Value>) -> Option<String> {
    let bound = |key: &str| schema.get(key).filter(|bound| bound.is_number()).and_then(Value::as_f64);
    let whole = schema.get("type").and_then(Value::as_str) == Some("integer");
    let below = bound("exclusiveMaximum").map(|most| format!("below {most}"));
    let most = bound("maximum").map(|most| format!("at most {most}"));
    match (bound("exclusiveMinimum"), bound("minimum"), below.or(most)) {
        (Some(least), _, None) => Some(format!("above {least}")),
        (Some(least), _, Some(most)) => Some(format!("above {least}, {most}")),
        (None, Some(least), Some(most)) => {
            Some(format!("{least} to {}", most.strip_prefix("at most ").unwrap_or(&most)))
        }
        // No integer of a setting is negative.
        (None, Some(least), None) if whole && least == 0.0 => None,
        (None, Some(least), None) => Some(format!("{least} or more")),
        (None, None, most) => most,
    }
}

//! One line of JSON, checked.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::shown;
use crate::sets::names::nearest;
use crate::{Error, Result};

const KEYS: [&str; 4] = ["id", "items", "target", "item_targets"];

/// One line.
pub(super) struct Object<'p> {
    path: &'p Path,
    pub(super) line: usize,
    pub(super) map: Map<String, Value>,
}

impl<'p> Object<'p> {
    pub(super) fn of(text: &str, path: &'p Path, line: usize) -> Result<Self> {
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(Self { path, line, map }),
            Ok(_) => {
                let error = Error::parse(path, line, "is not an object");
                Err(error.with_hint("each line is a bag such as {\"id\": \"a\", \"items\": [[1, 2]], \"target\": 0}"))
            }
            Err(error) => {
                Err(Error::parse(path, line, format!("is not JSON at column {}: {}", error.column(), said(&error))))
            }
        }
    }

    pub(super) fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason).in_field(field)
    }

    /// The names of the features, where this line is nothing else.
    pub(super) fn names(&self) -> Result<Option<Vec<String>>> {
        let Some(list) = self.map.get("features") else {
            return Ok(None);
        };
        if self.map.len() > 1 {
            return Err(self.error("features", "stands beside other keys, expected a line of its own"));
        }
        let names = list.as_array().and_then(|list| list.iter().map(|name| name.as_str().map(str::to_owned)).collect());
        let names: Vec<String> = names.ok_or_else(|| self.error("features", "is not a list of names"))?;
        if names.is_empty() {
            return Err(self.error("features", "is empty, expected at least one name"));
        }
        match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            Some((_, name)) => Err(self.error("features", format!("has `{}` twice", shown(name)))),
            None => Ok(Some(names)),
        }
    }

    pub(super) fn check_keys(&self) -> Result<()> {
        let Some(unknown) = self.map.keys().find(|key| !KEYS.contains(&key.as_str())) else {
            return Ok(());
        };
        let error = Error::parse(
            self.path,
            self.line,
            format!("has the key `{}`, expected {}", shown(unknown), KEYS.join(", ")),
        );
        Err(match nearest(unknown, KEYS.into_iter()) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None => error.with_hint("features are numbers in `items`; leave other keys out"),
        })
    }

    pub(super) fn items(&self) -> Result<&[Value]> {
        let items = self.map.get("items").ok_or_else(|| self.error("items", "is missing, expected a list of rows"))?;
        items.as_array().map(Vec::as_slice).ok_or_else(|| self.error("items", "is not a list of rows"))
    }

    pub(super) fn row<'v>(&self, item: usize, value: &'v Value) -> Result<&'v [Value]> {
        let wrong = || self.error("items", format!("item {} is not a list of numbers", item + 1));
        value.as_array().map(Vec::as_slice).filter(|row| !row.is_empty()).ok_or_else(wrong)
    }

    pub(super) fn number(&self, item: usize, feature: usize, value: &Value) -> Result<f32> {
        let place = || format!("item {}, feature {}", item + 1, feature + 1);
        let Some(number) = value.as_f64() else {
            let found = shown(&value.to_string());
            return Err(self.error("items", format!("{}: found `{found}`, expected a number", place())));
        };
        if (number as f32).is_finite() {
            Ok(number as f32)
        } else {
            Err(self.error("items", format!("{}: found `{number}`, expected a number below 3.4e38", place())))
        }
    }

    /// A label as text; `None` where it is missing or null.
    pub(super) fn label(&self, field: &str, value: Option<&Value>) -> Result<Option<String>> {
        match value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(Value::String(word)) if !word.is_empty() => Ok(Some(word.clone())),
            Some(Value::Bool(truth)) => Ok(Some(truth.to_string())),
            Some(other) => {
                let found = shown(&other.to_string());
                Err(self.error(field, format!("found `{found}`, expected a number or a word")))
            }
        }
    }
}

/// What is wrong, without the place, which is always line 1.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

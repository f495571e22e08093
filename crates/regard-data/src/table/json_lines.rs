//! JSON lines: an object on each line, with errors that name line and key.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::shown;
use crate::file::place;
use crate::names::nearest;
use crate::{Error, Result};

/// If true, a text begins as an object does.
pub(crate) fn looks_like(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Visits the object of each line that is not empty. `example` is the hint where a line is something else.
pub(crate) fn each<'p>(
    text: &str,
    path: &'p Path,
    example: &str,
    mut visit: impl FnMut(&Object<'p>) -> Result<()>,
) -> Result<()> {
    let above = place(path).lines;
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.try_for_each(|(at, line)| {
        // Lines of a part of a longer file stand further below its header.
        let above = if at == 0 && is_header(line.as_bytes()) { 0 } else { above };
        visit(&Object::parse(line, path, above + at + 1, example)?)
    })
}

/// If true, a line names the features of those below it.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let names = || serde_json::from_slice::<Map<String, Value>>(line).is_ok_and(|map| map.contains_key("features"));
    line.trim_ascii().starts_with(b"{\"features\"") && names()
}

/// The object of one line.
pub(crate) struct Object<'p> {
    path: &'p Path,
    pub(crate) line: usize,
    /// The length of the line.
    pub(crate) bytes: usize,
    pub(crate) map: Map<String, Value>,
}

impl<'p> Object<'p> {
    fn parse(text: &str, path: &'p Path, line: usize, example: &str) -> Result<Self> {
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(Self { path, line, bytes: text.len(), map }),
            Ok(_) => Err(Error::parse(path, line, "is not an object").with_hint(example)),
            Err(error) => {
                // The library names the line within the line, which is always 1.
                let text = error.to_string();
                let reason = text.split_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
                Err(Error::parse(path, line, format!("is not JSON at column {}: {reason}", error.column())))
            }
        }
    }

    /// Refuses keys that are none of these. `otherwise` is the hint where none of them is near.
    pub(crate) fn check_keys(&self, keys: &[&str], otherwise: Option<&str>) -> Result<()> {
        let Some(unknown) = self.map.keys().find(|key| !keys.contains(&key.as_str())) else {
            return Ok(());
        };
        let error = self.error("", format!("has the key `{}`, expected {}", shown(unknown), keys.join(", ")));
        Err(match (nearest(unknown, keys.iter().copied()), otherwise) {
            (Some(near), _) => error.with_hint(format!("did you mean `{near}`?")),
            (None, Some(hint)) => error.with_hint(hint),
            (None, None) => error,
        })
    }

    pub(crate) fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason).in_field(field)
    }

    /// The list under a key; `None` where it is missing or null.
    pub(crate) fn list(&self, field: &str) -> Result<Option<&[Value]>> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(_) => Err(self.error(field, "is not a list")),
        }
    }

    /// A finite number in single precision. `place` begins the message: "item 2, feature 1".
    pub(crate) fn number(&self, field: &str, value: &Value, place: impl Fn() -> String) -> Result<f32> {
        let wrong = |expected: &str| {
            let found = shown(&value.to_string());
            self.error(field, format!("{}: found `{found}`, expected {expected}", place()))
        };
        match value.as_f64() {
            None => Err(wrong("a number")),
            Some(number) if (number as f32).is_finite() => Ok(number as f32),
            Some(_) => Err(wrong("a number below 3.4e38")),
        }
    }

    /// An integer of 32 bits.
    pub(crate) fn whole(&self, field: &str, value: &Value, expected: &str) -> Result<u32> {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| self.error(field, format!("found `{}`, expected {expected}", shown(&value.to_string()))))
    }

    /// A label as text; `None` where it is missing or null.
    pub(crate) fn label(&self, field: &str, value: Option<&Value>) -> Result<Option<String>> {
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

//! Settings of a file and of assignments, before defaults are filled in.

use std::collections::HashMap;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use regard_data::names::{list, suggestion};
use regard_data::shown;

use super::FAMILIES;
use crate::{Error, Result};

/// The settings that a file and the assignments after it give, with the places they were written at.
pub struct Given {
    /// Sections of keys, as they were written: names may be unknown.
    pub(super) sections: Table,
    /// Places of `section` and `section.key`.
    places: HashMap<String, Place>,
}

/// The place where a value was written.
#[derive(Clone, Copy)]
enum Place {
    /// A line of the file, from 1.
    Line(usize),
    /// An assignment.
    Set,
}

impl Given {
    /// Reads the text of a file; `path` is for errors.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self> {
        let lines = LineStarts::of(text);
        let fault = |error: toml::de::Error| Error::Parse {
            path: path.to_owned(),
            line: error.span().map_or(0, |span| lines.line(span.start)),
            field: String::new(),
            reason: error.message().trim().replace('\n', "; "),
        };
        let sections = toml::from_str(text).map_err(fault)?;
        let mut places = HashMap::new();
        for (name, section) in DeTable::parse(text).map_err(fault)?.get_ref() {
            let name_text = name.get_ref();
            places.insert(name_text.to_string(), Place::Line(lines.line(name.span().start)));
            let DeValue::Table(keys) = section.get_ref() else { continue };
            for key in keys.keys() {
                let line = lines.line(key.span().start);
                places.insert(format!("{name_text}.{}", key.get_ref()), Place::Line(line));
            }
        }
        Ok(Self { sections, places })
    }

    /// Overrules one value by an assignment `section.key=value`.
    pub(crate) fn set(&mut self, assignment: &str) -> Result<()> {
        let refuse = |reason: &str| {
            let reason = format!("{reason}; expected section.key=value, such as train.learning_rate=0.0005");
            Err(Error::config(format!("--set {assignment}"), reason))
        };
        let Some((name, value)) = assignment.split_once('=') else {
            return refuse("has no `=`");
        };
        let (name, value) = (name.trim(), value.trim());
        let Some((section, key)) = name.split_once('.').filter(|(section, key)| !section.is_empty() && !key.is_empty())
        else {
            return refuse("has no section and key");
        };
        if value.is_empty() {
            return refuse("has no value");
        }
        self.places.insert(name.to_owned(), Place::Set);
        match name {
            "train.epochs" => self.let_go("train", &["min_steps", "max_steps", "min_passes"]),
            "model.look_back" => self.let_go("data", &["shorten"]),
            _ => {}
        }
        self.places.entry(section.to_owned()).or_insert(Place::Set);
        let section = self.sections.entry(section).or_insert_with(|| Value::Table(Table::new()));
        match section {
            Value::Table(keys) => keys.insert(key.to_owned(), value_of(value)),
            // Not a section: the file is at fault, and is refused for it later.
            _ => None,
        };
        Ok(())
    }

    /// Takes settings out that fit another one to the data, where no assignment gives them: what is asked for stays as it
    /// is.
    fn let_go(&mut self, section: &str, keys: &[&str]) {
        for key in keys {
            if !matches!(self.places.get(&format!("{section}.{key}")), Some(Place::Set)) {
                self.take(section, key);
            }
        }
    }

    /// The value of a key, if one was written.
    pub(crate) fn get(&self, section: &str, key: &str) -> Option<&Value> {
        self.sections.get(section)?.as_table()?.get(key)
    }

    /// The family that the settings name, the first one where they name none.
    ///
    /// # Errors
    /// [`Error::Config`] for an unknown family.
    pub(super) fn family(&self) -> Result<&'static str> {
        let Some(value) = self.get("task", "family") else { return Ok(FAMILIES[0]) };
        let named = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        FAMILIES.into_iter().find(|family| *family == named).ok_or_else(|| {
            let near = suggestion(&named, FAMILIES);
            let reason = format!("`{}` is not a family{near}; families: {}", shown(&named), list(FAMILIES));
            Error::config("task.family", reason)
        })
    }

    /// Takes out the family, which is that of the file and is no setting.
    ///
    /// # Errors
    /// [`Error::Config`] where an assignment names another family than the file.
    pub(super) fn take_family(&mut self, of_file: &str) -> Result<()> {
        let named = self.family()?;
        if self.take("task", "family").is_some() && named != of_file {
            let reason = format!("is `{named}`, but the experiment is of the family `{of_file}`");
            return Err(Error::config("task.family", reason));
        }
        Ok(())
    }

    /// Takes out a key that is no setting of its section.
    pub(crate) fn take(&mut self, section: &str, key: &str) -> Option<Value> {
        self.sections.get_mut(section)?.as_table_mut()?.remove(key)
    }

    /// Every value with its section and key.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.sections.iter().flat_map(|(section, keys)| {
            let keys = keys.as_table().into_iter().flatten();
            keys.map(move |(key, value)| (section.as_str(), key.as_str(), value))
        })
    }

    /// Adds to the error of a setting where the setting was written.
    pub(crate) fn locate(&self, error: Error, path: &Path) -> Error {
        // A hint of the setting itself says more than the place.
        if let Error::Context { path: None, hint: Some(hint), error } = error {
            return self.locate(*error, path).with_hint(hint);
        }
        let Error::Config { key, reason } = error else {
            return error.in_file(path);
        };
        match self.places.get(&key) {
            Some(Place::Line(line)) => Error::config(key, format!("line {line}: {reason}")).in_file(path),
            Some(Place::Set) => Error::config(key, reason).with_hint("the value was given with `--set`"),
            None => Error::config(key, reason).in_file(path),
        }
    }
}

/// A TOML value, or the text itself.
pub(crate) fn value_of(text: &str) -> Value {
    let read = |table: Table| table.into_iter().next().filter(|(key, _)| key == "value").map(|(_, value)| value);
    // A line break could begin another key.
    let value = if text.contains(['\n', '\r']) { None } else { toml::from_str(&format!("value = {text}")).ok() };
    value.and_then(read).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The places at which the lines of a text begin: a file of many keys asks for each of them.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect())
    }

    /// The line of a byte, from 1.
    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|&start| start <= offset)
    }
}

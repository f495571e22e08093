//! The header of a table, and its columns by name.

use std::collections::HashMap;
use std::path::Path;

use csv::StringRecord;

use crate::error::shown;
use crate::sets::formats::csv::columns::Column;
use crate::sets::formats::csv::sheet::{Row, Sheet};
use crate::sets::names::nearest;
use crate::{Error, Result};

/// A table with a header.
pub(super) struct Table<'t> {
    pub(super) path: &'t Path,
    sheet: Sheet<'t>,
    line: usize,
    names: StringRecord,
}

impl<'t> Table<'t> {
    pub(super) fn of(text: &'t str, path: &'t Path, delimiter: Option<u8>, what: &str) -> Result<Self> {
        let sheet = Sheet::of(text, path, delimiter);
        let Some((line, names)) = sheet.first()? else {
            return Err(Error::parse(path, 0, format!("is empty, expected a header and rows of {what}")));
        };
        let table = Self { path, sheet, line, names };
        let mut places = HashMap::new();
        for (at, name) in table.names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if let Some(first) = places.insert(name, at) {
                let numbers = format!("as number {} and {}", first + 1, at + 1);
                return Err(table.error(format!("column `{}` occurs twice, {numbers}", shown(name))));
            }
        }
        Ok(table)
    }

    /// The column of a name, if there is one.
    pub(super) fn find(&self, name: &str) -> Option<Column> {
        self.names.iter().position(|found| found == name).map(|at| Column::new(at, name))
    }

    /// The column of a name.
    pub(super) fn column(&self, name: &str) -> Result<Column> {
        self.find(name).ok_or_else(|| {
            let error = self.error(format!("has no column `{}`", shown(name)));
            match nearest(name, self.names.iter().filter(|name| !name.is_empty())) {
                Some(near) => error.with_hint(format!("did you mean the column `{}`?", shown(&near))),
                None => error.with_hint(format!("the columns are {}", self.all())),
            }
        })
    }

    /// The column that is asked for, if one is.
    pub(super) fn asked(&self, name: Option<&String>) -> Result<Option<Column>> {
        name.map(|name| self.column(name)).transpose()
    }

    /// The columns of targets: all of them, or, where they are optional, none when one is absent.
    pub(super) fn targets(&self, names: &[String], optional: bool) -> Result<Vec<Column>> {
        if optional && names.iter().any(|name| self.find(name).is_none()) {
            return Ok(Vec::new());
        }
        names.iter().map(|name| self.column(name)).collect()
    }

    /// All columns that have a name.
    pub(super) fn columns(&self) -> Vec<Column> {
        let named = self.names.iter().enumerate().filter(|(_, name)| !name.is_empty());
        named.map(|(at, name)| Column::new(at, name)).collect()
    }

    /// Visits the rows below the header, each of which has as many fields.
    pub(super) fn rows(&self, mut visit: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        self.sheet.each(true, |row| {
            row.has_fields(self.names.len(), "the header has")?;
            visit(&row)
        })
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason)
    }

    fn all(&self) -> String {
        const MOST: usize = 10;
        let mut names: Vec<String> = self.names.iter().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
        if self.names.len() > MOST {
            names.push("...".into());
        }
        names.join(", ")
    }
}

/// A field of targets; an empty one and the usual words for nothing are missing.
pub(super) fn target(text: &str) -> Option<String> {
    let nothing = ["", "nan", "na", "n/a", "null"].iter().any(|word| text.eq_ignore_ascii_case(word));
    (!nothing).then(|| text.to_owned())
}

//! The columns of a table.

use std::collections::HashMap;
use std::path::Path;

use super::rows::{Row, Rows};
use crate::error::shown;
use crate::sets::names::nearest;
use crate::{Error, Result};

/// A column by its place in a row and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) at: usize,
    pub(super) name: String,
}

/// The header of a table.
pub(super) struct Header<'p> {
    path: &'p Path,
    line: usize,
    pub(super) names: Vec<String>,
    places: HashMap<String, usize>,
}

impl<'p> Header<'p> {
    pub(super) fn of(rows: &mut Rows<'p>) -> Result<Self> {
        let path = rows.path;
        let Some(row) = rows.next()? else {
            return Err(Error::parse(path, 0, "is empty, expected a header and rows of values"));
        };
        let names: Vec<String> = (0..row.len()).map(|at| row.text(at).into_owned()).collect();
        let mut places = HashMap::new();
        for (at, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if let Some(first) = places.insert(name.clone(), at) {
                let reason = format!("column `{}` occurs twice, as number {} and {}", shown(name), first + 1, at + 1);
                return Err(Error::parse(path, row.line, reason));
            }
        }
        // A year and a month are numbers that may well name columns; all of them together are no header.
        if names.len() > 1 && names.iter().skip(1).all(|name| name.parse::<f64>().is_ok_and(|v| v.fract() != 0.0)) {
            let reason = "is a row of numbers, expected a header that names the columns";
            return Err(Error::parse(path, row.line, reason));
        }
        Ok(Self { path, line: row.line, names, places })
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason)
    }

    /// The names of all columns, as far as they can stand in one line.
    pub(super) fn all(&self) -> String {
        const MOST: usize = 12;
        let mut names: Vec<String> = self.names.iter().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
        if self.names.len() > MOST {
            names.push("...".into());
        }
        names.join(", ")
    }

    /// The column of this name.
    pub(super) fn find(&self, name: &str) -> Result<Column> {
        if let Some(at) = self.places.get(name) {
            return Ok(Column { at: *at, name: name.to_owned() });
        }
        let error = self.error(format!("has no column `{}`", shown(name)));
        Err(match nearest(name, self.names.iter().map(String::as_str).filter(|name| !name.is_empty())) {
            Some(near) => error.with_hint(format!("did you mean the column `{}`?", shown(&near))),
            None => error.with_hint(format!("the columns are {}", self.all())),
        })
    }

    /// The columns of these names, none of which may have another role.
    pub(super) fn find_all(&self, names: &[String], taken: &mut Vec<Column>) -> Result<Vec<Column>> {
        let mut found = Vec::new();
        for name in names {
            let column = self.find(name)?;
            self.take(&column, taken)?;
            found.push(column);
        }
        Ok(found)
    }

    /// Notes that a column has a role.
    pub(super) fn take(&self, column: &Column, taken: &mut Vec<Column>) -> Result<()> {
        if taken.contains(column) {
            return Err(self.error(format!("column `{}` is asked for in two roles", shown(&column.name))));
        }
        taken.push(column.clone());
        Ok(())
    }

    /// The first of these names that is a column, whatever its case.
    pub(super) fn find_known(&self, known: &[&str]) -> Option<Column> {
        let place = |name: &&str| self.names.iter().position(|column| column.eq_ignore_ascii_case(name));
        known.iter().find_map(place).map(|at| self.column(at))
    }

    pub(super) fn column(&self, at: usize) -> Column {
        Column { at, name: self.names[at].clone() }
    }

    /// How a column is called where its name is wanted: by its number, when it has none.
    pub(super) fn called(&self, at: usize) -> String {
        if self.names[at].is_empty() { format!("column {}", at + 1) } else { self.names[at].clone() }
    }
}

/// Text below a table: nothing but the first field of rows at its end.
#[derive(Default)]
pub(super) struct Footer(Vec<(usize, String)>);

impl Footer {
    /// Whether a row is text rather than values. `is_first` says whether its first field may be that of a row.
    pub(super) fn takes(&mut self, row: Row<'_>, is_first: impl Fn(&str) -> bool) -> bool {
        let text = row.text(0);
        let alone = (1..row.len()).all(|at| row.text(at).is_empty());
        let found = alone && !text.is_empty() && !is_first(&text);
        if found {
            self.0.push((row.line, text.into_owned()));
        }
        found
    }

    /// Refuses rows of values below text.
    pub(super) fn ends_before(&self, row: Row<'_>, expected: &str) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some((line, text)) => {
                let reason =
                    format!("found `{}` above the rows from line {} on, expected {expected}", shown(text), row.line);
                let mut error = row.error("", reason);
                if let Error::Parse { line: at, .. } = &mut error {
                    *at = *line;
                }
                Err(error)
            }
        }
    }

    pub(super) fn text(self) -> Option<String> {
        let lines: Vec<String> = self.0.into_iter().map(|(_, text)| text).collect();
        (!lines.is_empty()).then(|| lines.join(" "))
    }
}

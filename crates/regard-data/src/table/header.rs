//! The columns of a table by name.

use std::collections::HashMap;
use std::path::Path;

use super::rows::{Row, Rows};
use crate::error::shown;
use crate::names::nearest;
use crate::{Error, Result};

/// A column by its place in a row and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) at: usize,
    pub(crate) name: String,
}

impl Column {
    pub(crate) fn new(at: usize, name: &str) -> Self {
        Self { at, name: name.to_owned() }
    }
}

/// The header of a table.
pub(crate) struct Header<'p> {
    path: &'p Path,
    pub(crate) line: usize,
    pub(crate) names: Vec<String>,
    /// The first column of each name.
    places: HashMap<String, usize>,
}

impl<'p> Header<'p> {
    /// Reads the first row. `expected` says what an empty table should hold.
    pub(crate) fn of(rows: &mut Rows<'p>, expected: &str) -> Result<Self> {
        Self::read(rows)?.ok_or_else(|| Error::parse(rows.path, 0, format!("is empty, expected {expected}")))
    }

    /// Reads the first row; `None` where there is no row at all.
    pub(crate) fn read(rows: &mut Rows<'p>) -> Result<Option<Self>> {
        let path = rows.path;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        Ok(Some(Self::of_names(path, row.line, row.fields().map(str::to_owned).collect())))
    }

    /// The header with these names; path and line are for errors.
    pub(crate) fn of_names(path: &'p Path, line: usize, names: Vec<String>) -> Self {
        let mut places = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            places.entry(name.clone()).or_insert(at);
        }
        Self { path, line, names, places }
    }

    /// Refuses two columns of one name; several may have none.
    pub(crate) fn check_distinct(&self) -> Result<()> {
        for (at, name) in self.names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let first = self.places[name];
            if first != at {
                let reason = format!("column `{}` occurs twice, as number {} and {}", shown(name), first + 1, at + 1);
                return Err(self.error(reason));
            }
        }
        Ok(())
    }

    /// The number of columns.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn error(&self, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason)
    }

    /// The names of all columns, as far as they can stand in one line.
    pub(crate) fn all(&self) -> String {
        in_one_line(&self.names)
    }

    /// A note that names the columns which have none of the roles `taken`; `None` if all have one.
    pub(crate) fn left_out<'c>(&self, taken: impl IntoIterator<Item = &'c Column>, hint: &str) -> Option<String> {
        let taken: Vec<usize> = taken.into_iter().map(|column| column.at).collect();
        let rest: Vec<String> = (0..self.len()).filter(|at| !taken.contains(at)).map(|at| self.label(at)).collect();
        let columns = if rest.len() == 1 { "column" } else { "columns" };
        (!rest.is_empty()).then(|| format!("left out: {columns} {}; {hint}", in_one_line(&rest)))
    }

    /// The column of a name, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<Column> {
        self.places.get(name).map(|at| Column::new(*at, name))
    }

    /// The column of a name; the error names the nearest one.
    pub(crate) fn column(&self, name: &str) -> Result<Column> {
        self.find(name).ok_or_else(|| {
            let error = self.error(format!("has no column `{}`", shown(name)));
            match nearest(name, self.names.iter().map(String::as_str).filter(|name| !name.is_empty())) {
                Some(near) => error.with_hint(format!("did you mean the column `{}`?", shown(near))),
                None => error.with_hint(format!("the columns are {}", self.all())),
            }
        })
    }

    /// The column of a name, where one is given. Where it is optional, it may be absent.
    pub(crate) fn given(&self, name: Option<&String>, optional: bool) -> Result<Option<Column>> {
        match name {
            Some(name) if optional => Ok(self.find(name)),
            Some(name) => self.column(name).map(Some),
            None => Ok(None),
        }
    }

    /// The columns of these names. Where they are optional, none of them when one is absent.
    pub(crate) fn all_given(&self, names: &[String], optional: bool) -> Result<Vec<Column>> {
        if optional && names.iter().any(|name| self.find(name).is_none()) {
            return Ok(Vec::new());
        }
        names.iter().map(|name| self.column(name)).collect()
    }

    /// The columns of these names, none of which may have another role.
    pub(crate) fn assign_all(&self, names: &[String], taken: &mut Vec<Column>) -> Result<Vec<Column>> {
        let mut found = Vec::new();
        for name in names {
            let column = self.column(name)?;
            self.assign(&column, taken)?;
            found.push(column);
        }
        Ok(found)
    }

    /// Gives a column a role; it may have no other one.
    pub(crate) fn assign(&self, column: &Column, taken: &mut Vec<Column>) -> Result<()> {
        if taken.contains(column) {
            return Err(self.error(format!("column `{}` has two roles", shown(&column.name))));
        }
        taken.push(column.clone());
        Ok(())
    }

    /// The first of these names that is a column, whatever its case.
    pub(crate) fn find_any(&self, names: &[&str]) -> Option<Column> {
        let place = |name: &&str| self.names.iter().position(|column| column.eq_ignore_ascii_case(name));
        names.iter().find_map(place).map(|at| self.at(at))
    }

    /// The column at a place.
    pub(crate) fn at(&self, at: usize) -> Column {
        Column::new(at, &self.names[at])
    }

    /// All columns that have a name.
    pub(crate) fn named(&self) -> impl Iterator<Item = Column> + '_ {
        self.columns().filter(|column| !column.name.is_empty())
    }

    /// All columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = Column> + '_ {
        (0..self.len()).map(|at| self.at(at))
    }

    /// The name of a column, or its number where it has none.
    pub(crate) fn label(&self, at: usize) -> String {
        if self.names[at].is_empty() { format!("column {}", at + 1) } else { self.names[at].clone() }
    }
}

/// Names of columns, as far as they can stand in one line.
fn in_one_line(names: &[String]) -> String {
    const MOST: usize = 12;
    let mut shortened: Vec<String> = names.iter().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
    if names.len() > MOST {
        shortened.push("...".into());
    }
    shortened.join(", ")
}

/// Text below a table: nothing but the first field of rows at its end.
#[derive(Default)]
pub(crate) struct Footer(Vec<(usize, String)>);

impl Footer {
    /// If true, the row is text rather than values. `is_first` says that a text may be the first field of a row, as of
    /// [`Row::plain`].
    pub(crate) fn takes(&mut self, row: Row<'_>, is_first: impl Fn(&str) -> bool) -> bool {
        let text = row.text(0);
        let alone = row.fields().skip(1).all(str::is_empty);
        let found = alone && !text.is_empty() && !is_first(&row.plain(0));
        if found {
            self.0.push((row.line, text.to_owned()));
        }
        found
    }

    /// Refuses rows of values below text.
    pub(crate) fn ends_before(&self, row: Row<'_>, expected: &str) -> Result<()> {
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

    /// The line on which the text begins.
    pub(crate) fn line(&self) -> Option<usize> {
        self.0.first().map(|(line, _)| *line)
    }

    pub(crate) fn text(self) -> Option<String> {
        let lines: Vec<String> = self.0.into_iter().map(|(_, text)| text).collect();
        (!lines.is_empty()).then(|| lines.join(" "))
    }
}

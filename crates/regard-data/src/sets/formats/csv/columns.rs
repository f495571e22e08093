//! Which columns of a table are read, and as what.

use std::collections::HashMap;

use csv::StringRecord;

use super::super::gathered::feature;
use super::super::ReadOptions;
use super::sheet::{Sheet, is_data};
use crate::error::shown;
use crate::sets::names::nearest;
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

/// The columns of a table with a header.
pub(super) struct Columns {
    /// The line of the header.
    pub(super) line: usize,
    /// How many columns there are.
    pub(super) count: usize,
    pub(super) group: Column,
    pub(super) target: Option<Column>,
    pub(super) row_target: Option<Column>,
    pub(super) features: Vec<Column>,
    /// Columns in which nothing is a number, and those without a name.
    pub(super) skipped: Vec<String>,
}

impl Columns {
    pub(super) fn of(sheet: &Sheet<'_>, line: usize, header: &StringRecord, options: &ReadOptions) -> Result<Self> {
        let head = Head::of(sheet, line, header)?;
        let Some(group) = &options.group_by else {
            let reason = "has a header, and no column is named that groups its rows into bags";
            return Err(head.error(reason).with_hint(format!(
                "name it as `group_by` (the columns are {}), or say that there is no header",
                head.all()
            )));
        };
        let group = head.find(group)?;
        let target = match &options.target {
            Some(name) if options.target_optional && !head.places.contains_key(name.as_str()) => None,
            Some(name) => Some(head.find(name)?),
            None => None,
        };
        let row_target = match &options.row_target {
            Some(name) if options.target_optional && !head.places.contains_key(name.as_str()) => None,
            Some(name) => Some(head.find(name)?),
            None => None,
        };
        let taken: Vec<&Column> = [Some(&group), target.as_ref(), row_target.as_ref()].into_iter().flatten().collect();
        head.all_different(&taken)?;
        let (features, skipped) = match &options.features {
            Some(names) => (head.listed(names, &taken)?, Vec::new()),
            None => head.numeric(sheet, &taken)?,
        };
        Ok(Self { line, count: header.len(), group, target, row_target, features, skipped })
    }
}

/// The header of a table.
struct Head<'h> {
    sheet: &'h Sheet<'h>,
    line: usize,
    names: &'h StringRecord,
    places: HashMap<&'h str, usize>,
}

impl<'h> Head<'h> {
    fn of(sheet: &'h Sheet<'h>, line: usize, names: &'h StringRecord) -> Result<Self> {
        let mut places = HashMap::new();
        for (at, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if let Some(first) = places.insert(name, at) {
                let reason = format!("column `{}` occurs twice, as number {} and {}", shown(name), first + 1, at + 1);
                return Err(Error::parse(sheet.path, line, reason));
            }
        }
        Ok(Self { sheet, line, names, places })
    }

    fn error(&self, reason: impl Into<String>) -> Error {
        Error::parse(self.sheet.path, self.line, reason)
    }

    /// The names of all columns, as far as they can stand in one line.
    fn all(&self) -> String {
        const MOST: usize = 12;
        let mut names: Vec<String> = self.names.iter().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
        if self.names.len() > MOST {
            names.push("...".into());
        }
        names.join(", ")
    }

    fn find(&self, name: &str) -> Result<Column> {
        if let Some(at) = self.places.get(name) {
            return Ok(Column::new(*at, name));
        }
        let error = self.error(format!("has no column `{}`", shown(name)));
        if is_data(self.names) {
            return Err(error.with_hint(
                "the first line looks like data: without a header rows are label, bag, features; name no column",
            ));
        }
        Err(match nearest(name, self.names.iter().filter(|name| !name.is_empty())) {
            Some(near) => error.with_hint(format!("did you mean the column `{}`?", shown(&near))),
            None => error.with_hint(format!("the columns are {}", self.all())),
        })
    }

    /// Refuses one column in two places.
    fn all_different(&self, taken: &[&Column]) -> Result<()> {
        for (at, column) in taken.iter().enumerate() {
            if taken[..at].contains(column) {
                return Err(self.error(format!("column `{}` is asked for in two roles", shown(&column.name))));
            }
        }
        Ok(())
    }

    /// The features asked for.
    fn listed(&self, names: &[String], taken: &[&Column]) -> Result<Vec<Column>> {
        let mut found: Vec<Column> = Vec::new();
        for name in names {
            let column = self.find(name)?;
            if taken.contains(&&column) || found.contains(&column) {
                let reason = format!("column `{}` is a feature and something else, or a feature twice", shown(name));
                return Err(self.error(reason));
            }
            found.push(column);
        }
        if found.is_empty() {
            return Err(self.error("is read without any feature, expected at least one"));
        }
        Ok(found)
    }

    /// Every other column in which there are numbers, and the names of those without.
    fn numeric(&self, sheet: &Sheet<'_>, taken: &[&Column]) -> Result<(Vec<Column>, Vec<String>)> {
        let mut numbers = vec![false; self.names.len()];
        let mut rows = 0;
        sheet.each(true, |row| {
            row.has_fields(self.names.len(), "the header has")?;
            rows += 1;
            for (seen, field) in numbers.iter_mut().zip(row.fields()) {
                *seen = *seen || looks_like_number(field);
            }
            Ok(())
        })?;
        let (mut features, mut skipped) = (Vec::new(), Vec::new());
        for (at, name) in self.names.iter().enumerate().filter(|(at, _)| taken.iter().all(|column| column.at != *at)) {
            match name {
                "" => skipped.push(format!("column {}", at + 1)),
                _ if numbers[at] => features.push(Column::new(at, name)),
                _ => skipped.push(name.to_owned()),
            }
        }
        if features.is_empty() && rows > 0 {
            let error = self.error("has no column of numbers left for features, expected at least one");
            return Err(error.with_hint(format!("the columns are {}", self.all())));
        }
        Ok((features, skipped))
    }
}

/// Whether a field is a number or was meant as one: `nan`, or with a decimal comma.
fn looks_like_number(field: &str) -> bool {
    feature(field).is_ok() || field.parse::<f64>().is_ok() || field.replacen(',', ".", 1).parse::<f64>().is_ok()
}

//! What is the same in all rows of a series.

use std::path::Path;

use super::header::Column;
use super::rows::Row;
use crate::error::shown;
use crate::sets::Labels;
use crate::{Error, Result};

/// A value for each series, with the line on which it was found first.
pub(super) struct Constant<T>(Vec<(T, usize)>);

impl<T> Default for Constant<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: PartialEq + ToString> Constant<T> {
    /// Notes the value of a row; series are counted in the order in which they first occur.
    pub(super) fn note(&mut self, series: usize, value: T, row: Row<'_>, field: &str, what: &str) -> Result<()> {
        match self.0.get(series) {
            None => self.0.push((value, row.line)),
            Some((known, _)) if *known == value => {}
            Some((known, line)) => {
                let (here, there) = (shown(&value.to_string()), shown(&known.to_string()));
                let reason = format!("found the {what} `{here}`, the series has `{there}` on line {line}");
                return Err(row
                    .error(field, reason)
                    .with_hint(format!("a series has one {what}, the same in all its rows")));
            }
        }
        Ok(())
    }
}

impl Constant<f32> {
    pub(super) fn get(&self, series: usize) -> f32 {
        self.0[series].0
    }
}

impl Constant<String> {
    /// The labels of all series; none when they are optional and nowhere given.
    pub(super) fn labels(self, path: &Path, column: Option<&Column>, optional: bool) -> Result<Option<Labels>> {
        let Some(column) = column else {
            return Ok(None);
        };
        let missing = self.0.iter().find(|(label, _)| label.is_empty()).map(|(_, line)| *line);
        match missing {
            None => Ok(Some(Labels::of_texts(self.0.into_iter().map(|(label, _)| label).collect()))),
            Some(_) if optional && self.0.iter().all(|(label, _)| label.is_empty()) => Ok(None),
            Some(line) => {
                Err(Error::parse(path, line, "is empty, expected the label of the series").in_field(&column.name))
            }
        }
    }
}

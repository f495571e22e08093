//! Which columns of a table are read, and the values of one row.

use std::path::Path;

use super::super::{number, shown};
use super::{ID, LATITUDE, LONGITUDE};
use crate::routes::metric::Metric;
use crate::{Error, Result};

/// A column by its place in a row and its name in the header.
pub(super) type Column = (usize, String);

/// Where in a row the id and the two coordinates stand.
pub(super) struct Columns {
    id: Option<Column>,
    on_earth: bool,
    /// x and y, or latitude and longitude.
    values: [Column; 2],
}

impl Columns {
    /// Finds the columns in the header, which stands on `line`.
    pub(super) fn of(header: &[String], path: &Path, line: usize) -> Result<Self> {
        Self::among(header).map_err(|reason| {
            Error::parse(path, line, reason)
                .with_hint("the first line names the columns, e.g. `id,x,y` or `id,lat,lon`")
        })
    }

    fn among(names: &[String]) -> Result<Self, String> {
        let find = |wanted: &[&str]| find(names, wanted);
        let id = find(&ID)?;
        let plane = find(&["x"])?.zip(find(&["y"])?);
        let earth = find(&LATITUDE)?.zip(find(&LONGITUDE)?);
        let (on_earth, (first, second)) = match (plane, earth) {
            (Some(_), Some(_)) => {
                return Err("has both x, y and latitude, longitude, expected one of them".into());
            }
            (Some(plane), None) => (false, plane),
            (None, Some(earth)) => (true, earth),
            (None, None) => {
                let found = shown(&names.join(","));
                return Err(format!("found the columns `{found}`, expected `id,x,y` or `id,lat,lon`"));
            }
        };
        Ok(Self { id, on_earth, values: [first, second] })
    }

    /// Straight lines for x and y, great circles for latitude and longitude.
    pub(super) fn metric(&self) -> Metric {
        if self.on_earth { Metric::GreatCircleKm } else { Metric::Euclidean }
    }

    /// The id of a row, or how many rows there are with it.
    pub(super) fn id(&self, row: &Row<'_>, counted: usize) -> Result<String> {
        let Some((column, name)) = &self.id else {
            return Ok(counted.to_string());
        };
        match row.field(*column) {
            "" => Err(row.error(name, "is empty")),
            id => Ok(id.to_owned()),
        }
    }

    /// The name of the column of ids.
    pub(super) fn id_name(&self) -> &str {
        self.id.as_ref().map_or(ID[0], |(_, name)| name)
    }

    /// The coordinates of a row, checked.
    pub(super) fn point(&self, row: &Row<'_>) -> Result<[f64; 3]> {
        let [first, second] = [row.number(&self.values[0])?, row.number(&self.values[1])?];
        let outside = |at: usize, value: f64, range: &str| {
            let reason = format!("found {value}, expected degrees from {range}");
            Err(row.error(&self.values[at].1, reason))
        };
        if self.on_earth && !(-90.0..=90.0).contains(&first) {
            return outside(0, first, "-90 to 90");
        }
        // Some sources count longitudes eastwards all the way round.
        if self.on_earth && !(-180.0..=360.0).contains(&second) {
            return outside(1, second, "-180 to 180");
        }
        Ok([first, second, 0.0])
    }
}

/// The first of `wanted` among the names; an error when that one occurs twice.
pub(super) fn find(names: &[String], wanted: &[&str]) -> Result<Option<Column>, String> {
    let Some(name) = wanted.iter().find(|name| names.iter().any(|n| n == *name)) else {
        return Ok(None);
    };
    let mut places = names.iter().enumerate().filter(|(_, n)| n == name).map(|(at, _)| at);
    match (places.next(), places.next()) {
        (Some(at), None) => Ok(Some((at, (*name).to_owned()))),
        _ => Err(format!("column `{name}` occurs twice")),
    }
}

/// One row with its place in the file.
pub(super) struct Row<'r> {
    pub(super) path: &'r Path,
    pub(super) line: usize,
    pub(super) fields: &'r [String],
}

impl Row<'_> {
    /// The field in a column; empty where the row is too short.
    pub(super) fn field(&self, column: usize) -> &str {
        self.fields.get(column).map_or("", String::as_str)
    }

    /// The number in a column.
    pub(super) fn number(&self, (column, name): &Column) -> Result<f64> {
        let found = self.field(*column);
        if found.is_empty() {
            return Err(self.error(name, "is missing, expected a number"));
        }
        number(found).ok_or_else(|| {
            let reason = format!("found `{}`, expected a number", shown(found));
            let error = self.error(name, reason);
            if found.contains(',') { error.with_hint("write the decimal point as `.`") } else { error }
        })
    }

    /// An error about a field of this row.
    pub(super) fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason).in_field(field)
    }
}

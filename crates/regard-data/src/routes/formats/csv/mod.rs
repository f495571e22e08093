//! Instances as CSV: `id,x,y` in the plane, or `id,lat,lon` on the Earth.
//!
//! The header decides. Columns may stand in any order and be called as in [`ID`], [`LATITUDE`]
//! and [`LONGITUDE`], in any case; others are ignored; without ids, rows are counted from 1;
//! rows without any value are skipped.
//! Fields are separated by commas, semicolons or tabs, whichever the header has most of. Lines
//! starting with `#` above the header are the instance's comment.

mod columns;

use std::collections::HashMap;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};

use self::columns::{Columns, Row};
use super::{shown, stem};
use crate::file::write_atomic;
use crate::routes::metric::Metric;
use crate::routes::tsp::Tsp;
use crate::{Error, Result};

/// Names of the column of ids, the preferred first.
pub const ID: [&str; 6] = ["id", "name", "city", "node", "place", "label"];
/// Names of the column of latitudes in decimal degrees, north positive.
pub const LATITUDE: [&str; 2] = ["lat", "latitude"];
/// Names of the column of longitudes in decimal degrees, east positive.
pub const LONGITUDE: [&str; 4] = ["lon", "lng", "long", "longitude"];

/// Reads an instance from CSV text; `path` names it in errors and gives the instance its name.
///
/// `x` and `y` give straight, unrounded distances, latitude and longitude great-circle
/// kilometres.
///
/// # Errors
/// [`Error::Parse`] naming line and field, e.g.
/// ``cities.csv:7: field `x`: found `abc`, expected a number``.
///
/// ```
/// use regard_data::routes::formats::csv;
///
/// let text = "city,lat,lon\nParis,48.8566,2.3522\nBerlin,52.5200,13.4050\n";
/// let two = csv::parse(text, "two.csv".as_ref())?;
/// assert_eq!(two.distance(0, 1).round(), 877.0);
/// assert_eq!(two.unit(), "km");
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path) -> Result<Tsp> {
    let (comment, skipped, table) = split_comment(text);
    let mut reader =
        ReaderBuilder::new().delimiter(delimiter(table)).flexible(true).trim(Trim::All).from_reader(table.as_bytes());
    let columns = Columns::of(&broken(reader.headers(), path)?.clone(), path, skipped + 1)?;
    let (mut ids, mut points, mut lines) = (Vec::new(), Vec::new(), HashMap::new());
    for record in reader.records() {
        let record = broken(record.as_ref(), path)?;
        if record.iter().all(str::is_empty) {
            continue;
        }
        let line = skipped + line_of(record, table);
        let row = Row { path, line, record };
        let id = columns.id(&row, ids.len() + 1)?;
        if let Some(first) = lines.insert(id.clone(), line) {
            let reason = format!("`{}` occurs a second time, first on line {first}", shown(&id));
            return Err(row.error(columns.id_name(), reason));
        }
        ids.push(id);
        points.push(columns.point(&row)?);
    }
    if ids.is_empty() {
        return Err(Error::parse(path, 0, "has no rows below its header, expected at least one node"));
    }
    Ok(Tsp::new(stem(path), columns.metric(), points)?.with_ids(ids)?.with_comment(comment))
}

/// Writes an instance as CSV, under a temporary name first.
///
/// # Errors
/// Those of [`render`], and [`Error::Io`] when the file cannot be written.
pub fn write(path: impl AsRef<Path>, instance: &Tsp) -> Result<()> {
    let text = render(instance)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The CSV text that reads as the same instance, but for its name, which is that of the file.
///
/// # Errors
/// [`Error::Invalid`] for metrics that CSV cannot tell (write TSPLIB instead).
pub fn render(instance: &Tsp) -> Result<String> {
    let header = match instance.metric() {
        Metric::Euclidean => "id,x,y",
        Metric::GreatCircleKm => "id,lat,lon",
        other => {
            let reason = format!("CSV cannot tell {} distances; write TSPLIB", other.name());
            return Err(Error::invalid("metric", reason));
        }
    };
    let comment: String = instance.comment().lines().map(|line| format!("# {line}\n")).collect();
    let mut text = format!("{comment}{header}\n");
    for (id, [first, second, _]) in instance.ids().iter().zip(instance.coordinates()) {
        text.push_str(&format!("{},{first},{second}\n", quoted(id)));
    }
    Ok(text)
}

/// A field as CSV wants it: in quotes where it holds a separator, a quote or a line break.
fn quoted(field: &str) -> String {
    if field.contains([',', ';', '\t', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// The comment above the header, how many lines it has, and the rest.
fn split_comment(text: &str) -> (String, usize, &str) {
    let (mut comment, mut skipped, mut rest) = (Vec::new(), 0, text);
    while let Some(line) = rest.split_inclusive('\n').next() {
        match line.trim().strip_prefix('#') {
            Some(words) => comment.push(words.trim()),
            None if line.trim().is_empty() => {}
            None => break,
        }
        skipped += 1;
        rest = &rest[line.len()..];
    }
    comment.retain(|words| !words.is_empty());
    (comment.join(" "), skipped, rest)
}

/// Comma, semicolon or tab, whichever the first line has most of.
fn delimiter(table: &str) -> u8 {
    let header = table.lines().next().unwrap_or("").as_bytes();
    let count = |d: u8| header.iter().filter(|b| **b == d).count();
    [b';', b'\t'].into_iter().fold(b',', |best, d| if count(d) > count(best) { d } else { best })
}

/// The line of `table` on which a record starts. The reader gives the end of the record before
/// it, which lies above any empty lines and, in files of DOS, before the last line feed.
fn line_of(record: &StringRecord, table: &str) -> usize {
    let Some(position) = record.position() else {
        return 0;
    };
    let before = table.as_bytes().get(position.byte() as usize..).unwrap_or_default();
    let breaks = before.iter().take_while(|b| matches!(b, b'\r' | b'\n'));
    position.line() as usize + breaks.filter(|b| **b == b'\n').count()
}

fn broken<T>(result: std::result::Result<T, impl std::borrow::Borrow<csv::Error>>, path: &Path) -> Result<T> {
    result.map_err(|error| {
        let error = error.borrow();
        let line = error.position().map_or(0, |p| p.line() as usize);
        Error::parse(path, line, error.to_string())
    })
}

#[cfg(test)]
mod tests;

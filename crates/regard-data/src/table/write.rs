//! The writer of tables: predictions, forecasts and weights of attention as CSV, JSON lines or Parquet.

use std::io::{self, Write};
use std::path::Path;

use crate::error::Result;
use crate::file::{extension, write_atomic};

/// One field of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'c> {
    /// A name.
    Text(&'c str),
    /// A count or a number of something.
    Whole(usize),
    /// A number in double precision; empty in Parquet and `null` in JSON where it is not finite.
    Number(f64),
    /// A number in single precision, written with the digits that it has.
    Single(f32),
    /// No value.
    Missing,
}

/// The names of columns, and their fields row by row.
pub trait TableSource {
    /// The names of the columns.
    fn columns(&self) -> Vec<String>;

    /// Visits the rows, each with a field for every column.
    ///
    /// # Errors
    /// Those of the visitor.
    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()>;
}

/// The table as CSV with a header.
#[must_use]
pub fn csv(table: &dyn TableSource) -> String {
    text_of(|text| write_csv(table, text))
}

/// The table as JSON lines, an object for each row.
#[must_use]
pub fn json_lines(table: &dyn TableSource) -> String {
    text_of(|text| write_json_lines(table, text))
}

/// Writes a table under a temporary name first: JSON lines where the name ends in `.jsonl` or `.ndjson`, Parquet where
/// it ends in `.parquet` (with the feature of that name), otherwise CSV.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io) when the file cannot be written.
pub fn write(path: impl AsRef<Path>, table: &dyn TableSource) -> Result<()> {
    let path = path.as_ref();
    match extension(path).as_str() {
        "jsonl" | "ndjson" => write_atomic(path, |w| write_json_lines(table, w)),
        #[cfg(feature = "parquet")]
        "parquet" => write_atomic(path, |w| super::parquet::write(table, w)),
        _ => write_atomic(path, |w| write_csv(table, w)),
    }
}

fn text_of(fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut text = Vec::new();
    // Memory takes all that is written.
    let written = fill(&mut text);
    debug_assert!(written.is_ok(), "{written:?}");
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn write_csv(table: &dyn TableSource, w: &mut dyn Write) -> io::Result<()> {
    let names: Vec<String> = table.columns().iter().map(|name| quoted(name)).collect();
    writeln!(w, "{}", names.join(","))?;
    table.each_row(&mut |cells| {
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                w.write_all(b",")?;
            }
            match cell {
                Cell::Text(text) => w.write_all(quoted(text).as_bytes())?,
                Cell::Whole(number) => write!(w, "{number}")?,
                Cell::Number(number) => write!(w, "{number}")?,
                Cell::Single(number) => write!(w, "{number}")?,
                Cell::Missing => {}
            }
        }
        w.write_all(b"\n")
    })
}

fn write_json_lines(table: &dyn TableSource, w: &mut dyn Write) -> io::Result<()> {
    let names = table.columns();
    table.each_row(&mut |cells| {
        for (at, (name, cell)) in names.iter().zip(cells).enumerate() {
            w.write_all(if at == 0 { b"{" } else { b"," })?;
            serde_json::to_writer(&mut *w, name)?;
            w.write_all(b":")?;
            match cell {
                Cell::Text(text) => serde_json::to_writer(&mut *w, text)?,
                Cell::Whole(number) => write!(w, "{number}")?,
                Cell::Number(number) => serde_json::to_writer(&mut *w, number)?,
                Cell::Single(number) => serde_json::to_writer(&mut *w, number)?,
                Cell::Missing => w.write_all(b"null")?,
            }
        }
        w.write_all(b"}\n")
    })
}

/// A field as CSV wants it: in quotes where it holds a separator, a quote or a line break.
pub(crate) fn quoted(field: &str) -> String {
    if field.contains([',', ';', '\t', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Two;

    impl TableSource for Two {
        fn columns(&self) -> Vec<String> {
            vec!["id".into(), "a,b".into(), "n".into(), "s".into()]
        }

        fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
            visit(&[Cell::Text("x\"y"), Cell::Number(0.5), Cell::Whole(3), Cell::Single(0.1)])?;
            visit(&[Cell::Text("z"), Cell::Number(f64::NAN), Cell::Missing, Cell::Missing])
        }
    }

    #[test]
    fn tables_are_written_as_csv_and_json_lines() {
        assert_eq!(csv(&Two), "id,\"a,b\",n,s\n\"x\"\"y\",0.5,3,0.1\nz,NaN,,\n");
        let expected =
            "{\"id\":\"x\\\"y\",\"a,b\":0.5,\"n\":3,\"s\":0.1}\n{\"id\":\"z\",\"a,b\":null,\"n\":null,\"s\":null}\n";
        assert_eq!(json_lines(&Two), expected);
        let folder = tempfile::tempdir().unwrap();
        for (name, expected) in [("a.jsonl", json_lines(&Two)), ("a.csv", csv(&Two)), ("a", csv(&Two))] {
            let path = folder.path().join(name);
            write(&path, &Two).unwrap();
            assert_eq!(std::fs::read_to_string(path).unwrap(), expected, "{name}");
        }
    }
}

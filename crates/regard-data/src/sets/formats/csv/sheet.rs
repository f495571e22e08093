//! The rows of a table, one after the other.

use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord, Trim};

use super::super::gathered::feature;
use super::columns::Column;
use crate::table::{broken, delimiter, line_of, split_comments};
use crate::{Error, Result};

/// A table as text. Its rows are read anew each time, so that memory holds only what is kept.
pub(crate) struct Sheet<'t> {
    pub(crate) path: &'t Path,
    table: &'t str,
    /// Lines above the table.
    above: usize,
    delimiter: u8,
}

impl<'t> Sheet<'t> {
    pub(crate) fn of(text: &'t str, path: &'t Path, separator: Option<u8>) -> Self {
        let (_, above, table) = split_comments(text);
        Self { path, table, above, delimiter: separator.unwrap_or_else(|| delimiter(table)) }
    }

    fn reader(&self) -> Reader<&[u8]> {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(self.delimiter).flexible(true).has_headers(false).trim(Trim::All);
        builder.from_reader(self.table.as_bytes())
    }

    /// The first row that has any value, with its line.
    pub(crate) fn first(&self) -> Result<Option<(usize, StringRecord)>> {
        let mut found = None;
        self.visit(|row| {
            found = Some((row.line, row.record.clone()));
            Ok(false)
        })?;
        Ok(found)
    }

    /// Visits all rows that have any value, or all but the first of them.
    pub(crate) fn each(&self, below_header: bool, mut visit: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
        let mut skip = below_header;
        self.visit(|row| {
            if !std::mem::take(&mut skip) {
                visit(row)?;
            }
            Ok(true)
        })
    }

    /// Visits rows until one is answered with `false`.
    fn visit(&self, mut visit: impl FnMut(Row<'_>) -> Result<bool>) -> Result<()> {
        let mut reader = self.reader();
        let mut record = StringRecord::new();
        while broken(reader.read_record(&mut record), self.path)? {
            if record.iter().all(str::is_empty) {
                continue;
            }
            let line = self.above + line_of(&record, self.table);
            if !visit(Row { path: self.path, line, record: &record })? {
                break;
            }
        }
        Ok(())
    }
}

/// Whether fields are label, bag and features rather than names: numbers from the third on, and not
/// the numbers of columns, which some programs write as a header.
pub(crate) fn is_data(fields: &StringRecord) -> bool {
    let numbers: Vec<Option<f64>> = fields.iter().map(|field| field.parse().ok()).collect();
    let [label, bag, features @ ..] = &numbers[..] else {
        return false;
    };
    let counted = |from: usize, fields: &[Option<f64>]| (from..).zip(fields).all(|(at, v)| *v == Some(at as f64));
    let header = match (label, bag) {
        (Some(_), Some(_)) => counted(0, &numbers),
        _ => counted(0, features) || counted(1, features),
    };
    !features.is_empty() && features.iter().all(Option::is_some) && !header
}

/// One row with its place in the file.
pub(crate) struct Row<'r> {
    path: &'r Path,
    pub(crate) line: usize,
    record: &'r StringRecord,
}

impl Row<'_> {
    /// Refuses a row that is longer or shorter than the first one.
    pub(crate) fn has_fields(&self, expected: usize, whose: &str) -> Result<()> {
        let found = self.record.len();
        if found == expected {
            return Ok(());
        }
        let error = Error::parse(self.path, self.line, format!("has {found} fields, {whose} {expected}"));
        Err(error.with_hint("put text that contains the separator in double quotes"))
    }

    /// A field as text.
    pub(crate) fn get(&self, column: &Column) -> &str {
        self.record.get(column.at).unwrap_or("")
    }

    /// A field as text, which may not be empty.
    pub(crate) fn filled(&self, column: &Column, what: &str) -> Result<&str> {
        match self.get(column) {
            "" => Err(self.error(&column.name, format!("is empty, expected {what}"))),
            text => Ok(text),
        }
    }

    /// A feature in the column of that name.
    pub(crate) fn feature(&self, at: usize, name: &str) -> Result<f32> {
        feature(self.record.get(at).unwrap_or("")).map_err(|(reason, hint)| {
            let error = self.error(name, reason);
            match hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        })
    }

    /// A feature in a column that has no name, which errors count from 1.
    pub(crate) fn feature_in_column(&self, at: usize) -> Result<f32> {
        match feature(self.record.get(at).unwrap_or("")) {
            Ok(value) => Ok(value),
            Err(_) => self.feature(at, &format!("column {}", at + 1)),
        }
    }

    /// All fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.record.iter()
    }

    pub(crate) fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason).in_field(field)
    }
}

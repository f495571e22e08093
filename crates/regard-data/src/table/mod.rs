//! Tables: rows of fields below a header, as text (CSV or TSV, compressed by gzip or not) or in Parquet files.
//!
//! `Rows` reads a table row by row, `Header` finds its columns by name, `values` understands its fields, and `Table` is
//! a table in memory that can be read several times. Routes, sets, graphs and series are read through them, and all
//! predictions are written by [`mod@write`]. [`stream`] reads a table that is larger than memory part by part, [`indexed`] any
//! examples of one.
//!
//! Fields are separated by commas, semicolons or tabs, whichever the header has most of, unless the caller or a first
//! line such as `sep=;` names the separator. Text in double quotes may hold separators and line breaks. Text is UTF-8,
//! UTF-16 with a byte order mark, or else Windows-1252. Numbers have a decimal point or, where the table tells it, a
//! decimal comma ([`numbers`]), and marks between thousands; what `1,234` is read as is said where it may be both. Lines
//! above the header that begin with `#` are comments; so is a title, which is said.

mod features;
mod header;
pub mod indexed;
pub(crate) mod json_lines;
pub mod numbers;
#[cfg(feature = "parquet")]
mod parquet;
mod precision;
mod rows;
pub mod stream;
pub(crate) mod values;
pub mod write;

use std::path::Path;

pub(crate) use self::features::{Feature, FeatureOptions, Features, MOST_CATEGORIES, part_of_column, unseen};
pub(crate) use self::header::{Column, Footer, Header};
use self::numbers::Decimal;
pub(crate) use self::precision::{Precision, Spread};
pub use self::rows::EmptyRows;
pub(crate) use self::rows::{AS_CSV, Beginning, Row, Rows, Text};
use crate::Result;

/// A whole table as text, with the lines its rows stand on.
#[derive(Debug, Clone)]
pub struct Cells {
    /// Lines starting with `#` above the header, without the sign, and those of a title, with their numbers.
    pub comments: Vec<(usize, String)>,
    /// A sentence about a title above the header.
    pub title: Option<String>,
    /// The line of the header.
    pub top: usize,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows with any value in them, with their lines.
    pub rows: Vec<(usize, Vec<String>)>,
    /// Rows without any value.
    pub empty: EmptyRows,
    /// The separator of the fields.
    pub separator: u8,
}

impl Cells {
    /// Cuts a text into comments, header and rows; `path` names it in errors.
    ///
    /// # Errors
    /// [`Error::Parse`](crate::Error::Parse) where the text is no table.
    pub fn of(text: &str, path: &Path) -> Result<Self> {
        Self::of_rows(Rows::of_text(text, path, None)?)
    }

    /// As [`Self::of`], with a separator that is known.
    ///
    /// # Errors
    /// As there.
    pub fn with_separator(text: &str, path: &Path, separator: u8) -> Result<Self> {
        Self::of_rows(Rows::of_text(text, path, Some(separator))?)
    }

    fn of_rows(mut rows: Rows<'_>) -> Result<Self> {
        let (comments, title) = (rows.comments().to_vec(), rows.note().map(str::to_owned));
        let (top, header) = match Header::read(&mut rows)? {
            Some(header) => (header.line, header.names),
            None => (rows.next_line(), Vec::new()),
        };
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push((row.line, row.fields().map(str::to_owned).collect()));
        }
        Ok(Self { comments, title, top, header, rows: all, empty: rows.empty().clone(), separator: rows.separator() })
    }
}

/// A table in memory. Its rows are parsed anew on each pass, so that memory holds only what is kept of them.
pub(crate) struct Table<'t> {
    text: &'t str,
    pub(crate) path: &'t Path,
    delimiter: Option<u8>,
    pub(crate) header: Header<'t>,
    /// The decimal mark of the numbers: that which is given, and the likely one where they may be read in both ways.
    decimal: [Option<Decimal>; 2],
    /// The decimal mark as given, else the one that the numbers show.
    pub(crate) shown: Option<Decimal>,
    /// A sentence about a title above the header, and about the decimal mark where numbers have a comma.
    pub(crate) marks: Option<String>,
    /// Rows of a longer table above these.
    pub(crate) rows_before: usize,
}

impl<'t> Table<'t> {
    /// Reads the header, whose names have to be distinct. `expected` says what an empty table should hold.
    pub(crate) fn of(
        text: &'t str,
        path: &'t Path,
        (delimiter, decimal): (Option<u8>, [Option<Decimal>; 2]),
        expected: &str,
    ) -> Result<Self> {
        let [given, likely] = decimal;
        let mut rows = Rows::of_text(text, path, delimiter)?.with_marks(given, likely)?;
        let (marks, rows_before, shown) = (rows.note().map(str::to_owned), rows.rows_before(), rows.decimal());
        let header = Header::of(&mut rows, expected)?;
        header.check_distinct()?;
        Ok(Self { text, path, delimiter, decimal, header, shown, marks, rows_before })
    }

    /// Visits the rows below the header, each of which has as many fields.
    pub(crate) fn each_row(&self, mut visit: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
        let [given, likely] = self.decimal;
        let mut rows = Rows::of_text(self.text, self.path, self.delimiter)?.with_marks(given, likely)?;
        rows.next()?;
        while let Some(row) = rows.next()? {
            row.check_fields(self.header.len(), "the header has")?;
            visit(row)?;
        }
        Ok(())
    }
}

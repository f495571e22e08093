//! The rows of a CSV text with their lines, and the comments above its header.

use std::collections::HashMap;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::super::{shown, stem};
use super::columns::{Columns, Row};
use crate::routes::tsp::Tsp;
use crate::table::{broken, delimiter, line_of, split_comments};
use crate::{Error, Result};

/// A text cut into comments, header and rows.
pub(super) struct Sheet<'t> {
    pub(super) path: &'t Path,
    /// Lines starting with `#` above the header, without the sign, with their numbers.
    pub(super) comments: Vec<(usize, &'t str)>,
    /// The line of the header.
    pub(super) top: usize,
    pub(super) header: StringRecord,
    /// Rows with any value in them, with their lines.
    rows: Vec<(usize, StringRecord)>,
}

impl<'t> Sheet<'t> {
    /// Cuts a text; `path` names it in errors.
    pub(super) fn of(text: &'t str, path: &'t Path) -> Result<Self> {
        let (comments, skipped, table) = split_comments(text);
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter(table))
            .flexible(true)
            .trim(Trim::All)
            .from_reader(table.as_bytes());
        let header = broken(reader.headers(), path)?.clone();
        let mut rows = Vec::new();
        for record in reader.into_records() {
            let record = broken(record.as_ref(), path)?;
            if !record.iter().all(str::is_empty) {
                rows.push((skipped + line_of(record, table), record.clone()));
            }
        }
        Ok(Self { path, comments, top: skipped + 1, header, rows })
    }

    /// The rows, ready to be read.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, record)| Row { path: self.path, line: *line, record })
    }

    /// Ids and coordinates of all rows as an instance, with this comment.
    pub(super) fn sites(&self, comment: &str) -> Result<Tsp> {
        let columns = Columns::of(&self.header, self.path, self.top)?;
        let (mut ids, mut points, mut lines) = (Vec::new(), Vec::new(), HashMap::new());
        for row in self.rows() {
            let id = columns.id(&row, ids.len() + 1)?;
            if let Some(first) = lines.insert(id.clone(), row.line) {
                let reason = format!("`{}` occurs a second time, first on line {first}", shown(&id));
                return Err(row.error(columns.id_name(), reason));
            }
            ids.push(id);
            points.push(columns.point(&row)?);
        }
        if ids.is_empty() {
            return Err(Error::parse(self.path, 0, "has no rows below its header, expected at least one node"));
        }
        Ok(Tsp::new(stem(self.path), columns.metric(), points)?.with_ids(ids)?.with_comment(comment))
    }
}

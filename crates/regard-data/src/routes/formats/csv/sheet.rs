//! The rows of a CSV text with their lines, and the comments above its header.

use std::collections::HashMap;
use std::path::Path;

use super::super::{shown, stem};
use super::columns::{Columns, Row};
use crate::routes::tsp::Tsp;
use crate::table::{Header, Rows};
use crate::{Error, Result};

/// A text cut into comments, header and rows.
pub(super) struct Sheet<'t> {
    pub(super) path: &'t Path,
    /// Lines starting with `#` above the header, without the sign, with their numbers.
    pub(super) comments: Vec<(usize, String)>,
    /// The line of the header.
    pub(super) top: usize,
    /// Names of the columns in lower case.
    pub(super) header: Vec<String>,
    /// Rows with any value in them, with their lines.
    rows: Vec<(usize, Vec<String>)>,
}

impl<'t> Sheet<'t> {
    /// Cuts a text; `path` names it in errors.
    pub(super) fn of(text: &'t str, path: &'t Path) -> Result<Self> {
        let mut rows = Rows::of_text(text, path, None)?;
        let comments = rows.comments().to_vec();
        let (top, header) = match Header::read(&mut rows)? {
            Some(header) => (header.line, header.names.iter().map(|name| name.to_lowercase()).collect()),
            None => (rows.next_line(), Vec::new()),
        };
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push((row.line, row.fields().map(str::to_owned).collect()));
        }
        Ok(Self { path, comments, top, header, rows: all })
    }

    /// The rows, ready to be read.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, fields)| Row { path: self.path, line: *line, fields })
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

//! `NODE_COORD_SECTION` and `DISPLAY_DATA_SECTION`: `id x y` or `id x y z` on each line.

use std::collections::HashMap;

use super::super::{number, shown};
use super::layout::{Layout, Section};
use crate::{Error, Result};

/// One row of a coordinate section.
pub(super) struct Node {
    /// The id as written.
    pub(super) id: String,
    /// The id as a number.
    pub(super) number: i64,
    /// Coordinates, 0 where the row has fewer than three.
    pub(super) point: [f64; 3],
}

/// Reads `nodes` rows with at least `wanted` and at most `given` coordinates each.
pub(super) fn read(
    layout: &Layout<'_>,
    section: &Section<'_>,
    nodes: usize,
    wanted: usize,
    given: usize,
) -> Result<Vec<Node>> {
    let reader = Reader { layout, section, wanted, given };
    let mut found = Vec::with_capacity(nodes.min(section.rows.len()));
    let mut lines = HashMap::with_capacity(nodes.min(section.rows.len()));
    for &(line, row) in &section.rows {
        if found.len() == nodes {
            return Err(reader.error(line, format!("more rows than DIMENSION, which is {nodes}")));
        }
        let node = reader.node(line, row)?;
        if let Some(first) = lines.insert(node.number, line) {
            let reason = format!("node {} occurs a second time, first on line {first}", node.id);
            return Err(layout.error(line, reason));
        }
        found.push(node);
    }
    if found.len() < nodes {
        let last = section.rows.last().map_or(section.line, |(line, _)| *line);
        let reason = format!("ends after {} nodes, DIMENSION is {nodes}", found.len());
        return Err(reader.error(last, reason));
    }
    Ok(found)
}

struct Reader<'r, 'a> {
    layout: &'r Layout<'a>,
    section: &'r Section<'a>,
    wanted: usize,
    given: usize,
}

impl Reader<'_, '_> {
    fn node(&self, line: usize, row: &str) -> Result<Node> {
        let mut words = row.split_whitespace();
        let id = words.next().unwrap_or("");
        let Ok(parsed) = id.parse::<i64>() else {
            let reason = format!("found `{}`, expected a whole number as node id", shown(id));
            return Err(self.layout.error(line, reason).with_hint(self.wants()));
        };
        let mut point = [0.0; 3];
        let mut count = 0;
        for word in words {
            let value = number(word).ok_or_else(|| self.not_a_number(line, id, count, word))?;
            if let Some(slot) = point.get_mut(count) {
                *slot = value;
            }
            count += 1;
        }
        if count < self.wanted || count > self.given {
            let (plural, wanted) = (if count == 1 { "" } else { "s" }, self.wanted);
            let reason = format!("node {id} has {count} coordinate{plural}, expected {wanted}");
            return Err(self.layout.error(line, reason).with_hint(self.wants()));
        }
        Ok(Node { id: id.to_owned(), number: parsed, point })
    }

    fn not_a_number(&self, line: usize, id: &str, at: usize, word: &str) -> Error {
        let reason = format!("node {id}: found `{}`, expected a number", shown(word));
        let error = self.layout.error(line, reason).with_hint(self.wants());
        match ["x", "y", "z"].get(at) {
            Some(name) => error.in_field(*name),
            None => error,
        }
    }

    fn wants(&self) -> String {
        let row = if self.wanted == 3 { "id x y z" } else { "id x y" };
        format!("{} wants `{row}` on each line", self.section.keyword)
    }

    fn error(&self, line: usize, reason: String) -> Error {
        self.layout.error(line, reason).in_field(&self.section.keyword)
    }
}

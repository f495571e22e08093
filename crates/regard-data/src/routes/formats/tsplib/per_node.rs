//! Sections with one number for each node: `DEMAND_SECTION`, `NODE_SCORE_SECTION`.

use std::collections::HashMap;

use super::super::{number, shown};
use super::layout::{Layout, Section};
use crate::{Error, Result};

/// One number with the line on which it stands.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) line: usize,
    pub(crate) value: f64,
}

/// Reads `id amount` of every node, in any order; the amounts are in the order of `ids`, which are
/// whole numbers. `what` names an amount in errors.
pub(crate) fn read(layout: &Layout<'_>, section: &Section<'_>, ids: &[String], what: &str) -> Result<Vec<Amount>> {
    let reader = Reader { layout, section, what };
    let index: HashMap<i64, usize> = ids.iter().enumerate().filter_map(|(i, id)| Some((id.parse().ok()?, i))).collect();
    let mut found: Vec<Option<Amount>> = vec![None; ids.len()];
    for &(line, row) in &section.rows {
        let (id, amount) = reader.row(line, row)?;
        let node = id.parse().ok().and_then(|id: i64| index.get(&id));
        let Some(slot) = node.and_then(|&node| found.get_mut(node)) else {
            let reason = format!("found node `{}`, expected one of the {} nodes", shown(id), ids.len());
            return Err(reader.error(line, reason));
        };
        if let Some(first) = slot {
            let reason = format!("node {id} occurs a second time, first on line {}", first.line);
            return Err(reader.error(line, reason));
        }
        *slot = Some(amount);
    }
    let given = found.iter().flatten().count();
    if let Some(missing) = found.iter().position(Option::is_none) {
        let last = section.rows.last().map_or(section.line, |(line, _)| *line);
        let reason = format!("ends without node {} ({given} of {} nodes given)", ids[missing], ids.len());
        return Err(reader.error(last, reason));
    }
    Ok(found.into_iter().flatten().collect())
}

struct Reader<'r, 'a> {
    layout: &'r Layout<'a>,
    section: &'r Section<'a>,
    what: &'r str,
}

impl Reader<'_, '_> {
    fn row<'w>(&self, line: usize, row: &'w str) -> Result<(&'w str, Amount)> {
        let mut words = row.split_whitespace();
        let (Some(id), Some(amount), None) = (words.next(), words.next(), words.next()) else {
            let reason = format!("found `{}`, expected `id {}`", shown(row), self.what);
            return Err(self.error(line, reason));
        };
        let Some(value) = number(amount) else {
            let reason = format!("node {}: found `{}`, expected a number", shown(id), shown(amount));
            return Err(self.error(line, reason));
        };
        if value < 0.0 {
            let reason = format!("node {}: found {value}, expected a {} of 0 or more", shown(id), self.what);
            return Err(self.error(line, reason));
        }
        Ok((id, Amount { line, value }))
    }

    fn error(&self, line: usize, reason: String) -> Error {
        self.layout.error(line, reason).in_field(&self.section.keyword)
    }
}

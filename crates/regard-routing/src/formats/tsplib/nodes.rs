//! Sections with a row for each node: coordinates, one number (`DEMAND_SECTION`, `NODE_SCORE_SECTION`), the depot.

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
pub(super) fn coordinates(
    layout: &Layout<'_>,
    section: &Section<'_>,
    nodes: usize,
    wanted: usize,
    given: usize,
) -> Result<Vec<Node>> {
    let reader = CoordinateReader { layout, section, wanted, given };
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

struct CoordinateReader<'r, 'a> {
    layout: &'r Layout<'a>,
    section: &'r Section<'a>,
    wanted: usize,
    given: usize,
}

impl CoordinateReader<'_, '_> {
    fn node(&self, line: usize, row: &str) -> Result<Node> {
        let mut words = row.split_whitespace();
        let id = words.next().unwrap_or("");
        let Ok(parsed) = id.parse::<i64>() else {
            let reason = format!("found `{}`, expected an integer as node id", shown(id));
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
        format!("{} requires `{row}` on each line", self.section.keyword)
    }

    fn error(&self, line: usize, reason: String) -> Error {
        self.layout.error(line, reason).in_field(&self.section.keyword)
    }
}

/// The section that names the depot: its id, ended by -1.
pub(crate) const DEPOT_SECTION: &str = "DEPOT_SECTION";

/// The index of the only depot among the nodes of these ids, which are integers.
pub(super) fn depot(layout: &Layout<'_>, ids: &[String], problem: &str) -> Result<usize> {
    let section = layout.required(DEPOT_SECTION, problem)?;
    let mut words = section.rows.iter().flat_map(|&(line, row)| row.split_whitespace().map(move |word| (line, word)));
    let named: Vec<(usize, &str)> = words.by_ref().take_while(|(_, word)| *word != "-1").collect();
    if let Some((line, word)) = words.next() {
        let reason = format!("found `{}` after the end of the section (-1)", shown(word));
        return Err(layout.error(line, reason).in_field(DEPOT_SECTION));
    }
    let (line, word) = match named[..] {
        [only] => only,
        [] => {
            let error = layout.error(section.line, "names no depot, expected one").in_field(DEPOT_SECTION);
            return Err(error.with_hint("write the id of the depot, then -1"));
        }
        [(_, first), (line, second), ref rest @ ..] => {
            let more = if rest.is_empty() { "" } else { ", ..." };
            let reason =
                format!("names {} depots ({}, {}{more}), expected one", named.len(), shown(first), shown(second));
            let error = layout.error(line, reason).in_field(DEPOT_SECTION);
            return Err(error.with_hint("several depots are not supported"));
        }
    };
    let number = word.parse::<i64>().ok();
    match ids.iter().position(|id| number.is_some() && id.parse().ok() == number) {
        Some(depot) => Ok(depot),
        None => {
            let reason = format!("found `{}`, expected the id of one of the {} nodes", shown(word), ids.len());
            Err(layout.error(line, reason).in_field(DEPOT_SECTION))
        }
    }
}

/// One number with the line on which it stands.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) line: usize,
    pub(crate) value: f64,
}

/// Reads `id` and `N` numbers of every node, in any order, with their lines; they are in the order of `ids`, which are
/// integers. `what` names the numbers in errors.
pub(super) fn rows<const N: usize>(
    layout: &Layout<'_>,
    section: &Section<'_>,
    ids: &[String],
    what: [&str; N],
) -> Result<Vec<(usize, [f64; N])>> {
    let reader = RowReader { layout, section, what };
    let index: HashMap<i64, usize> = ids.iter().enumerate().filter_map(|(i, id)| Some((id.parse().ok()?, i))).collect();
    let mut found: Vec<Option<(usize, [f64; N])>> = vec![None; ids.len()];
    for &(line, row) in &section.rows {
        let (id, numbers) = reader.row(line, row)?;
        let node = id.parse().ok().and_then(|id: i64| index.get(&id));
        let Some(slot) = node.and_then(|&node| found.get_mut(node)) else {
            let reason = format!("found node `{}`, expected one of the {} nodes", shown(id), ids.len());
            return Err(reader.error(line, reason));
        };
        if let Some((first, _)) = slot {
            let reason = format!("node {id} occurs a second time, first on line {first}");
            return Err(reader.error(line, reason));
        }
        *slot = Some((line, numbers));
    }
    let given = found.iter().flatten().count();
    if let Some(missing) = found.iter().position(Option::is_none) {
        let last = section.rows.last().map_or(section.line, |(line, _)| *line);
        let reason = format!("ends without node {} ({given} of {} nodes given)", ids[missing], ids.len());
        return Err(reader.error(last, reason));
    }
    Ok(found.into_iter().flatten().collect())
}

struct RowReader<'r, 'a, const N: usize> {
    layout: &'r Layout<'a>,
    section: &'r Section<'a>,
    what: [&'r str; N],
}

impl<const N: usize> RowReader<'_, '_, N> {
    fn row<'w>(&self, line: usize, row: &'w str) -> Result<(&'w str, [f64; N])> {
        let words: Vec<&str> = row.split_whitespace().collect();
        let Some((id, given)) = words.split_first().filter(|(_, given)| given.len() == N) else {
            let reason = format!("found `{}`, expected `id {}`", shown(row), self.what.join(" "));
            return Err(self.error(line, reason));
        };
        let mut numbers = [0.0; N];
        for ((slot, word), what) in numbers.iter_mut().zip(given).zip(self.what) {
            let Some(value) = number(word) else {
                let reason = format!("node {}: found `{}`, expected a number", shown(id), shown(word));
                return Err(self.error(line, reason));
            };
            if value < 0.0 {
                let reason = format!("node {}: found {value}, expected a {what} of 0 or more", shown(id));
                return Err(self.error(line, reason));
            }
            *slot = value;
        }
        Ok((id, numbers))
    }

    fn error(&self, line: usize, reason: String) -> Error {
        self.layout.error(line, reason).in_field(&self.section.keyword)
    }
}

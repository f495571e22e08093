//! The columns that name nodes: in a table of nodes, and at both ends of edges.

use crate::Result;
use crate::error::shown;
use crate::graphs::formats::ReadOptions;
use crate::table::{Column, Header};

/// Names of the column with the names of nodes, in any case, the preferred first.
const ID: [&str; 4] = ["id", "node_id", "node", "name"];

/// Names of the columns of both ends of an edge, in any case, the preferred first.
const ENDS: [[&str; 2]; 6] =
    [["source", "target"], ["from", "to"], ["src", "dst"], ["u", "v"], ["head", "tail"], ["von", "nach"]];

/// The column of a name, in this case before any other.
fn find(header: &Header<'_>, name: &str) -> Option<Column> {
    header.find(name).or_else(|| header.find_any(&[name]))
}

/// The columns with a name that have no role of their own.
fn free(header: &Header<'_>, options: &ReadOptions) -> Vec<Column> {
    let others = options.targets.iter().chain(&options.split).map(String::as_str);
    let taken: Vec<Column> = ["graph", "type"].into_iter().chain(others).filter_map(|name| header.find(name)).collect();
    header.named().filter(|column| !taken.contains(column)).collect()
}

/// The column with the names of nodes, and a note where it is not called `id`.
pub(super) fn node_names(header: &Header<'_>, options: &ReadOptions) -> Result<(Column, Option<String>)> {
    if let Some(name) = &options.id {
        return Ok((header.column(name)?, None));
    }
    let free = free(header, options);
    if let Some(column) = ID.iter().find_map(|name| find(header, name).filter(|column| free.contains(column))) {
        let is_usual = column.name.eq_ignore_ascii_case(ID[0]);
        let note = format!("nodes: named by column `{}`", shown(&column.name));
        return Ok((column, (!is_usual).then_some(note)));
    }
    let Some(column) = free.into_iter().next() else {
        return Err(header.error("has no column for the name of a node, expected one such as `id`"));
    };
    let name = shown(&column.name);
    let note = format!("nodes: named by column `{name}`, the first without another role (a column `id` is preferred)");
    Ok((column, Some(note)))
}

/// The columns of both ends of an edge, and a note where they are not called `source` and `target`.
pub(super) fn ends(header: &Header<'_>, options: &ReadOptions) -> Result<([Column; 2], Option<String>)> {
    let said =
        |[source, target]: &[Column; 2]| format!("edges: `{}` to `{}`", shown(&source.name), shown(&target.name));
    let known = |[source, target]: &[&str; 2]| Some([find(header, source)?, find(header, target)?]);
    let usual = known(&ENDS[0]);
    let is_usual = usual.is_some();
    // One usual name makes clear that the other end has a name of the same meaning.
    let mixed = || match [find(header, ENDS[0][0]), find(header, ENDS[0][1])] {
        [Some(source), None] => Some([source, ENDS.iter().find_map(|[_, target]| find(header, target))?]),
        [None, Some(target)] => Some([ENDS.iter().find_map(|[source, _]| find(header, source))?, target]),
        _ => None,
    };
    if let Some(found) = usual.or_else(mixed).or_else(|| ENDS.iter().find_map(known)) {
        let note = (!is_usual).then(|| said(&found));
        return Ok((found, note));
    }
    let mut free = free(header, options);
    let id = options.id.as_deref().and_then(|name| header.find(name)).or_else(|| find(header, ID[0]));
    // Edges may have names of their own, unless two columns are all there is.
    if free.len() > 2 {
        free.retain(|column| Some(column) != id.as_ref());
    }
    let other = |end: &Column| free.iter().find(|column| *column != end).cloned();
    let found = match [find(header, ENDS[0][0]), find(header, ENDS[0][1])] {
        [Some(source), _] => other(&source).map(|target| [source, target]),
        [None, Some(target)] => other(&target).map(|source| [source, target]),
        [None, None] => free.first().cloned().zip(free.get(1).cloned()).map(|(source, target)| [source, target]),
    };
    let Some(found) = found else {
        return Err(header.error("has no columns for both ends of an edge, expected `source` and `target`"));
    };
    let note = format!(
        "{}, the first columns without another role (columns `source` and `target` are preferred)",
        said(&found)
    );
    Ok((found, Some(note)))
}

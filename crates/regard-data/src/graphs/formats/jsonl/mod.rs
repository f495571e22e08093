//! Graphs as JSON lines, one graph a line:
//!
//! ```json
//! {"id": "ann", "split": "train", "x": [0, 2, 0], "e": [[0, 1, 1], [1, 2, 2]], "y": 0.5}
//! {"x": [[0.5, 1], [2, 3]], "edge_index": [[0, 1], [1, 0]], "edge_attr": [[1.5], [1.5]], "y": [1, null]}
//! {"num_nodes": 3, "edge_index": [[0, 1], [1, 2]], "node_y": ["a", "b", "a"]}
//! ```
//!
//! `x` is a type for each node, or a list of numbers for each. `e` lists each edge once, as `[i, j]` or
//! `[i, j, type]`, and goes both ways; `edge_index` (sources, then targets) lists every direction by
//! itself, and `edge_attr` has a type or a list of numbers for each. `y` is what is to be predicted for
//! the graph, a number, a word or a list with an entry (or `null`) for each task; `node_y` for each node.

mod collected;
mod object;
mod seen;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::collected::Lines;
use self::object::Object;
use super::ReadOptions;
use crate::Result;
use crate::graphs::Graphs;

/// Whether a text begins as an object does.
#[must_use]
pub fn looks_like(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Reads graphs from JSON lines; `path` names them in errors. Of the options, `directed` matters, for
/// edges in `e`, and `targets`, which name the tasks of `y`.
///
/// # Errors
/// [`Error::Parse`](crate::Error::Parse) naming line and key, e.g.
/// ``g.jsonl:3: field `e`: edge 2 has the node 9, expected a number below 5``.
///
/// ```
/// use regard_data::graphs::formats::{ReadOptions, jsonl};
///
/// let text = "{\"x\": [0, 1], \"e\": [[0, 1, 1]], \"y\": 2}\n{\"x\": [1], \"e\": [], \"y\": null}\n";
/// let graphs = jsonl::parse(text, "g.jsonl".as_ref(), &ReadOptions::default())?;
/// assert_eq!((graphs.len(), graphs.edges(), graphs.targets().map(|y| y.missing())), (2, 2, Some(1)));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path, options: &ReadOptions) -> Result<Graphs> {
    let mut all = Lines::new(path, options);
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        all.graph(&Object::of(line, path, at + 1)?)?;
    }
    all.finish()
}

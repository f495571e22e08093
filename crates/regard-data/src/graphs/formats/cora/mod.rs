//! Citation graphs as two text files: nodes `id label split features...` and edges `id id`.
//!
//! Papers are counted by their ids, the numbers from 0 in any order; the features are the numbers of the
//! words a paper has. They are made dense, which is refused where it would take far more memory than the
//! text.

use std::path::Path;

use super::edges::EdgeList;
use super::lines::Line;
use super::smiles_csv::part_of;
use crate::graphs::data_set::{GraphsBuilder, Origin};
use crate::graphs::features::Kinds;
use crate::graphs::{Graph, Graphs, Level, Parts, Targets};
use crate::names::FeatureNames;
use crate::{Error, Result};

/// Dense values that are always taken (64 MiB).
const VALUES_ALWAYS: usize = 1 << 24;
/// Dense values for each byte of text.
const VALUES_PER_BYTE: usize = 64;

/// If true, the first line is a header of such nodes, or a node.
#[must_use]
pub fn looks_like(text: &str) -> bool {
    let first = text.lines().next().unwrap_or("");
    first.starts_with("# id label split") || {
        let words: Vec<&str> = first.split_whitespace().collect();
        words.len() >= 3 && words[0].parse::<u32>().is_ok() && matches!(words[2], "train" | "val" | "test" | "none")
    }
}

/// Reads one graph; paths name the texts in errors. Edges go both ways, repeated ones are taken once.
/// Targets and parts are those of the nodes.
///
/// # Errors
/// [`Error::Parse`] naming file, line and field, e.g. ``cora_edges.txt:3: field `target`: found `9999`,
/// expected the id of a node``.
///
/// ```
/// use regard_data::graphs::formats::cora;
///
/// let nodes = "# id label split feature_indices...\n0 3 train 1 4\n1 2 none 0\n";
/// let graphs = cora::parse(nodes, "cora_nodes.txt".as_ref(), "0 1\n", "cora_edges.txt".as_ref())?;
/// assert_eq!((graphs.nodes(), graphs.edges(), graphs.node_features().width()), (2, 2, 5));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(nodes: &str, nodes_path: &Path, edges: &str, edges_path: &Path) -> Result<Graphs> {
    let papers = papers(nodes, nodes_path)?;
    let width = papers.iter().flat_map(|paper| &paper.words).map(|word| *word as usize + 1).max().unwrap_or(0);
    let allowed = nodes.len().saturating_mul(VALUES_PER_BYTE).saturating_add(VALUES_ALWAYS);
    if width.checked_mul(papers.len()).is_none_or(|values| values > allowed) {
        let reason = format!("would be {} nodes of {width} features when made dense, which is too much", papers.len());
        return Err(
            Error::parse(nodes_path, 0, reason).with_hint("number the features that occur from 0 on, without gaps")
        );
    }
    let mut graph = Graph::new("1", papers.len());
    graph.node_dense = vec![0.0; papers.len() * width];
    for (node, paper) in papers.iter().enumerate() {
        paper.words.iter().for_each(|word| graph.node_dense[node * width + *word as usize] = 1.0);
    }
    let mut listed = EdgeList::new(false);
    for mut line in Line::all(edges, edges_path) {
        let mut end = |what: &str| {
            let id: u32 = line.number(what, "the id of a node")?;
            let known = (id as usize) < papers.len();
            known.then_some(id).ok_or_else(|| line.error(what, format!("found `{id}`, expected the id of a node")))
        };
        let ends = [end("source")?, end("target")?];
        line.end()?;
        listed.add(&mut graph, ends, 0, &[]).map_err(|reason| line.error("", format!("the edge {reason}")))?;
    }
    let origin = Origin { path: nodes_path.to_path_buf(), node: "node", merged: listed.merged, ..Origin::default() };
    let kinds = Kinds::columns(FeatureNames::Count(width));
    let mut all = GraphsBuilder::default();
    all.push(graph, &kinds, &Kinds::default()).map_err(|reason| Error::parse(nodes_path, 0, reason))?;
    let of = papers.iter().map(|paper| paper.part).collect();
    let labels = papers.into_iter().map(|paper| Some(paper.label)).collect();
    let graphs = all.finish(kinds, Kinds::default(), origin)?;
    let graphs = graphs.with_targets(Targets::of_texts(Level::Node, vec!["label".into()], labels))?;
    graphs.with_parts(Parts { level: Level::Node, of })
}

/// A line of the nodes' file.
struct Paper {
    label: String,
    part: crate::graphs::Part,
    words: Vec<u32>,
}

fn papers(text: &str, path: &Path) -> Result<Vec<Paper>> {
    let mut papers: Vec<(u32, usize, Paper)> = Vec::new();
    for mut line in Line::all(text, path) {
        let id = line.number("id", "a number")?;
        let label = line.word("label")?.to_owned();
        let part = part_of(path, line.number, "split", line.word("split")?)?;
        let mut words = Vec::new();
        while let Some(word) = line.next() {
            let word = word.parse().ok().filter(|word| *word < u32::MAX).ok_or_else(|| {
                line.error(
                    "feature",
                    format!("found `{}`, expected the number of a feature", crate::error::shown(word)),
                )
            })?;
            words.push(word);
        }
        papers.push((id, line.number, Paper { label, part, words }));
    }
    if papers.is_empty() {
        return Err(Error::parse(path, 0, "has no nodes, expected at least one"));
    }
    papers.sort_by_key(|(id, ..)| *id);
    for (at, (id, line, _)) in papers.iter().enumerate() {
        if *id as usize != at {
            let reason = match at > 0 && papers[at - 1].0 == *id {
                true => format!("`{id}` occurs a second time"),
                false => format!("is `{id}`, and there is no node {at}"),
            };
            return Err(Error::parse(path, *line, reason).in_field("id"));
        }
    }
    Ok(papers.into_iter().map(|(.., paper)| paper).collect())
}

#[cfg(test)]
mod tests;

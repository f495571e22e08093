//! Graph kernels' data sets as one text file (the layout of `pytorch_DGCNN`), with its lists of folds.
//!
//! The first line is the number of graphs. A graph is a line `nodes label` and a line for each node: its
//! tag, how many neighbours it has, their numbers from 0, and any numbers that describe it.

use std::path::Path;

use super::ReadOptions;
use super::edges::EdgeList;
use super::lines::Line;
use crate::error::shown;
use crate::graphs::data_set::{GraphsBuilder, Origin};
use crate::graphs::features::{Kinds, Vocabulary};
use crate::graphs::{Graph, Graphs, Level, Targets};
use crate::names::FeatureNames;
use crate::table::values;
use crate::{Error, Result};

/// If true, a text begins as such a file does: a number alone, then two.
#[must_use]
pub fn looks_like(text: &str) -> bool {
    let mut lines =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|line| !line.is_empty());
    let whole = |words: &[&str]| words.iter().all(|word| word.parse::<i64>().is_ok());
    let (first, second) = (lines.next(), lines.next());
    first.is_some_and(|line| line.len() == 1 && whole(&line))
        && second.is_some_and(|line| line.len() == 2 && whole(&line))
}

/// Reads graphs from such text; `path` names it in errors. Edges go both ways, those listed at both ends
/// are taken once. Node types are the tags in rising order; the target is the label.
///
/// # Errors
/// [`Error::Parse`] naming line and field, e.g. ``MUTAG.txt:7: field `neighbour`: found `9`, expected a
/// number below 8``.
///
/// ```
/// use regard_data::graphs::formats::{ReadOptions, tu};
///
/// let text = "1\n3 -1\n5 1 1\n2 2 0 2\n5 1 1\n";
/// let graphs = tu::parse(text, "tu.txt".as_ref(), &ReadOptions::default())?;
/// assert_eq!((graphs.edges(), graphs.node_features().types()), (4, Some(&[1, 0, 1][..])));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path, options: &ReadOptions) -> Result<Graphs> {
    let mut lines = Line::all(text, path);
    let Some(mut first) = lines.next() else {
        return Err(Error::parse(path, 0, "is empty, expected the number of graphs"));
    };
    let count: usize = first.number("graphs", "the number of graphs")?;
    first.end()?;
    let mut read = Reading {
        all: GraphsBuilder::default(),
        tags: Vocabulary::default(),
        listed: EdgeList::new(options.directed),
        width: None,
        origin: Origin { path: path.to_path_buf(), node: "node", ..Origin::default() },
        labels: Vec::new(),
    };
    while read.labels.len() < count {
        let Some(head) = lines.next() else {
            let reason = format!("has {} graphs, expected {count} as the first line says", read.labels.len());
            return Err(Error::parse(path, 0, reason));
        };
        read.graph(head, &mut lines)?;
    }
    if let Some(line) = lines.next() {
        return Err(line.error("", format!("stands below the last of {count} graphs")));
    }
    read.finish()
}

/// The state of a reader in the middle of a file.
struct Reading {
    all: GraphsBuilder,
    tags: Vocabulary,
    listed: EdgeList,
    /// The number of numbers of a node, and the line that decides it.
    width: Option<(usize, usize)>,
    origin: Origin,
    labels: Vec<Option<String>>,
}

impl Reading {
    fn graph<'t>(&mut self, mut head: Line<'t>, lines: &mut impl Iterator<Item = Line<'t>>) -> Result<()> {
        let nodes: u32 = head.number("nodes", "the number of nodes")?;
        let label = head.word("label")?.to_owned();
        head.end()?;
        let mut graph = Graph::new((self.labels.len() + 1).to_string(), nodes as usize);
        self.listed.next_graph();
        for node in 0..nodes {
            let Some(line) = lines.next() else {
                let reason = format!("ends after {node} of the {nodes} nodes of this graph");
                return Err(head.error("", reason));
            };
            self.node(line, node, nodes, &mut graph)?;
        }
        self.origin.lines.push(head.number);
        self.labels.push(Some(label));
        let columns = FeatureNames::Count(self.width.map_or(0, |(width, _)| width));
        self.all.node_types.extend_from_slice(&graph.node_types);
        self.all
            .push(graph, &Kinds::columns(columns), &Kinds::default())
            .map_err(|reason| Error::parse(&self.origin.path, head.number, reason))
    }

    fn node(&mut self, mut line: Line<'_>, node: u32, nodes: u32, graph: &mut Graph) -> Result<()> {
        let tag = line.number::<i64>("tag", "the tag of a node, an integer")?;
        let code = self.tags.code(&tag.to_string()).ok_or_else(|| line.error("tag", "is one tag too many"))?;
        graph.node_types.push(code);
        let neighbours: u32 = line.number("neighbours", "how many neighbours there are")?;
        for _ in 0..neighbours {
            let other: u32 = line.number("neighbour", &format!("a number below {nodes}"))?;
            if other >= nodes {
                return Err(line.error("neighbour", format!("found `{other}`, expected a number below {nodes}")));
            }
            // Those are the nodes that this one takes from.
            self.listed.add(graph, [other, node], 0, &[]).map_err(|reason| line.error("neighbour", reason))?;
        }
        let start = graph.node_dense.len();
        while let Some(word) = line.next() {
            graph.node_dense.push(values::number(word).map_err(|fault| line.error("attribute", fault.reason()))?);
        }
        let found = graph.node_dense.len() - start;
        let (width, above) = *self.width.get_or_insert((found, line.number));
        if found == width {
            return Ok(());
        }
        Err(line.error("attribute", format!("are {found}, expected {width} as on line {above}")))
    }

    fn finish(mut self) -> Result<Graphs> {
        if self.labels.is_empty() {
            return Err(Error::parse(&self.origin.path, 1, "says that there are no graphs, expected at least one"));
        }
        let types = self.tags.into_sorted(&mut self.all.node_types);
        let columns = FeatureNames::Count(self.width.map_or(0, |(width, _)| width));
        let graphs = self.all.finish(Kinds { types, columns }, Kinds::default(), self.origin)?;
        graphs.with_targets(Targets::of_texts(Level::Graph, vec!["label".into()], self.labels))
    }
}

/// Training and test graphs of one fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// As listed.
    pub training: Vec<usize>,
    /// As listed.
    pub test: Vec<usize>,
}

/// Reads the folds of a folder, `train_idx-1.txt` and `test_idx-1.txt` and so on: graphs counted from 0,
/// one a line. `count` is the number of graphs.
///
/// # Errors
/// [`Error::Io`] when there is no first fold, [`Error::Parse`] naming the line for what is no graph or
/// comes twice, and when a graph is in training and test of a fold.
pub fn read_folds(folder: impl AsRef<Path>, count: usize) -> Result<Vec<Fold>> {
    let folder = folder.as_ref();
    let mut folds = Vec::new();
    loop {
        let [train, test] = ["train", "test"].map(|part| folder.join(format!("{part}_idx-{}.txt", folds.len() + 1)));
        if !folds.is_empty() && !crate::file::exists(&train) && !crate::file::exists(&test) {
            return Ok(folds);
        }
        let (training, tested) = (read_list(&train, count)?, read_list(&test, count)?);
        if let Some(graph) = tested.iter().find(|graph| training.contains(graph)) {
            return Err(Error::parse(&test, 0, format!("has graph {graph}, which is in the training set of its fold")));
        }
        folds.push(Fold { training, test: tested });
    }
}

/// Reads lists of graphs counted from 0, one list a line, separated by commas: the `.index` files of
/// benchmarking-gnns.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, [`Error::Parse`] naming the line for what is no graph or
/// comes twice in a list.
pub fn read_index(path: impl AsRef<Path>, count: usize) -> Result<Vec<Vec<usize>>> {
    let path = path.as_ref();
    let text = crate::file::read_text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| graphs_of(line.split(',').map(|word| (at + 1, word)), path, count)).collect()
}

fn read_list(path: &Path, count: usize) -> Result<Vec<usize>> {
    let text = crate::file::read_text(path)?;
    let words = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    graphs_of(words.map(|(at, line)| (at + 1, line)), path, count)
}

fn graphs_of<'t>(words: impl Iterator<Item = (usize, &'t str)>, path: &Path, count: usize) -> Result<Vec<usize>> {
    let mut seen = std::collections::HashSet::new();
    words
        .map(|(line, word)| match word.trim().parse::<usize>() {
            Ok(graph) if graph >= count => {
                Err(Error::parse(path, line, format!("found graph {graph}, expected a number below {count}")))
            }
            Ok(graph) if !seen.insert(graph) => Err(Error::parse(path, line, format!("has graph {graph} twice"))),
            Ok(graph) => Ok(graph),
            Err(_) => {
                Err(Error::parse(path, line, format!("found `{}`, expected the number of a graph", shown(word.trim()))))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;

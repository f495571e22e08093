//! Graph kernels' data sets as the collection publishes them: a folder with `DS_A.txt` (edges),
//! `DS_graph_indicator.txt` (the graph of each node) and more.
//!
//! Nodes and graphs are counted from 1. Read where they are there: `DS_graph_labels.txt` or
//! `DS_graph_attributes.txt` (targets), `DS_node_labels.txt` and `DS_edge_labels.txt` (types),
//! `DS_node_attributes.txt` and `DS_edge_attributes.txt` (numbers). Edges are taken as they are listed,
//! each direction by itself.

use std::path::{Path, PathBuf};

use crate::error::shown;
use crate::graphs::data_set::{GraphsBuilder, Origin};
use crate::graphs::features::{Kinds, Vocabulary};
use crate::graphs::{Graph, Graphs, Level, Targets};
use crate::names::FeatureNames;
use crate::table::values;
use crate::{Error, Result};

/// Reads the data set of a folder, whose name is what stands before `_A.txt`.
///
/// # Errors
/// [`Error::Io`] when a file cannot be read, [`Error::Parse`] naming file and line, e.g.
/// `MUTAG_A.txt:3: found node 99, expected a number from 1 to 50`.
pub fn read(folder: impl AsRef<Path>) -> Result<Graphs> {
    let set = Set::of(folder.as_ref())?;
    let indicator = set.file("graph_indicator", true)?.unwrap_or_default();
    let (graphs, places) = graphs_of(&indicator)?;
    let count = places.len();
    let node_types = set.file("node_labels", false)?.map(|file| file.types(count)).transpose()?;
    let node_numbers = set.file("node_attributes", false)?.map(|file| file.numbers(count)).transpose()?;
    let edges = set.file("A", true)?.unwrap_or_default();
    let pairs = edges.pairs(&places)?;
    let edge_types = set.file("edge_labels", false)?.map(|file| file.types(pairs.len())).transpose()?;
    let edge_numbers = set.file("edge_attributes", false)?.map(|file| file.numbers(pairs.len())).transpose()?;
    let targets = set.targets(graphs.len())?;
    let nodes = Attributes::of(node_types, node_numbers);
    let carried = Attributes::of(edge_types, edge_numbers);
    let mut graphs = graphs;
    for (node, (graph, _)) in places.iter().enumerate() {
        let graph = &mut graphs[*graph];
        nodes.give(node, &mut graph.node_types, &mut graph.node_dense);
    }
    for (edge, [source, target]) in pairs.into_iter().enumerate() {
        let graph = &mut graphs[places[source].0];
        graph.edges.push([places[source].1, places[target].1]);
        carried.give(edge, &mut graph.edge_types, &mut graph.edge_dense);
    }
    let mut all = GraphsBuilder::default();
    for graph in graphs {
        all.push(graph, &nodes.kinds, &carried.kinds).map_err(|reason| Error::parse(&edges.path, 0, reason))?;
    }
    let origin = Origin { path: folder.as_ref().to_path_buf(), node: "node", ..Origin::default() };
    let graphs = all.finish(nodes.kinds, carried.kinds, origin)?;
    match targets {
        Some(targets) => graphs.with_targets(targets),
        None => Ok(graphs),
    }
}

/// The files of the data set of a folder, by name; none where it has no data set.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(set) = Set::of(folder) else { return vec![] };
    let begin = format!("{}_", set.name);
    let is_part = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(&begin) && name.ends_with(".txt"))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = entries.filter(is_part).collect();
    files.sort();
    files
}

/// The files of a data set.
struct Set {
    folder: PathBuf,
    name: String,
}

impl Set {
    fn of(folder: &Path) -> Result<Self> {
        let entries = std::fs::read_dir(folder).map_err(|source| Error::io(folder, source))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut sets: Vec<String> = names.filter_map(|name| Some(name.strip_suffix("_A.txt")?.to_owned())).collect();
        sets.sort();
        match sets.len() {
            1 => Ok(Self { folder: folder.to_path_buf(), name: sets.remove(0) }),
            0 => Err(Error::parse(folder, 0, "has no file that ends in `_A.txt`, expected the edges of a data set")),
            _ => Err(Error::parse(folder, 0, format!("has the edges of several data sets: {}", sets.join(", ")))),
        }
    }

    fn file(&self, part: &str, needed: bool) -> Result<Option<File>> {
        let path = self.folder.join(format!("{}_{part}.txt", self.name));
        if !needed && !crate::file::exists(&path) {
            return Ok(None);
        }
        let text = crate::file::read_text(&path)?;
        Ok(Some(File { path, text }))
    }

    fn targets(&self, graphs: usize) -> Result<Option<Targets>> {
        if let Some(file) = self.file("graph_labels", false)? {
            let rows = file.rows(graphs)?;
            let texts = rows.into_iter().map(|(_, text)| Some(text.to_owned())).collect();
            return Ok(Some(Targets::of_texts(Level::Graph, vec!["label".into()], texts)));
        }
        let Some(file) = self.file("graph_attributes", false)? else {
            return Ok(None);
        };
        let (width, values) = file.numbers(graphs)?;
        let tasks = match width {
            1 => vec!["attribute".to_owned()],
            _ => (1..=width).map(|task| format!("attribute{task}")).collect(),
        };
        Targets::numbers(Level::Graph, tasks, values.into_iter().map(|value| Some(f64::from(value))).collect())
            .map(Some)
    }
}

/// A file of a data set.
#[derive(Default)]
struct File {
    path: PathBuf,
    text: String,
}

impl File {
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .map(str::trim)
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
            .map(|(at, line)| (at + 1, line))
    }

    /// As many lines as there are things they belong to.
    fn rows(&self, count: usize) -> Result<Vec<(usize, &str)>> {
        let rows: Vec<_> = self.lines().collect();
        if rows.len() == count {
            return Ok(rows);
        }
        Err(Error::parse(&self.path, 0, format!("has {} lines, expected {count}", rows.len())))
    }

    /// Types, and their names; of several columns the first counts.
    fn types(&self, count: usize) -> Result<(Vec<u32>, Vec<String>)> {
        let mut all = Vocabulary::default();
        let code = |(line, text): (usize, &str)| {
            let name = text.split(',').next().unwrap_or("").trim();
            all.code(name).ok_or_else(|| Error::parse(&self.path, line, "is one type too many"))
        };
        let mut types: Vec<u32> = self.rows(count)?.into_iter().map(code).collect::<Result<_>>()?;
        let names = all.into_sorted(&mut types);
        Ok((types, names))
    }

    /// The number of numbers on a line, and the numbers of all lines.
    fn numbers(&self, count: usize) -> Result<(usize, Vec<f32>)> {
        let (mut width, mut values) = (None, Vec::new());
        for (line, text) in self.rows(count)? {
            let start = values.len();
            for word in text.split(',') {
                let value = values::number(word.trim());
                values.push(value.map_err(|fault| Error::parse(&self.path, line, fault.reason()))?);
            }
            let found = values.len() - start;
            if found != *width.get_or_insert(found) {
                let reason = format!("has {found} numbers, expected {}", width.unwrap_or(0));
                return Err(Error::parse(&self.path, line, reason));
            }
        }
        Ok((width.unwrap_or(0), values))
    }

    /// The ends of each edge, nodes counted from 0.
    fn pairs(&self, places: &[(usize, u32)]) -> Result<Vec<[usize; 2]>> {
        let node = |line: usize, word: &str| match word.trim().parse::<usize>() {
            Ok(node) if (1..=places.len()).contains(&node) => Ok(node - 1),
            Ok(node) => {
                let reason = format!("found node {node}, expected a number from 1 to {}", places.len());
                Err(Error::parse(&self.path, line, reason))
            }
            Err(_) => Err(Error::parse(&self.path, line, format!("found `{}`, expected a node", shown(word.trim())))),
        };
        let pair = |(line, text): (usize, &str)| {
            let Some((source, target)) = text.split_once(',') else {
                return Err(Error::parse(
                    &self.path,
                    line,
                    format!("found `{}`, expected `source, target`", shown(text)),
                ));
            };
            let [source, target] = [node(line, source)?, node(line, target)?];
            if places[source].0 != places[target].0 {
                return Err(Error::parse(&self.path, line, "joins nodes of two graphs"));
            }
            Ok([source, target])
        };
        self.lines().map(pair).collect()
    }
}

/// The graph of each node, and its number there.
type Places = Vec<(usize, u32)>;

/// Empty graphs, and the graph and the number in it of each node.
fn graphs_of(file: &File) -> Result<(Vec<Graph>, Places)> {
    let (mut graphs, mut places): (Vec<Graph>, Places) = (Vec::new(), Vec::new());
    for (line, text) in file.lines() {
        let found = text.parse::<usize>().ok().filter(|graph| (graphs.len().max(1)..=graphs.len() + 1).contains(graph));
        let Some(graph) = found else {
            let reason =
                format!("found `{}`, expected graph {} or {}", shown(text), graphs.len().max(1), graphs.len() + 1);
            return Err(Error::parse(&file.path, line, reason));
        };
        if graph > graphs.len() {
            graphs.push(Graph::new(graph.to_string(), 0));
        }
        let of = &mut graphs[graph - 1];
        places.push((graph - 1, of.nodes as u32));
        of.nodes += 1;
    }
    match graphs.is_empty() {
        true => Err(Error::parse(&file.path, 0, "has no nodes, expected at least one")),
        false => Ok((graphs, places)),
    }
}

/// The features of all nodes, or of all edges.
struct Attributes {
    kinds: Kinds,
    types: Vec<u32>,
    numbers: Vec<f32>,
}

impl Attributes {
    fn of(types: Option<(Vec<u32>, Vec<String>)>, numbers: Option<(usize, Vec<f32>)>) -> Self {
        let (types, names) = types.unwrap_or_default();
        let (width, numbers) = numbers.unwrap_or_default();
        Self { kinds: Kinds { types: names, columns: FeatureNames::Count(width) }, types, numbers }
    }

    fn give(&self, at: usize, types: &mut Vec<u32>, dense: &mut Vec<f32>) {
        types.extend(self.types.get(at));
        let width = self.kinds.columns.len();
        dense.extend_from_slice(&self.numbers[at * width..(at + 1) * width]);
    }
}

#[cfg(test)]
mod tests;

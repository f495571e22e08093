//! Data sets of graphs, in compressed rows.

mod access;
mod select;

use std::path::PathBuf;

pub use self::access::Census;
use super::features::{Features, Kinds, check_kinds};
use super::graph::Graph;
use super::targets::{Level, Parts, Targets};
use crate::error::shown;
use crate::names::FeatureNames;
use crate::ranges::ColumnRanges;
use crate::table::numbers::Decimal;
use crate::{Error, Result};

/// Graphs of any size, with directed edges in compressed rows by target.
///
/// Nodes of all graphs stand one after the other; those of graph `g` are
/// `node_offsets[g]..node_offsets[g + 1]`. Node `v` (of all nodes) receives the edges
/// `in_offsets[v]..in_offsets[v + 1]`, in rising order of their sources and, where several edges join
/// the same nodes, in the order they were given in. Sources are numbered within their graph.
///
/// Graphs that are not simple or not undirected are kept as they are: an isolated node receives no edge, a self
/// loop is one edge from a node to itself, several edges between the same nodes are several edges.
/// [`Graphs::census`] counts them. Numbers are finite, or NaN where a table of nodes or edges lacks them.
#[derive(Debug, Clone, PartialEq)]
pub struct Graphs {
    ids: Vec<String>,
    node_offsets: Vec<usize>,
    in_offsets: Vec<usize>,
    sources: Vec<u32>,
    node_features: Features,
    edge_features: Features,
    node_ids: Option<Vec<String>>,
    targets: Option<Targets>,
    parts: Option<Parts>,
    origin: Origin,
}

/// Where graphs were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The file; empty for graphs that were made.
    pub(super) path: PathBuf,
    /// The line of each graph; empty where they have none.
    pub(super) lines: Vec<usize>,
    /// The word for a node in errors.
    pub(super) node: &'static str,
    /// Repeated edges of undirected files that were taken once.
    pub(super) merged: usize,
    /// Rows that were left out because they are wrong.
    pub(super) skipped: Vec<Skipped>,
    /// Nodes whose type was rare in training or not there, which have the one type for those.
    pub(super) taken_as_rare: usize,
    /// Columns of tables that were left out or have missing values, a sentence each.
    pub(super) notes: Vec<String>,
    /// The decimal mark of the table: as given, else the one that its numbers show.
    pub(super) decimal: Option<Decimal>,
}

/// A row that was left out because it is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its line.
    pub line: usize,
    /// The error, with its field.
    pub reason: String,
}

impl Graphs {
    /// Graphs whose nodes and edges carry what `nodes` and `edges` say.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the graph and what does not fit: arrays that are too long or too short,
    /// an edge to a node that is not there, a type without a name, a number that is not finite.
    pub fn new(nodes: Kinds, edges: Kinds, graphs: Vec<Graph>) -> Result<Self> {
        let mut all = GraphsBuilder::default();
        for (at, graph) in graphs.into_iter().enumerate() {
            let place = format!("graph {}", at + 1);
            all.push(graph, &nodes, &edges).map_err(|reason| Error::invalid(place, reason))?;
        }
        all.finish(nodes, edges, Origin::default())
    }

    /// The same graphs with what is to be predicted.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many answers as graphs, or nodes.
    pub fn with_targets(mut self, targets: Targets) -> Result<Self> {
        same_count("targets", targets.rows(), self.places_of(targets.level()))?;
        self.targets = Some(targets);
        Ok(self)
    }

    /// The same graphs with their split.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many parts as graphs, or nodes.
    pub fn with_parts(mut self, parts: Parts) -> Result<Self> {
        same_count("parts", parts.of.len(), self.places_of(parts.level))?;
        self.parts = Some(parts);
        Ok(self)
    }

    /// The same graphs with names of the nodes, `[nodes]`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many names as nodes.
    pub fn with_node_ids(mut self, ids: Vec<String>) -> Result<Self> {
        same_count("names of nodes", ids.len(), self.nodes())?;
        self.node_ids = Some(ids);
        Ok(self)
    }

    /// The same graphs with types and columns in the order of training. A type that was not there in
    /// training becomes the type `other` of training where one is given.
    ///
    /// # Errors
    /// [`Error::Parse`] with file, line and node for a type that was not there, and
    /// [`Error::Invalid`] for graphs that were not read from a file; also when columns differ.
    pub fn align(mut self, nodes: &Kinds, edges: &Kinds, other: Option<&str>) -> Result<Self> {
        for (features, kinds, what) in [(&self.node_features, nodes, "nodes"), (&self.edge_features, edges, "edges")] {
            same_columns(&features.kinds.columns, &kinds.columns, what)?;
        }
        self.origin.taken_as_rare = self.unseen_nodes(&nodes.types).count();
        if let Err(unseen) = self.node_features.align(&nodes.types, other) {
            let place = unseen.at.map(|node| {
                let graph = self.graph_of(node);
                (graph, format!("{} {}", self.node_word(), node - self.node_offsets[graph] + 1))
            });
            return Err(self.unseen(place, &unseen.name, "nodes"));
        }
        if let Err(unseen) = self.edge_features.align(&edges.types, other) {
            let place = unseen.at.map(|edge| {
                let target = self.in_offsets.partition_point(|start| *start <= edge) - 1;
                let graph = self.graph_of(target);
                let within = target - self.node_offsets[graph] + 1;
                let source = self.sources[edge] as usize + 1;
                (graph, format!("the edge from {} {source} to {within}", self.node_word()))
            });
            return Err(self.unseen(place, &unseen.name, "edges"));
        }
        Ok(self)
    }

    /// The mean of each number of the nodes and of the edges of some graphs, where it is known; 0 where it never is.
    #[must_use]
    pub fn means(&self, graphs: &[usize]) -> [Vec<f64>; 2] {
        let mean = |features: &Features, rows: &[usize]| {
            let width = features.width();
            let of_column = |column: usize| {
                let known = rows.iter().map(|row| features.dense[row * width + column]).filter(|value| !value.is_nan());
                let (sum, count) = known.fold((0.0, 0usize), |(sum, count), value| (sum + f64::from(value), count + 1));
                sum / count.max(1) as f64
            };
            (0..width).map(of_column).collect()
        };
        let [nodes, edges] = self.rows_of(graphs);
        [mean(&self.node_features, &nodes), mean(&self.edge_features, &edges)]
    }

    /// The nodes of some graphs, and the edges that end in them.
    fn rows_of(&self, graphs: &[usize]) -> [Vec<usize>; 2] {
        let nodes: Vec<usize> = graphs.iter().flat_map(|&graph| self.nodes_of(graph)).collect();
        let edges = nodes.iter().flat_map(|&node| self.in_offsets[node]..self.in_offsets[node + 1]).collect();
        [nodes, edges]
    }

    /// The ranges of the numbers of the nodes and of the edges of some graphs.
    #[must_use]
    pub fn ranges(&self, graphs: &[usize]) -> [ColumnRanges; 2] {
        let of = |features: &Features, rows: &[usize]| {
            let width = features.width();
            ColumnRanges::of(width, |column| rows.iter().map(move |row| features.dense[row * width + column]))
        };
        let [nodes, edges] = self.rows_of(graphs);
        [of(&self.node_features, &nodes), of(&self.edge_features, &edges)]
    }

    /// The same graphs with notes on numbers of nodes and of edges that lie far outside these ranges of training.
    #[must_use]
    pub fn with_notes_on_ranges(mut self, [nodes, edges]: [&ColumnRanges; 2]) -> Self {
        for (word, features, ranges) in [("nodes", &self.node_features, nodes), ("edges", &self.edge_features, edges)] {
            let of_column = |column: usize| features.dense.iter().skip(column).step_by(ranges.len()).copied();
            let notes = ranges.notes("training", &features.kinds().columns, of_column);
            self.origin.notes.extend(notes.into_iter().map(|note| format!("{word}: {note}")));
        }
        self
    }

    /// The same graphs with these numbers, one for each column of nodes and of edges, where values are missing.
    #[must_use]
    pub fn filled(mut self, [nodes, edges]: [&[f64]; 2]) -> Self {
        for (features, means) in [(&mut self.node_features, nodes), (&mut self.edge_features, edges)] {
            let width = means.len().max(1);
            for (at, value) in features.dense.iter_mut().enumerate().filter(|(_, value)| value.is_nan()) {
                *value = means.get(at % width).map_or(0.0, |mean| *mean as f32);
            }
        }
        self
    }

    /// If true, a number of a node or an edge is missing.
    #[must_use]
    pub fn has_missing(&self) -> bool {
        [&self.node_features, &self.edge_features].iter().any(|features| features.dense.iter().any(|x| x.is_nan()))
    }

    fn unseen(&self, place: Option<(usize, String)>, name: &str, what: &str) -> Error {
        let Some((graph, place)) = place else {
            return Error::invalid(what, "have types either here or in the training data, but not in both");
        };
        let reason = unseen_type(&place, name);
        let hint = "skip it with `--skip-bad` (`data.skip_bad`), or train with `data.min_type_count`, so that rare types share one type";
        match self.origin.lines.get(graph) {
            Some(line) => Error::parse(&self.origin.path, *line, reason).with_hint(hint),
            None => Error::invalid(format!("graph `{}`", shown(&self.ids[graph])), reason),
        }
    }

    /// Nodes whose type is none of these, where nodes have types.
    fn unseen_nodes(&self, known: &[String]) -> impl Iterator<Item = usize> {
        let names = self.node_features.type_names();
        // Most often the types are those of training.
        let same = names == known;
        let strange: Vec<bool> = names.iter().map(|name| !same && !known.contains(name)).collect();
        let types = self.node_features.types().unwrap_or_default();
        types.iter().enumerate().filter(move |(_, kind)| strange[**kind as usize]).map(|(node, _)| node)
    }

    fn node_word(&self) -> &'static str {
        if self.origin.node.is_empty() { "node" } else { self.origin.node }
    }

    fn places_of(&self, level: Level) -> usize {
        match level {
            Level::Graph => self.len(),
            Level::Node => self.nodes(),
        }
    }
}

fn unseen_type(place: &str, name: &str) -> String {
    format!("{place} has the type `{}`, which is not in the training data", shown(name))
}

fn same_count(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::invalid(what, format!("are {found}, expected {expected}")))
}

fn same_columns(found: &FeatureNames, training: &FeatureNames, what: &str) -> Result<()> {
    let named = |names: &FeatureNames| match names {
        FeatureNames::Named(names) => names.join(", "),
        FeatureNames::Count(count) => format!("{count} without names"),
    };
    let same = match (found, training) {
        (FeatureNames::Named(found), FeatureNames::Named(training)) => found == training,
        _ => found.len() == training.len(),
    };
    if same {
        return Ok(());
    }
    let reason = format!("have the numbers {}, expected {} as in training", named(found), named(training));
    Err(Error::invalid(what, reason))
}

/// The first thing that does not fit in a graph.
fn check_graph(graph: &Graph, nodes: &Kinds, edges: &Kinds, may_miss: bool) -> Result<(), String> {
    if graph.nodes > u32::MAX as usize || graph.edges.len() > u32::MAX as usize {
        return Err("has more nodes or edges than 32 bits count".into());
    }
    for (at, [source, target]) in graph.edges.iter().enumerate() {
        let highest = (*source).max(*target) as usize;
        if highest >= graph.nodes {
            return Err(format!("edge {} has the node {highest}, expected numbers below {}", at + 1, graph.nodes));
        }
    }
    check_values("nodes", graph.nodes, &graph.node_types, nodes)?;
    check_values("edges", graph.edges.len(), &graph.edge_types, edges)?;
    check_numbers("nodes", graph.nodes, &graph.node_dense, nodes, may_miss)?;
    check_numbers("edges", graph.edges.len(), &graph.edge_dense, edges, may_miss)
}

fn check_values(what: &str, count: usize, types: &[u32], kinds: &Kinds) -> Result<(), String> {
    let wanted = if kinds.types.is_empty() { 0 } else { count };
    if !kinds.types.is_empty() && types.len() != wanted {
        return Err(format!("has {} types of {what}, expected {wanted}", types.len()));
    }
    if let Some(kind) = types.iter().take(wanted).find(|kind| **kind as usize >= kinds.types.len()) {
        return Err(format!("has {what} of type {kind}, expected numbers below {}", kinds.types.len()));
    }
    Ok(())
}

fn check_numbers(what: &str, count: usize, dense: &[f32], kinds: &Kinds, may_miss: bool) -> Result<(), String> {
    if Some(dense.len()) != count.checked_mul(kinds.columns.len()) {
        return Err(format!("has {} numbers for {count} {what} of {} each", dense.len(), kinds.columns.len()));
    }
    match dense.iter().find(|value| !(value.is_finite() || may_miss && value.is_nan())) {
        Some(value) => Err(format!("has the number {value} among those of {what}, expected finite ones")),
        None => Ok(()),
    }
}

/// All graphs so far.
#[derive(Debug)]
pub(in crate::graphs) struct GraphsBuilder {
    pub(in crate::graphs) ids: Vec<String>,
    node_offsets: Vec<usize>,
    in_offsets: Vec<usize>,
    sources: Vec<u32>,
    pub(in crate::graphs) node_types: Vec<u32>,
    node_dense: Vec<f32>,
    pub(in crate::graphs) edge_types: Vec<u32>,
    edge_dense: Vec<f32>,
    /// If true, numbers may be NaN.
    may_miss: bool,
}

impl Default for GraphsBuilder {
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            node_offsets: vec![0],
            in_offsets: vec![0],
            sources: Vec::new(),
            node_types: Vec::new(),
            node_dense: Vec::new(),
            edge_types: Vec::new(),
            edge_dense: Vec::new(),
            may_miss: false,
        }
    }
}

impl GraphsBuilder {
    /// A builder of graphs whose numbers are NaN where they are missing.
    pub(in crate::graphs) fn with_missing() -> Self {
        Self { may_miss: true, ..Self::default() }
    }

    /// Takes a graph whose values must fit `nodes` and `edges`.
    pub(in crate::graphs) fn push(&mut self, graph: Graph, nodes: &Kinds, edges: &Kinds) -> Result<(), String> {
        check_graph(&graph, nodes, edges, self.may_miss)?;
        let width = edges.columns.len();
        let mut order: Vec<u32> = (0..graph.edges.len() as u32).collect();
        // Stable: edges between the same nodes stay in the order they have.
        order.sort_by_key(|edge| {
            let [source, target] = graph.edges[*edge as usize];
            (target, source)
        });
        let start = self.in_offsets.len();
        self.in_offsets.resize(start + graph.nodes, 0);
        graph.edges.iter().for_each(|[_, target]| self.in_offsets[start + *target as usize] += 1);
        for node in start..self.in_offsets.len() {
            self.in_offsets[node] += self.in_offsets[node - 1];
        }
        for edge in order.iter().map(|edge| *edge as usize) {
            self.sources.push(graph.edges[edge][0]);
            if !edges.types.is_empty() {
                self.edge_types.push(graph.edge_types[edge]);
            }
            self.edge_dense.extend_from_slice(&graph.edge_dense[edge * width..(edge + 1) * width]);
        }
        if !nodes.types.is_empty() {
            self.node_types.extend_from_slice(&graph.node_types);
        }
        self.node_dense.extend_from_slice(&graph.node_dense);
        self.node_offsets.push(self.in_offsets.len() - 1);
        self.ids.push(graph.id);
        Ok(())
    }

    pub(in crate::graphs) fn len(&self) -> usize {
        self.ids.len()
    }

    /// If some nodes or edges lack features that others have, their name.
    pub(in crate::graphs) fn uneven(&self, nodes: &Kinds, edges: &Kinds) -> Option<&'static str> {
        let fits = |kinds: &Kinds, types: usize, dense: usize, count: usize| {
            types == if kinds.types.is_empty() { 0 } else { count } && dense == count * kinds.columns.len()
        };
        let all_nodes = fits(nodes, self.node_types.len(), self.node_dense.len(), self.in_offsets.len() - 1);
        let all_edges = fits(edges, self.edge_types.len(), self.edge_dense.len(), self.sources.len());
        match (all_nodes, all_edges) {
            (false, _) => Some("nodes"),
            (_, false) => Some("edges"),
            _ => None,
        }
    }

    /// The data set; types are called by the names of `nodes` and `edges`.
    pub(in crate::graphs) fn finish(self, nodes: Kinds, edges: Kinds, origin: Origin) -> Result<Graphs> {
        check_kinds(&nodes, "nodes")?;
        check_kinds(&edges, "edges")?;
        if let Some(what) = self.uneven(&nodes, &edges) {
            return Err(crate::Error::invalid(what, "have features in some graphs that are missing in others"));
        }
        Ok(Graphs {
            ids: self.ids,
            node_offsets: self.node_offsets,
            in_offsets: self.in_offsets,
            sources: self.sources,
            node_features: Features { kinds: nodes, types: self.node_types, dense: self.node_dense },
            edge_features: Features { kinds: edges, types: self.edge_types, dense: self.edge_dense },
            node_ids: None,
            targets: None,
            parts: None,
            origin,
        })
    }
}

#[cfg(test)]
mod tests;

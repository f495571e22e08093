//! The description of a file of graphs.

use std::collections::BTreeMap;
use std::path::Path;

use regard::data::graphs::{Features, Graphs, Level, Values};
use regard::data::names::FeatureNames;
use serde::Serialize;

use super::{Align, Table, number};

/// Rows of a list that are printed.
const MOST: usize = 12;

/// The result of `regard data show` for graphs.
#[derive(Debug, Serialize)]
pub(crate) struct GraphSummary {
    file: String,
    kind: &'static str,
    graphs: usize,
    nodes: usize,
    /// Directed edges: one between two nodes in both directions counts twice.
    directed_edges: usize,
    nodes_of_a_graph: Range,
    edges_of_a_graph: Range,
    /// Edges that end in a node.
    degree: Range,
    isolated_nodes: usize,
    empty_graphs: usize,
    self_loops: usize,
    /// Edges without the reverse one.
    one_way_edges: usize,
    skipped_rows: usize,
    node_features: FeatureSummary,
    edge_features: FeatureSummary,
    targets: Vec<TargetSummary>,
    /// The first graphs, node by node.
    first: Vec<OneGraph>,
}

/// The smallest number, the mean and the largest.
#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Range {
    min: f64,
    mean: f64,
    max: f64,
}

/// Types and numbers of nodes or edges.
#[derive(Debug, Serialize)]
struct FeatureSummary {
    /// Types with their counts, in the order of the file.
    types: Vec<(String, usize)>,
    /// Columns of numbers with their ranges.
    numbers: Vec<(String, Range)>,
}

/// One target.
#[derive(Debug, Serialize)]
struct TargetSummary {
    name: String,
    /// `graph` or `node`.
    level: &'static str,
    missing: usize,
    /// The range, for numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Range>,
    /// Counts of the values, where there are few.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<(String, usize)>,
}

/// A graph, node by node.
#[derive(Debug, Serialize)]
struct OneGraph {
    id: String,
    nodes: Vec<OneNode>,
    edges: Vec<OneEdge>,
}

#[derive(Debug, Serialize)]
struct OneNode {
    name: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    degree: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    numbers: Vec<f32>,
}

#[derive(Debug, Serialize)]
struct OneEdge {
    source: String,
    target: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    numbers: Vec<f32>,
}

impl Range {
    /// The range of the finite numbers; `None` without any.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut range, mut sum, mut count) = (Self { min: f64::INFINITY, mean: 0.0, max: f64::NEG_INFINITY }, 0.0, 0);
        for value in values.filter(|value| value.is_finite()) {
            range.min = range.min.min(value);
            range.max = range.max.max(value);
            sum += value;
            count += 1;
        }
        (count > 0).then(|| Self { mean: sum / f64::from(count), ..range })
    }

    fn text(&self) -> String {
        let short = |value: f64| {
            if value.fract() == 0.0 && value.abs() < 1e9 { format!("{value:.0}") } else { format!("{value:.4}") }
        };
        format!("{} to {}, mean {:.3}", short(self.min), short(self.max), self.mean)
    }
}

impl FeatureSummary {
    fn of(features: &Features) -> Self {
        let mut counts = vec![0; features.type_names().len()];
        features.types().unwrap_or_default().iter().for_each(|&kind| counts[kind as usize] += 1);
        let width = features.width();
        let column = |at: usize| {
            let values = features.dense().iter().skip(at).step_by(width.max(1)).map(|&value| f64::from(value));
            Some((column_name(features, at), Range::of(values)?))
        };
        Self {
            types: features.type_names().iter().cloned().zip(counts).collect(),
            numbers: (0..width).filter_map(column).collect(),
        }
    }
}

fn column_name(features: &Features, at: usize) -> String {
    match &features.kinds().columns {
        FeatureNames::Named(names) => names[at].clone(),
        FeatureNames::Count(_) => (at + 1).to_string(),
    }
}

impl GraphSummary {
    /// The description of graphs, the first of them node by node.
    pub(crate) fn new(file: &Path, graphs: &Graphs, first: usize) -> Self {
        let census = graphs.census();
        let each = |of: fn(&Graphs, usize) -> usize| {
            Range::of((0..graphs.len()).map(|graph| of(graphs, graph) as f64)).unwrap_or_default()
        };
        Self {
            file: file.display().to_string(),
            kind: "graphs",
            graphs: graphs.len(),
            nodes: graphs.nodes(),
            directed_edges: graphs.edges(),
            nodes_of_a_graph: each(|graphs, graph| graphs.nodes_of(graph).len()),
            edges_of_a_graph: each(|graphs, graph| graphs.edges_of(graph).len()),
            degree: Range::of((0..graphs.nodes()).map(|node| graphs.in_degree(node) as f64)).unwrap_or_default(),
            isolated_nodes: census.isolated,
            empty_graphs: census.empty,
            self_loops: census.self_loops,
            one_way_edges: census.one_way,
            skipped_rows: graphs.skipped().len(),
            node_features: FeatureSummary::of(graphs.node_features()),
            edge_features: FeatureSummary::of(graphs.edge_features()),
            targets: targets(graphs),
            first: (0..graphs.len().min(first)).map(|graph| one_graph(graphs, graph)).collect(),
        }
    }

    /// One line, for `regard data check`.
    pub(crate) fn line(&self) -> String {
        let Self { file, graphs, nodes, directed_edges, .. } = self;
        let [graphs, nodes, edges] = [*graphs, *nodes, *directed_edges].map(number::count);
        format!("{file}   {graphs} graphs   {nodes} nodes   {edges} directed edges   ok")
    }

    /// The description as text.
    pub(crate) fn plain(&self) -> String {
        let mut table = Table::new(&[Align::Left, Align::Left]);
        let mut line = |key: &str, value: String| table.row([key.to_owned(), value]);
        line("graphs", number::count(self.graphs));
        line("nodes", format!("{}; {} in a graph", number::count(self.nodes), self.nodes_of_a_graph.text()));
        let edges = number::count(self.directed_edges);
        line("directed edges", format!("{edges}; {} in a graph", self.edges_of_a_graph.text()));
        line("degree", self.degree.text());
        let unusual = [
            (self.isolated_nodes, "nodes without edges"),
            (self.empty_graphs, "graphs without nodes"),
            (self.self_loops, "edges from a node to itself"),
            (self.one_way_edges, "edges without the reverse one"),
            (self.skipped_rows, "rows left out"),
        ];
        for (count, what) in unusual.into_iter().filter(|(count, _)| *count > 0) {
            line(what, number::count(count));
        }
        for (what, features) in [("node", &self.node_features), ("edge", &self.edge_features)] {
            if !features.types.is_empty() {
                line(&format!("{what} types"), counts(&features.types));
            }
            for (name, range) in &features.numbers {
                line(&format!("{what} number {name}"), range.text());
            }
        }
        if self.targets.is_empty() {
            line("targets", "none; for a table --targets names their columns".to_owned());
        }
        for target in &self.targets {
            line(&format!("target {}", target.name), target.text());
        }
        let mut text = format!("{}\n{}", self.file, table.render(2, 2));
        self.first.iter().for_each(|graph| text += &graph.plain(&self.node_features, &self.edge_features));
        text
    }
}

/// `C 12, O 3`, the most frequent first.
fn counts(all: &[(String, usize)]) -> String {
    let mut sorted: Vec<&(String, usize)> = all.iter().filter(|(_, count)| *count > 0).collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = sorted.iter().take(MOST).map(|(name, count)| format!("{name} {}", number::count(*count)));
    let more = sorted.len().saturating_sub(MOST);
    let rest = (more > 0).then(|| format!("and {more} more"));
    shown.chain(rest).collect::<Vec<_>>().join(", ")
}

fn targets(graphs: &Graphs) -> Vec<TargetSummary> {
    let Some(targets) = graphs.targets() else { return vec![] };
    let tasks = targets.tasks().len();
    let level = if targets.level() == Level::Graph { "graph" } else { "node" };
    let of_task = |(at, name): (usize, &String)| {
        let words: Vec<Option<String>> = match targets.values() {
            Values::Numbers(all) => {
                column(all, at, tasks).map(|value| value.map(|number| number.to_string())).collect()
            }
            Values::Words(all) => column(all, at, tasks).cloned().collect(),
        };
        let range = match targets.values() {
            Values::Numbers(all) => Range::of(column(all, at, tasks).filter_map(|value| *value)),
            Values::Words(_) => None,
        };
        let mut found: BTreeMap<&String, usize> = BTreeMap::new();
        words.iter().flatten().for_each(|word| *found.entry(word).or_default() += 1);
        // Many different numbers are no classes.
        let few = range.is_none() || found.len() <= MOST;
        TargetSummary {
            name: name.clone(),
            level,
            missing: words.iter().filter(|word| word.is_none()).count(),
            range,
            values: if few { found.into_iter().map(|(word, count)| (word.clone(), count)).collect() } else { vec![] },
        }
    };
    targets.tasks().iter().enumerate().map(of_task).collect()
}

fn column<T>(all: &[T], at: usize, tasks: usize) -> impl Iterator<Item = &T> {
    all.iter().skip(at).step_by(tasks.max(1))
}

impl TargetSummary {
    fn text(&self) -> String {
        let range = self.range.filter(|_| self.values.is_empty()).map(|range| range.text());
        let values = (!self.values.is_empty()).then(|| counts(&self.values));
        let missing = (self.missing > 0).then(|| format!("{} missing", number::count(self.missing)));
        let parts: Vec<String> = range.into_iter().chain(values).chain(missing).collect();
        format!("of each {}: {}", self.level, parts.join("; "))
    }
}

fn one_graph(graphs: &Graphs, graph: usize) -> OneGraph {
    let nodes = graphs.nodes_of(graph);
    let kind = |features: &Features, at: usize| {
        features.types().map(|types| features.type_names()[types[at] as usize].clone())
    };
    let numbers = |features: &Features, at: usize| {
        let width = features.width();
        features.dense()[at * width..(at + 1) * width].to_vec()
    };
    let node = |at: usize| OneNode {
        name: graphs.node_name(at),
        kind: kind(graphs.node_features(), at),
        degree: graphs.in_degree(at),
        numbers: numbers(graphs.node_features(), at),
    };
    let edges_into = |target: usize| {
        let start = graphs.in_offsets()[target];
        graphs.sources_of(target).iter().enumerate().map(move |(at, &source)| (source as usize, target, start + at))
    };
    let edge = |(source, target, at): (usize, usize, usize)| OneEdge {
        source: graphs.node_name(graphs.nodes_of(graph).start + source),
        target: graphs.node_name(target),
        kind: kind(graphs.edge_features(), at),
        numbers: numbers(graphs.edge_features(), at),
    };
    OneGraph {
        id: graphs.ids()[graph].clone(),
        nodes: nodes.clone().map(node).collect(),
        edges: nodes.flat_map(edges_into).map(edge).collect(),
    }
}

impl OneGraph {
    fn plain(&self, nodes: &FeatureSummary, edges: &FeatureSummary) -> String {
        let numbers = |values: &[f32]| values.iter().take(MOST).map(f32::to_string).collect::<Vec<_>>();
        let head = |first: &[&str], features: &FeatureSummary, typed: bool| {
            let own = first.iter().map(|name| (*name).to_owned()).chain(typed.then(|| "type".to_owned()));
            own.chain(features.numbers.iter().take(MOST).map(|(name, _)| name.clone())).collect::<Vec<_>>()
        };
        let mut text = format!("\ngraph {}\n", self.id);
        let typed = self.nodes.iter().any(|node| node.kind.is_some());
        let first = head(&["node", "degree"], nodes, typed);
        let mut table = Table::new(&align(&first, 1, typed));
        table.row(first);
        for node in self.nodes.iter().take(MOST) {
            let row = [node.name.clone(), node.degree.to_string()].into_iter().chain(node.kind.clone());
            table.row(row.chain(numbers(&node.numbers)));
        }
        text += &(table.render(2, 2) + &more(self.nodes.len(), "nodes"));
        if self.edges.is_empty() {
            return text + "  no edges\n";
        }
        let typed = self.edges.iter().any(|edge| edge.kind.is_some());
        let first = head(&["edge", "into"], edges, typed);
        let mut table = Table::new(&align(&first, 2, typed));
        table.row(first);
        for edge in self.edges.iter().take(MOST) {
            let row = [edge.source.clone(), edge.target.clone()].into_iter().chain(edge.kind.clone());
            table.row(row.chain(numbers(&edge.numbers)));
        }
        text + &table.render(2, 2) + &more(self.edges.len(), "edges")
    }
}

/// Names to the left, numbers to the right.
fn align(head: &[String], names: usize, typed: bool) -> Vec<Align> {
    let place = |at: usize| if at < names || typed && at == 2 { Align::Left } else { Align::Right };
    (0..head.len()).map(place).collect()
}

fn more(count: usize, what: &str) -> String {
    match count.saturating_sub(MOST) {
        0 => String::new(),
        more => format!("  … {} more {what}; --json has them all\n", number::count(more)),
    }
}

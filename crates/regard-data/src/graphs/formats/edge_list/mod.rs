//! A table of nodes and a table of edges.
//!
//! The nodes' table names each node in `id`, `node_id`, `node` or `name`, else in its first column without another role;
//! `graph` says which graph it belongs to, all to one where there is no such column; `type` is its type. The edges' table
//! has `source` and `target`, or another known pair such as `from` and `to`, else its first two columns without another
//! role; `graph` where names of nodes occur in several graphs, and `type`. A note says which columns were chosen where
//! they are not `id`, `source` and `target`. Every other column is a feature of the nodes, or edges: numbers as they are, NaN where they are missing, with
//! a feature more that says where; text with few different values as one feature for each value.

mod roles;

use std::collections::HashMap;
use std::path::Path;

use super::ReadOptions;
use super::edges::EdgeList;
use super::smiles_csv::part_of;
use crate::error::shown;
use crate::graphs::data_set::{GraphsBuilder, Origin};
use crate::graphs::features::{Kinds, Vocabulary};
use crate::graphs::{Graph, Graphs, Level, Parts, Targets};
use crate::names::FeatureNames;
use crate::table::values::target;
use crate::table::{Column, FeatureOptions, Features, Table};
use crate::{Error, Result};

/// Reads graphs from the texts of both tables; paths name them in errors. Targets are columns of the
/// nodes.
///
/// # Errors
/// [`Error::Parse`] naming file, line and field, e.g. ``edges.csv:3: field `target`: no node `x9` ``.
///
/// ```
/// use regard_data::graphs::formats::{ReadOptions, edge_list};
///
/// let nodes = "id,type,age,left\nann,a,30,0\nbob,b,41,1\n";
/// let edges = "source,target,calls\nann,bob,3\n";
/// let options = ReadOptions { targets: vec!["left".into()], ..Default::default() };
/// let graphs = edge_list::parse(nodes, "nodes.csv".as_ref(), edges, "edges.csv".as_ref(), &options)?;
/// assert_eq!((graphs.nodes(), graphs.edges(), graphs.edge_features().dense()), (2, 2, &[3.0, 3.0][..]));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(nodes: &str, nodes_path: &Path, edges: &str, edges_path: &Path, options: &ReadOptions) -> Result<Graphs> {
    let marks = [options.decimal, options.likely_decimal];
    let table = Table::of(nodes, nodes_path, (options.delimiter, marks), "a header and rows of nodes")?;
    let mut read = Nodes::of(&table, options)?;
    let edge_table = Table::of(edges, edges_path, (options.delimiter, marks), "a header and rows of edges")?;
    let (kinds_of_edges, merged) = read.edges(&edge_table, options)?;
    let kinds = Kinds { types: Vec::new(), columns: read.columns.names() };
    let notes = std::mem::take(&mut read.notes);
    let mut all = GraphsBuilder::with_missing();
    let mut types = Vec::new();
    for graph in std::mem::take(&mut read.graphs) {
        types.extend_from_slice(&graph.node_types);
        let id = graph.id.clone();
        let push = all.push(graph, &kinds, &kinds_of_edges);
        push.map_err(|reason| Error::parse(nodes_path, 0, format!("graph `{}` {reason}", shown(&id))))?;
    }
    let names = std::mem::take(&mut read.types).into_sorted(&mut types);
    all.node_types = if read.columns.kind.is_some() { types } else { Vec::new() };
    let origin = Origin {
        path: nodes_path.to_path_buf(),
        node: "node",
        merged,
        notes,
        decimal: table.shown.or(edge_table.shown),
        ..Origin::default()
    };
    let graphs = all.finish(Kinds { types: names, ..kinds }, kinds_of_edges, origin)?;
    read.finish(graphs)
}

/// The roles of columns.
struct Columns {
    graph: Option<Column>,
    kind: Option<Column>,
    features: Features,
}

impl Columns {
    /// Columns beside those that are `taken`, with the features of `training` where they are known.
    fn of(table: &Table<'_>, taken: &[&Column], training: Option<&[String]>) -> Result<Self> {
        // A target of that name is no input.
        let free = |name: &str| table.header.find(name).filter(|column| !taken.contains(&column));
        let (graph, kind) = (free("graph"), free("type"));
        let own = [graph.as_ref(), kind.as_ref()].into_iter().flatten();
        let taken: Vec<Column> = own.chain(taken.iter().copied()).cloned().collect();
        let settings = FeatureOptions { listed: training, training, may_miss: true, setting: "" };
        Ok(Self { features: Features::of(table, &taken, &settings)?, graph, kind })
    }

    fn names(&self) -> FeatureNames {
        FeatureNames::Named(self.features.names())
    }
}

/// The nodes' table as it has been read.
struct Nodes {
    columns: Columns,
    graphs: Vec<Graph>,
    graph_places: HashMap<String, usize>,
    types: Vocabulary,
    ids: Vec<Vec<String>>,
    /// By name, and by graph where edges say it: graph, node and line.
    places: HashMap<(String, String), (usize, u32, usize)>,
    tasks: Vec<String>,
    texts: Vec<Vec<Option<String>>>,
    parts: Option<Vec<Vec<crate::graphs::Part>>>,
    /// Columns that were chosen, were left out or have missing values.
    notes: Vec<String>,
}

impl Nodes {
    fn of(table: &Table<'_>, options: &ReadOptions) -> Result<Self> {
        let (id, note) = roles::node_names(&table.header, options)?;
        let targets = table.header.all_given(&options.targets, options.targets_optional)?;
        let split = table.header.given(options.split.as_ref(), false)?;
        let taken: Vec<&Column> = std::iter::once(&id).chain(&targets).chain(&split).collect();
        let columns = Columns::of(table, &taken, options.node_features.as_deref())?;
        let mut read = Self {
            notes: note.into_iter().chain(columns.features.notes.iter().map(|note| format!("nodes: {note}"))).collect(),
            columns,
            graphs: Vec::new(),
            graph_places: HashMap::new(),
            types: Vocabulary::default(),
            ids: Vec::new(),
            places: HashMap::new(),
            tasks: targets.iter().map(|column| column.name.clone()).collect(),
            texts: Vec::new(),
            parts: split.as_ref().map(|_| Vec::new()),
        };
        table.each_row(|row| {
            let name = row.filled(&id, "the name of a node")?.to_owned();
            let group = read.columns.graph.as_ref().map_or("", |column| row.get(column)).to_owned();
            let graph = read.graph(&group);
            let node = read.graphs[graph].nodes as u32;
            if let Some((.., line)) = read.places.insert((group, name.clone()), (graph, node, row.line)) {
                let reason = format!("`{}` occurs a second time, first on line {line}", shown(&name));
                return Err(row.error(&id.name, reason));
            }
            read.graphs[graph].nodes += 1;
            read.ids[graph].push(name);
            if let Some(kind) = &read.columns.kind {
                let code = read.types.code(row.filled(kind, "the type of a node")?);
                read.graphs[graph].node_types.push(code.ok_or_else(|| row.error(&kind.name, "is one type too many"))?);
            }
            for feature in &read.columns.features.all {
                read.graphs[graph].node_dense.push(feature.of(&row)?);
            }
            for column in &targets {
                read.texts[graph].push(target(&row.value(column)?));
            }
            if let (Some(parts), Some(split)) = (&mut read.parts, &split) {
                parts.resize(read.graphs.len(), Vec::new());
                parts[graph].push(part_of(table.path, row.line, &split.name, row.get(split))?);
            }
            Ok(())
        })?;
        match read.graphs.is_empty() {
            true => Err(Error::parse(table.path, 0, "has no rows below its header, expected at least one")),
            false => Ok(read),
        }
    }

    fn graph(&mut self, group: &str) -> usize {
        if let Some(graph) = self.graph_places.get(group) {
            return *graph;
        }
        let id = if group.is_empty() { "1" } else { group };
        self.graphs.push(Graph::new(id, 0));
        self.ids.push(Vec::new());
        self.texts.push(Vec::new());
        self.graph_places.insert(group.to_owned(), self.graphs.len() - 1);
        self.graphs.len() - 1
    }

    fn edges(&mut self, table: &Table<'_>, options: &ReadOptions) -> Result<(Kinds, usize)> {
        let ([source, to], note) = roles::ends(&table.header, options)?;
        self.notes.extend(note);
        let columns = Columns::of(table, &[&source, &to], options.edge_features.as_deref())?;
        self.notes.extend(columns.features.notes.iter().map(|note| format!("edges: {note}")));
        let by_name = self.by_name(columns.graph.is_some());
        let mut types = Vocabulary::default();
        let mut listed: Vec<EdgeList> = self.graphs.iter().map(|_| EdgeList::new(options.directed)).collect();
        table.each_row(|row| {
            let group = columns.graph.as_ref().map_or("", |column| row.get(column));
            let find = |column: &Column| {
                let name = row.filled(column, "the name of a node")?;
                let known = match &by_name {
                    Some(by_name) => by_name.get(name).copied(),
                    None => self.places.get(&(group.to_owned(), name.to_owned())).map(|place| Some((place.0, place.1))),
                };
                match known {
                    Some(Some(place)) => Ok(place),
                    Some(None) => {
                        let error = row.error(&column.name, format!("`{}` is a node of several graphs", shown(name)));
                        Err(error.with_hint("say which in a column `graph`"))
                    }
                    None => Err(row.error(&column.name, format!("there is no node `{}`", shown(name)))),
                }
            };
            let ((graph, a), (other, b)) = (find(&source)?, find(&to)?);
            if graph != other {
                return Err(row.error(&to.name, "is a node of another graph than the source"));
            }
            let kind = match &columns.kind {
                None => 0,
                Some(kind) => {
                    let code = types.code(row.filled(kind, "the type of an edge")?);
                    code.ok_or_else(|| row.error(&kind.name, "is one type too many"))?
                }
            };
            let dense: Vec<f32> = columns.features.all.iter().map(|feature| feature.of(&row)).collect::<Result<_>>()?;
            let added = listed[graph].add(&mut self.graphs[graph], [a, b], kind, &dense);
            added.map_err(|reason| row.error("", format!("the edge {reason}")))
        })?;
        let merged = listed.iter().map(|one| one.merged).sum();
        let one_way: usize = listed.iter().map(EdgeList::one_way).sum();
        if one_way > 0 {
            let edges = if one_way == 1 { "1 edge is" } else { &*format!("{one_way} edges are") };
            self.notes
                .push(format!("{edges} listed one way and used both ways (`data.directed=true` keeps the direction)"));
        }
        let names = if columns.kind.is_some() { self.sort_edge_types(types) } else { Vec::new() };
        Ok((Kinds { types: names, columns: columns.names() }, merged))
    }

    /// Nodes by name alone, `None` for a name that several graphs have; nothing where edges say the graph.
    fn by_name(&self, edges_say_graph: bool) -> Option<HashMap<String, Option<(usize, u32)>>> {
        if edges_say_graph {
            return None;
        }
        let mut all: HashMap<String, Option<(usize, u32)>> = HashMap::new();
        for ((_, name), (graph, node, _)) in &self.places {
            all.entry(name.clone()).and_modify(|known| *known = None).or_insert(Some((*graph, *node)));
        }
        Some(all)
    }

    fn sort_edge_types(&mut self, types: Vocabulary) -> Vec<String> {
        let mut all: Vec<u32> = self.graphs.iter().flat_map(|graph| graph.edge_types.iter().copied()).collect();
        let names = types.into_sorted(&mut all);
        let mut sorted = all.into_iter();
        for kind in self.graphs.iter_mut().flat_map(|graph| graph.edge_types.iter_mut()) {
            *kind = sorted.next().unwrap_or(0);
        }
        names
    }

    fn finish(self, mut graphs: Graphs) -> Result<Graphs> {
        graphs = graphs.with_node_ids(self.ids.concat())?;
        if !self.tasks.is_empty() {
            graphs = graphs.with_targets(Targets::of_texts(Level::Node, self.tasks, self.texts.concat()))?;
        }
        match self.parts {
            Some(parts) => graphs.with_parts(Parts { level: Level::Node, of: parts.concat() }),
            None => Ok(graphs),
        }
    }
}

#[cfg(test)]
mod tests;

//! Graphs put together line by line.

use std::path::Path;

use serde_json::Value;

use super::super::edges::Listed;
use super::super::ReadOptions;
use super::super::smiles_csv::part_of;
use super::object::Object;
use super::seen::{Seen, agree, kinds, note_type, take};
use crate::graphs::data_set::{Collected, Origin};
use crate::graphs::features::Kinds;
use crate::graphs::{Graph, Graphs, Level, Parts, Targets};
use crate::sets::FeatureNames;
use crate::{Error, Result};

/// All graphs so far.
pub(super) struct Lines<'p> {
    path: &'p Path,
    options: &'p ReadOptions,
    all: Collected,
    origin: Origin,
    nodes: Seen,
    edges: Seen,
    listed: Listed,
    /// Tasks of `y`, and the line that says so.
    tasks: Option<(usize, usize)>,
    texts: Vec<Option<String>>,
    node_texts: Vec<Option<String>>,
    parts: Vec<crate::graphs::Part>,
}

impl<'p> Lines<'p> {
    pub(super) fn new(path: &'p Path, options: &'p ReadOptions) -> Self {
        Self {
            path,
            options,
            all: Collected::default(),
            origin: Origin { path: path.to_path_buf(), node: "node", ..Origin::default() },
            nodes: Seen::default(),
            edges: Seen::default(),
            listed: Listed::new(options.directed),
            tasks: None,
            texts: Vec::new(),
            node_texts: Vec::new(),
            parts: Vec::new(),
        }
    }

    pub(super) fn graph(&mut self, object: &Object<'_>) -> Result<()> {
        let nodes = object.nodes()?;
        let id = object.map.get("id").map(|id| object.label("id", id)).transpose()?.flatten();
        let mut graph = Graph::new(id.unwrap_or_else(|| (self.all.len() + 1).to_string()), nodes);
        if let Some(list) = object.list("x")? {
            let values = object.values("x", list, nodes)?;
            take(object, "x", &mut self.nodes, values, nodes, &mut graph.node_types, &mut graph.node_dense)?;
        }
        self.edges(object, &mut graph)?;
        self.answers(object, nodes)?;
        if let Some(word) = object.map.get("split") {
            let word = object.label("split", word)?.unwrap_or_default();
            self.parts.push(part_of(self.path, object.line, "split", &word)?);
        }
        self.origin.lines.push(object.line);
        let kinds = |seen: &Seen| Kinds::columns(FeatureNames::Count(seen.numbers.map_or(0, |(_, width)| width)));
        if graph.nodes > 0 && self.nodes.types.is_some() && graph.node_types.is_empty() {
            return Err(object.error("x", "is missing, expected a type for each node as in other graphs"));
        }
        self.all.node_types.extend_from_slice(&graph.node_types);
        // Types of edges follow their edges into another order: they are named by what is known so far.
        let mut edges = kinds(&self.edges);
        edges.types = vec![String::new(); self.edges.types.map_or(0, |(_, most)| most as usize)];
        let nodes = kinds(&self.nodes);
        self.all.push(graph, &nodes, &edges).map_err(|reason| object.error("", reason))
    }

    fn edges(&mut self, object: &Object<'_>, graph: &mut Graph) -> Result<()> {
        self.listed.next_graph();
        match (object.list("e")?, object.list("edge_index")?) {
            (Some(_), Some(_)) => Err(object.error("e", "stands beside `edge_index`, expected one of them")),
            (Some(list), None) => self.both_ways(object, list, graph),
            (None, Some(index)) => self.one_way(object, index, graph),
            (None, None) => Ok(()),
        }
    }

    /// `[i, j]` or `[i, j, type]`.
    fn both_ways(&mut self, object: &Object<'_>, list: &[Value], graph: &mut Graph) -> Result<()> {
        let mut typed = None;
        for (at, edge) in list.iter().enumerate() {
            let edge = edge.as_array().filter(|edge| matches!(edge.len(), 2 | 3));
            let edge =
                edge.ok_or_else(|| object.error("e", format!("edge {} is not [i, j] or [i, j, type]", at + 1)))?;
            if *typed.get_or_insert(edge.len()) != edge.len() {
                return Err(object.error("e", format!("edge {} has a type or not, unlike the first", at + 1)));
            }
            let ends = object.ends("e", at, [&edge[0], &edge[1]], graph.nodes)?;
            let kind = edge.get(2).map(|kind| object.kind("e", kind)).transpose()?;
            if let Some(kind) = kind {
                note_type(&mut self.edges, object.line, kind);
            }
            self.listed
                .add(graph, ends, kind.unwrap_or(0), &[])
                .map_err(|reason| object.error("e", format!("edge {} {reason}", at + 1)))?;
        }
        agree(object, "e", &self.edges, typed.map(|length| length == 3), None)
    }

    /// `[[sources], [targets]]` and what `edge_attr` says of each.
    fn one_way(&mut self, object: &Object<'_>, index: &[Value], graph: &mut Graph) -> Result<()> {
        let lists: Vec<&Vec<Value>> = index.iter().filter_map(Value::as_array).collect();
        let (2, [sources, targets]) = (index.len(), &lists[..]) else {
            return Err(object.error("edge_index", "is not a list of sources and a list of targets"));
        };
        if sources.len() != targets.len() {
            let reason = format!("has {} sources and {} targets", sources.len(), targets.len());
            return Err(object.error("edge_index", reason));
        }
        for (at, (source, target)) in sources.iter().zip(*targets).enumerate() {
            graph.edges.push(object.ends("edge_index", at, [source, target], graph.nodes)?);
        }
        let count = graph.edges.len();
        let Some(list) = object.list("edge_attr")? else {
            graph.edge_types = vec![0; count];
            return agree(object, "edge_attr", &self.edges, (count > 0).then_some(false), None);
        };
        let values = object.values("edge_attr", list, count)?;
        take(object, "edge_attr", &mut self.edges, values, count, &mut graph.edge_types, &mut graph.edge_dense)
    }

    fn answers(&mut self, object: &Object<'_>, nodes: usize) -> Result<()> {
        if let Some(list) = object.list("node_y")? {
            if list.len() != nodes {
                return Err(object.error("node_y", format!("has {} entries, expected {nodes}", list.len())));
            }
            for value in list {
                self.node_texts.push(object.label("node_y", value)?);
            }
        }
        let one = [Value::Null];
        let answers = match object.map.get("y") {
            None => return Ok(()),
            Some(Value::Array(list)) => &list[..],
            Some(Value::Null) if self.tasks.is_none_or(|(_, tasks)| tasks == 1) => &one,
            Some(Value::Null) => {
                let tasks = self.tasks.map_or(0, |(_, tasks)| tasks);
                self.texts.extend(std::iter::repeat_n(None, tasks));
                return Ok(());
            }
            Some(single) => std::slice::from_ref(single),
        };
        let (line, tasks) = *self.tasks.get_or_insert((object.line, answers.len()));
        if answers.len() != tasks || tasks == 0 {
            let reason = format!("has {} answers, expected {} as on line {line}", answers.len(), tasks.max(1));
            return Err(object.error("y", reason));
        }
        for answer in answers {
            self.texts.push(object.label("y", answer)?);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Graphs> {
        let (count, path) = (self.all.len(), self.path);
        if count == 0 {
            return Err(Error::parse(path, 0, "has no graphs, expected at least one"));
        }
        let some = |what: &str, field: &str| {
            Err(Error::parse(path, 0, format!("has {what} for some graphs and not for others")).in_field(field))
        };
        if !self.parts.is_empty() && self.parts.len() != count {
            return some("a part", "split");
        }
        if let Some(what) = self.all.uneven(&kinds(&self.nodes), &kinds(&self.edges)) {
            return some(&format!("types or numbers of {what}"), "");
        }
        let origin = Origin { merged: self.listed.merged, ..self.origin };
        let mut graphs = self.all.finish(kinds(&self.nodes), kinds(&self.edges), origin)?;
        if !self.node_texts.is_empty() {
            if self.node_texts.len() != graphs.nodes() || self.tasks.is_some() {
                return some("answers of nodes", "node_y");
            }
            graphs = graphs.with_targets(Targets::of_texts(Level::Node, vec!["node_y".into()], self.node_texts))?;
        }
        if let Some((_, tasks)) = self.tasks {
            if self.texts.len() != count * tasks {
                return some("an answer", "y");
            }
            let names = match (&self.options.targets[..], tasks) {
                (named, tasks) if named.len() == tasks => named.to_vec(),
                (_, 1) => vec!["y".into()],
                _ => (1..=tasks).map(|task| format!("y{task}")).collect(),
            };
            graphs = graphs.with_targets(Targets::of_texts(Level::Graph, names, self.texts))?;
        }
        if self.parts.is_empty() {
            return Ok(graphs);
        }
        graphs.with_parts(Parts { level: Level::Graph, of: self.parts })
    }
}

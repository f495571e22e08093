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

#[cfg(test)]
mod tests;

use std::path::Path;

use serde_json::Value;

use super::ReadOptions;
use super::edges::EdgeList;
use super::smiles_csv::part_of;
use crate::error::shown;
use crate::file::place;
use crate::graphs::data_set::{GraphsBuilder, Origin};
use crate::graphs::features::Kinds;
use crate::graphs::{Graph, Graphs, Level, MOST_TYPES, Parts, Targets};
use crate::names::FeatureNames;
use crate::table::json_lines::{Object, each};
use crate::{Error, Result};

const KEYS: [&str; 9] = ["id", "split", "x", "num_nodes", "e", "edge_index", "edge_attr", "y", "node_y"];

/// Nodes that a number may stand for in any line, and for each byte of it.
const NODES_ALWAYS: usize = 10_000;
const NODES_PER_BYTE: usize = 16;

/// Reads graphs from JSON lines; `path` names them in errors. Of the options, `directed` matters, for
/// edges in `e`, and `targets`, which name the tasks of `y`.
///
/// # Errors
/// [`Error::Parse`] naming line and key, e.g.
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
    let mut all = Reader::new(path, options);
    let example = "each line is a graph such as {\"x\": [0, 1], \"e\": [[0, 1, 1]], \"y\": 2}";
    each(text, path, example, |object| all.graph(object))?;
    all.finish()
}

/// All graphs so far.
struct Reader<'p> {
    path: &'p Path,
    options: &'p ReadOptions,
    all: GraphsBuilder,
    origin: Origin,
    nodes: Kind,
    edges: Kind,
    listed: EdgeList,
    /// Tasks of `y`, and the line that says so.
    tasks: Option<(usize, usize)>,
    texts: Vec<Option<String>>,
    node_texts: Vec<Option<String>>,
    parts: Vec<crate::graphs::Part>,
}

impl<'p> Reader<'p> {
    fn new(path: &'p Path, options: &'p ReadOptions) -> Self {
        Self {
            path,
            options,
            all: GraphsBuilder::default(),
            origin: Origin { path: path.to_path_buf(), node: "node", ..Origin::default() },
            nodes: Kind::default(),
            edges: Kind::default(),
            listed: EdgeList::new(options.directed),
            tasks: None,
            texts: Vec::new(),
            node_texts: Vec::new(),
            parts: Vec::new(),
        }
    }

    fn graph(&mut self, object: &Object<'_>) -> Result<()> {
        object.check_keys(&KEYS, None)?;
        let nodes = node_count(object)?;
        let id = object.label("id", object.map.get("id"))?;
        let mut graph =
            Graph::new(id.unwrap_or_else(|| (place(self.path).rows + self.all.len() + 1).to_string()), nodes);
        if let Some(list) = object.list("x")? {
            let field = Field { object, name: "x" };
            (graph.node_types, graph.node_dense) = self.nodes.take(field, field.values(list, nodes)?, nodes)?;
        }
        self.edges(object, &mut graph)?;
        self.answers(object, nodes)?;
        if let Some(word) = object.map.get("split") {
            let word = object.label("split", Some(word))?.unwrap_or_default();
            self.parts.push(part_of(self.path, object.line, "split", &word)?);
        }
        self.origin.lines.push(object.line);
        if graph.nodes > 0 && self.nodes.types.is_some() && graph.node_types.is_empty() {
            return Err(object.error("x", "is missing, expected a type for each node as in other graphs"));
        }
        self.all.node_types.extend_from_slice(&graph.node_types);
        // Types of edges follow their edges into another order: they are named by what is known so far.
        let mut edges = Kinds::columns(self.edges.columns());
        edges.types = vec![String::new(); self.edges.types.map_or(0, |(_, most)| most as usize)];
        let nodes = Kinds::columns(self.nodes.columns());
        self.all.push(graph, &nodes, &edges).map_err(|reason| object.error("", reason))
    }

    fn edges(&mut self, object: &Object<'_>, graph: &mut Graph) -> Result<()> {
        self.listed.next_graph();
        match (object.list("e")?, object.list("edge_index")?) {
            (Some(_), Some(_)) => {
                Err(object.error("e", "is given together with `edge_index`, expected only one of them"))
            }
            (Some(list), None) => self.both_ways(object, list, graph),
            (None, Some(index)) => self.one_way(object, index, graph),
            (None, None) => Ok(()),
        }
    }

    /// `[i, j]` or `[i, j, type]`.
    fn both_ways(&mut self, object: &Object<'_>, list: &[Value], graph: &mut Graph) -> Result<()> {
        let field = Field { object, name: "e" };
        let mut typed = None;
        for (at, edge) in list.iter().enumerate() {
            let edge = edge.as_array().filter(|edge| matches!(edge.len(), 2 | 3));
            let edge =
                edge.ok_or_else(|| object.error("e", format!("edge {} is not [i, j] or [i, j, type]", at + 1)))?;
            if *typed.get_or_insert(edge.len()) != edge.len() {
                return Err(object.error("e", format!("edge {} has a type or not, unlike the first", at + 1)));
            }
            let ends = field.ends(at, [&edge[0], &edge[1]], graph.nodes)?;
            let kind = edge.get(2).map(|kind| field.kind(kind)).transpose()?;
            if let Some(kind) = kind {
                self.edges.note_type(object.line, kind);
            }
            self.listed
                .add(graph, ends, kind.unwrap_or(0), &[])
                .map_err(|reason| object.error("e", format!("edge {} {reason}", at + 1)))?;
        }
        self.edges.check(field, typed.map(|length| length == 3), None)
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
            graph.edges.push(Field { object, name: "edge_index" }.ends(at, [source, target], graph.nodes)?);
        }
        let count = graph.edges.len();
        let field = Field { object, name: "edge_attr" };
        let Some(list) = object.list("edge_attr")? else {
            graph.edge_types = vec![0; count];
            return self.edges.check(field, (count > 0).then_some(false), None);
        };
        (graph.edge_types, graph.edge_dense) = self.edges.take(field, field.values(list, count)?, count)?;
        Ok(())
    }

    fn answers(&mut self, object: &Object<'_>, nodes: usize) -> Result<()> {
        if let Some(list) = object.list("node_y")? {
            if list.len() != nodes {
                return Err(object.error("node_y", format!("has {} entries, expected {nodes}", list.len())));
            }
            for value in list {
                self.node_texts.push(object.label("node_y", Some(value))?);
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
            self.texts.push(object.label("y", Some(answer))?);
        }
        Ok(())
    }

    fn finish(self) -> Result<Graphs> {
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
        if let Some(what) = self.all.uneven(&self.nodes.kinds(), &self.edges.kinds()) {
            return some(&format!("types or numbers of {what}"), "");
        }
        let origin = Origin { merged: self.listed.merged, ..self.origin };
        let mut graphs = self.all.finish(self.nodes.kinds(), self.edges.kinds(), origin)?;
        if !self.node_texts.is_empty() {
            if self.node_texts.len() != graphs.nodes() || self.tasks.is_some() {
                return some("answers of nodes", "node_y");
            }
            graphs = graphs.with_targets(Targets::of_texts(Level::Node, vec!["node_y".into()], self.node_texts))?;
        }
        if let Some((line, tasks)) = self.tasks {
            if self.texts.len() != count * tasks {
                return some("an answer", "y");
            }
            let names = match (&self.options.targets[..], tasks) {
                (named, tasks) if named.len() == tasks => named.to_vec(),
                (named, tasks) if !named.is_empty() && !self.options.targets_optional => {
                    let reason = format!("has {tasks} answers, but the number of named targets is {}", named.len());
                    let hint = "name one for each answer by `--target` (`data.targets`)";
                    return Err(Error::parse(path, line, reason).in_field("y").with_hint(hint));
                }
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

/// The number of nodes: as many as `x` or `node_y` has, or `num_nodes` says.
fn node_count(object: &Object<'_>) -> Result<usize> {
    let listed = match object.list("x")? {
        Some(list) => Some(list.len()),
        None => object.list("node_y")?.map(<[Value]>::len),
    };
    let stated = match object.map.get("num_nodes") {
        None | Some(Value::Null) => None,
        Some(value) => Some(object.whole("num_nodes", value, "a number of nodes")? as usize),
    };
    match (listed, stated) {
        (Some(listed), Some(stated)) if listed != stated => {
            Err(object.error("num_nodes", format!("is {stated}, but there are {listed} nodes")))
        }
        (Some(count), _) => Ok(count),
        // A number alone would take memory for each node.
        (None, Some(count)) => {
            let most = object.bytes.saturating_mul(NODES_PER_BYTE).saturating_add(NODES_ALWAYS);
            let reason = || format!("is {count}, expected at most {most} for a line of this length");
            if count <= most { Ok(count) } else { Err(object.error("num_nodes", reason())) }
        }
        (None, None) => Err(object.error("x", "is missing, expected a type or a list of numbers for each node")),
    }
}

/// A type for each node or edge, or a list of numbers for each.
enum Values {
    Types(Vec<u32>),
    Numbers { width: Option<usize>, values: Vec<f32> },
}

/// The value under a key of a line.
#[derive(Clone, Copy)]
struct Field<'o> {
    object: &'o Object<'o>,
    name: &'o str,
}

impl Field<'_> {
    fn error(&self, reason: impl Into<String>) -> Error {
        self.object.error(self.name, reason)
    }

    /// A type, or the numbers, of each of `count` nodes or edges.
    fn values(&self, list: &[Value], count: usize) -> Result<Values> {
        if list.len() != count {
            return Err(self.error(format!("has {} entries, expected {count}", list.len())));
        }
        if !list.first().is_some_and(Value::is_array) && !list.is_empty() {
            return Ok(Values::Types(list.iter().map(|value| self.kind(value)).collect::<Result<_>>()?));
        }
        let (mut values, mut width) = (Vec::new(), None);
        for (at, row) in list.iter().enumerate() {
            let Some(row) = row.as_array() else {
                return Err(self.error(format!("entry {} is not a list of numbers", at + 1)));
            };
            let wanted = *width.get_or_insert(row.len());
            if row.len() != wanted {
                return Err(self.error(format!("entry {} has {} numbers, expected {wanted}", at + 1, row.len())));
            }
            for value in row {
                values.push(self.object.number(self.name, value, || format!("entry {}", at + 1))?);
            }
        }
        Ok(Values::Numbers { width, values })
    }

    fn kind(&self, value: &Value) -> Result<u32> {
        let expected = format!("a type, an integer below {MOST_TYPES}");
        match self.object.whole(self.name, value, &expected)? {
            kind if (kind as usize) < MOST_TYPES => Ok(kind),
            kind => Err(self.error(format!("found `{kind}`, expected {expected}"))),
        }
    }

    /// The ends of an edge.
    fn ends(&self, at: usize, ends: [&Value; 2], nodes: usize) -> Result<[u32; 2]> {
        let end = |value: &Value| {
            let found = value.as_u64().filter(|node| *node < nodes as u64);
            let shown = shown(&value.to_string());
            let reason = || format!("edge {} has the node {shown}, expected a number below {nodes}", at + 1);
            found.map(|node| node as u32).ok_or_else(|| self.error(reason()))
        };
        Ok([end(ends[0])?, end(ends[1])?])
    }
}

/// The kind of values that nodes or edges have, the same in all graphs: the first graph that has any decides.
#[derive(Default)]
struct Kind {
    /// With types: the line that says so, and one more than the highest.
    types: Option<(usize, u32)>,
    /// With numbers: the line that says so, and how many.
    numbers: Option<(usize, usize)>,
}

impl Kind {
    fn columns(&self) -> FeatureNames {
        FeatureNames::Count(self.numbers.map_or(0, |(_, width)| width))
    }

    fn kinds(&self) -> Kinds {
        let counted = Kinds::counted(self.types.map_or(0, |(_, most)| most as usize));
        Kinds { columns: self.columns(), ..counted }
    }

    fn note_type(&mut self, line: usize, kind: u32) {
        let (_, most) = self.types.get_or_insert((line, 0));
        *most = (*most).max(kind + 1);
    }

    /// Types and numbers of a graph's nodes or edges.
    fn take(&mut self, field: Field<'_>, values: Values, count: usize) -> Result<(Vec<u32>, Vec<f32>)> {
        let line = field.object.line;
        match values {
            Values::Types(kinds) => {
                kinds.iter().for_each(|kind| self.note_type(line, *kind));
                self.check(field, Some(true), None)?;
                Ok((kinds, Vec::new()))
            }
            Values::Numbers { width, values } => {
                if let Some(width) = width {
                    let _ = self.numbers.get_or_insert((line, width));
                }
                self.check(field, None, width)?;
                Ok((if field.name == "edge_attr" { vec![0; count] } else { Vec::new() }, values))
            }
        }
    }

    /// Refuses types where other graphs have numbers, and numbers of another count.
    fn check(&self, field: Field<'_>, typed: Option<bool>, width: Option<usize>) -> Result<()> {
        let above = |line: usize| format!("as on line {line}");
        match (typed, width, self.types, self.numbers) {
            (Some(false), _, Some((line, _)), _) => {
                Err(field.error(format!("has no types, {} there are", above(line))))
            }
            (Some(_), _, _, Some((line, width))) => {
                Err(field.error(format!("has types, expected {width} numbers {}", above(line))))
            }
            (None, Some(_), Some((line, _)), _) => {
                Err(field.error(format!("has numbers, expected types {}", above(line))))
            }
            (None, Some(found), _, Some((line, width))) if found != width => {
                Err(field.error(format!("has {found} numbers, expected {width} {}", above(line))))
            }
            _ => Ok(()),
        }
    }
}

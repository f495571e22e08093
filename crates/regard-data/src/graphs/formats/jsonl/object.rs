//! One line of JSON, checked.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::shown;
use crate::graphs::MOST_TYPES;
use crate::sets::names::nearest;
use crate::{Error, Result};

const KEYS: [&str; 9] = ["id", "split", "x", "num_nodes", "e", "edge_index", "edge_attr", "y", "node_y"];

/// Nodes that a number may stand for in any line, and for each byte of it.
const NODES_ALWAYS: usize = 10_000;
const NODES_PER_BYTE: usize = 16;

/// One line.
pub(super) struct Object<'p> {
    path: &'p Path,
    pub(super) line: usize,
    bytes: usize,
    pub(super) map: Map<String, Value>,
}

/// A type for each, or a list of numbers for each.
pub(super) enum Values {
    Types(Vec<u32>),
    Numbers { width: Option<usize>, values: Vec<f32> },
}

impl<'p> Object<'p> {
    pub(super) fn of(text: &str, path: &'p Path, line: usize) -> Result<Self> {
        let map = match serde_json::from_str(text) {
            Ok(Value::Object(map)) => map,
            Ok(_) => {
                let error = Error::parse(path, line, "is not an object");
                return Err(
                    error.with_hint("each line is a graph such as {\"x\": [0, 1], \"e\": [[0, 1, 1]], \"y\": 2}")
                );
            }
            Err(error) => {
                let text = error.to_string();
                let said = text.split_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
                return Err(Error::parse(path, line, format!("is not JSON at column {}: {said}", error.column())));
            }
        };
        let object = Self { path, line, bytes: text.len(), map };
        match object.map.keys().find(|key| !KEYS.contains(&key.as_str())) {
            None => Ok(object),
            Some(unknown) => {
                let error = object.error("", format!("has the key `{}`, expected {}", shown(unknown), KEYS.join(", ")));
                Err(match nearest(unknown, KEYS.into_iter()) {
                    Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                    None => error,
                })
            }
        }
    }

    pub(super) fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason).in_field(field)
    }

    pub(super) fn list(&self, field: &str) -> Result<Option<&[Value]>> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(_) => Err(self.error(field, "is not a list")),
        }
    }

    /// How many nodes there are: as many as `x` or `node_y` has, or `num_nodes` says.
    pub(super) fn nodes(&self) -> Result<usize> {
        let listed = match self.list("x")? {
            Some(list) => Some(list.len()),
            None => self.list("node_y")?.map(<[Value]>::len),
        };
        let said = match self.map.get("num_nodes") {
            None | Some(Value::Null) => None,
            Some(value) => Some(self.whole("num_nodes", value, "a number of nodes")? as usize),
        };
        match (listed, said) {
            (Some(listed), Some(said)) if listed != said => {
                Err(self.error("num_nodes", format!("is {said}, but there are {listed} nodes")))
            }
            (Some(count), _) => Ok(count),
            // A number alone would take memory for each node.
            (None, Some(count)) => {
                let most = self.bytes.saturating_mul(NODES_PER_BYTE).saturating_add(NODES_ALWAYS);
                let reason = || format!("is {count}, expected at most {most} for a line of this length");
                if count <= most { Ok(count) } else { Err(self.error("num_nodes", reason())) }
            }
            (None, None) => Err(self.error("x", "is missing, expected a type or a list of numbers for each node")),
        }
    }

    pub(super) fn whole(&self, field: &str, value: &Value, expected: &str) -> Result<u32> {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| self.error(field, format!("found `{}`, expected {expected}", shown(&value.to_string()))))
    }

    /// A type, or the numbers, of each of `count` nodes or edges.
    pub(super) fn values(&self, field: &str, list: &[Value], count: usize) -> Result<Values> {
        if list.len() != count {
            return Err(self.error(field, format!("has {} entries, expected {count}", list.len())));
        }
        if !list.first().is_some_and(Value::is_array) && !list.is_empty() {
            return Ok(Values::Types(list.iter().map(|value| self.kind(field, value)).collect::<Result<_>>()?));
        }
        let mut values = Vec::new();
        let mut width = None;
        for (at, row) in list.iter().enumerate() {
            let Some(row) = row.as_array() else {
                return Err(self.error(field, format!("entry {} is not a list of numbers", at + 1)));
            };
            if row.len() != *width.get_or_insert(row.len()) {
                let wanted = width.unwrap_or(0);
                return Err(self.error(field, format!("entry {} has {} numbers, expected {wanted}", at + 1, row.len())));
            }
            for value in row {
                let number = value.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
                let found = || shown(&value.to_string());
                let reason = || format!("entry {}: found `{}`, expected a number", at + 1, found());
                values.push(number.ok_or_else(|| self.error(field, reason()))?);
            }
        }
        Ok(Values::Numbers { width, values })
    }

    pub(super) fn kind(&self, field: &str, value: &Value) -> Result<u32> {
        let expected = format!("a type, a whole number below {MOST_TYPES}");
        match self.whole(field, value, &expected)? {
            kind if (kind as usize) < MOST_TYPES => Ok(kind),
            kind => Err(self.error(field, format!("found `{kind}`, expected {expected}"))),
        }
    }

    /// The ends of an edge.
    pub(super) fn ends(&self, field: &str, at: usize, ends: [&Value; 2], nodes: usize) -> Result<[u32; 2]> {
        let end = |value: &Value| {
            let found = value.as_u64().filter(|node| *node < nodes as u64);
            let shown = shown(&value.to_string());
            let reason = || format!("edge {} has the node {shown}, expected a number below {nodes}", at + 1);
            found.map(|node| node as u32).ok_or_else(|| self.error(field, reason()))
        };
        Ok([end(ends[0])?, end(ends[1])?])
    }

    /// A label as text; `None` where it is null.
    pub(super) fn label(&self, field: &str, value: &Value) -> Result<Option<String>> {
        match value {
            Value::Null => Ok(None),
            Value::Number(number) => Ok(Some(number.to_string())),
            Value::String(word) if !word.is_empty() => Ok(Some(word.clone())),
            Value::Bool(truth) => Ok(Some(truth.to_string())),
            other => {
                Err(self.error(field, format!("found `{}`, expected a number or a word", shown(&other.to_string()))))
            }
        }
    }
}

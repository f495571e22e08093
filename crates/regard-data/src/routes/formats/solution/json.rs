//! Solutions as `regard solve` writes them in JSON: `tour`, or `routes` of vehicles, by node ids.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::Read;
use crate::file::read_text;
use crate::routes::instance::Instance;
use crate::{Error, Result};

/// Reads `tour` or `routes` by node ids, and `cost` where it is given; other keys are ignored.
pub(super) fn read(path: &Path, instance: &Instance) -> Result<Read> {
    let text = read_text(path)?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Error::parse(path, error.line(), format!("is no JSON: {error}")))?;
    let fault = |field: &str, reason: String| Error::parse(path, 0, reason).in_field(field);
    let Value::Object(file) = value else {
        return Err(Error::parse(path, 0, "holds no JSON object, expected one with `tour` or `routes`"));
    };
    let ids = instance.sites().ids();
    let nodes: HashMap<&str, usize> = ids.iter().enumerate().map(|(node, id)| (id.as_str(), node)).collect();
    let list = |field: &str, value: &Value| -> Result<Vec<usize>> {
        let list = value.as_array().ok_or_else(|| fault(field, format!("is {value}, expected a list of node ids")))?;
        let node = |id: &Value| {
            let name = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            nodes.get(name.as_str()).copied().ok_or_else(|| fault(field, format!("node {id} is not in the instance")))
        };
        list.iter().map(node).collect()
    };
    let stated_cost = stated(&file).map_err(|reason| fault("cost", reason))?;
    let solution = match (file.get("tour"), file.get("routes")) {
        (Some(tour), None) => list("tour", tour)?,
        (None, Some(Value::Array(routes))) => {
            let routes = routes.iter().map(|route| list("routes", route)).collect::<Result<Vec<_>>>()?;
            routes.join(&0)
        }
        (None, Some(other)) => return Err(fault("routes", format!("is {other}, expected a list of routes"))),
        _ => return Err(Error::parse(path, 0, "expected either `tour` or `routes`")),
    };
    Ok(Read { solution, stated_cost })
}

fn stated(file: &Map<String, Value>) -> Result<Option<f64>, String> {
    match file.get("cost") {
        None | Some(Value::Null) => Ok(None),
        Some(cost) => cost.as_f64().map(Some).ok_or_else(|| format!("is {cost}, expected a number")),
    }
}

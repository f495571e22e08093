//! Reading an [`AttentionInput`] from JSON; every fault names its field and what was expected.

use std::path::Path;

use serde_json::{Map, Value};

use super::input::{AttentionInput, MOST_TOKENS, MOST_WIDTH, identity, names};
use crate::store::Array;
use crate::{Error, Result};

const FIELDS: [&str; 8] =
    ["x", "heads", "query_weights", "key_weights", "value_weights", "output_weights", "mask", "tokens"];

/// The input in `text`; see [`AttentionInput::parse`].
pub(super) fn parse(text: &str, path: &Path) -> Result<AttentionInput> {
    let fault = |line: usize, field: &str, reason: String| Error::Parse {
        path: path.to_owned(),
        line,
        field: field.to_owned(),
        reason,
    };
    let value: Value = serde_json::from_str(text)
        .map_err(|error| fault(error.line(), "", format!("is not JSON: {}", without_place(&error))))?;
    let Value::Object(object) = value else {
        return Err(fault(0, "", format!("expected an object such as {{\"x\": [[1, 0]]}}, found {}", kind(&value))));
    };
    from_object(&object).map_err(|wrong| fault(0, &wrong.field, wrong.reason))
}

/// A field that is wrong, and why.
struct Wrong {
    field: String,
    reason: String,
}

fn wrong(field: impl Into<String>, reason: impl Into<String>) -> Wrong {
    Wrong { field: field.into(), reason: reason.into() }
}

fn from_object(object: &Map<String, Value>) -> Result<AttentionInput, Wrong> {
    if let Some(unknown) = object.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(wrong(unknown, format!("is not known; expected {}", FIELDS.join(", "))));
    }
    let x = object.get("x").ok_or_else(|| wrong("x", "is missing; expected one row of numbers for each token"))?;
    let x = matrix("x", x, MOST_TOKENS, MOST_WIDTH)?;
    let width = x.shape[1];
    let heads = heads(object.get("heads"), width)?;
    let weights = |field: &str| match object.get(field) {
        None => Ok(identity(width)),
        Some(value) => square(field, value, width),
    };
    Ok(AttentionInput {
        tokens: token_names(object.get("tokens"), x.shape[0])?,
        heads,
        query_weights: weights("query_weights")?,
        key_weights: weights("key_weights")?,
        value_weights: weights("value_weights")?,
        output_weights: weights("output_weights")?,
        causal: causal(object.get("mask"))?,
        x,
    })
}

fn heads(value: Option<&Value>, width: usize) -> Result<usize, Wrong> {
    let Some(value) = value else { return Ok(1) };
    let heads = value.as_u64().and_then(|heads| usize::try_from(heads).ok()).filter(|&heads| heads > 0);
    let heads = heads.ok_or_else(|| wrong("heads", format!("expected an integer of at least 1, found {value}")))?;
    if !width.is_multiple_of(heads) {
        return Err(wrong("heads", format!("{heads} heads do not divide the width {width}")));
    }
    Ok(heads)
}

fn causal(value: Option<&Value>) -> Result<bool, Wrong> {
    match value {
        None | Some(Value::Null) => Ok(false),
        Some(Value::String(text)) if text == "none" => Ok(false),
        Some(Value::String(text)) if text == "causal" => Ok(true),
        Some(other) => Err(wrong("mask", format!("expected \"none\" or \"causal\", found {other}"))),
    }
}

fn token_names(value: Option<&Value>, count: usize) -> Result<Vec<String>, Wrong> {
    let Some(value) = value else {
        return Ok(names(count));
    };
    let expected = || wrong("tokens", format!("expected {count} names, one for each row of x"));
    let list = value.as_array().filter(|list| list.len() == count).ok_or_else(expected)?;
    list.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(expected)).collect()
}

fn square(field: &str, value: &Value, width: usize) -> Result<Array, Wrong> {
    let array = matrix(field, value, MOST_WIDTH, MOST_WIDTH)?;
    if array.shape != [width, width] {
        let [rows, columns] = [array.shape[0], array.shape[1]];
        return Err(wrong(
            field,
            format!("expected {width} x {width} numbers (the width of x), found {rows} x {columns}"),
        ));
    }
    Ok(array)
}

/// A matrix with at least one number, all rows of one length.
fn matrix(field: &str, value: &Value, most_rows: usize, most_columns: usize) -> Result<Array, Wrong> {
    let rows = list(field, value, most_rows, "rows")?;
    let mut data = Vec::new();
    let mut columns = 0;
    for (i, row) in rows.iter().enumerate() {
        let at = format!("{field}[{i}]");
        let row = list(&at, row, most_columns, "numbers")?;
        if i == 0 {
            columns = row.len();
        } else if row.len() != columns {
            return Err(wrong(at, format!("expected {columns} numbers as in the first row, found {}", row.len())));
        }
        for (j, number) in row.iter().enumerate() {
            let value = number.as_f64().map(|value| value as f32).filter(|value| value.is_finite());
            data.push(value.ok_or_else(|| wrong(format!("{at}[{j}]"), format!("expected a number, found {number}")))?);
        }
    }
    Ok(Array { shape: vec![rows.len(), columns], data })
}

fn list<'a>(field: &str, value: &'a Value, most: usize, what: &str) -> Result<&'a [Value], Wrong> {
    match value {
        Value::Array(list) if list.is_empty() => Err(wrong(field, format!("expected {what}, found an empty list"))),
        Value::Array(list) if list.len() > most => {
            Err(wrong(field, format!("has {} {what}; at most {most} can be explained", list.len())))
        }
        Value::Array(list) => Ok(list),
        other => Err(wrong(field, format!("expected a list of {what}, found {}", kind(other)))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The message of a JSON error without its line and column, which are given separately.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.clone(), |end| text[..end].to_owned())
}

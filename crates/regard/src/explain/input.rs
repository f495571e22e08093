//! The input of `explain attention`: tokens, projections and mask, from JSON. Every fault names its field and what was
//! expected.

use std::path::Path;

use serde_json::{Map, Value};

use crate::store::Array;
use crate::{Error, Result};

/// Most tokens one input may have: the scores are `tokens²` numbers to look at.
pub const MOST_TOKENS: usize = 512;
/// Largest width of a token.
pub const MOST_WIDTH: usize = 1024;
/// Most scores, `batch · heads · queries · keys`.
pub const MOST_SCORES: usize = 1 << 22;

const FIELDS: [&str; 22] = [
    "x",
    "query",
    "key",
    "value",
    "heads",
    "query_weights",
    "key_weights",
    "value_weights",
    "output_weights",
    "query_bias",
    "key_bias",
    "value_bias",
    "output_bias",
    "mask",
    "lengths",
    "score_bias",
    "scale",
    "tau",
    "delta",
    "tokens",
    "query_tokens",
    "key_tokens",
];

/// Queries, keys, projections and mask of one attention layer.
#[derive(Debug, Clone)]
pub struct AttentionInput {
    /// The rows that attend, `[batch, queries, width]`.
    pub query: Array,
    /// The rows that are attended to: the same in self-attention, or others.
    pub context: Context,
    /// Names of the queries.
    pub query_tokens: Vec<String>,
    /// Names of the keys.
    pub key_tokens: Vec<String>,
    /// Attention heads.
    pub heads: usize,
    /// `[width of a query, heads · key width]`.
    pub query_projection: Projection,
    /// `[width of a key, heads · key width]`.
    pub key_projection: Projection,
    /// `[width of a value, heads · value width]`.
    pub value_projection: Projection,
    /// `[heads · value width, outputs]`.
    pub output_projection: Projection,
    /// The keys that each query may attend to.
    pub mask: AttentionMask,
    /// Added to the scaled scores, `[heads, queries, keys]` or `[1, queries, keys]`.
    pub score_bias: Option<Array>,
    /// Factor of the dot products; `1 / √(key width)` if not given.
    pub scale: Option<f32>,
    /// The factors τ, one for each of the batch, and δ, `[batch, keys]`, of de-stationary attention (Liu et al. 2022, §3.3).
    pub destationary: Option<(Vec<f32>, Array)>,
}

/// The rows that the queries attend to.
#[derive(Debug, Clone)]
pub enum Context {
    /// Themselves.
    Own,
    /// Other rows.
    Other {
        /// `[batch, keys, width]`.
        key: Array,
        /// `[batch, keys, width]`; the keys if not given.
        value: Option<Array>,
    },
}

/// A linear map `x W + b`.
#[derive(Debug, Clone)]
pub struct Projection {
    /// `[inputs, outputs]`.
    pub weight: Array,
    /// `[outputs]`.
    pub bias: Option<Vec<f32>>,
}

/// The keys that queries may attend to.
#[derive(Debug, Clone)]
pub enum AttentionMask {
    /// All.
    None,
    /// A token attends to itself and to earlier ones.
    Causal,
    /// The first so many, for each of the batch.
    Lengths(Vec<u32>),
    /// Those that are true, `[batch, queries, keys]`.
    Pairs(Vec<bool>),
}

impl AttentionInput {
    /// The example worked by hand: two tokens of width 4, two heads, identity projections. The weights are
    /// `e^(1/√2) / (1 + e^(1/√2))` = 0.66976155 for a token itself and 0.33023845 for the other.
    pub fn hand_worked() -> Self {
        let x = Array { shape: vec![1, 2, 4], data: vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0] };
        Self::self_attention(x, 2)
    }

    /// Self-attention of `x`, `[batch, tokens, width]`, with identity projections.
    pub fn self_attention(x: Array, heads: usize) -> Self {
        let (tokens, width) = (x.shape[1], x.shape[2]);
        let identity = || Projection { weight: identity(width), bias: None };
        Self {
            query: x,
            context: Context::Own,
            query_tokens: names("token", tokens),
            key_tokens: names("token", tokens),
            heads,
            query_projection: identity(),
            key_projection: identity(),
            value_projection: identity(),
            output_projection: identity(),
            mask: AttentionMask::None,
            score_bias: None,
            scale: None,
            destationary: None,
        }
    }

    /// Reads an input from JSON: `{"x": [[…], …], "heads": 2, "query_weights": [[…], …], …, "mask": "causal"}`. Only `x`,
    /// or `query` and `key`, must be there.
    ///
    /// # Errors
    /// [`crate::Error::Parse`] with the field and what was expected; `path` is only for messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let fault = |line: usize, field: &str, reason: String| Error::Parse {
            path: path.to_owned(),
            line,
            field: field.to_owned(),
            reason,
        };
        let value: Value = serde_json::from_str(text)
            .map_err(|error| fault(error.line(), "", format!("is not JSON: {}", without_place(&error))))?;
        let Value::Object(object) = value else {
            let reason = format!("expected an object such as {{\"x\": [[1, 0]]}}, found {}", kind(&value));
            return Err(fault(0, "", reason));
        };
        read(&object).map_err(|wrong| fault(0, &wrong.field, wrong.reason))
    }

    /// The keys, `[batch, keys, width]`.
    pub(super) fn key(&self) -> &Array {
        match &self.context {
            Context::Own => &self.query,
            Context::Other { key, .. } => key,
        }
    }

    /// The values, `[batch, keys, width]`.
    pub(super) fn value(&self) -> &Array {
        match &self.context {
            Context::Other { value: Some(value), .. } => value,
            _ => self.key(),
        }
    }

    /// Inputs that are computed together.
    pub fn batch(&self) -> usize {
        self.query.shape[0]
    }

    /// Width of a query or key in one head.
    pub fn key_width(&self) -> usize {
        self.query_projection.weight.shape[1] / self.heads
    }

    /// The parts fit each other.
    ///
    /// # Errors
    /// [`Error::Config`] with the field that does not, and what would.
    pub(super) fn check(&self) -> Result<()> {
        self.checked().map_err(|wrong| Error::config(&wrong.field, wrong.reason))
    }

    fn checked(&self) -> Result<(), Wrong> {
        let (query, key, value) = (&self.query, self.key(), self.value());
        for (field, rows) in [("query", query), ("key", key), ("value", value)] {
            let fits = rows.shape.len() == 3 && !rows.shape.contains(&0);
            if !fits || rows.data.len() != rows.shape.iter().product::<usize>() {
                return Err(wrong(field, "expected [batch, tokens, width] with at least one of each"));
            }
        }
        let (batch, queries, keys) = (self.batch(), query.shape[1], key.shape[1]);
        if key.shape[0] != batch || value.shape[0] != batch {
            let found = format!("{batch}, {} and {}", key.shape[0], value.shape[0]);
            return Err(wrong("key", format!("query, key and value have different batches: {found}")));
        }
        if value.shape[1] != keys {
            return Err(wrong("value", format!("expected {keys} rows, one for each key, found {}", value.shape[1])));
        }
        if self.heads == 0 {
            return Err(wrong("heads", "expected at least 1"));
        }
        let scores = batch.saturating_mul(self.heads).saturating_mul(queries * keys);
        if scores > MOST_SCORES {
            let reason = format!("batch, heads, queries and keys make {scores} scores; at most {MOST_SCORES} fit");
            return Err(wrong("x", reason));
        }
        for (field, projection, inputs) in [
            ("query_weights", &self.query_projection, query.shape[2]),
            ("key_weights", &self.key_projection, key.shape[2]),
            ("value_weights", &self.value_projection, value.shape[2]),
            ("output_weights", &self.output_projection, self.value_projection.weight.shape[1]),
        ] {
            let [rows, columns] = projection.weight.shape[..] else { return Err(wrong(field, "expected a matrix")) };
            if rows != inputs || columns == 0 {
                let of = if field == "output_weights" { "the outputs of value_weights" } else { "the width" };
                return Err(wrong(field, format!("expected {inputs} rows ({of}), found {rows} x {columns}")));
            }
            if field != "output_weights" && !columns.is_multiple_of(self.heads) {
                let reason = match projection.weight.data == identity(rows).data {
                    true => format!("{} heads do not divide the width {columns}", self.heads),
                    false => format!("{} heads do not divide the {columns} columns of {field}", self.heads),
                };
                return Err(wrong("heads", reason));
            }
            if projection.bias.as_ref().is_some_and(|bias| bias.len() != columns) {
                let field = field.replace("weights", "bias");
                return Err(wrong(field, format!("expected {columns} numbers, one for each output")));
            }
        }
        let (own, other) = (self.query_projection.weight.shape[1], self.key_projection.weight.shape[1]);
        if own != other {
            let reason = format!("queries have {own} channels and keys {other}: dot products need the same number");
            return Err(wrong("key_weights", reason));
        }
        match &self.mask {
            AttentionMask::Lengths(lengths)
                if lengths.len() != batch || lengths.iter().any(|&length| length as usize > keys) =>
            {
                return Err(wrong("lengths", format!("expected {batch} numbers of keys, none above {keys}")));
            }
            AttentionMask::Pairs(pairs) if pairs.len() != batch * queries * keys => {
                let found = pairs.len();
                let reason = format!("expected {queries} x {keys} of true and false, found {found} in all");
                return Err(wrong("mask", reason));
            }
            _ => {}
        }
        if let Some(bias) = &self.score_bias
            && !(bias.shape[..] == [1, queries, keys] || bias.shape[..] == [self.heads, queries, keys])
        {
            let reason = format!("expected {queries} x {keys} numbers, or that for each of {} heads", self.heads);
            return Err(wrong("score_bias", reason));
        }
        if let Some((tau, delta)) = &self.destationary {
            if tau.len() != batch {
                return Err(wrong("tau", format!("expected {batch} numbers, one for each of the batch")));
            }
            if delta.shape[..] != [batch, keys] {
                return Err(wrong("delta", format!("expected {batch} x {keys} numbers, one for each key")));
            }
        }
        for (field, names, count) in
            [("query_tokens", &self.query_tokens, queries), ("key_tokens", &self.key_tokens, keys)]
        {
            if names.len() != count {
                return Err(wrong(field, format!("expected {count} names, found {}", names.len())));
            }
        }
        Ok(())
    }
}

/// `token 1`, `token 2`, …
fn names(word: &str, count: usize) -> Vec<String> {
    (1..=count).map(|i| format!("{word} {i}")).collect()
}

/// The identity, `[width, width]`.
fn identity(width: usize) -> Array {
    let data = (0..width * width).map(|i| if i / width == i % width { 1.0 } else { 0.0 }).collect();
    Array { shape: vec![width, width], data }
}

/// A field that is wrong, and why.
struct Wrong {
    field: String,
    reason: String,
}

fn wrong(field: impl Into<String>, reason: impl Into<String>) -> Wrong {
    Wrong { field: field.into(), reason: reason.into() }
}

fn read(object: &Map<String, Value>) -> Result<AttentionInput, Wrong> {
    if let Some(unknown) = object.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(wrong(unknown, format!("is not known; expected {}", FIELDS.join(", "))));
    }
    let given = |field: &str| object.get(field).filter(|value| !value.is_null());
    let own = given("x").is_some();
    let (query, context) = match (given("x"), given("query"), given("key")) {
        (Some(x), None, None) if given("value").is_none() => (rows("x", x)?, Context::Own),
        (Some(_), ..) => return Err(wrong("x", "stands for query, key and value; give x alone, or query and key")),
        (None, Some(query), Some(key)) => {
            let value = given("value").map(|value| rows("value", value)).transpose()?;
            (rows("query", query)?, Context::Other { key: rows("key", key)?, value })
        }
        (None, Some(_), None) => return Err(wrong("key", "is missing; expected one row of numbers for each key")),
        (None, None, _) => return Err(wrong("x", "is missing; expected one row of numbers for each token")),
    };
    let mut input = AttentionInput::self_attention(query, heads(given("heads"))?);
    input.context = context;
    let (queries, keys) = (input.query.shape[1], input.key().shape[1]);
    (input.query_tokens, input.key_tokens) = match own {
        true => {
            let tokens = tokens("tokens", given("tokens"), "token", queries)?;
            (tokens.clone(), tokens)
        }
        false => {
            let first = if given("tokens").is_some() { "tokens" } else { "query_tokens" };
            (tokens(first, given(first), "query", queries)?, tokens("key_tokens", given("key_tokens"), "key", keys)?)
        }
    };
    if own && (given("query_tokens").is_some() || given("key_tokens").is_some()) {
        return Err(wrong("query_tokens", "x has tokens that are both; expected tokens"));
    }
    let projection = |name: &str, inputs: usize| -> Result<Projection, Wrong> {
        let (weights, bias) = (format!("{name}_weights"), format!("{name}_bias"));
        let weight = match given(&weights) {
            None => identity(inputs),
            Some(value) => matrix(&weights, value, MOST_WIDTH, MOST_WIDTH)?,
        };
        Ok(Projection { weight, bias: given(&bias).map(|value| vector(&bias, value, MOST_WIDTH)).transpose()? })
    };
    input.query_projection = projection("query", input.query.shape[2])?;
    input.key_projection = projection("key", input.key().shape[2])?;
    input.value_projection = projection("value", input.value().shape[2])?;
    input.output_projection = projection("output", input.value_projection.weight.shape[1])?;
    input.mask = mask(given("mask"), given("lengths"), [input.batch(), queries, keys])?;
    input.score_bias = given("score_bias").map(|value| deep("score_bias", value, MOST_TOKENS)).transpose()?;
    input.scale = given("scale").map(|value| number("scale", value)).transpose()?;
    input.destationary = destationary(given("tau"), given("delta"), input.batch(), keys)?;
    input.checked()?;
    Ok(input)
}

fn heads(value: Option<&Value>) -> Result<usize, Wrong> {
    let Some(value) = value else { return Ok(1) };
    let heads = value.as_u64().and_then(|heads| usize::try_from(heads).ok()).filter(|&heads| heads > 0);
    heads.ok_or_else(|| wrong("heads", format!("expected an integer of at least 1, found {value}")))
}

fn mask(value: Option<&Value>, lengths: Option<&Value>, shape: [usize; 3]) -> Result<AttentionMask, Wrong> {
    let [batch, queries, keys] = shape;
    if let Some(lengths) = lengths {
        if value.is_some() {
            return Err(wrong("lengths", "does not go with mask: give one of them"));
        }
        let found = list("lengths", lengths, usize::MAX, "numbers of keys")?;
        let length = |value: &Value| value.as_u64().and_then(|length| u32::try_from(length).ok());
        let lengths: Option<Vec<u32>> = found.iter().map(length).collect();
        return lengths
            .map(AttentionMask::Lengths)
            .ok_or_else(|| wrong("lengths", format!("expected {batch} numbers of keys, none above {keys}")));
    }
    match value {
        None => Ok(AttentionMask::None),
        Some(Value::String(text)) if text == "none" => Ok(AttentionMask::None),
        Some(Value::String(text)) if text == "causal" => Ok(AttentionMask::Causal),
        Some(Value::Array(items)) => {
            let mut bits = Vec::new();
            flags("mask", items, &mut bits)?;
            // One pattern serves all of the batch.
            if bits.len() == queries * keys {
                bits = bits.repeat(batch);
            }
            Ok(AttentionMask::Pairs(bits))
        }
        Some(other) => Err(wrong(
            "mask",
            format!(
                "expected \"none\", \"causal\", or {queries} x {keys} of 1 (may attend) and 0, found {}",
                match other {
                    Value::String(_) => other.to_string(),
                    _ => kind(other).to_owned(),
                }
            ),
        )),
    }
}

/// All values of nested lists of 0, 1, false and true.
fn flags(field: &str, items: &[Value], bits: &mut Vec<bool>) -> Result<(), Wrong> {
    for (at, item) in items.iter().enumerate() {
        let place = format!("{field}[{at}]");
        match item {
            Value::Array(inner) => flags(&place, inner, bits)?,
            Value::Bool(bit) => bits.push(*bit),
            Value::Number(number) if number.as_f64() == Some(1.0) => bits.push(true),
            Value::Number(number) if number.as_f64() == Some(0.0) => bits.push(false),
            other => return Err(wrong(place, format!("expected 1 (may attend) or 0, found {other}"))),
        }
    }
    Ok(())
}

fn destationary(
    tau: Option<&Value>,
    delta: Option<&Value>,
    batch: usize,
    keys: usize,
) -> Result<Option<(Vec<f32>, Array)>, Wrong> {
    if tau.is_none() && delta.is_none() {
        return Ok(None);
    }
    let tau = match tau {
        None => vec![1.0; batch],
        Some(value @ Value::Number(_)) => vec![number("tau", value)?; batch],
        Some(value) => vector("tau", value, usize::MAX)?,
    };
    let delta = match delta {
        None => Array { shape: vec![batch, keys], data: vec![0.0; batch * keys] },
        Some(Value::Array(items)) if items.first().is_some_and(Value::is_number) => {
            let row = vector("delta", &Value::Array(items.clone()), MOST_TOKENS)?;
            Array { shape: vec![batch, row.len()], data: row.repeat(batch) }
        }
        Some(value) => matrix("delta", value, usize::MAX, MOST_TOKENS)?,
    };
    Ok(Some((tau, delta)))
}

fn tokens(field: &str, value: Option<&Value>, word: &str, count: usize) -> Result<Vec<String>, Wrong> {
    let Some(value) = value else { return Ok(names(word, count)) };
    let expected = || wrong(field, format!("expected {count} names, one for each row"));
    let list = value.as_array().filter(|list| list.len() == count).ok_or_else(expected)?;
    list.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(expected)).collect()
}

/// `[tokens, width]` or `[batch, tokens, width]`.
fn rows(field: &str, value: &Value) -> Result<Array, Wrong> {
    deep(field, value, MOST_WIDTH)
}

/// A matrix as a batch of one, or a list of matrices of one size.
fn deep(field: &str, value: &Value, most_columns: usize) -> Result<Array, Wrong> {
    let nested =
        |value: &Value| value.as_array().and_then(|rows| rows.first()?.as_array()?.first().map(Value::is_array));
    if nested(value) != Some(true) {
        let mut array = matrix(field, value, MOST_TOKENS, most_columns)?;
        array.shape.insert(0, 1);
        return Ok(array);
    }
    let items = list(field, value, MOST_TOKENS, "inputs")?;
    let mut data = Vec::new();
    let mut shape = vec![];
    for (at, item) in items.iter().enumerate() {
        let place = format!("{field}[{at}]");
        let array = matrix(&place, item, MOST_TOKENS, most_columns)?;
        if at > 0 && array.shape != shape {
            let reason = format!("expected {} x {} numbers as in the first", shape[0], shape[1]);
            return Err(wrong(place, reason + "; shorter ones are padded and barred by lengths"));
        }
        shape = array.shape;
        data.extend(array.data);
    }
    Ok(Array { shape: [vec![items.len()], shape].concat(), data })
}

/// A matrix with at least one number, all rows of one length.
fn matrix(field: &str, value: &Value, most_rows: usize, most_columns: usize) -> Result<Array, Wrong> {
    let rows = list(field, value, most_rows, "rows")?;
    let mut data = Vec::new();
    let mut columns = 0;
    for (i, row) in rows.iter().enumerate() {
        let at = format!("{field}[{i}]");
        let row = vector(&at, row, most_columns)?;
        if i == 0 {
            columns = row.len();
        } else if row.len() != columns {
            return Err(wrong(at, format!("expected {columns} numbers as in the first row, found {}", row.len())));
        }
        data.extend(row);
    }
    Ok(Array { shape: vec![rows.len(), columns], data })
}

/// A list with at least one number.
fn vector(field: &str, value: &Value, most: usize) -> Result<Vec<f32>, Wrong> {
    let items = list(field, value, most, "numbers")?;
    items.iter().enumerate().map(|(at, value)| number(&format!("{field}[{at}]"), value)).collect()
}

fn number(field: &str, value: &Value) -> Result<f32, Wrong> {
    let found = value.as_f64().map(|value| value as f32).filter(|value| value.is_finite());
    found.ok_or_else(|| wrong(field, format!("expected a number, found {value}")))
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

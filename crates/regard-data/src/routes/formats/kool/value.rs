//! What a pickle of instances is made of.

use crate::error::Fault;

/// One value on the machine's stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Int(i64),
    Float(f64),
    /// A list, by its place in the [`Heap`].
    List(u32),
    /// A tuple, likewise.
    Tuple(u32),
    /// A string, likewise. Instances have none, but it can name the function that is refused.
    Text(u32),
}

/// Lists, tuples and strings. They are held by number, so that a list can hold itself without
/// harm and nothing is dropped recursively.
#[derive(Debug, Default)]
pub(super) struct Heap<'a> {
    sequences: Vec<Vec<Value>>,
    texts: Vec<&'a [u8]>,
}

impl<'a> Heap<'a> {
    pub(super) fn list(&mut self, values: Vec<Value>) -> Result<Value, Fault> {
        self.sequence(values).map(Value::List)
    }

    pub(super) fn tuple(&mut self, values: Vec<Value>) -> Result<Value, Fault> {
        self.sequence(values).map(Value::Tuple)
    }

    fn sequence(&mut self, values: Vec<Value>) -> Result<u32, Fault> {
        self.sequences.push(values);
        number(self.sequences.len() - 1)
    }

    pub(super) fn text(&mut self, text: &'a [u8]) -> Result<Value, Fault> {
        self.texts.push(text);
        number(self.texts.len() - 1).map(Value::Text)
    }

    /// Appends to a list.
    pub(super) fn extend(&mut self, list: u32, values: Vec<Value>) {
        match self.sequences.get_mut(list as usize) {
            // Keeps what was allocated exactly for the values.
            Some(old) if old.is_empty() => *old = values,
            Some(old) => old.extend(values),
            None => {}
        }
    }

    /// The items of a list or tuple.
    pub(super) fn items(&self, value: Value) -> Option<&[Value]> {
        match value {
            Value::List(at) | Value::Tuple(at) => self.sequences.get(at as usize).map(Vec::as_slice),
            _ => None,
        }
    }

    /// A string as it can be shown; `?` for other values.
    pub(super) fn shown(&self, value: Value) -> String {
        match value {
            Value::Text(at) => {
                let text = self.texts.get(at as usize).copied().unwrap_or_default();
                super::super::shown(&String::from_utf8_lossy(text))
            }
            _ => "?".to_owned(),
        }
    }

    /// A value in a message about what was found.
    pub(super) fn found(&self, value: Value) -> String {
        let items = || self.items(value).map_or(0, <[Value]>::len);
        match value {
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::List(_) => format!("a list of {}", items()),
            Value::Tuple(_) => format!("a tuple of {}", items()),
            Value::Text(_) => format!("the text `{}`", self.shown(value)),
        }
    }
}

fn number(at: usize) -> Result<u32, Fault> {
    u32::try_from(at).map_err(|_| Fault::whole("has more than 4294967295 lists"))
}

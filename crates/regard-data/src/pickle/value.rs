//! The values of a pickle, and the heap they live in.

use crate::error::{Fault, shown};

/// A value of a pickle. `O` is an object of the reader's own, made by its [`Rules`](super::Rules).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<O> {
    /// None.
    None,
    /// True or False.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer of up to 128 bits, by its place in the [`Heap`].
    Long(u32),
    /// A float.
    Float(f64),
    /// A string, by its place in the [`Heap`].
    Text(u32),
    /// A list, likewise.
    List(u32),
    /// A tuple, likewise.
    Tuple(u32),
    /// A dict, likewise.
    Dict(u32),
    /// An object of the reader's own.
    Object(O),
}

/// Lists, tuples, dicts and texts of the pickles of one file. Texts are borrowed from the file.
#[derive(Debug)]
pub struct Heap<'a, O> {
    sequences: Vec<Vec<Value<O>>>,
    dicts: Vec<Vec<(Value<O>, Value<O>)>>,
    texts: Vec<&'a str>,
    longs: Vec<i128>,
    /// Values that were built so far.
    built: usize,
}

impl<O> Default for Heap<'_, O> {
    fn default() -> Self {
        Self { sequences: Vec::new(), dicts: Vec::new(), texts: Vec::new(), longs: Vec::new(), built: 0 }
    }
}

impl<'a, O: Copy> Heap<'a, O> {
    /// Counts `values` more.
    ///
    /// # Errors
    /// A fault when there are more than `most`.
    pub fn charge(&mut self, values: usize, most: usize) -> Result<(), Fault> {
        self.built = self.built.saturating_add(values);
        if self.built > most {
            return Err(Fault::whole(format!("builds more than {most} values; such a file needs far fewer")));
        }
        Ok(())
    }

    pub(super) fn integer(&mut self, number: i128) -> Result<Value<O>, Fault> {
        if let Ok(number) = number.try_into() {
            return Ok(Value::Int(number));
        }
        self.longs.push(number);
        place(self.longs.len()).map(Value::Long)
    }

    pub(super) fn add_text(&mut self, text: &'a str) -> Result<Value<O>, Fault> {
        self.texts.push(text);
        place(self.texts.len()).map(Value::Text)
    }

    pub(super) fn add_list(&mut self, values: Vec<Value<O>>) -> Result<Value<O>, Fault> {
        self.sequences.push(values);
        place(self.sequences.len()).map(Value::List)
    }

    pub(super) fn add_tuple(&mut self, values: Vec<Value<O>>) -> Result<Value<O>, Fault> {
        self.sequences.push(values);
        place(self.sequences.len()).map(Value::Tuple)
    }

    /// Adds a dict of these keys and values.
    ///
    /// # Errors
    /// A fault when there are more than 32 bits count.
    pub fn add_dict(&mut self, entries: Vec<(Value<O>, Value<O>)>) -> Result<Value<O>, Fault> {
        self.dicts.push(entries);
        place(self.dicts.len()).map(Value::Dict)
    }

    /// Appends to a list.
    pub(super) fn extend(&mut self, list: u32, values: Vec<Value<O>>) {
        match self.sequences.get_mut(list as usize) {
            // Keeps what was allocated exactly for the values.
            Some(old) if old.is_empty() => *old = values,
            Some(old) => old.extend(values),
            None => {}
        }
    }

    pub(super) fn insert(&mut self, dict: u32, key: Value<O>, value: Value<O>) {
        if let Some(dict) = self.dicts.get_mut(dict as usize) {
            dict.push((key, value));
        }
    }

    /// The items of a list or tuple.
    pub fn items(&self, value: Value<O>) -> Option<&[Value<O>]> {
        match value {
            Value::List(at) | Value::Tuple(at) => self.sequences.get(at as usize).map(Vec::as_slice),
            _ => None,
        }
    }

    /// The keys and values of a dict, in the order in which they were set.
    pub fn entries(&self, value: Value<O>) -> Option<&[(Value<O>, Value<O>)]> {
        match value {
            Value::Dict(at) => self.dicts.get(at as usize).map(Vec::as_slice),
            _ => None,
        }
    }

    /// A string.
    pub fn text(&self, value: Value<O>) -> Option<&'a str> {
        match value {
            Value::Text(at) => self.texts.get(at as usize).copied(),
            _ => None,
        }
    }

    /// An integer of any size.
    pub fn whole(&self, value: Value<O>) -> Option<i128> {
        match value {
            Value::Int(number) => Some(number.into()),
            Value::Long(at) => self.longs.get(at as usize).copied(),
            _ => None,
        }
    }

    /// The last value that was set under a text key, if `dict` is a dict.
    pub fn get(&self, dict: Value<O>, key: &str) -> Option<Value<O>> {
        self.entries(dict)?.iter().rev().find(|(found, _)| self.text(*found) == Some(key)).map(|(_, value)| *value)
    }

    /// A value in a message about what was found.
    pub fn describe(&self, value: Value<O>) -> String {
        let items = || self.items(value).map_or(0, <[_]>::len);
        match value {
            Value::None => "None".to_owned(),
            Value::Bool(truth) => if truth { "True" } else { "False" }.to_owned(),
            Value::Int(_) | Value::Long(_) => self.whole(value).unwrap_or_default().to_string(),
            Value::Float(number) => number.to_string(),
            Value::List(_) => format!("a list of {}", items()),
            Value::Tuple(_) => format!("a tuple of {}", items()),
            Value::Dict(_) => format!("a dict of {}", self.entries(value).map_or(0, <[_]>::len)),
            Value::Text(_) => format!("the text `{}`", shown(self.text(value).unwrap_or_default())),
            Value::Object(_) => "an object".to_owned(),
        }
    }
}

/// The place of the last of `count` things.
fn place(count: usize) -> Result<u32, Fault> {
    u32::try_from(count - 1).map_err(|_| Fault::whole("has more than 4294967295 lists"))
}

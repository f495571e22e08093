//! The values a weights file may hold, and the heap they live in.
//!
//! Lists, tuples and dicts are numbers of heap entries, so that a file can neither nest values
//! deeply enough to exhaust the stack when they are dropped, nor leak by referring to itself.

use std::collections::HashMap;

use super::fault::Fault;

/// Most values that one file may build; a state dict needs about thirty for a tensor.
const LIMIT: usize = 4_000_000;

/// A value of a pickle. Texts are borrowed from the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    None,
    Bool(bool),
    Int(i128),
    Float,
    Text(&'a str),
    List(usize),
    Tuple(usize),
    Dict(usize),
    Callable(Callable),
    Storage(usize),
    Tensor(usize),
}

/// The only names a file may ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Callable {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Size,
    Storage(Kind),
}

impl Callable {
    /// The callable of a name, if it is one of ours.
    pub(super) fn find(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Self::RebuildParameter,
            ("torch", "Size") => Self::Size,
            ("torch" | "torch.cuda", _) => Self::Storage(Kind::of_storage(name)?),
            _ => return None,
        })
    }
}

/// Type of the numbers of a storage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    F64,
    F32,
    F16,
    Bf16,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
}

impl Kind {
    fn of_storage(name: &str) -> Option<Self> {
        Some(match name {
            "DoubleStorage" => Self::F64,
            "FloatStorage" => Self::F32,
            "HalfStorage" => Self::F16,
            "BFloat16Storage" => Self::Bf16,
            "LongStorage" => Self::I64,
            "IntStorage" => Self::I32,
            "ShortStorage" => Self::I16,
            "CharStorage" => Self::I8,
            "ByteStorage" => Self::U8,
            "BoolStorage" => Self::Bool,
            _ => return None,
        })
    }

    /// Bytes of one number.
    pub(super) fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 => 2,
            Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }
}

/// A storage the file speaks of: where raw numbers will be found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StorageId<'a> {
    pub(super) key: &'a str,
    pub(super) kind: Kind,
    /// Numbers in the storage.
    pub(super) elements: usize,
    /// First number of the part in view (old files share storages this way).
    pub(super) view: usize,
}

/// A tensor the file speaks of: a strided view of a storage.
#[derive(Debug)]
pub(super) struct TensorId {
    pub(super) storage: usize,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) stride: Vec<usize>,
}

/// Everything the pickles of one file have built.
#[derive(Debug, Default)]
pub(super) struct Heap<'a> {
    sequences: Vec<Vec<Value<'a>>>,
    dicts: Vec<Vec<(Value<'a>, Value<'a>)>>,
    storages: Vec<StorageId<'a>>,
    by_key: HashMap<&'a str, usize>,
    tensors: Vec<TensorId>,
    built: usize,
}

impl<'a> Heap<'a> {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Counts `values` more; fails when the file builds more than any weights file would.
    pub(super) fn charge(&mut self, values: usize, at: usize) -> Result<(), Fault> {
        self.built = self.built.saturating_add(values);
        if self.built > LIMIT {
            return Err(Fault::new(at, format!("builds more than {LIMIT} values; a weights file needs far fewer")));
        }
        Ok(())
    }

    pub(super) fn add_sequence(&mut self, values: Vec<Value<'a>>) -> usize {
        self.sequences.push(values);
        self.sequences.len() - 1
    }

    pub(super) fn sequence(&self, id: usize) -> &[Value<'a>] {
        &self.sequences[id]
    }

    pub(super) fn append(&mut self, id: usize, values: &[Value<'a>]) {
        self.sequences[id].extend_from_slice(values);
    }

    pub(super) fn add_dict(&mut self, entries: Vec<(Value<'a>, Value<'a>)>) -> Value<'a> {
        self.dicts.push(entries);
        Value::Dict(self.dicts.len() - 1)
    }

    pub(super) fn entries(&self, id: usize) -> &[(Value<'a>, Value<'a>)] {
        &self.dicts[id]
    }

    pub(super) fn insert(&mut self, id: usize, key: Value<'a>, value: Value<'a>) {
        self.dicts[id].push((key, value));
    }

    /// The last value written under a text key, if `dict` is a dict.
    pub(super) fn get(&self, dict: Value<'a>, key: &str) -> Option<Value<'a>> {
        let Value::Dict(id) = dict else { return None };
        self.dicts[id].iter().rev().find(|(k, _)| *k == Value::Text(key)).map(|(_, value)| *value)
    }

    /// Adds a storage; two that share a key must agree in type and size.
    pub(super) fn add_storage(&mut self, storage: StorageId<'a>, at: usize) -> Result<Value<'a>, Fault> {
        let first = *self.by_key.entry(storage.key).or_insert(self.storages.len());
        if let Some(known) = self.storages.get(first)
            && (known.kind, known.elements) != (storage.kind, storage.elements)
        {
            return Err(Fault::new(at, format!("storage `{}` is declared twice, differently", clip(storage.key))));
        }
        self.storages.push(storage);
        Ok(Value::Storage(self.storages.len() - 1))
    }

    pub(super) fn storage(&self, id: usize) -> &StorageId<'a> {
        &self.storages[id]
    }

    /// Every storage, once for each key.
    pub(super) fn storages(&self) -> impl Iterator<Item = &StorageId<'a>> {
        self.by_key.values().map(|&id| &self.storages[id])
    }

    pub(super) fn storage_of_key(&self, key: &str) -> Option<&StorageId<'a>> {
        self.by_key.get(key).map(|&id| &self.storages[id])
    }

    pub(super) fn add_tensor(&mut self, tensor: TensorId) -> Value<'a> {
        self.tensors.push(tensor);
        Value::Tensor(self.tensors.len() - 1)
    }

    pub(super) fn tensor(&self, id: usize) -> &TensorId {
        &self.tensors[id]
    }
}

/// A name from the file, made safe to print: control characters escaped, at most 60 characters.
pub(super) fn clip(name: &str) -> String {
    let mut text: String = name.chars().take(60).flat_map(char::escape_debug).collect();
    if name.chars().nth(60).is_some() {
        text.push('…');
    }
    text
}

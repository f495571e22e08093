//! Weights saved by PyTorch, `torch.save`, without PyTorch and without running anything.
//!
//! A `.pt` file is a pickle: a small program that may call any function of Python. The reader
//! ([`regard_data::pickle`]) knows numbers, strings, lists, tuples, dicts and tensors; it refuses everything else by
//! its name, and nothing is ever executed.
//!
//! The **legacy** layout (PyTorch up to 1.5) is five pickles and the raw values in one stream:
//!
//! ```text
//! magic number | protocol 1001 | {little_endian, type_sizes} | the object | [storage keys]
//! then for every key: count (int64) | count values, little-endian
//! ```
//!
//! The **new** layout (since 1.6) is a zip archive of stored members: `NAME/data.pkl` and
//! `NAME/data/KEY`.
//!
//! Source: `torch/serialization.py`, `_legacy_load` and `_load`.

mod archive;
mod objects;
mod storage;

use std::path::Path;

use regard_data::pickle::{self, Fault, Heap, Value};

use self::objects::{Object, Objects};
use self::storage::Storages;
use super::array::Weights;
use super::file;
use super::safetensors::check_finite;
use crate::{Error, Result};

const MAGIC: i128 = 0x1950_a86a_20f9_469c_fc6c;
const PROTOCOL: i128 = 1001;

/// Reads the weights of a `.pt` file: the tensors of its dict, or of the dict under its key
/// `model`, `model_state_dict` or `state_dict`. Halves, doubles and integers become `f32`.
///
/// # Errors
/// [`crate::Error::Io`]; [`crate::Error::Parse`] with the position for a file that is cut, damaged,
/// of another kind, or asks for anything but tensors and plain values; [`crate::Error::Weights`] for
/// values that are not finite.
pub fn read(path: &Path) -> Result<Weights> {
    parse(&file::read(path, file::WEIGHTS_LIMIT)?, path)
}

/// Reads the weights from the bytes of a file; `path` is only for messages.
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: &[u8], path: &Path) -> Result<Weights> {
    let weights = if archive::is_zip(bytes) { archive::read(bytes) } else { read_stream(bytes) };
    let weights = weights.map_err(|fault| in_file(&fault, path))?;
    check_finite(&weights).map_err(|error| error.in_file(path))?;
    Ok(weights)
}

fn in_file(fault: &Fault, path: &Path) -> Error {
    let (field, reason) = (fault.place().to_owned(), fault.reason().to_owned());
    let error = Error::Parse { path: path.to_owned(), line: 0, field, reason };
    match fault.advice() {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// The legacy layout.
fn read_stream(bytes: &[u8]) -> Result<Weights, Fault> {
    let (mut heap, mut objects, mut at) = (Heap::default(), Objects::default(), 0);
    check_head(bytes, &mut at, &mut heap, &mut objects)?;
    let object = pickle::load(bytes, &mut at, &mut heap, &mut objects)?;
    let keys = pickle::load(bytes, &mut at, &mut heap, &mut objects)?;
    let keys = match keys {
        Value::List(_) => heap.items(keys).unwrap_or_default(),
        _ => return Err(Fault::at_byte(at, "expected the list of storage keys")),
    };
    let mut storages = Storages::new();
    for key in keys {
        let Some(key) = heap.text(*key) else {
            return Err(Fault::at_byte(at, "a storage key is not a string"));
        };
        storages.take(key, bytes, &mut at, &objects)?;
    }
    File { heap, objects, storages }.weights(object, bytes.len())
}

/// Checks magic number, protocol and byte order, the first three pickles of the stream.
fn check_head<'a>(
    bytes: &'a [u8],
    at: &mut usize,
    heap: &mut Heap<'a, Object>,
    objects: &mut Objects<'a>,
) -> Result<(), Fault> {
    const KINDS: &str = "expected a file of torch.save (.pt) or a safetensors file";
    if bytes.first() != Some(&0x80) {
        return Err(Fault::whole("is not a file of torch.save").hint(KINDS));
    }
    let magic = pickle::load(bytes, at, heap, objects)?;
    if heap.whole(magic) != Some(MAGIC) {
        return Err(Fault::whole("is a pickle, but not one of torch.save: the magic number is missing").hint(KINDS));
    }
    let protocol = pickle::load(bytes, at, heap, objects)?;
    if heap.whole(protocol) != Some(PROTOCOL) {
        return Err(Fault::at_byte(*at, format!("the protocol of torch.save is not {PROTOCOL}")));
    }
    let info = pickle::load(bytes, at, heap, objects)?;
    if !matches!(heap.get(info, "little_endian"), Some(Value::Bool(true))) {
        let reason = "was written on a big-endian machine (or does not say), which is not supported";
        return Err(Fault::at_byte(*at, reason));
    }
    Ok(())
}

/// All that a file holds.
struct File<'a> {
    heap: Heap<'a, Object>,
    objects: Objects<'a>,
    storages: Storages<'a>,
}

impl File<'_> {
    /// The tensors of the state dict in `object`; `length` is that of the file.
    fn weights(&self, object: Value<Object>, length: usize) -> Result<Weights, Fault> {
        const HINT: &str = "save `model.state_dict()` with torch.save";
        let state = ["model", "model_state_dict", "state_dict"]
            .iter()
            .find_map(|key| self.heap.get(object, key).filter(|value| matches!(value, Value::Dict(_))))
            .unwrap_or(object);
        let Some(entries) = self.heap.entries(state) else {
            return Err(Fault::whole("holds no dict of tensors").hint(HINT));
        };
        let mut weights = Weights::new();
        // Tensors may share storages, and strides of 0 repeat values: bound what a small file can ask for.
        let mut budget = length.saturating_mul(2);
        for (key, value) in entries {
            if let (Some(name), Value::Object(Object::Tensor(tensor))) = (self.heap.text(*key), *value) {
                let tensor = self.objects.tensor(tensor);
                weights.insert(name.to_owned(), self.storages.tensor(name, tensor, &self.objects, &mut budget)?);
            }
        }
        if weights.is_empty() {
            return Err(Fault::whole("holds no tensors where the weights are expected").hint(HINT));
        }
        Ok(weights)
    }
}

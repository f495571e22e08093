//! Weights saved by PyTorch, `torch.save`, without PyTorch and without running anything.
//!
//! A `.pt` file is a pickle: a small program that may call any function of Python. The reader
//! (`pickle.rs`) knows tensors, numbers, strings, lists, tuples and dicts; whatever else a file
//! asks for is refused by its name, and nothing is ever executed.
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
mod build;
mod cursor;
mod fault;
mod literal;
mod pickle;
mod storage;
mod value;

use std::path::Path;

use super::array::Weights;
use super::file;
use super::safetensors::check_finite;
use crate::Result;
use fault::Fault;
use storage::Storages;
use value::{Heap, Value};

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
    let weights = weights.map_err(|fault| fault.in_file(path))?;
    check_finite(&weights).map_err(|error| error.in_file(path))?;
    Ok(weights)
}

/// The legacy layout.
fn read_stream(bytes: &[u8]) -> Result<Weights, Fault> {
    let mut heap = Heap::new();
    let mut at = 0;
    check_head(bytes, &mut at, &mut heap)?;
    let object = pickle::load(bytes, &mut at, &mut heap)?;
    let keys = pickle::load(bytes, &mut at, &mut heap)?;
    let Value::List(keys) = keys else {
        return Err(Fault::new(at, "expected the list of storage keys"));
    };
    let mut storages = Storages::new();
    for key in heap.sequence(keys) {
        let Value::Text(key) = *key else {
            return Err(Fault::new(at, "a storage key is not a string"));
        };
        storages.take(key, bytes, &mut at, &heap)?;
    }
    collect(object, &heap, &storages, bytes.len())
}

/// Checks magic number, protocol and byte order, the first three pickles of the stream.
fn check_head<'a>(bytes: &'a [u8], at: &mut usize, heap: &mut Heap<'a>) -> Result<(), Fault> {
    const KINDS: &str = "expected a file of torch.save (.pt) or a safetensors file";
    if bytes.first() != Some(&0x80) {
        return Err(Fault::whole("is not a file of torch.save").hint(KINDS));
    }
    if !matches!(pickle::load(bytes, at, heap)?, Value::Int(MAGIC)) {
        return Err(Fault::whole("is a pickle, but not one of torch.save: the magic number is missing").hint(KINDS));
    }
    if !matches!(pickle::load(bytes, at, heap)?, Value::Int(PROTOCOL)) {
        return Err(Fault::new(*at, format!("the protocol of torch.save is not {PROTOCOL}")));
    }
    let info = pickle::load(bytes, at, heap)?;
    if !matches!(heap.get(info, "little_endian"), Some(Value::Bool(true))) {
        return Err(Fault::new(*at, "was written on a big-endian machine (or does not say), which is not supported"));
    }
    Ok(())
}

/// The tensors of the state dict in `object`.
fn collect(object: Value<'_>, heap: &Heap<'_>, storages: &Storages<'_>, length: usize) -> Result<Weights, Fault> {
    let state = ["model", "model_state_dict", "state_dict"]
        .iter()
        .find_map(|key| heap.get(object, key).filter(|value| matches!(value, Value::Dict(_))))
        .unwrap_or(object);
    let Value::Dict(state) = state else {
        return Err(Fault::whole("holds no dict of tensors").hint("save `model.state_dict()` with torch.save"));
    };
    let mut weights = Weights::new();
    // Tensors may share storages, and strides of 0 repeat values: bound what a small file can ask
    // for.
    let mut budget = length.saturating_mul(2);
    for (key, value) in heap.entries(state) {
        if let (Value::Text(name), Value::Tensor(tensor)) = (*key, *value) {
            weights.insert(name.to_owned(), storages.tensor(name, heap.tensor(tensor), heap, &mut budget)?);
        }
    }
    if weights.is_empty() {
        return Err(Fault::whole("holds no tensors where the weights are expected")
            .hint("save `model.state_dict()` with torch.save"));
    }
    Ok(weights)
}

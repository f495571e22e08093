//! The safetensors format: an 8-byte header length, a JSON header, and the raw values.
//!
//! Reading goes through the `safetensors` crate, which checks every offset against the file;
//! writing is done here, since the same weights must always give the same bytes (the crate orders
//! metadata at random).
//!
//! Format: <https://huggingface.co/docs/safetensors>.

use std::collections::BTreeMap;
use std::path::Path;

use ::safetensors::tensor::{SafeTensors, TensorView};
use ::safetensors::{Dtype, SafeTensorError};
use half::{bf16, f16};
use regard_data::file::write_atomic;
use serde::Serialize;

use super::array::{Array, Weights};
use super::file;
use crate::{Error, Result};

/// Reads the weights of a file; every other type of number becomes `f32` (integers are counters
/// here).
///
/// # Errors
/// [`Error::Io`]; [`Error::Parse`] for a damaged header, for offsets outside the file and for types
/// that are not plain numbers; [`Error::Weights`] for values that are not finite.
pub fn read(path: &Path) -> Result<Weights> {
    parse(&file::read(path, file::WEIGHTS_LIMIT)?, path)
}

/// Reads the weights from the bytes of a file; `path` is only for messages.
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: &[u8], path: &Path) -> Result<Weights> {
    let fault =
        |field: &str, reason: String| Error::Parse { path: path.to_owned(), line: 0, field: field.to_owned(), reason };
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| fault("", describe(&error, bytes.len())))?;
    let mut weights = Weights::new();
    for (name, view) in tensors.iter() {
        let data = values(&view).ok_or_else(|| {
            fault(name, format!("holds {:?}; expected F32, F64, F16, BF16 or integers", view.dtype()))
        })?;
        weights.insert(name.to_owned(), Array { shape: view.shape().to_vec(), data });
    }
    check_finite(&weights).map_err(|error| error.in_file(path))?;
    Ok(weights)
}

/// Refuses NaN and infinities by the tensor's name.
pub(super) fn check_finite(weights: &Weights) -> Result<()> {
    let wrong: Vec<String> = weights
        .iter()
        .filter_map(|(name, array)| {
            array.first_not_finite().map(|(at, value)| format!("{name}: value {at} is {value}, not a finite number"))
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(Error::Weights { missing: vec![], extra: vec![], wrong }) }
}

fn values(view: &TensorView<'_>) -> Option<Vec<f32>> {
    let bytes = view.data();
    Some(match view.dtype() {
        Dtype::F32 => each(bytes, f32::from_le_bytes),
        Dtype::F64 => each(bytes, |b| f64::from_le_bytes(b) as f32),
        Dtype::F16 => each(bytes, |b| f16::from_le_bytes(b).to_f32()),
        Dtype::BF16 => each(bytes, |b| bf16::from_le_bytes(b).to_f32()),
        Dtype::I64 => each(bytes, |b| i64::from_le_bytes(b) as f32),
        Dtype::I32 => each(bytes, |b| i32::from_le_bytes(b) as f32),
        Dtype::U8 | Dtype::BOOL => each(bytes, |[b]| f32::from(b)),
        _ => return None,
    })
}

/// Maps every `N` bytes to one value.
pub(super) fn each<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| value(*chunk)).collect()
}

fn describe(error: &SafeTensorError, length: usize) -> String {
    match error {
        SafeTensorError::HeaderTooSmall => {
            format!("is {length} bytes long, too short for a safetensors file")
        }
        SafeTensorError::HeaderTooLarge | SafeTensorError::InvalidHeaderLength => {
            format!(
                "is not a safetensors file, or was cut: its first 8 bytes promise a header \
                 longer than its {length} bytes"
            )
        }
        SafeTensorError::InvalidHeader(_) | SafeTensorError::InvalidHeaderDeserialization(_) => {
            format!("is not a safetensors file: {error}")
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            format!(
                "the header does not fit the file's {length} bytes: it was cut, or has bytes at \
                 its end"
            )
        }
        _ => format!("damaged header: {error}"),
    }
}

#[derive(Serialize)]
struct Entry<'a> {
    dtype: &'static str,
    shape: &'a [usize],
    data_offsets: [usize; 2],
}

/// Writes the weights as `F32`, in the order of their names, with `metadata` in the header.
///
/// The same weights and metadata give the same bytes. The file is written under a temporary name
/// and renamed.
///
/// # Errors
/// [`Error::Io`]; [`Error::Weights`] for values that are not finite; [`Error::Shape`] when an
/// array's values do not fill its shape.
pub fn write(path: &Path, weights: &Weights, metadata: &BTreeMap<String, String>) -> Result<()> {
    check_finite(weights).map_err(|error| error.in_file(path))?;
    let header = header(weights, metadata)?;
    write_atomic(path, |out| {
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        for array in weights.values() {
            for value in &array.data {
                out.write_all(&value.to_le_bytes())?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// The JSON header, padded with spaces so that the values start at a multiple of 8.
fn header(weights: &Weights, metadata: &BTreeMap<String, String>) -> Result<Vec<u8>> {
    let mut entries = BTreeMap::new();
    let mut end = 0;
    for (name, array) in weights {
        if super::array::elements(&array.shape) != Some(array.data.len()) {
            let (expected, found) = (array.shape.clone(), vec![array.data.len()]);
            return Err(Error::Shape { what: name.clone(), expected, found });
        }
        let start = end;
        end += size_of::<f32>() * array.data.len();
        entries.insert(name.as_str(), Entry { dtype: "F32", shape: &array.shape, data_offsets: [start, end] });
    }
    let text = |error: serde_json::Error| Error::Unsupported { what: "header".into(), reason: error.to_string() };
    let mut json = b"{".to_vec();
    if !metadata.is_empty() {
        json.extend_from_slice(b"\"__metadata__\":");
        serde_json::to_writer(&mut json, metadata).map_err(text)?;
        if !entries.is_empty() {
            json.push(b',');
        }
    }
    let entries = serde_json::to_vec(&entries).map_err(text)?;
    json.extend_from_slice(&entries[1..]);
    json.resize(json.len().next_multiple_of(8), b' ');
    Ok(json)
}

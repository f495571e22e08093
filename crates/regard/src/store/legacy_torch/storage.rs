//! The raw numbers of a file, and tensors cut out of them.

use std::collections::HashMap;

use half::{bf16, f16};
use regard_data::pickle::Fault;

use super::objects::{Kind, Objects, StorageId, TensorId, clip};
use crate::store::array::{Array, elements};

/// The raw bytes of every storage, by key.
#[derive(Debug, Default)]
pub(super) struct Storages<'a>(HashMap<&'a str, &'a [u8]>);

impl<'a> Storages<'a> {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Takes the next storage of a legacy stream: a count (int64) and as many numbers.
    pub(super) fn take(
        &mut self,
        key: &'a str,
        bytes: &'a [u8],
        at: &mut usize,
        objects: &Objects<'a>,
    ) -> Result<(), Fault> {
        let name = clip(key);
        let Some(storage) = objects.storage_of_key(key) else {
            return Err(Fault::at_byte(*at, format!("storage `{name}` is listed, but no tensor lies in it")));
        };
        let Some((count, rest)) = bytes.get(*at..).and_then(|rest| rest.split_first_chunk::<8>()) else {
            return Err(Fault::at_byte(*at, format!("the file ends before storage `{name}`")));
        };
        let count = i64::from_le_bytes(*count);
        if usize::try_from(count).ok() != Some(storage.elements) {
            let reason = format!("storage `{name}` begins with a count of {count}; {} was promised", storage.elements);
            return Err(Fault::at_byte(*at, reason));
        }
        let length = storage.elements.checked_mul(storage.kind.size());
        let Some(data) = length.and_then(|length| rest.get(..length)) else {
            let reason = format!(
                "storage `{name}` has {} numbers; the file ends {} bytes after its start",
                storage.elements,
                rest.len()
            );
            return Err(Fault::at_byte(*at, reason));
        };
        self.0.insert(key, data);
        *at += 8 + data.len();
        Ok(())
    }

    /// Adds a storage that lies in a file of its own (a member of an archive).
    pub(super) fn add(&mut self, storage: &StorageId<'a>, data: &'a [u8]) -> Result<(), Fault> {
        if storage.elements.checked_mul(storage.kind.size()) != Some(data.len()) {
            let (name, promised) = (clip(storage.key), storage.elements);
            return Err(Fault::whole(format!(
                "storage `{name}` has {} bytes; {promised} numbers were promised",
                data.len()
            )));
        }
        self.0.insert(storage.key, data);
        Ok(())
    }

    /// The values of a tensor, as many as `budget` allows; the budget shrinks by them.
    pub(super) fn tensor(
        &self,
        name: &str,
        tensor: &TensorId,
        objects: &Objects<'a>,
        budget: &mut usize,
    ) -> Result<Array, Fault> {
        let name = clip(name);
        let storage = objects.storage(tensor.storage);
        let Some(data) = self.0.get(storage.key) else {
            return Err(Fault::whole(format!("{name}: its storage `{}` is missing", clip(storage.key))));
        };
        let count = elements(&tensor.shape)
            .filter(|count| count <= budget)
            .ok_or_else(|| Fault::whole(format!("{name}: shape {:?} is too large for this file", tensor.shape)))?;
        *budget -= count;
        let values = match span(tensor, storage.view) {
            _ if count == 0 => vec![],
            Some((first, last)) if last < storage.elements => {
                positions(tensor, first).take(count).map(|at| number(data, storage.kind, at)).collect()
            }
            _ => {
                let reason = format!("{name}: reaches beyond its storage of {} numbers", storage.elements);
                return Err(Fault::whole(reason));
            }
        };
        Ok(Array { shape: tensor.shape.clone(), data: values })
    }
}

/// First and last position of a tensor's values in its storage; `None` when they do not fit into
/// `usize`.
fn span(tensor: &TensorId, view: usize) -> Option<(usize, usize)> {
    let first = tensor.offset.checked_add(view)?;
    let mut last = first;
    for (&length, &stride) in tensor.shape.iter().zip(&tensor.stride) {
        last = last.checked_add(length.checked_sub(1)?.checked_mul(stride)?)?;
    }
    Some((first, last))
}

/// Positions of a tensor's values in its storage, in row-major order.
fn positions(tensor: &TensorId, first: usize) -> impl Iterator<Item = usize> {
    let axes = || tensor.shape.iter().zip(&tensor.stride).rev();
    (0usize..).map(move |mut flat| {
        axes().fold(first, |at, (&length, &stride)| {
            let index = flat % length;
            flat /= length;
            at + index * stride
        })
    })
}

/// The number at a position, which lies within the storage.
fn number(data: &[u8], kind: Kind, at: usize) -> f32 {
    fn read<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
        data.as_chunks::<N>().0[at]
    }
    match kind {
        Kind::F64 => f64::from_le_bytes(read(data, at)) as f32,
        Kind::F32 => f32::from_le_bytes(read(data, at)),
        Kind::F16 => f16::from_le_bytes(read(data, at)).to_f32(),
        Kind::Bf16 => bf16::from_le_bytes(read(data, at)).to_f32(),
        Kind::I64 => i64::from_le_bytes(read(data, at)) as f32,
        Kind::I32 => i32::from_le_bytes(read(data, at)) as f32,
        Kind::I16 => i16::from_le_bytes(read(data, at)).into(),
        Kind::I8 => i8::from_le_bytes(read(data, at)).into(),
        Kind::U8 | Kind::Bool => data[at].into(),
    }
}

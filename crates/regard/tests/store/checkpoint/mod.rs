//! Small checkpoints made by hand: pickles, legacy `.pt` files, zip archives.

use std::io::{Cursor, Write};

use regard::routes::model::AttentionModelConfig;
use regard::store::{Array, NetworkConfig, Weights};
use zip::write::{SimpleFileOptions, ZipWriter};

/// `[magic][protocol][sys_info]`, the three pickles in front of every legacy file.
pub(crate) fn head(little_endian: bool) -> Vec<u8> {
    let mut bytes = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}".to_vec();
    bytes.extend(text("little_endian"));
    bytes.extend([if little_endian { 0x88 } else { 0x89 }, b's', b'.']);
    bytes
}

/// BINUNICODE.
pub(crate) fn text(text: &str) -> Vec<u8> {
    [b"X", (text.len() as u32).to_le_bytes().as_slice(), text.as_bytes()].concat()
}

/// BININT.
pub(crate) fn int(number: i32) -> Vec<u8> {
    [b"J".as_slice(), &number.to_le_bytes()].concat()
}

/// A tuple of integers.
pub(crate) fn ints(numbers: &[usize]) -> Vec<u8> {
    let inner: Vec<u8> = numbers.iter().flat_map(|&number| int(number as i32)).collect();
    [b"(", inner.as_slice(), b"t"].concat()
}

/// A tensor: `_rebuild_tensor_v2` of a storage, as PyTorch writes it.
pub(crate) fn tensor(
    storage: &str,
    kind: &str,
    count: usize,
    offset: usize,
    shape: &[usize],
    stride: &[usize],
) -> Vec<u8> {
    let mut bytes = b"ctorch._utils\n_rebuild_tensor_v2\n((".to_vec();
    bytes.extend(text("storage"));
    bytes.extend(format!("ctorch\n{kind}\n").into_bytes());
    bytes.extend(text(storage));
    bytes.extend(text("cpu"));
    bytes.extend(int(count as i32));
    bytes.extend(b"tQ");
    bytes.extend(int(offset as i32));
    bytes.extend(ints(shape));
    bytes.extend(ints(stride));
    bytes.extend(b"\x89ccollections\nOrderedDict\n)RtR");
    bytes
}

/// A pickled dict of already pickled values.
pub(crate) fn dict(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"}(".to_vec();
    for (key, value) in entries {
        bytes.extend(text(key));
        bytes.extend(value);
    }
    bytes.push(b'u');
    bytes
}

/// A complete pickle of protocol 2.
pub(crate) fn pickle(body: &[u8]) -> Vec<u8> {
    [b"\x80\x02", body, b"."].concat()
}

/// A legacy file of one object, with storages of raw bytes behind it: key, count, bytes.
pub(crate) fn legacy(object: &[u8], storages: &[(&str, usize, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = [head(true), pickle(object)].concat();
    let keys: Vec<u8> = storages.iter().flat_map(|(key, ..)| text(key)).collect();
    bytes.extend(pickle(&[b"](", keys.as_slice(), b"e"].concat()));
    for (_, count, data) in storages {
        bytes.extend((*count as i64).to_le_bytes());
        bytes.extend(data);
    }
    bytes
}

/// The little-endian bytes of some floats.
pub(crate) fn raw(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A stored zip archive.
pub(crate) fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in members {
        zip.start_file(*name, options).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Weights of a network, every value different.
pub(crate) fn weights(config: &AttentionModelConfig) -> Weights {
    let mut next = 0.0;
    let mut array = |slot: regard::store::layout::ParamSpec| {
        let data = (0..slot.elements()).map(|_| {
            next += 0.001;
            next
        });
        (slot.name.clone(), Array { data: data.collect(), shape: slot.shape.clone() })
    };
    config.param_specs().into_iter().map(&mut array).collect()
}

/// A small network: width 8, 2 heads, 2 layers, hidden width 12.
pub(crate) fn small() -> AttentionModelConfig {
    AttentionModelConfig { width: 8, heads: 2, layers: 2, feedforward_width: 12, ..AttentionModelConfig::kool_2019() }
}

/// A legacy checkpoint of weights under the key `model`, as Kool's code writes it.
pub(crate) fn checkpoint(weights: &Weights) -> Vec<u8> {
    let contiguous =
        |shape: &[usize]| -> Vec<usize> { (1..=shape.len()).map(|axis| shape[axis..].iter().product()).collect() };
    let entries: Vec<(&str, Vec<u8>)> = weights
        .iter()
        .map(|(name, array)| {
            let stride = contiguous(&array.shape);
            (name.as_str(), tensor(name, "FloatStorage", array.data.len(), 0, &array.shape, &stride))
        })
        .collect();
    let storages: Vec<_> =
        weights.iter().map(|(name, array)| (name.as_str(), array.data.len(), raw(&array.data))).collect();
    legacy(&dict(&[("model", dict(&entries))]), &storages)
}

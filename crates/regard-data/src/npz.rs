//! Archives of numpy arrays (`numpy.savez`).
//!
//! Numbers are `float32`, `float64`, `int32`, `int64` or `uint8`, in C order. Nothing that would have to be
//! run is understood.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};

use zip::read::ZipFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::error::{Fault, shown};
use crate::table::AS_CSV;

/// If true, the bytes begin as those of an archive do.
pub fn looks_like(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK")
}

/// The most bytes to which each byte of an archive may grow: random numbers hardly shrink, and constant
/// columns are a small part of a set.
const UNPACKED_PER_BYTE: u64 = 64;
/// The size to which any archive may grow.
const UNPACKED_ALWAYS: u64 = 1 << 20;

/// All arrays by name.
pub fn arrays(bytes: &[u8]) -> Result<BTreeMap<String, Array>, Fault> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    let mut left = (bytes.len() as u64).saturating_mul(UNPACKED_PER_BYTE).saturating_add(UNPACKED_ALWAYS);
    let mut all = BTreeMap::new();
    for at in 0..zip.len() {
        let member = zip.by_index(at).map_err(|error| damaged(&error))?;
        let file = member.name().map_err(|error| damaged(&error))?.into_owned();
        let Some(name) = file.strip_suffix(".npy") else {
            if file == "[Content_Types].xml" || file.starts_with("xl/") {
                return Err(Fault::whole("is an Excel workbook, expected a table as text").hint(AS_CSV));
            }
            return Err(Fault::whole(format!("holds `{}`, expected arrays (`.npy`) only", shown(&file))));
        };
        let size = member.size();
        left = left.checked_sub(size).ok_or_else(|| {
            Fault::whole("unpacks to more than 64 times its size, which is not plausible for numeric data")
                .hint("save with `numpy.savez`, which does not compress")
                .within(shown(name))
        })?;
        let content = unpacked(member, size).map_err(|reason| Fault::whole(reason).within(shown(name)))?;
        let array = Array::parse(&content).map_err(|fault| fault.within(shown(name)))?;
        all.insert(name.to_owned(), array);
    }
    Ok(all)
}

/// The bytes of an archive with these arrays, in single precision where that loses nothing.
///
/// # Errors
/// Those of the archive, which a few arrays in memory do not cause.
pub fn render(arrays: &[(&str, Array)]) -> Result<Vec<u8>, String> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let fault = |error: &dyn std::fmt::Display| error.to_string();
    for (name, array) in arrays {
        zip.start_file(format!("{name}.npy"), options).map_err(|error| fault(&error))?;
        zip.write_all(&array.render()).map_err(|error| fault(&error))?;
    }
    Ok(zip.finish().map_err(|error| fault(&error))?.into_inner())
}

/// The content of a member, which has to be as long as the archive says.
fn unpacked(member: ZipFile<'_, Cursor<&[u8]>>, size: u64) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    // One byte more than stated shows that there is more, and ends there.
    let read = member.take(size.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| format!("cannot be unpacked: {error}"))?;
    if content.len() as u64 == size {
        return Ok(content);
    }
    Err(format!("does not unpack to the {size} bytes the archive states"))
}

fn damaged(error: &dyn std::fmt::Display) -> Fault {
    Fault::whole(format!("is not a readable archive: {error}"))
}

/// An array of numbers in C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Sizes of the dimensions.
    pub shape: Vec<usize>,
    /// Values in C order.
    pub values: Vec<f64>,
}

impl Array {
    /// Reads the bytes of a `.npy` file, format versions 1 to 3.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let (Header { kind, shape }, data) = split(bytes)?;
        let stated = shape.iter().try_fold(kind.width(), |all, length| all.checked_mul(*length));
        if stated != Some(data.len()) {
            let reason =
                format!("has {} bytes of numbers, which is not what its shape {} takes", data.len(), tuple(&shape));
            return Err(Fault::whole(reason));
        }
        let values = match kind {
            Kind::Float32 => numbers(data, |b| f32::from_le_bytes(b).into()),
            Kind::Float64 => numbers(data, f64::from_le_bytes),
            Kind::Int32 => numbers(data, |b| i32::from_le_bytes(b).into()),
            Kind::Int64 => numbers(data, |b| i64::from_le_bytes(b) as f64),
            Kind::UInt8 => numbers(data, |[b]| b.into()),
        };
        Ok(Self { shape, values })
    }
}

impl Array {
    /// The bytes of a `.npy` file of format version 1.
    fn render(&self) -> Vec<u8> {
        let single = self.values.iter().all(|value| f64::from(*value as f32) == *value);
        let descr = if single { "<f4" } else { "<f8" };
        let shape = tuple(&self.shape);
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        // The numbers begin at a multiple of 64 bytes, behind 10 bytes and the header with a line break.
        const ALIGNED: usize = 64;
        let padding = (ALIGNED - (10 + header.len() + 1) % ALIGNED) % ALIGNED;
        header.push_str(&" ".repeat(padding));
        header.push('\n');
        let length = u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes();
        let mut bytes = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat();
        for value in &self.values {
            match single {
                true => bytes.extend((*value as f32).to_le_bytes()),
                false => bytes.extend(value.to_le_bytes()),
            }
        }
        bytes
    }
}

fn numbers<const N: usize>(data: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    data.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)).collect()
}

/// A shape as Python writes it.
pub fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The most dimensions that are read.
const MOST_DIMENSIONS: usize = 8;

/// The type of the numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Float32,
    Float64,
    Int32,
    Int64,
    UInt8,
}

impl Kind {
    /// Bytes of one number.
    fn width(self) -> usize {
        match self {
            Self::Float32 | Self::Int32 => 4,
            Self::Float64 | Self::Int64 => 8,
            Self::UInt8 => 1,
        }
    }

    fn of(descr: &str) -> Result<Self, Fault> {
        match descr {
            "<f4" => Ok(Self::Float32),
            "<f8" => Ok(Self::Float64),
            "<i4" => Ok(Self::Int32),
            "<i8" => Ok(Self::Int64),
            "|u1" => Ok(Self::UInt8),
            "|O" => Err(Fault::whole("holds Python objects, expected numbers")
                .hint("they are pickled and could call functions; convert the array with `.astype(np.float32)`")),
            other => {
                let reason =
                    format!("has numbers of type `{}`, expected `<f4`, `<f8`, `<i4`, `<i8` or `|u1`", shown(other));
                Err(Fault::whole(reason).hint("convert the array with `.astype(np.float32)`"))
            }
        }
    }
}

/// The header of an array.
#[derive(Debug, PartialEq)]
struct Header {
    kind: Kind,
    shape: Vec<usize>,
}

/// The header, and the bytes of the numbers.
fn split(bytes: &[u8]) -> Result<(Header, &[u8]), Fault> {
    let cut = || Fault::whole("ends within its header");
    let Some(rest) = bytes.strip_prefix(b"\x93NUMPY") else {
        return Err(Fault::whole("is not a numpy array: it does not begin with `\\x93NUMPY`"));
    };
    let ([version, _minor], rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
    let (length, rest) = match version {
        1 => rest.split_first_chunk().map(|(l, rest)| (u16::from_le_bytes(*l).into(), rest)).ok_or_else(cut)?,
        2 | 3 => rest.split_first_chunk().map(|(l, rest)| (u32::from_le_bytes(*l), rest)).ok_or_else(cut)?,
        other => return Err(Fault::whole(format!("has the array format {other}, expected 1, 2 or 3"))),
    };
    let (text, data) = usize::try_from(length).ok().and_then(|at| rest.split_at_checked(at)).ok_or_else(cut)?;
    let text = str::from_utf8(text).map_err(|_| Fault::whole("has a header that is not UTF-8"))?;
    Ok((parse(text)?, data))
}

fn parse(text: &str) -> Result<Header, Fault> {
    let entry = |name: &str| {
        let (_, after) = text.split_once(&format!("'{name}':"))?;
        Some(after.trim_start())
    };
    let missing =
        |name: &str| Fault::whole(format!("has the header `{}`, in which `{name}` is missing", shown(text.trim())));
    let descr = entry("descr").ok_or_else(|| missing("descr"))?;
    let order = entry("fortran_order").ok_or_else(|| missing("fortran_order"))?;
    let shape = entry("shape").ok_or_else(|| missing("shape"))?;
    let Some((descr, _)) = descr.strip_prefix('\'').and_then(|d| d.split_once('\'')) else {
        return Err(Fault::whole("is a structured array, expected plain numbers"));
    };
    let kind = Kind::of(descr)?;
    if !order.starts_with("False") {
        return Err(
            Fault::whole("is in Fortran order, expected C order").hint("save `np.ascontiguousarray(array)` instead")
        );
    }
    Ok(Header { kind, shape: dimensions(shape)? })
}

/// `(100, 20, 2)`, `(100,)` or `()`; Python 2 wrote `100L`.
fn dimensions(text: &str) -> Result<Vec<usize>, Fault> {
    let refused = || Fault::whole(format!("has the shape `{}`, expected numbers in parentheses", shown(text.trim())));
    let (inside, _) = text.strip_prefix('(').and_then(|t| t.split_once(')')).ok_or_else(refused)?;
    let mut parts: Vec<&str> = inside.split(',').map(str::trim).collect();
    if parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    if parts.len() > MOST_DIMENSIONS {
        return Err(Fault::whole(format!("has {} dimensions, expected at most 3", parts.len())));
    }
    let dimension = |part: &str| part.strip_suffix('L').unwrap_or(part).parse().map_err(|_| refused());
    parts.into_iter().map(dimension).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        parse(text).map_err(|fault| fault.in_file("a".as_ref()).to_string()).unwrap_err()
    }

    #[test]
    fn written_archives_are_read() {
        let single = Array { shape: vec![2, 2], values: vec![0.5, 0.25, -1.0, 3.0] };
        let double = Array { shape: vec![1], values: vec![0.1] };
        let bytes = render(&[("a", single.clone()), ("b", double.clone())]).unwrap();
        assert_eq!(
            arrays(&bytes).unwrap(),
            BTreeMap::from([("a".to_owned(), single.clone()), ("b".to_owned(), double)])
        );
        let file = single.render();
        assert_eq!((file.len() - 4 * 4) % 64, 0);
        assert_eq!(render(&[("a", single.clone())]).unwrap(), render(&[("a", single)]).unwrap());
    }

    #[test]
    fn headers_of_numpy_are_read() {
        for (text, kind, shape) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, 2), }   \n", Kind::Float32, &[3, 4, 2][..]),
            ("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }\n", Kind::Int64, &[3]),
            ("{'shape': (10L, 2L), 'fortran_order': False, 'descr': '<f8'}", Kind::Float64, &[10, 2]),
            ("{'descr':'<i4','fortran_order':False,'shape':()}", Kind::Int32, &[]),
        ] {
            assert_eq!(parse(text).unwrap(), Header { kind, shape: shape.to_vec() }, "{text}");
        }
    }

    #[test]
    fn other_headers_are_refused() {
        for (text, expected) in [
            ("", "`descr` is missing"),
            ("{'descr': '<f4', 'shape': (3,), }", "`fortran_order` is missing"),
            ("{'descr': '<f4', 'fortran_order': False}", "`shape` is missing"),
            ("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "holds Python objects"),
            ("{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }", "type `>f4`, expected `<f4`"),
            ("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,), }", "structured array"),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", "Fortran order"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", "expected numbers in parentheses"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2", "expected numbers in parentheses"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "has 9 dimensions"),
        ] {
            assert!(said(text).contains(expected), "{text}: {}", said(text));
        }
    }
}

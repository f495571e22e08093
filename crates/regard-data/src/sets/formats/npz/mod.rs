//! Bags as an archive of numpy arrays (`numpy.savez`).
//!
//! | array | shape | |
//! |---|---|---|
//! | `features` | `[rows, f]` | the rows of all bags, one bag after the other |
//! | `offsets` | `[bags + 1]` | where each bag begins and the last ends; equal neighbours are an empty bag |
//! | `targets` | `[bags]` | labels of bags, optional |
//! | `row_targets` | `[rows]` | labels of rows, optional |
//! | `ids` | `[bags]` | integers that name the bags, optional |
//!
//! Numbers are `float32`, `float64`, `int32`, `int64` or `uint8`; features are kept in single precision.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Fault, shown};
use crate::npz::{Array, arrays, tuple};
use crate::sets::bags::Origin;
use crate::sets::{Bags, FeatureNames, Labels};
use crate::{Error, Result};

const KNOWN: [&str; 5] = ["features", "offsets", "targets", "row_targets", "ids"];

/// Reads bags from an archive of arrays.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, and [`Error::Parse`] as of [`parse`].
pub fn read(path: impl AsRef<Path>) -> Result<Bags> {
    let path = path.as_ref();
    let bytes = crate::file::read_bytes(path)?;
    parse(&bytes, path)
}

/// Reads bags from the bytes of an archive; `path` names it in errors.
///
/// An archive that unpacks to more than 64 times its size and a mebibyte is refused before it is
/// unpacked.
///
/// # Errors
/// [`Error::Parse`] naming the array, e.g.
/// ``bags.npz: field `offsets`: ends at 7, expected 9, the rows of `features` ``.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Bags> {
    let read = || assemble(arrays(bytes)?, path);
    read().map_err(|fault| fault.in_file(path))
}

fn assemble(mut arrays: BTreeMap<String, Array>, path: &Path) -> Result<Bags, Fault> {
    if let Some(unknown) = arrays.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        let reason = format!("holds the array `{}`, expected some of {}", shown(unknown), KNOWN.join(", "));
        return Err(Fault::whole(reason).hint("leave out what is not part of the bags"));
    }
    let missing = |name| move || Fault::whole(format!("has no array `{name}`"));
    let features = arrays.remove("features").ok_or_else(missing("features"))?;
    let [rows, width] = *features.shape else {
        return Err(wrong_shape("features", &features, "(rows, features)"));
    };
    if width == 0 {
        return Err(wrong_shape("features", &features, "at least one feature"));
    }
    let offsets = offsets(&arrays.remove("offsets").ok_or_else(missing("offsets"))?, rows)?;
    let bags = offsets.len() - 1;
    let values = single(&features, width)?;
    let invalid = |error: Error| Fault::whole(error.to_string());
    let mut made = Bags::new(FeatureNames::Count(width), values, offsets).map_err(invalid)?;
    if let Some(ids) = arrays.remove("ids") {
        made = made.with_ids(whole_numbers(&ids, bags)?).map_err(invalid)?;
    }
    if let Some(targets) = arrays.remove("targets") {
        made = made.with_labels(numbers("targets", targets, bags)?).map_err(invalid)?;
    }
    if let Some(targets) = arrays.remove("row_targets") {
        made = made.with_row_labels(numbers("row_targets", targets, rows)?).map_err(invalid)?;
    }
    Ok(made.with_origin(Origin { path: path.to_path_buf(), ..Origin::default() }))
}

/// Features in single precision, all of them finite.
fn single(features: &Array, width: usize) -> Result<Vec<f32>, Fault> {
    let value = |(at, value): (usize, &f64)| {
        let single = *value as f32;
        if single.is_finite() {
            return Ok(single);
        }
        let reason = format!(
            "found {value} in row {}, column {}, expected a finite number in single precision",
            at / width,
            at % width
        );
        Err(Fault::whole(reason).within("features").hint("rows and columns are counted from 0, as numpy does"))
    };
    features.values.iter().enumerate().map(value).collect()
}

fn offsets(array: &Array, rows: usize) -> Result<Vec<usize>, Fault> {
    let wrong = |reason: String| Fault::whole(reason).within("offsets");
    let [count] = *array.shape else {
        return Err(wrong_shape("offsets", array, "(bags + 1,)"));
    };
    if count < 2 {
        return Err(wrong_shape("offsets", array, "at least one bag, (bags + 1,)"));
    }
    let offset = |(at, &value): (usize, &f64)| {
        let fits = value.fract() == 0.0 && (0.0..=rows as f64).contains(&value);
        if fits {
            Ok(value as usize)
        } else {
            Err(wrong(format!("found {value} at {at}, expected an integer from 0 to {rows}")))
        }
    };
    let offsets: Vec<usize> = array.values.iter().enumerate().map(offset).collect::<Result<_, _>>()?;
    if offsets[0] != 0 {
        return Err(wrong(format!("begins with {}, expected 0", offsets[0])));
    }
    if let Some(at) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(wrong(format!("falls from {} to {} at {}", offsets[at], offsets[at + 1], at + 1)));
    }
    if offsets[count - 1] != rows {
        return Err(wrong(format!("ends at {}, expected {rows}, the rows of `features`", offsets[count - 1])));
    }
    Ok(offsets)
}

/// One finite number each, `[count]` or `[count, 1]`.
fn numbers(name: &str, array: Array, count: usize) -> Result<Labels, Fault> {
    if array.shape != [count] && array.shape != [count, 1] {
        return Err(wrong_shape(name, &array, &tuple(&[count])));
    }
    match array.values.iter().position(|v| !v.is_finite()) {
        Some(at) => {
            Err(Fault::whole(format!("found {} at {at}, expected a finite number", array.values[at])).within(name))
        }
        None => Ok(Labels::Numbers(array.values)),
    }
}

fn whole_numbers(array: &Array, bags: usize) -> Result<Vec<String>, Fault> {
    if array.shape != [bags] {
        return Err(wrong_shape("ids", array, &tuple(&[bags])));
    }
    let id = |value: &f64| match value.fract() == 0.0 {
        true => Ok(value.to_string()),
        false => Err(Fault::whole(format!("found {value}, expected integers")).within("ids")),
    };
    array.values.iter().map(id).collect()
}

fn wrong_shape(name: &str, array: &Array, expected: &str) -> Fault {
    Fault::whole(format!("has the shape {}, expected {expected}", tuple(&array.shape))).within(name)
}

#[cfg(test)]
mod tests;

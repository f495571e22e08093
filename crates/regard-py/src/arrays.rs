//! Arrays of numpy as those of the library, and the reverse.

use std::collections::BTreeMap;

use numpy::{PyArray1, PyArray2, PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use regard::data::npz::Array;

use crate::failure::{ArrayTypeError, invalid, with_hint};

/// Numbers of an array of any strides, in C order.
#[derive(FromPyObject)]
pub(crate) enum Numbers<'py> {
    Single(PyReadonlyArrayDyn<'py, f32>),
    Double(PyReadonlyArrayDyn<'py, f64>),
    Integers(PyReadonlyArrayDyn<'py, i64>),
}

impl Numbers<'_> {
    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Single(array) => array.shape(),
            Self::Double(array) => array.shape(),
            Self::Integers(array) => array.shape(),
        }
    }

    /// The numbers in double precision.
    pub(crate) fn doubles(&self) -> Vec<f64> {
        match self {
            Self::Single(array) => array.as_array().iter().map(|value| f64::from(*value)).collect(),
            Self::Double(array) => array.as_array().iter().copied().collect(),
            Self::Integers(array) => array.as_array().iter().map(|value| *value as f64).collect(),
        }
    }

    /// The numbers in single precision.
    pub(crate) fn singles(&self) -> Vec<f32> {
        match self {
            Self::Single(array) => array.as_array().iter().copied().collect(),
            Self::Double(array) => array.as_array().iter().map(|value| *value as f32).collect(),
            Self::Integers(array) => array.as_array().iter().map(|value| *value as f32).collect(),
        }
    }

    /// Pairs of an array `[rows, 2]`.
    pub(crate) fn pairs(&self, name: &str) -> PyResult<Vec<[f64; 2]>> {
        match self.shape() {
            [_, 2] => Ok(self.doubles().as_chunks::<2>().0.to_vec()),
            shape => Err(wrong_shape(name, shape, "[nodes, 2]")),
        }
    }
}

/// The numbers of an argument; Python's own functions have made an array of it.
pub(crate) fn numbers<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Numbers<'py>> {
    value.extract().map_err(|_| {
        let kind = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
        let kind = value.getattr("dtype").map_or(kind, |dtype| format!("array of {dtype}"));
        let message = format!("{name}: found {kind}, expected an array of float32, float64 or int64");
        with_hint::<ArrayTypeError>(&message, Some("convert it by numpy.asarray(value, dtype=\"float32\")"))
    })
}

pub(crate) fn wrong_shape(name: &str, found: &[usize], expected: &str) -> PyErr {
    invalid(name, &format!("has the shape {found:?}, expected {expected}"), None)
}

/// Named arrays as those of an archive.
pub(crate) fn named(arrays: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Array>> {
    let array = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let numbers = numbers(&value, &name)?;
        let (shape, values) = (numbers.shape().to_vec(), numbers.doubles());
        Ok((name, Array { shape, values }))
    };
    arrays.iter().map(array).collect()
}

/// Rows of different lengths as one array `[rows, longest]`, filled up by `fill`.
pub(crate) fn padded<'py>(py: Python<'py>, rows: &[Vec<usize>], fill: i64) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut values = Vec::with_capacity(rows.len() * longest);
    for (number, row) in rows.iter().enumerate() {
        values.extend(row.iter().map(|value| *value as i64));
        values.resize((number + 1) * longest, fill);
    }
    PyArray1::from_vec(py, values).reshape([rows.len(), longest])
}

/// Row-major values as an array.
pub(crate) fn shaped<'py, T: numpy::Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    values.into_pyarray(py).reshape(shape.to_vec())
}

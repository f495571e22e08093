//! A dense array of `f32` in row-major order, and named sets of them.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// Named arrays, in the order of their names.
pub type Weights = BTreeMap<String, Array>;

/// A dense array of `f32`, row-major: the last axis is contiguous.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Length of every axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// The values, as many as the product of `shape`.
    pub data: Vec<f32>,
}

impl Array {
    /// An array of the given shape.
    ///
    /// # Errors
    /// [`Error::Shape`] when `data` does not have as many values as `shape` needs.
    pub fn new(shape: Vec<usize>, data: Vec<f32>) -> Result<Self> {
        if elements(&shape) == Some(data.len()) {
            Ok(Self { shape, data })
        } else {
            Err(Error::Shape { what: "array".into(), expected: shape, found: vec![data.len()] })
        }
    }

    /// First value that is NaN or infinite, with its position in row-major order.
    pub fn first_not_finite(&self) -> Option<(usize, f32)> {
        self.data.iter().copied().enumerate().find(|(_, value)| !value.is_finite())
    }
}

/// Number of values of an array of this shape; `None` when it does not fit into `usize`.
pub fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |product, &length| product.checked_mul(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_and_values_must_agree() {
        assert_eq!(Array::new(vec![2, 3], vec![0.0; 6]).unwrap().shape, [2, 3]);
        assert_eq!(Array::new(vec![], vec![1.0]).unwrap().data, [1.0]);
        let error = Array::new(vec![2, 3], vec![0.0; 5]).unwrap_err();
        assert_eq!(error.to_string(), "array: expected shape [2, 3], found [5]");
        assert!(Array::new(vec![usize::MAX, 2], vec![]).is_err());
    }

    #[test]
    fn values_that_are_not_finite_are_found() {
        let array = Array::new(vec![3], vec![1.0, f32::INFINITY, f32::NAN]).unwrap();
        assert_eq!(array.first_not_finite(), Some((1, f32::INFINITY)));
    }
}

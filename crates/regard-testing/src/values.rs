//! Arrays of reference values, in double precision whatever their file says.

#[cfg(feature = "tensors")]
use burn::tensor::{Device, Tensor, TensorData};
use safetensors::{Dtype, tensor::TensorView};

/// A row-major array. `f64` holds every type of the files exactly, apart from huge integers.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// Length of every axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// The values.
    pub data: Vec<f64>,
}

impl Values {
    /// The values of one entry of a safetensors file.
    ///
    /// # Panics
    /// On a type that no golden file has.
    pub(crate) fn from_view(view: &TensorView<'_>) -> Self {
        let bytes = view.data();
        let data = match view.dtype() {
            Dtype::F32 => numbers(bytes, |b| f64::from(f32::from_le_bytes(b))),
            Dtype::F64 => numbers(bytes, f64::from_le_bytes),
            Dtype::I64 => numbers(bytes, |b| i64::from_le_bytes(b) as f64),
            Dtype::U8 => numbers(bytes, |[b]| f64::from(b)),
            other => panic!("golden file: unexpected type {other:?}"),
        };
        Self { shape: view.shape().to_vec(), data }
    }

    /// The values as `f32`.
    pub fn f32(&self) -> Vec<f32> {
        self.data.iter().map(|&v| v as f32).collect()
    }

    /// The single value.
    ///
    /// # Panics
    /// If there is not exactly one.
    pub fn scalar(&self) -> f64 {
        assert_eq!(self.data.len(), 1, "a scalar");
        self.data[0]
    }

    /// The values as a float tensor of `D` axes.
    ///
    /// # Panics
    /// If the array has another number of axes.
    #[cfg(feature = "tensors")]
    pub fn tensor<const D: usize>(&self, device: &Device) -> Tensor<D> {
        Tensor::from_data(TensorData::new(self.f32(), self.shape.clone()), device)
    }

    /// The rows of a matrix of indices.
    ///
    /// # Panics
    /// If the array is no matrix of whole, non-negative numbers.
    pub fn index_rows(&self) -> Vec<Vec<usize>> {
        assert_eq!(self.shape.len(), 2, "a matrix of indices");
        let index = |&v: &f64| {
            assert!(v >= 0.0 && v.fract() == 0.0, "index {v}");
            v as usize
        };
        let columns = self.shape[1].max(1);
        self.data.chunks(columns).map(|row| row.iter().map(index).collect()).collect()
    }

    /// The first `count` entries along the first axis.
    pub fn first(&self, count: usize) -> Self {
        let mut shape = self.shape.clone();
        let row: usize = shape[1..].iter().product();
        shape[0] = count;
        Self { shape, data: self.data[..count * row].to_vec() }
    }
}

fn numbers<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    bytes.as_chunks::<N>().0.iter().map(|&chunk| read(chunk)).collect()
}

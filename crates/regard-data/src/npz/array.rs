//! One numpy array (`.npy`).

use super::header::{self, Header, Kind};
use crate::fault::Fault;

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
        let (Header { kind, shape }, data) = header::split(bytes)?;
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

//! Dropout (Srivastava et al. 2014) as a tensor operation.

use burn::tensor::{Tensor, TensorData};

pub use regard_kernels::dropout::Dropout;

/// Applies dropout to `x`. The last axis of `x` is the column of the dropout mask, all other axes
/// together are the row.
///
/// # Panics
/// If the rate is not in `[0, 1)`.
pub fn apply_dropout<const D: usize>(x: Tensor<D>, dropout: Option<Dropout>) -> Tensor<D> {
    let Some(dropout) = active(dropout) else { return x };
    let shape = x.dims();
    let columns = shape[D - 1];
    let rows = shape[..D - 1].iter().product();
    let factors = TensorData::new(dropout.factors(rows, columns), shape);
    let factors = Tensor::from_data(factors, &x.device());
    x * factors
}

/// The dropout, or `None` if its rate is 0.
///
/// # Panics
/// If the rate is not in `[0, 1)`.
pub(super) fn active(dropout: Option<Dropout>) -> Option<Dropout> {
    let dropout = dropout.filter(|dropout| dropout.rate != 0.0)?;
    assert!((0.0..1.0).contains(&dropout.rate), "dropout: rate {} is not in [0, 1)", dropout.rate);
    Some(dropout)
}

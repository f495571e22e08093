//! Numbers left out at random in training (Srivastava et al. 2014).

use burn::tensor::{Tensor, TensorData};

pub use regard_kernels::dropout::Dropout;

/// `x` with its numbers left out or scaled up; the last axis are the columns, all others together the
/// rows by which [`Dropout`] draws.
///
/// # Panics
/// If the rate is not in `[0, 1)`.
pub fn dropped<const D: usize>(x: Tensor<D>, dropout: Option<Dropout>) -> Tensor<D> {
    let Some(dropout) = active(dropout) else { return x };
    let shape = x.dims();
    let columns = shape[D - 1];
    let rows = shape[..D - 1].iter().product();
    let factors = TensorData::new(dropout.factors(rows, columns), shape);
    let factors = Tensor::from_data(factors, &x.device());
    x * factors
}

/// The dropout if it leaves anything out.
///
/// # Panics
/// If the rate is not in `[0, 1)`.
pub(super) fn active(dropout: Option<Dropout>) -> Option<Dropout> {
    let dropout = dropout.filter(|dropout| dropout.rate != 0.0)?;
    assert!((0.0..1.0).contains(&dropout.rate), "dropout: a part of {} is left out", dropout.rate);
    Some(dropout)
}

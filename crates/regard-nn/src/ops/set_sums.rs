//! Sums over the rows of each set of a batch (Deep Sets, Zaheer et al. 2017).

use std::sync::Arc;

use burn::tensor::Tensor;
use regard_kernels::set as kernel;

use super::fused::{Array, Kernel, Output, has_kernels, input, run};
use crate::Ragged;

/// Sums over the rows `offsets[s]..offsets[s + 1]` of `x [rows, width]`, `[sets, width]`; 0 for an empty set.
///
/// # Panics
/// If the offsets do not increase from 0 to the number of rows.
pub fn set_sums(x: Tensor<2>, offsets: &Arc<[usize]>) -> Tensor<2> {
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return set_sums_composed(x, offsets);
    }
    run(Fused { offsets: offsets.clone() }, vec![input(x)]).0
}

/// [`set_sums`] in ordinary tensor operations.
///
/// # Panics
/// As [`set_sums`].
pub fn set_sums_composed(x: Tensor<2>, offsets: &Arc<[usize]>) -> Tensor<2> {
    let ([rows, width], sets, device) = (x.dims(), offsets.len() - 1, x.device());
    let ragged = Ragged::new(x, offsets.clone());
    if rows == 0 || width == 0 {
        return Tensor::zeros([sets, width], &device);
    }
    ragged.to_padded().sum_dim(1).reshape([sets, width])
}

/// The kernel. Its input is `x`.
#[derive(Debug)]
struct Fused {
    offsets: Arc<[usize]>,
}

impl Kernel for Fused {
    type Saved = ();

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<()> {
        let width = inputs[0].shape[1];
        let y = kernel::sums(&self.offsets, width, inputs[0].data);
        Output { y, shape: vec![self.offsets.len() - 1, width], beside: vec![], saved: save.then_some(()) }
    }

    fn backward(&self, inputs: &[Array<'_>], (): &(), grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        vec![kernel::sums_backward(&self.offsets, inputs[0].shape[1], grad)]
    }
}

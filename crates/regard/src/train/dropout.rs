//! Numbers left out at random (Srivastava et al. 2014).

use burn::tensor::{Tensor, TensorData};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// `x` with a share of its numbers dropped and the others scaled up.
pub(crate) fn dropped(x: Tensor<2>, share: f64, noise: &mut Pcg64Mcg) -> Tensor<2> {
    if share == 0.0 {
        return x;
    }
    let shape = x.dims();
    let mask: Vec<f32> = (0..shape.iter().product()).map(|_| factor(share, noise)).collect();
    let device = x.device();
    x * Tensor::from_data(TensorData::new(mask, shape), &device)
}

/// The factor of one number: 0 for a share of them, and `1 / (1 - share)` for the others.
pub(crate) fn factor(share: f64, noise: &mut Pcg64Mcg) -> f32 {
    if noise.random::<f64>() < share { 0.0 } else { (1.0 / (1.0 - share)) as f32 }
}

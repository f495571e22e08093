//! The feed-forward sub-layer of an encoder layer (Kool et al. 2019, §3.1, eq. 3).
//!
//! `norm(x + FF(x))`: both linear layers, residual and norm.

use burn::tensor::Tensor;

use regard_kernels::sublayer as kernel;

use super::feed_forward::weights;
use super::fused::{Array, Kernel, Output, has_kernels, input, run};
use super::residual_norm::{FusedNorm, beside, normed, rows};
use super::{Activation, NormArgs, Normed, feed_forward_composed, residual_norm_composed};

/// `norm(x + FF(x))` of `[batch, nodes, width]`.
///
/// - `w1`: `[width, hidden]`, `b1`: `[hidden]`
/// - `w2`: `[hidden, width]`, `b2`: `[width]`
///
/// # Panics
/// If the shapes do not match.
pub fn feed_forward_sublayer(
    x: Tensor<3>,
    w1: Tensor<2>,
    b1: Tensor<1>,
    w2: Tensor<2>,
    b2: Tensor<1>,
    act: Activation,
    norm: NormArgs,
) -> Normed {
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return feed_forward_sublayer_composed(x, w1, b1, w2, b2, act, norm);
    }
    let [batch, nodes, _] = x.dims();
    let (norm, [gamma, beta]) = FusedNorm::new(norm);
    let inputs = vec![input(x), input(w1), input(b1), input(w2), input(b2), gamma, beta];
    normed(&norm.clone(), batch * nodes, run(Fused { act, norm }, inputs))
}

/// [`feed_forward_sublayer`] in ordinary tensor operations.
pub fn feed_forward_sublayer_composed(
    x: Tensor<3>,
    w1: Tensor<2>,
    b1: Tensor<1>,
    w2: Tensor<2>,
    b2: Tensor<1>,
    act: Activation,
    norm: NormArgs,
) -> Normed {
    let y = feed_forward_composed(x.clone(), w1, b1, w2, b2, act);
    residual_norm_composed(x, y, norm)
}

/// The kernel. Its inputs are `x`, w1, b1, w2, b2, gamma, beta.
#[derive(Debug)]
struct Fused {
    act: Activation,
    norm: FusedNorm,
}

impl Kernel for Fused {
    type Saved = kernel::FeedForwardSaved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let tail = kernel::Tail::ResidualNorm(self.norm.view(inputs[5].data, inputs[6].data));
        let (rows, weights) = (rows(&inputs[0]), weights(inputs, self.act));
        let (y, saved, statistics) = kernel::feed_forward(&rows, &weights, &tail, inputs[0].data, save);
        Output { y, shape: inputs[0].shape.to_vec(), beside: beside(statistics), saved }
    }

    fn backward(&self, inputs: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let tail = kernel::Tail::ResidualNorm(self.norm.view(inputs[5].data, inputs[6].data));
        let (rows, weights) = (rows(&inputs[0]), weights(inputs, self.act));
        let gradients = kernel::feed_forward_backward(&rows, &weights, &tail, inputs[0].data, saved, grad);
        let kernel::FeedForwardGradients { x, w1, b1, w2, b2, norm } = gradients;
        let (gamma, beta) = norm.unwrap_or_default();
        vec![x, w1, b1, w2, b2, gamma, beta]
    }
}

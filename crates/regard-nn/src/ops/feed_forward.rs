//! The position-wise feed-forward network (Vaswani et al. 2017, §3.3), and the feed-forward sub-layer of an encoder
//! layer (Kool et al. 2019, §3.1, eq. 3).
//!
//! Network: `FF(x) = act(x w1 + b1) w2 + b2`, for each row separately. Sub-layer: `norm(x + FF(x))`.

use burn::{
    config::Config,
    tensor::{Tensor, activation},
};
use regard_kernels::sublayer as kernel;

use crate::trace::{self, Operation};

use super::{
    NormArgs, NormOutput, Projection,
    fused::{Array, Kernel, Output, has_kernels, input, run},
    residual_norm::{FusedNorm, norm_output, rows, statistics_values},
    residual_norm_composed,
};

/// Activation function between the two linear layers.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(0, x)`
    Relu,
    /// `x Φ(x)`, the exact form with the error function.
    Gelu,
}

/// Axes of the hidden layer in a trace.
const HIDDEN: [&str; 3] = ["batch", "row", "hidden channel"];
/// Section that defines the network.
const SOURCE: &str = "Vaswani et al. 2017, §3.3";

impl Activation {
    /// The function as a step of a trace.
    pub(super) fn operation(self) -> Operation {
        match self {
            Activation::Relu => Operation::Relu,
            Activation::Gelu => Operation::Gelu,
        }
    }

    /// Applies the activation function to every element.
    pub fn apply<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Activation::Relu => activation::relu(x),
            Activation::Gelu => activation::gelu(x),
        }
    }
}

/// The feed-forward network `act(x w1 + b1) w2 + b2`.
///
/// - `x`: `[batch, nodes, width]`
/// - `w1`: `[width, hidden]`, `b1`: `[hidden]`
/// - `w2`: `[hidden, width]`, `b2`: `[width]`
///
/// Returns `[batch, nodes, width]`. If the output width of `w2` differs from the width of `x`, the
/// composed operations are used.
pub fn feed_forward(
    x: Tensor<3>,
    w1: Tensor<2>,
    b1: Tensor<1>,
    w2: Tensor<2>,
    b2: Tensor<1>,
    act: Activation,
) -> Tensor<3> {
    let same_width = w2.dims()[1] == x.dims()[2];
    if !has_kernels(&x.device()) || !same_width || x.dims().contains(&0) {
        return feed_forward_composed(x, w1, b1, w2, b2, act);
    }
    run(Fused(act), vec![input(x), input(w1), input(b1), input(w2), input(b2)]).y
}

/// [`feed_forward`] in ordinary tensor operations.
pub fn feed_forward_composed(
    x: Tensor<3>,
    w1: Tensor<2>,
    b1: Tensor<1>,
    w2: Tensor<2>,
    b2: Tensor<1>,
    act: Activation,
) -> Tensor<3> {
    let [batch, nodes, width] = x.dims();
    let out = w2.dims()[1];
    if batch * nodes == 0 {
        return Tensor::zeros([batch, nodes, out], &x.device());
    }
    let map = |weight: &Tensor<2>, bias: &Tensor<1>| Projection { weight: weight.clone(), bias: Some(bias.clone()) };
    let inner = map(&w1, &b1).of_rows(x.clone().reshape([batch * nodes, width]));
    let hidden = act.apply(inner.clone());
    let y = map(&w2, &b2).of_rows(hidden.clone()).reshape([batch, nodes, out]);
    let by_row = |rows: &Tensor<2>| {
        let hidden = rows.dims()[1];
        rows.clone().reshape([batch, nodes, hidden])
    };
    trace::step("inner", Operation::Linear)
        .source(SOURCE)
        .from(&x)
        .parameter("weight", || w1)
        .parameter("bias", || b1)
        .values(HIDDEN, &by_row(&inner));
    trace::step("hidden", act.operation()).source(SOURCE).from(&inner).values(HIDDEN, &by_row(&hidden));
    trace::step("outer", Operation::Linear)
        .source(SOURCE)
        .from(&hidden)
        .parameter("weight", || w2)
        .parameter("bias", || b2)
        .values(["batch", "row", "channel"], &y);
    y
}

/// The weights among the inputs of a kernel: w1, b1, w2, b2 follow `x`.
pub(super) fn weights<'a>(inputs: &[Array<'a>], act: Activation) -> kernel::FeedForwardWeights<'a> {
    let [w1, b1, w2, b2] = [1, 2, 3, 4].map(|place| inputs[place].data);
    let activation = match act {
        Activation::Relu => kernel::Activation::Relu,
        Activation::Gelu => kernel::Activation::Gelu,
    };
    kernel::FeedForwardWeights { w1, b1, w2, b2, activation, dropouts: kernel::Dropouts::default() }
}

/// The kernel. Its inputs are `x`, w1, b1, w2, b2.
#[derive(Debug)]
struct Fused(Activation);

impl Kernel for Fused {
    type Saved = kernel::FeedForwardSaved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let (rows, weights) = (rows(&inputs[0]), weights(inputs, self.0));
        let (y, saved, _) = kernel::feed_forward(&rows, &weights, &kernel::Tail::Plain, inputs[0].data, save);
        Output { y, shape: inputs[0].shape.to_vec(), extra: vec![], saved }
    }

    fn backward(&self, inputs: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let (rows, weights) = (rows(&inputs[0]), weights(inputs, self.0));
        let gradients =
            kernel::feed_forward_backward(&rows, &weights, &kernel::Tail::Plain, inputs[0].data, saved, grad);
        let kernel::FeedForwardGradients { x, w1, b1, w2, b2, .. } = gradients;
        vec![x, w1, b1, w2, b2]
    }
}

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
) -> NormOutput {
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return feed_forward_sublayer_composed(x, w1, b1, w2, b2, act, norm);
    }
    let [batch, nodes, _] = x.dims();
    let (norm, [gamma, beta]) = FusedNorm::new(norm);
    let inputs = vec![input(x), input(w1), input(b1), input(w2), input(b2), gamma, beta];
    norm_output(&norm.clone(), batch * nodes, run(FusedSublayer { act, norm }, inputs))
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
) -> NormOutput {
    let y = feed_forward_composed(x.clone(), w1, b1, w2, b2, act);
    residual_norm_composed(x, y, norm)
}

/// The kernel. Its inputs are `x`, w1, b1, w2, b2, gamma, beta.
#[derive(Debug)]
struct FusedSublayer {
    act: Activation,
    norm: FusedNorm,
}

impl Kernel for FusedSublayer {
    type Saved = kernel::FeedForwardSaved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let tail = kernel::Tail::ResidualNorm(self.norm.view(inputs[5].data, inputs[6].data));
        let (rows, weights) = (rows(&inputs[0]), weights(inputs, self.act));
        let (y, saved, statistics) = kernel::feed_forward(&rows, &weights, &tail, inputs[0].data, save);
        Output { y, shape: inputs[0].shape.to_vec(), extra: statistics_values(statistics), saved }
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

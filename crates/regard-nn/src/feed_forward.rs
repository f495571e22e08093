//! The position-wise feed-forward network as a module (Vaswani et al. 2017, §3.3).

use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

use crate::ops::{Activation, NormArgs, NormOutput, feed_forward, feed_forward_sublayer};

/// Sizes of a [`FeedForward`].
#[derive(Config, Debug)]
pub struct FeedForwardConfig {
    /// Width of the input and of the result.
    pub width: usize,
    /// Width of the hidden layer.
    pub hidden: usize,
    /// Activation function. Default: ReLU.
    #[config(default = "Activation::Relu")]
    pub activation: Activation,
}

/// `y = act(x W1 + b1) W2 + b2`, for every node separately.
#[derive(Module, Debug)]
pub struct FeedForward {
    /// `[width, hidden]`
    pub inner: Linear,
    /// `[hidden, width]`
    pub outer: Linear,
    /// Activation function.
    #[module(skip)]
    pub activation: Activation,
}

impl FeedForwardConfig {
    /// Initialises the weights, uniform in ±1/√inputs.
    pub fn init(&self, device: &Device) -> FeedForward {
        FeedForward {
            inner: LinearConfig::new(self.width, self.hidden).init(device),
            outer: LinearConfig::new(self.hidden, self.width).init(device),
            activation: self.activation,
        }
    }
}

impl FeedForward {
    /// The result for `x [batch, nodes, width]`, in the same shape.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [(w1, b1), (w2, b2)] = self.parameters();
        feed_forward(x, w1, b1, w2, b2, self.activation)
    }

    /// `norm(x + forward(x))` in one operation.
    pub fn residual(&self, x: Tensor<3>, norm: NormArgs) -> NormOutput {
        let [(w1, b1), (w2, b2)] = self.parameters();
        feed_forward_sublayer(x, w1, b1, w2, b2, self.activation, norm)
    }

    fn parameters(&self) -> [(Tensor<2>, Tensor<1>); 2] {
        [&self.inner, &self.outer].map(|linear| {
            let weight = linear.weight.val();
            let zeros = || Tensor::zeros([weight.dims()[1]], &weight.device());
            let bias = linear.bias.as_ref().map_or_else(zeros, Param::val);
            (weight, bias)
        })
    }
}

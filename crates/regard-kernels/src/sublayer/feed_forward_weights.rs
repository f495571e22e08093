
use super::Activation;
use crate::{dropout::Dropout, norm::Norm};

/// Weights of `activation(x·w1 + b1)·w2 + b2`, row-major `[in, out]`.
#[derive(Clone, Copy, Debug)]
pub struct FeedForwardWeights<'a> {
    /// `[width, hidden]`.
    pub w1: &'a [f32],
    /// `[hidden]`.
    pub b1: &'a [f32],
    /// `[hidden, width]`.
    pub w2: &'a [f32],
    /// `[width]`.
    pub b2: &'a [f32],
    /// Activation function between the two linear layers.
    pub activation: Activation,
    /// Dropout during training.
    pub dropouts: Dropouts,
}

/// Dropout of a feed-forward network; the rows of the masks are those of its input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dropouts {
    /// Dropout of the hidden layer.
    pub hidden: Option<Dropout>,
    /// Dropout of the result, before the residual.
    pub result: Option<Dropout>,
}

/// The operations after the second product.
#[derive(Clone, Copy, Debug)]
pub enum Tail<'a> {
    /// None: the result is returned as it is.
    Plain,
    /// Residual connection and norm.
    ResidualNorm(Norm<'a>),
}

impl<'a> Tail<'a> {
    pub(crate) fn norm(&self) -> Option<&Norm<'a>> {
        match self {
            Self::Plain => None,
            Self::ResidualNorm(norm) => Some(norm),
        }
    }
}

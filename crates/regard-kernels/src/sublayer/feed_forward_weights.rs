//! What a feed-forward network is given beside its input.

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
    /// Between the two.
    pub activation: Activation,
    /// Numbers left out, in training.
    pub dropouts: Dropouts,
}

/// What is left out of a feed-forward network; rows are those of its input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dropouts {
    /// Of the hidden layer.
    pub hidden: Option<Dropout>,
    /// Of the result, before the residual.
    pub result: Option<Dropout>,
}

/// What follows the second product.
#[derive(Clone, Copy, Debug)]
pub enum Tail<'a> {
    /// Nothing.
    Plain,
    /// The residual and a norm.
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

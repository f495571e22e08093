//! The part of a graph layer after the attention, for one kind of rows (nodes or edges): output
//! projection, residual, norm, feed-forward network, residual, norm (Dwivedi & Bresson 2021, eq. 6-7 and
//! 12-15).

use burn::config::Config;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, activation};

use crate::ops::{NormKind, Projection, output, output_sublayer, residual_norm};
use crate::{FeedForward, FeedForwardConfig, Normalization, NormalizationConfig};

/// Sizes and options of a [`Stream`].
#[derive(Config, Copy, Debug)]
pub struct StreamConfig {
    /// Width of a row.
    pub width: usize,
    /// Hidden width of the feed-forward network.
    pub hidden: usize,
    /// If true, a layer norm follows each residual sum.
    pub layer_norm: bool,
    /// If true, a batch norm follows each residual sum, after the layer norm.
    pub batch_norm: bool,
    /// If true, attention and feed-forward network have residual connections.
    pub residual: bool,
}

/// Output projection, feed-forward network and norms of one kind of rows.
#[derive(Module, Debug)]
pub struct Stream {
    /// Output projection of the heads, `[width, width]`.
    pub out: Linear,
    /// Norms after the attention.
    pub first: Norms,
    /// Feed-forward network, applied to every row separately.
    pub feed: FeedForward,
    /// Norms after the feed-forward network.
    pub second: Norms,
    /// If true, attention and feed-forward network have residual connections.
    pub residual: bool,
}

/// Layer norm, then batch norm; both are optional.
#[derive(Module, Debug)]
pub struct Norms {
    /// Over the channels of a row.
    pub layer: Option<Normalization>,
    /// Over all rows of the batch.
    pub batch: Option<Normalization>,
}

impl StreamConfig {
    /// Initialises the weights, uniform in ±1/√inputs.
    pub fn init(&self, device: &Device) -> Stream {
        Stream {
            out: LinearConfig::new(self.width, self.width).init(device),
            first: self.norms(device),
            feed: FeedForwardConfig::new(self.width, self.hidden).init(device),
            second: self.norms(device),
            residual: self.residual,
        }
    }

    fn norms(&self, device: &Device) -> Norms {
        let norm = |kind: NormKind| NormalizationConfig::new(kind, self.width).init(device);
        Norms {
            layer: self.layer_norm.then(|| norm(NormKind::Layer)),
            batch: self.batch_norm.then(|| norm(NormKind::Batch)),
        }
    }
}

impl Norms {
    /// The norm, if there is exactly one.
    fn only(&self) -> Option<&Normalization> {
        match (&self.layer, &self.batch) {
            (Some(norm), None) | (None, Some(norm)) => Some(norm),
            _ => None,
        }
    }

    /// Applies the norms to rows `[rows, 1, width]`.
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        [&self.layer, &self.batch].into_iter().flatten().fold(x, |x, norm| norm.forward(x))
    }
}

/// A function that applies dropout.
pub type Drop<'a> = dyn FnMut(Tensor<2>) -> Tensor<2> + 'a;

impl Stream {
    /// New rows `[rows, width]`. `before` is the input of the layer, `attended` the result of its attention
    /// with interleaved heads.
    pub fn forward(
        &self,
        before: Tensor<2>,
        attended: Tensor<2>,
        heads: usize,
        mut drop: Option<&mut Drop<'_>>,
    ) -> Tensor<2> {
        if before.dims()[0] == 0 {
            return before;
        }
        let (attended, map) = (dropped(attended, &mut drop), Projection::of(&self.out));
        let middle = match self.first.only().filter(|_| self.residual) {
            Some(norm) => {
                let args = norm.args(&before.device());
                norm.observe(output_sublayer(before, attended, map, heads, args)).squeeze_dim(1)
            }
            None => self.normed(&self.first, before, output(attended, map, heads)),
        };
        let (whole, norm) = (middle.clone().unsqueeze_dim::<3>(1), self.second.only());
        if let (None, true, Some(norm)) = (&drop, self.residual, norm) {
            let args = norm.args(&whole.device());
            return norm.observe(self.feed.residual(whole, args)).squeeze_dim(1);
        }
        let inner = dropped(activation::relu(self.feed.inner.forward(middle.clone())), &mut drop);
        self.normed(&self.second, middle, self.feed.outer.forward(inner))
    }

    /// Residual sum and norms of one sub-layer.
    fn normed(&self, norms: &Norms, before: Tensor<2>, after: Tensor<2>) -> Tensor<2> {
        // Each row is an instance of its own: no norm here depends on which rows form a graph.
        let (x, y) = (before.unsqueeze_dim::<3>(1), after.unsqueeze_dim::<3>(1));
        let normed = match (self.residual, norms.only()) {
            (true, Some(norm)) => {
                let args = norm.args(&x.device());
                norm.observe(residual_norm(x, y, args))
            }
            (true, None) => norms.forward(x + y),
            (false, _) => norms.forward(y),
        };
        normed.squeeze_dim(1)
    }
}

fn dropped(x: Tensor<2>, drop: &mut Option<&mut Drop<'_>>) -> Tensor<2> {
    match drop {
        Some(drop) => drop(x),
        None => x,
    }
}

//! What a layer does to one kind of rows, nodes or edges, once it has attended: projection, residual,
//! norm, feed-forward part, residual, norm (Dwivedi & Bresson 2021, eq. 6-7 and 12-15).

use burn::config::Config;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, activation};

use crate::ops::{NormKind, Projection, output, output_sublayer, residual_norm};
use crate::{FeedForward, FeedForwardConfig, Normalization, NormalizationConfig};

/// Sizes and switches of a [`Stream`].
#[derive(Config, Copy, Debug)]
pub struct StreamConfig {
    /// Width of a row.
    pub width: usize,
    /// Width inside the feed-forward part.
    pub hidden: usize,
    /// Whether a layer norm follows each sum.
    pub layer_norm: bool,
    /// Whether a batch norm follows each sum, after the layer norm.
    pub batch_norm: bool,
    /// Whether the input of each half is added to its result.
    pub residual: bool,
}

/// Projection, feed-forward part and norms of one kind of rows.
#[derive(Module, Debug)]
pub struct Stream {
    /// `[width, width]`: mixes the heads.
    pub out: Linear,
    /// Norms after the attention.
    pub first: Norms,
    /// The network every row passes by itself.
    pub feed: FeedForward,
    /// Norms after the feed-forward part.
    pub second: Norms,
    /// Whether the input of each half is added to its result.
    pub residual: bool,
}

/// Layer norm, then batch norm; each may be missing.
#[derive(Module, Debug)]
pub struct Norms {
    /// Over the channels of a row.
    pub layer: Option<Normalization>,
    /// Over all rows of the batch.
    pub batch: Option<Normalization>,
}

impl StreamConfig {
    /// Fresh weights, uniform in ±1/√inputs.
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
    /// The norm, where it is the only one.
    fn only(&self) -> Option<&Normalization> {
        match (&self.layer, &self.batch) {
            (Some(norm), None) | (None, Some(norm)) => Some(norm),
            _ => None,
        }
    }

    /// The norms of rows `[rows, 1, width]`.
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        [&self.layer, &self.batch].into_iter().flatten().fold(x, |x, norm| norm.forward(x))
    }
}

/// Leaves numbers out at random.
pub type Drop<'a> = dyn FnMut(Tensor<2>) -> Tensor<2> + 'a;

impl Stream {
    /// The new rows `[rows, width]`: `before` entered the layer, `attended` came out of its attention with
    /// its heads interleaved.
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

    /// Residual and norms of a half.
    fn normed(&self, norms: &Norms, before: Tensor<2>, after: Tensor<2>) -> Tensor<2> {
        // Every row by itself: no norm here looks at the rows of a graph.
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

//! The feed-forward half of an encoder layer over many short sequences (Vaswani et al. 2017, §3.3; with
//! the dropouts of PatchTST, Nie et al. 2023).
//!
//! `norm(x + drop(drop(act(x W₁ + b₁)) W₂ + b₂))`, or `x + drop(…norm(x)…)` with the norm first.

use burn::tensor::Tensor;
use regard_kernels::feed_forward as kernel;

use super::dropout::{active, dropped};
use super::feed_forward::weights;
use super::fused::{Array, Kernel, Output, has_kernels, input, run};
use super::residual_norm::{FusedNorm, beside, normed, rows};
use super::sequence_attention::{linear, normed_before, normed_composed};
use super::{Activation, Dropout, NormArgs, Normed, Projection};

/// The two maps of a feed-forward part and what stands between them.
#[derive(Clone, Debug)]
pub struct FeedForwardMaps {
    /// `[width, hidden]`
    pub first: Projection,
    /// `[hidden, width]`
    pub second: Projection,
    /// Between the two.
    pub activation: Activation,
}

/// Switches of [`sequence_feed_forward`].
#[derive(Clone, Debug, Default)]
pub struct SequenceFeedForwardOptions {
    /// Numbers of the hidden layer left out, by rows `sequence · patches + patch`.
    pub hidden_dropout: Option<Dropout>,
    /// Numbers left out before the residual, by rows as there.
    pub residual_dropout: Option<Dropout>,
    /// Whether the norm stands before the first map instead of behind the residual.
    pub norm_first: bool,
}

/// One feed-forward sub-layer of `x [sequences, patches, width]`; `norm: None` leaves the norm out.
///
/// # Panics
/// If the shapes do not fit together, or a dropout's rate is not in `[0, 1)`.
pub fn sequence_feed_forward(
    x: Tensor<3>,
    maps: FeedForwardMaps,
    norm: Option<NormArgs>,
    options: &SequenceFeedForwardOptions,
) -> Normed {
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return sequence_feed_forward_composed(x, maps, norm, options);
    }
    if options.norm_first || norm.is_none() {
        // The residual goes around the norm: a sum of its own.
        let Normed { y: tokens, statistics } = normed_before(x.clone(), norm);
        return Normed { y: x + fused(tokens, maps, None, options).y, statistics };
    }
    fused(x, maps, norm, options)
}

/// The kernel, followed by residual and norm where there is a norm.
fn fused(x: Tensor<3>, maps: FeedForwardMaps, norm: Option<NormArgs>, options: &SequenceFeedForwardOptions) -> Normed {
    let [sequences, patches, _] = x.dims();
    let mut inputs = vec![input(x)];
    for Projection { weight, bias } in [maps.first, maps.second] {
        let bias = bias.unwrap_or_else(|| Tensor::zeros([weight.dims()[1]], &weight.device()));
        inputs.extend([input(weight), input(bias)]);
    }
    let norm = norm.map(FusedNorm::new).map(|(norm, [gamma, beta])| {
        inputs.extend([gamma, beta]);
        norm
    });
    let dropouts =
        kernel::Dropouts { hidden: active(options.hidden_dropout), result: active(options.residual_dropout) };
    let result = run(Fused { activation: maps.activation, dropouts, norm: norm.clone() }, inputs);
    match norm {
        Some(norm) => normed(&norm, sequences * patches, result),
        None => Normed { y: result.0, statistics: None },
    }
}

/// The kernel: `x`, weight and bias of both maps, gamma and beta where there is a norm.
#[derive(Debug)]
struct Fused {
    activation: Activation,
    dropouts: kernel::Dropouts,
    norm: Option<FusedNorm>,
}

impl Fused {
    fn parts<'a>(&'a self, inputs: &[Array<'a>]) -> (kernel::FeedForwardWeights<'a>, kernel::Tail<'a>) {
        let weights = kernel::FeedForwardWeights { dropouts: self.dropouts, ..weights(inputs, self.activation) };
        let tail = match &self.norm {
            Some(norm) => kernel::Tail::ResidualNorm(norm.view(inputs[5].data, inputs[6].data)),
            None => kernel::Tail::Plain,
        };
        (weights, tail)
    }
}

impl Kernel for Fused {
    type Saved = kernel::FeedForwardSaved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let (x, (weights, tail)) = (&inputs[0], self.parts(inputs));
        let (y, saved, statistics) = kernel::feed_forward(&rows(x), &weights, &tail, x.data, save);
        Output { y, shape: x.shape.to_vec(), beside: beside(statistics), saved }
    }

    fn backward(&self, inputs: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let (x, (weights, tail)) = (&inputs[0], self.parts(inputs));
        let found = kernel::feed_forward_backward(&rows(x), &weights, &tail, x.data, saved, grad);
        let kernel::FeedForwardGradients { x, w1, b1, w2, b2, norm } = found;
        let norm = norm.into_iter().flat_map(|(gamma, beta)| [gamma, beta]);
        [x, w1, b1, w2, b2].into_iter().chain(norm).collect()
    }
}

/// [`sequence_feed_forward`] in ordinary tensor operations.
///
/// # Panics
/// As there.
pub fn sequence_feed_forward_composed(
    x: Tensor<3>,
    maps: FeedForwardMaps,
    norm: Option<NormArgs>,
    options: &SequenceFeedForwardOptions,
) -> Normed {
    if x.dims().contains(&0) {
        return Normed { y: x, statistics: None };
    }
    let (first, last) = if options.norm_first { (norm, None) } else { (None, norm) };
    let Normed { y: tokens, statistics } = normed_composed(x.clone(), first);
    let hidden = maps.activation.apply(linear(tokens, maps.first));
    let hidden = dropped(hidden, options.hidden_dropout);
    let y = x + dropped(linear(hidden, maps.second), options.residual_dropout);
    let result = normed_composed(y, last);
    Normed { y: result.y, statistics: result.statistics.or(statistics) }
}

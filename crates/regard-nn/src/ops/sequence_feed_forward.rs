//! The feed-forward sub-layer of an encoder layer for many short sequences (Vaswani et al. 2017, §3.3;
//! with the dropouts of PatchTST, Nie et al. 2023).
//!
//! `norm(x + drop(drop(act(x W₁ + b₁)) W₂ + b₂))`, or `x + drop(…norm(x)…)` if the norm is first.

use burn::tensor::Tensor;
use regard_kernels::sublayer as kernel;

use crate::trace::{self, Operation};

use super::dropout::{active, apply_dropout};
use super::feed_forward::weights;
use super::fused::{Array, Kernel, Output, has_kernels, input, run};
use super::residual_norm::{FusedNorm, norm_output, rows, statistics_values};
use super::sequence_attention::{ROWS, norm_before, norm_or_identity, recorded_linear};
use super::{Activation, Dropout, NormArgs, NormOutput, Projection};

/// The two linear layers of a feed-forward network and its activation function.
#[derive(Clone, Debug)]
pub struct FeedForwardLayers {
    /// `[width, hidden]`
    pub first: Projection,
    /// `[hidden, width]`
    pub second: Projection,
    /// Activation function between the two layers.
    pub activation: Activation,
}

/// Options of [`sequence_feed_forward`].
#[derive(Clone, Debug, Default)]
pub struct SequenceFeedForwardOptions {
    /// Dropout of the hidden layer; mask rows are `sequence · patches + patch`.
    pub hidden_dropout: Option<Dropout>,
    /// Dropout of the result before the residual; mask rows as above.
    pub residual_dropout: Option<Dropout>,
    /// If true, the norm is applied before the first layer instead of after the residual sum.
    pub norm_first: bool,
}

/// The feed-forward sub-layer of `x [sequences, patches, width]`; `norm: None` omits the norm.
///
/// # Panics
/// If the shapes do not match, or a dropout rate is not in `[0, 1)`.
pub fn sequence_feed_forward(
    x: Tensor<3>,
    maps: FeedForwardLayers,
    norm: Option<NormArgs>,
    options: &SequenceFeedForwardOptions,
) -> NormOutput {
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return sequence_feed_forward_composed(x, maps, norm, options);
    }
    if options.norm_first || norm.is_none() {
        // The residual bypasses the norm, so it is added here.
        let NormOutput { y: tokens, statistics } = norm_before(x.clone(), norm);
        return NormOutput { y: x + fused(tokens, maps, None, options).y, statistics };
    }
    fused(x, maps, norm, options)
}

/// Runs the kernel. Residual and norm are applied if there is a norm.
fn fused(
    x: Tensor<3>,
    maps: FeedForwardLayers,
    norm: Option<NormArgs>,
    options: &SequenceFeedForwardOptions,
) -> NormOutput {
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
        Some(norm) => norm_output(&norm, sequences * patches, result),
        None => NormOutput { y: result.y, statistics: None },
    }
}

/// The kernel. Its inputs are `x`, weight and bias of both layers, and gamma and beta if there is a norm.
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
        Output { y, shape: x.shape.to_vec(), extra: statistics_values(statistics), saved }
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
/// As [`sequence_feed_forward`].
pub fn sequence_feed_forward_composed(
    x: Tensor<3>,
    maps: FeedForwardLayers,
    norm: Option<NormArgs>,
    options: &SequenceFeedForwardOptions,
) -> NormOutput {
    if x.dims().contains(&0) {
        return NormOutput { y: x, statistics: None };
    }
    let (first, last) = if options.norm_first { (norm, None) } else { (None, norm) };
    let NormOutput { y: tokens, statistics } = norm_or_identity(x.clone(), first);
    let inner = recorded_linear("inner", tokens, maps.first);
    let hidden = maps.activation.apply(inner.clone());
    trace::step("hidden", maps.activation.operation()).from(&inner).values(ROWS, &hidden);
    let hidden = apply_dropout(hidden, options.hidden_dropout);
    let outer = apply_dropout(recorded_linear("outer", hidden, maps.second), options.residual_dropout);
    let y = x.clone() + outer.clone();
    trace::step("sum", Operation::Sum).from(&x).from(&outer).values(ROWS, &y);
    let result = norm_or_identity(y, last);
    NormOutput { y: result.y, statistics: result.statistics.or(statistics) }
}

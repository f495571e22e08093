//! A residual sum and its normalisation in one operation.
//!
//! `norm(x + y)` with `norm(z) = γ (z - mean) / √(variance + eps) + β`. [`NormKind`] selects the axes of
//! mean and variance: Ioffe & Szegedy 2015 (batch), Ulyanov et al. 2016 (instance), Ba et al. 2016
//! (layer).

use burn::config::Config;
use burn::tensor::Tensor;
use regard_kernels::norm as kernel;

use crate::trace::{self, Operation};

use super::fused::{Array, Kernel, KernelResult, Output, has_kernels, input, run};
use super::parts::{Parts, spread};

/// The axes of `[batch, nodes, width]` that mean and variance are computed over.
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// Each channel over batch and nodes; running statistics in evaluation.
    Batch,
    /// Each channel of every item over its nodes.
    Instance,
    /// Each node over its channels.
    Layer,
}

/// The parameters of one normalisation.
#[derive(Clone, Debug)]
pub struct NormArgs {
    /// The axes that mean and variance are computed over.
    pub kind: NormKind,
    /// Scale `[width]`.
    pub gamma: Tensor<1>,
    /// Shift `[width]`.
    pub beta: Tensor<1>,
    /// Running mean and variance `[width]`, used instead of batch statistics ([`NormKind::Batch`] only).
    pub running: Option<(Tensor<1>, Tensor<1>)>,
    /// Added to the variance.
    pub eps: f32,
}

/// A normalised tensor and the batch statistics.
#[derive(Clone, Debug)]
pub struct NormOutput {
    /// The result `[batch, nodes, width]`.
    pub y: Tensor<3>,
    /// Statistics of the batch; only for [`NormKind::Batch`] without running statistics.
    pub statistics: Option<BatchStatistics>,
}

/// Mean and variance of the channels of one batch; they carry no gradient.
#[derive(Clone, Debug)]
pub struct BatchStatistics {
    /// Mean `[width]`.
    pub mean: Tensor<1>,
    /// Biased variance `[width]`.
    pub variance: Tensor<1>,
    /// Number of values that each was computed from: batch times nodes.
    pub count: usize,
}

/// `norm(x + y)` of two tensors `[batch, nodes, width]`.
///
/// # Panics
/// If the shapes do not match.
pub fn residual_norm(x: Tensor<3>, y: Tensor<3>, args: NormArgs) -> NormOutput {
    assert_eq!(x.dims(), y.dims(), "residual norm: shapes of the two summands");
    if !has_kernels(&x.device()) || x.dims().contains(&0) {
        return residual_norm_composed(x, y, args);
    }
    let (norm, [gamma, beta]) = FusedNorm::new(args);
    let [batch, nodes, _] = x.dims();
    norm_output(&norm.clone(), batch * nodes, run(Fused(norm), vec![input(x), input(y), gamma, beta]))
}

/// [`residual_norm`] in ordinary tensor operations.
pub fn residual_norm_composed(x: Tensor<3>, y: Tensor<3>, args: NormArgs) -> NormOutput {
    assert_eq!(x.dims(), y.dims(), "residual norm: shapes of the two summands");
    let sum = x.clone() + y.clone();
    trace::step("sum", Operation::Sum).from(&x).from(&y).values(ROWS, &sum);
    norm_composed(sum, args)
}

/// The normalisation `norm(x)` of `[batch, nodes, width]` without a residual, in ordinary tensor operations.
pub fn norm_composed(x: Tensor<3>, args: NormArgs) -> NormOutput {
    let [batch, nodes, width] = x.dims();
    assert_eq!(args.gamma.dims(), [width], "norm: width of the scale");
    assert_eq!(args.beta.dims(), [width], "norm: width of the shift");
    if batch * nodes * width == 0 {
        return NormOutput { y: x, statistics: None };
    }
    let before = x.clone();
    let normed = match (args.kind, args.running.clone()) {
        (NormKind::Batch, Some((mean, variance))) => {
            let centred = x - spread(mean.unsqueeze(), nodes);
            NormOutput { y: scale_shift(centred, variance.unsqueeze(), &args), statistics: None }
        }
        (NormKind::Batch, None) => batch_norm(x, &args),
        (NormKind::Instance, _) => NormOutput { y: norm_along(x, 1, &args), statistics: None },
        (NormKind::Layer, _) => {
            let parts = Parts::of(batch * nodes, &x.device());
            let y = norm_along(parts.cut(x.reshape([batch * nodes, width])), 2, &args);
            NormOutput { y: parts.join(y).reshape([batch, nodes, width]), statistics: None }
        }
    };
    let (kind, source) = match args.kind {
        NormKind::Batch => ("batch", "Ioffe & Szegedy 2015"),
        NormKind::Instance => ("instance", "Ulyanov et al. 2016"),
        NormKind::Layer => ("layer", "Ba et al. 2016"),
    };
    let running = || args.running.clone().filter(|_| args.kind == NormKind::Batch);
    trace::step("norm", Operation::Norm { kind, eps: args.eps })
        .source(source)
        .from(&before)
        .parameter("weight", || args.gamma.clone())
        .parameter("bias", || args.beta.clone())
        .optional_parameter("running_mean", || running().map(|(mean, _)| mean))
        .optional_parameter("running_var", || running().map(|(_, variance)| variance))
        .values(ROWS, &normed.y);
    normed
}

/// Axes of rows in a trace.
const ROWS: [&str; 3] = ["batch", "row", "channel"];

fn batch_norm(x: Tensor<3>, args: &NormArgs) -> NormOutput {
    let [batch, nodes, width] = x.dims();
    let count = batch * nodes;
    // Two passes: the mean of squares minus the squared mean loses digits in f32.
    let parts = Parts::of(count, &x.device());
    let x = parts.cut(x.reshape([count, width]));
    let mean = parts.mean(x.clone());
    let centred = parts.without_filling(x - parts.spread(mean.clone()));
    let variance = parts.mean(centred.clone().square());
    let y = parts.join(scale_shift(centred, variance.clone(), args)).reshape([batch, nodes, width]);
    let statistics =
        BatchStatistics { mean: mean.detach().reshape([width]), variance: variance.detach().reshape([width]), count };
    NormOutput { y, statistics: Some(statistics) }
}

fn norm_along(x: Tensor<3>, dim: usize, args: &NormArgs) -> Tensor<3> {
    let centred = x.clone() - x.mean_dim(dim);
    let variance = centred.clone().square().mean_dim(dim);
    scale_shift(centred, variance, args)
}

/// `γ centred / √(variance + eps) + β`
fn scale_shift(centred: Tensor<3>, variance: Tensor<3>, args: &NormArgs) -> Tensor<3> {
    let rows = centred.dims()[1];
    let factor = variance.add_scalar(args.eps).sqrt().recip();
    let factor = match factor.dims() {
        // The same for all rows.
        [1, 1, _] => spread(factor * args.gamma.clone().unsqueeze(), rows),
        // One for each row: layer norm.
        [_, _, 1] => factor * spread(args.gamma.clone().unsqueeze(), rows),
        _ => factor * args.gamma.clone().unsqueeze(),
    };
    centred * factor + spread(args.beta.clone().unsqueeze(), rows)
}

/// The parameters of a norm in a kernel. Gamma and beta are inputs of the kernel.
#[derive(Clone, Debug)]
pub(super) struct FusedNorm {
    kind: NormKind,
    eps: f32,
    running: Option<(Vec<f32>, Vec<f32>)>,
}

/// An input of a kernel.
pub(super) type Input = burn::backend::tensor::FloatTensor<burn::backend::Dispatch>;

impl FusedNorm {
    /// Splits `args` into the norm and its inputs gamma and beta.
    pub(super) fn new(args: NormArgs) -> (Self, [Input; 2]) {
        let NormArgs { kind, gamma, beta, running, eps } = args;
        let numbers = |tensor: Tensor<1>| tensor.into_data().iter::<f32>().collect::<Vec<_>>();
        let running = running.map(|(mean, variance)| (numbers(mean), numbers(variance)));
        (Self { kind, eps, running }, [input(gamma), input(beta)])
    }

    pub(super) fn view<'a>(&'a self, gamma: &'a [f32], beta: &'a [f32]) -> kernel::Norm<'a> {
        let kind = match self.kind {
            NormKind::Batch => kernel::NormKind::Batch,
            NormKind::Instance => kernel::NormKind::Instance,
            NormKind::Layer => kernel::NormKind::Layer,
        };
        let running = self.running.as_ref().map(|(mean, variance)| (mean.as_slice(), variance.as_slice()));
        kernel::Norm { kind, gamma, beta, running, eps: self.eps }
    }
}

/// Means, then variances: the additional values of a kernel with batch norm.
pub(super) fn statistics_values(statistics: Option<kernel::BatchStatistics>) -> Vec<f32> {
    statistics.map_or(vec![], |statistics| [statistics.mean, statistics.variance].concat())
}

/// Combines the result of a kernel with its batch statistics.
pub(super) fn norm_output(norm: &FusedNorm, count: usize, result: KernelResult<3>) -> NormOutput {
    let KernelResult { y, extra } = result;
    let own = norm.kind == NormKind::Batch && norm.running.is_none();
    let statistics = own.then(|| {
        let width = extra.dims()[0] / 2;
        let part = |from| extra.clone().narrow(0, from, width);
        BatchStatistics { mean: part(0), variance: part(width), count }
    });
    NormOutput { y, statistics }
}

/// The rows of an array `[batch, nodes, width]`.
pub(super) fn rows(array: &Array<'_>) -> kernel::Rows {
    kernel::Rows { batch: array.shape[0], nodes: array.shape[1], width: array.shape[2] }
}

/// The kernel. Its inputs are `x`, `y`, gamma, beta.
#[derive(Debug)]
struct Fused(FusedNorm);

impl Kernel for Fused {
    type Saved = kernel::ResidualNormSaved;

    fn forward(&self, inputs: &[Array<'_>], save: bool) -> Output<Self::Saved> {
        let norm = self.0.view(inputs[2].data, inputs[3].data);
        let (y, saved, statistics) = kernel::residual_norm(&rows(&inputs[0]), &norm, inputs[0].data, inputs[1].data);
        Output {
            y,
            shape: inputs[0].shape.to_vec(),
            extra: statistics_values(statistics),
            saved: save.then_some(saved),
        }
    }

    fn backward(&self, inputs: &[Array<'_>], saved: &Self::Saved, grad: &[f32], _: &[bool]) -> Vec<Vec<f32>> {
        let norm = self.0.view(inputs[2].data, inputs[3].data);
        let (x, gamma, beta) = kernel::residual_norm_backward(&rows(&inputs[0]), &norm, saved, grad);
        vec![x.clone(), x, gamma, beta]
    }
}

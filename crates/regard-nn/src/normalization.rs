//! Batch, instance and layer normalisation of `[batch, nodes, width]` in one module.
//!
//! Ioffe & Szegedy 2015 (batch, with running statistics), Ulyanov et al. 2016 (instance), Ba et al.
//! 2016 (layer); the defaults are those of PyTorch.

use burn::config::Config;
use burn::module::{Initializer, Module, Param, RunningState};
use burn::tensor::{Device, Tensor};

use crate::ops::{BatchStatistics, NormArgs, NormKind, NormOutput, norm_composed, residual_norm};

/// Sizes and constants of a [`Normalization`].
#[derive(Config, Debug)]
pub struct NormalizationConfig {
    /// The axes that mean and variance are computed over.
    pub kind: NormKind,
    /// Number of channels.
    pub width: usize,
    /// Added to the variance. Default: 1e-5.
    #[config(default = 1e-5)]
    pub eps: f32,
    /// Weight of a new batch in the running statistics. Default: 0.1.
    #[config(default = 0.1)]
    pub momentum: f32,
}

/// A normalisation with learnt scale and shift.
///
/// On an autodiff device (training), [`NormKind::Batch`] normalises with the statistics of the batch and
/// updates the running statistics. On other devices (`module.valid()`) it uses the running statistics.
/// The other kinds have no running statistics and behave the same on every device.
#[derive(Module, Debug)]
pub struct Normalization {
    /// Scale `[width]`.
    pub gamma: Param<Tensor<1>>,
    /// Shift `[width]`.
    pub beta: Param<Tensor<1>>,
    /// Running mean `[width]`; for [`NormKind::Batch`] only.
    pub running_mean: Option<RunningState<Tensor<1>>>,
    /// Running unbiased variance `[width]`; for [`NormKind::Batch`] only.
    pub running_variance: Option<RunningState<Tensor<1>>>,
    /// The axes that mean and variance are computed over.
    #[module(skip)]
    pub kind: NormKind,
    /// Added to the variance.
    pub eps: f32,
    /// Weight of a new batch in the running statistics.
    pub momentum: f32,
}

impl NormalizationConfig {
    /// Initialises scale 1, shift 0, running mean 0 and running variance 1.
    pub fn init(&self, device: &Device) -> Normalization {
        let shape = [self.width];
        let running = |value: Tensor<1>| (self.kind == NormKind::Batch).then(|| RunningState::new(value));
        Normalization {
            gamma: Initializer::Ones.init(shape, device),
            beta: Initializer::Zeros.init(shape, device),
            running_mean: running(Tensor::zeros(shape, device)),
            running_variance: running(Tensor::ones(shape, device)),
            kind: self.kind,
            eps: self.eps,
            momentum: self.momentum,
        }
    }
}

impl Normalization {
    /// `norm(x)` of `[batch, nodes, width]`.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let args = self.args(&x.device());
        self.update_running(norm_composed(x, args))
    }

    /// `norm(x + y)` of `[batch, nodes, width]`.
    pub fn residual(&self, x: Tensor<3>, y: Tensor<3>) -> Tensor<3> {
        let args = self.args(&x.device());
        self.update_running(residual_norm(x, y, args))
    }

    /// Arguments of a fused operation that ends with this normalisation, for inputs on `device`.
    pub fn args(&self, device: &Device) -> NormArgs {
        let running = self.running().filter(|_| !device.is_autodiff() || crate::input_gradient::of_input());
        NormArgs { kind: self.kind, gamma: self.gamma.val(), beta: self.beta.val(), running, eps: self.eps }
    }

    /// Returns the result in `normed` and updates the running statistics with those of the batch:
    /// `running = (1 - momentum) running + momentum batch`, with the unbiased variance.
    pub fn update_running(&self, normed: NormOutput) -> Tensor<3> {
        if let Some(statistics) = normed.statistics {
            self.update(statistics);
        }
        normed.y
    }

    /// Current running mean and variance `[width]`; `None` if the norm has none.
    pub fn running(&self) -> Option<(Tensor<1>, Tensor<1>)> {
        let (mean, variance) = (self.running_mean.as_ref()?, self.running_variance.as_ref()?);
        Some((mean.value_sync(), variance.value_sync()))
    }

    fn update(&self, statistics: BatchStatistics) {
        let BatchStatistics { mean, variance, count } = statistics;
        let unbias = count as f32 / count.saturating_sub(1).max(1) as f32;
        let new = [mean, variance.mul_scalar(unbias)];
        for (state, new) in [&self.running_mean, &self.running_variance].into_iter().zip(new) {
            let Some(state) = state else { continue };
            let old = state.value_sync();
            let new = new.detach().to_device(&old.device()).mul_scalar(self.momentum);
            state.update(old.mul_scalar(1.0 - self.momentum).add(new));
            // Visitors (saving, `valid`) read the last synchronised value, so it is synchronised here.
            state.value_sync();
        }
    }
}

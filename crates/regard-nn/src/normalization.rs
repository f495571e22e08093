//! Batch, instance and layer normalisation of `[batch, nodes, width]` under one roof.
//!
//! Ioffe & Szegedy 2015 (batch, with running statistics), Ulyanov et al. 2016 (instance), Ba et al.
//! 2016 (layer); constants as in PyTorch.

use burn::config::Config;
use burn::module::{Initializer, Module, Param, RunningState};
use burn::tensor::{Device, Tensor};

use crate::ops::{BatchStatistics, NormArgs, NormKind, Normed, norm_composed, residual_norm};

/// Sizes and constants of a [`Normalization`].
#[derive(Config, Debug)]
pub struct NormalizationConfig {
    /// What mean and variance run over.
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
/// [`NormKind::Batch`] normalises by the batch's own statistics on an autodiff device, which
/// also move the running ones, and by the running ones elsewhere (`module.valid()`). The other
/// kinds are the same everywhere and keep no statistics.
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
    /// What mean and variance run over.
    #[module(skip)]
    pub kind: NormKind,
    /// Added to the variance.
    pub eps: f32,
    /// Weight of a new batch in the running statistics.
    pub momentum: f32,
}

impl NormalizationConfig {
    /// Scale 1, shift 0, running mean 0 and variance 1.
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
        self.observe(norm_composed(x, args))
    }

    /// `norm(x + y)` of `[batch, nodes, width]`.
    pub fn residual(&self, x: Tensor<3>, y: Tensor<3>) -> Tensor<3> {
        let args = self.args(&x.device());
        self.observe(residual_norm(x, y, args))
    }

    /// The arguments of an operation that ends in this normalisation, for inputs on `device`.
    pub fn args(&self, device: &Device) -> NormArgs {
        let running = self.running().filter(|_| !device.is_autodiff());
        NormArgs { kind: self.kind, gamma: self.gamma.val(), beta: self.beta.val(), running, eps: self.eps }
    }

    /// Takes the result out of `normed` and moves the running statistics by what the batch gave:
    /// `running = (1 - momentum) running + momentum batch`, the variance unbiased.
    pub fn observe(&self, normed: Normed) -> Tensor<3> {
        if let Some(statistics) = normed.statistics {
            self.update(statistics);
        }
        normed.y
    }

    /// Running mean and variance `[width]`, up to date; `None` where there are none.
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
            // Visitors (saving, `valid`) read the last synchronised value, so it is made current.
            state.value_sync();
        }
    }
}

//! Reversible instance normalisation (RevIN, Kim et al. 2022) of `[batch, channels, time]`: every window
//! of every channel is shifted and scaled before the network, and the forecast is scaled and shifted back.

use burn::config::Config;
use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor};

/// Options of an [`InstanceNorm`].
#[derive(Config, Debug)]
pub struct InstanceNormConfig {
    /// If true, the last value is subtracted instead of the mean. Default: false.
    #[config(default = false)]
    pub subtract_last: bool,
    /// Number of channels with a learnt scale and shift; 0 for none. Default: 0.
    #[config(default = 0)]
    pub affine_channels: usize,
    /// Added to the variance. Default: 1e-5.
    #[config(default = 1e-5)]
    pub eps: f64,
}

/// Normalises every window of every channel to mean 0 and standard deviation 1, and back.
#[derive(Module, Debug)]
pub struct InstanceNorm {
    /// Learnt scale `[channels]`.
    pub affine_weight: Option<Param<Tensor<1>>>,
    /// Learnt shift `[channels]`.
    pub affine_bias: Option<Param<Tensor<1>>>,
    /// If true, the last value is subtracted instead of the mean.
    pub subtract_last: bool,
    /// Added to the variance.
    pub eps: f64,
}

/// Shift and scale of the windows, `[batch, channels, 1]`; no gradient flows through mean and standard
/// deviation.
#[derive(Clone, Debug)]
pub struct WindowStatistics {
    /// Mean, or last value.
    pub center: Tensor<3>,
    /// `√(variance + eps)` with the population variance.
    pub deviation: Tensor<3>,
}

impl InstanceNormConfig {
    /// Initialises scale 1 and shift 0.
    pub fn init(&self, device: &Device) -> InstanceNorm {
        let shape = [self.affine_channels];
        let affine = |initializer: Initializer| (self.affine_channels > 0).then(|| initializer.init(shape, device));
        InstanceNorm {
            affine_weight: affine(Initializer::Ones),
            affine_bias: affine(Initializer::Zeros),
            subtract_last: self.subtract_last,
            eps: self.eps,
        }
    }
}

impl InstanceNorm {
    /// Normalises `x [batch, channels, time]`. `observed`, of the same shape, is 1 where a value is present
    /// and 0 where it is missing. Missing values become 0.
    pub fn normalize(&self, x: Tensor<3>, observed: Option<&Tensor<3>>) -> (Tensor<3>, WindowStatistics) {
        let statistics = self.statistics(x.clone(), observed);
        let scaled = (x - statistics.center.clone()) / statistics.deviation.clone();
        let scaled = match &self.affine() {
            Some((weight, bias)) => scaled * weight.clone() + bias.clone(),
            None => scaled,
        };
        let scaled = match observed {
            Some(observed) => scaled * observed.clone(),
            None => scaled,
        };
        (scaled, statistics)
    }

    /// Undoes [`Self::normalize`] for `y [batch, channels, any length]`.
    pub fn denormalize(&self, y: Tensor<3>, statistics: &WindowStatistics) -> Tensor<3> {
        let y = match self.affine() {
            // The authors add eps² to avoid a division by 0, while they add eps to the variance.
            Some((weight, bias)) => (y - bias) / weight.add_scalar(self.eps * self.eps),
            None => y,
        };
        y * statistics.deviation.clone() + statistics.center.clone()
    }

    /// Scale and shift `[1, channels, 1]`, where they are learnt.
    pub fn affine(&self) -> Option<(Tensor<3>, Tensor<3>)> {
        let along_channels = |param: &Param<Tensor<1>>| param.val().reshape([1, -1, 1]);
        Some((along_channels(self.affine_weight.as_ref()?), along_channels(self.affine_bias.as_ref()?)))
    }

    fn statistics(&self, x: Tensor<3>, observed: Option<&Tensor<3>>) -> WindowStatistics {
        let length = x.dims()[2];
        // In the authors' code the last value has a gradient; mean and deviation do not.
        let last = x.clone().narrow(2, length - 1, 1);
        let x = if crate::input_gradient::of_input() { x } else { x.detach() };
        let mean_of = |values: Tensor<3>| match observed {
            None => values.mean_dim(2),
            Some(observed) => (values * observed.clone()).sum_dim(2) / observed.clone().sum_dim(2).clamp_min(1.0),
        };
        let mean = mean_of(x.clone());
        let variance = mean_of((x.clone() - mean.clone()).square());
        let center = if self.subtract_last { last } else { mean };
        WindowStatistics { center, deviation: variance.add_scalar(self.eps).sqrt() }
    }
}

//! Adam with clipping by the common norm, and its state as bytes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::module::Module;
use burn::optim::{AdamConfig, AdamWConfig, GradientsParams, ModuleOptimizer, OptimizerRecord};
use burn::tensor::{Bytes, Gradients};
use regard_nn::{clip_gradient_norm, gradient_norm};

use crate::{Error, Result};

/// The optimiser of one module (Kingma & Ba 2015; betas 0.9 and 0.999, epsilon 1e-8).
pub(crate) struct Optimizer {
    adam: ModuleOptimizer,
    max_grad_norm: f64,
    decay: f64,
    /// The first beta.
    beta: f64,
}

/// The first beta where nothing else is said.
const BETA: f64 = 0.9;

fn adam(beta: f64, decay: f64) -> ModuleOptimizer {
    let beta = beta as f32;
    match decay > 0.0 {
        false => AdamConfig::new().with_beta_1(beta).with_epsilon(1e-8).init(),
        true => AdamWConfig::new().with_beta_1(beta).with_epsilon(1e-8).with_weight_decay(decay as f32).init(),
    }
}

impl Optimizer {
    /// Gradients are scaled to a norm of at most `max_grad_norm` before a step; 0 leaves them alone.
    pub(crate) fn new(max_grad_norm: f64) -> Self {
        Self::with_weight_decay(max_grad_norm, 0.0)
    }

    /// As [`Self::new`], and every step first shrinks the weights by `decay` times the learning rate
    /// (Loshchilov & Hutter 2019).
    pub(crate) fn with_weight_decay(max_grad_norm: f64, decay: f64) -> Self {
        Self { adam: adam(BETA, decay), max_grad_norm, decay, beta: BETA }
    }

    /// Takes another first beta; moments stay as they are.
    pub(crate) fn set_beta(&mut self, beta: f64) {
        if beta != self.beta {
            self.adam = adam(beta, self.decay).load_record(self.adam.to_record());
            self.beta = beta;
        }
    }

    /// The module after a step, and the norm the gradients had.
    pub(crate) fn step<M: Module>(&mut self, rate: f64, module: M, gradients: Gradients) -> (M, f64) {
        let gradients = GradientsParams::from_grads(gradients, &module);
        self.step_along(rate, module, gradients)
    }

    /// As [`Self::step`], with gradients of the module's parameters.
    pub(crate) fn step_along<M: Module>(&mut self, rate: f64, module: M, mut gradients: GradientsParams) -> (M, f64) {
        let norm = match self.max_grad_norm > 0.0 {
            true => clip_gradient_norm(&module, &mut gradients, self.max_grad_norm),
            false => gradient_norm(&module, &gradients),
        };
        if !norm.is_finite() {
            return (module, norm);
        }
        (self.adam.step(rate, module, gradients), norm)
    }

    /// The moments of all parameters.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let bytes = self.adam.to_record().into_bytes();
        Ok(bytes.map_err(|error| Error::state("optimiser", error))?.to_vec())
    }

    /// Goes on from the moments that [`Self::to_bytes`] gave.
    pub(crate) fn restored(self, bytes: Vec<u8>) -> Result<Self> {
        let record = OptimizerRecord::from_bytes(Bytes::from_bytes_vec(bytes));
        let record = record.map_err(|error| Error::state("optimiser", error))?;
        // The library takes some damaged records for impossible and panics.
        let loaded = catch_unwind(AssertUnwindSafe(|| self.adam.load_record(record)));
        let adam = loaded.map_err(|_| Error::state("optimiser", "its moments belong to no parameters"))?;
        Ok(Self { adam, ..self })
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Initializer;
    use burn::nn::LinearConfig;
    use burn::tensor::{Device, Tensor};

    use super::*;

    #[test]
    fn damaged_moments_are_an_error_or_others_but_no_end() {
        let device = Device::flex().autodiff();
        let linear = LinearConfig::new(2, 1).with_initializer(Initializer::Zeros).init(&device);
        let mut optimizer = Optimizer::new(0.0);
        let loss = linear.forward(Tensor::<2>::ones([1, 2], &device)).sum();
        let gradients = loss.backward();
        optimizer.step(0.1, linear, gradients);
        let bytes = optimizer.to_bytes().unwrap();
        assert!(Optimizer::new(0.0).restored(bytes.clone()).is_ok());
        for at in 0..bytes.len() {
            for byte in [0, 0x7f, bytes[at] ^ 1] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                drop(Optimizer::new(0.0).restored(damaged));
            }
        }
    }
}

//! Adam with clipping by the common norm, and its state as bytes.

use burn::module::Module;
use burn::optim::{AdamConfig, AdamWConfig, GradientsParams, ModuleOptimizer, OptimizerRecord};
use burn::tensor::{Bytes, Gradients};
use regard_nn::{clip_gradient_norm, gradient_norm};

use crate::{Error, Result};

/// The optimiser of one module (Kingma & Ba 2015; betas 0.9 and 0.999, epsilon 1e-8).
pub(crate) struct Optimizer {
    adam: ModuleOptimizer,
    clip_norm: f64,
}

impl Optimizer {
    /// Gradients are scaled to a norm of at most `clip_norm` before a step; 0 leaves them alone.
    pub(crate) fn new(clip_norm: f64) -> Self {
        Self { adam: AdamConfig::new().with_epsilon(1e-8).init(), clip_norm }
    }

    /// As [`Self::new`], and every step first shrinks the weights by `decay` times the learning rate
    /// (Loshchilov & Hutter 2019).
    pub(crate) fn with_weight_decay(clip_norm: f64, decay: f64) -> Self {
        if decay == 0.0 {
            return Self::new(clip_norm);
        }
        let config = AdamWConfig::new().with_epsilon(1e-8).with_weight_decay(decay as f32);
        Self { adam: config.init(), clip_norm }
    }

    /// The module after a step, and the norm the gradients had.
    pub(crate) fn step<M: Module>(&mut self, rate: f64, module: M, gradients: Gradients) -> (M, f64) {
        let mut gradients = GradientsParams::from_grads(gradients, &module);
        let norm = match self.clip_norm > 0.0 {
            true => clip_gradient_norm(&module, &mut gradients, self.clip_norm),
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
        Ok(Self { adam: self.adam.load_record(record), ..self })
    }
}

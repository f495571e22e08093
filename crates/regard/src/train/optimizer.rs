//! Adam or Muon with clipping by the common norm, and their state as bytes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::module::{Module, ModuleVisitor, Param, ParamGroup, ParamId};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{AdamConfig, AdamWConfig, AdjustLrFn, GradientsParams, ModuleOptimizer, MuonConfig, OptimizerRecord};
use burn::tensor::{Bytes, Gradients, Tensor};
use regard_nn::{clip_gradient_norm, gradient_norm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Method that turns gradients into steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// Adam (Kingma & Ba 2015), with a weight decay AdamW.
    #[default]
    Adam,
    /// Muon (Jordan et al. 2024) for the matrices of the layers: the momentum is made orthogonal, so that a step changes
    /// all directions of a matrix equally. Steps are as large as those of Adam (Liu et al. 2025), so learning rates are
    /// comparable. Adam for all other weights.
    Muon,
}

/// Settings of an optimiser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptimizerOptions {
    pub(crate) kind: OptimizerKind,
    /// Gradients are scaled to a norm of at most this before a step; 0 leaves them alone.
    pub(crate) max_grad_norm: f64,
    /// Every step first shrinks the weights by this times the learning rate (Loshchilov & Hutter 2019).
    pub(crate) weight_decay: f64,
}

/// The optimiser of one module (Adam: betas 0.9 and 0.999, epsilon 1e-8; Muon: momentum 0.95).
pub(crate) struct Optimizer {
    inner: ModuleOptimizer,
    options: OptimizerOptions,
    /// The parameters that Muon moves.
    matrices: Vec<ParamId>,
    /// The first beta of Adam.
    beta: f64,
}

/// The first beta where nothing else is said.
const BETA: f64 = 0.9;

/// Smallest number of rows or columns of a matrix that Muon moves: below, it is a table of few features or biases.
const SMALLEST_SIDE: usize = 16;

/// An optimiser without moments.
fn optimizer(options: OptimizerOptions, beta: f64, matrices: &[ParamId]) -> ModuleOptimizer {
    let (beta, decay) = (beta as f32, options.weight_decay as f32);
    let adam = match decay > 0.0 {
        false => AdamConfig::new().with_beta_1(beta).with_epsilon(1e-8).init(),
        true => AdamWConfig::new().with_beta_1(beta).with_epsilon(1e-8).with_weight_decay(decay).init(),
    };
    if matrices.is_empty() {
        return adam;
    }
    let decay = (decay > 0.0).then(|| WeightDecayConfig::new(decay));
    let muon = MuonConfig::new().with_adjust_lr_fn(AdjustLrFn::MatchRmsAdamW).with_weight_decay(decay);
    adam.with_group(ParamGroup::from_ids(matrices.to_vec()), muon.build(), None)
}

impl Optimizer {
    /// The optimiser of a module whose parameters are [`numbered`](super::numbered).
    pub(crate) fn new<M: Module>(module: &M, options: OptimizerOptions) -> Self {
        let mut matrices = Matrices { containers: vec![], found: vec![] };
        if options.kind == OptimizerKind::Muon {
            module.visit(&mut matrices);
        }
        let matrices = matrices.found;
        Self { inner: optimizer(options, BETA, &matrices), options, matrices, beta: BETA }
    }

    /// Takes another first beta of Adam; moments stay as they are.
    pub(crate) fn set_beta(&mut self, beta: f64) {
        if beta != self.beta {
            self.inner = optimizer(self.options, beta, &self.matrices).load_record(self.inner.to_record());
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
        let norm = match self.options.max_grad_norm > 0.0 {
            true => clip_gradient_norm(&module, &mut gradients, self.options.max_grad_norm),
            false => gradient_norm(&module, &gradients),
        };
        if !norm.is_finite() {
            return (module, norm);
        }
        (self.inner.step(rate, module, gradients), norm)
    }

    /// The moments of all parameters.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let bytes = self.inner.to_record().into_bytes();
        Ok(bytes.map_err(|error| Error::state("optimiser", error))?.to_vec())
    }

    /// Goes on from the moments that [`Self::to_bytes`] gave.
    pub(crate) fn restored(self, bytes: Vec<u8>) -> Result<Self> {
        let record = OptimizerRecord::from_bytes(Bytes::from_bytes_vec(bytes));
        let record = record.map_err(|error| Error::state("optimiser", error))?;
        // The library takes some damaged records for impossible and panics.
        let loaded = catch_unwind(AssertUnwindSafe(|| self.inner.load_record(record)));
        let inner = loaded.map_err(|_| Error::state("optimiser", "its moments belong to no parameters"))?;
        Ok(Self { inner, ..self })
    }
}

/// Finds the matrices of layers: those that map one vector to another, not tables with a row for each kind of an input.
struct Matrices {
    /// Types of the modules around a parameter.
    containers: Vec<String>,
    found: Vec<ParamId>,
}

impl ModuleVisitor for Matrices {
    fn enter_module(&mut self, _: &str, container: &str) {
        self.containers.push(container.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.containers.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let is_table = self.containers.last().is_some_and(|container| container == "Struct:Embedding");
        if D == 2 && !is_table && param.lazy_shape().iter().all(|&side| side >= SMALLEST_SIDE) {
            self.found.push(param.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Initializer;
    use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
    use burn::tensor::{Device, Distribution, Int};
    use regard_nn::with_seed;

    use super::*;
    use crate::train::{collect, drawn, numbered};

    fn options(kind: OptimizerKind) -> OptimizerOptions {
        OptimizerOptions { kind, max_grad_norm: 0.0, weight_decay: 0.0 }
    }

    #[derive(Module, Debug)]
    struct Network {
        table: Embedding,
        layer: Linear,
        head: Linear,
    }

    #[test]
    fn muon_moves_all_directions_of_matrices_alike_and_leaves_the_rest_to_adam() {
        let device = Device::flex().autodiff();
        let (network, noise) = with_seed(&device, 5, || {
            let network = Network {
                table: EmbeddingConfig::new(20, 32).init(&device),
                layer: LinearConfig::new(32, 24).init(&device),
                head: LinearConfig::new(24, 1).init(&device),
            };
            (drawn(numbered(network)), Tensor::random([1, 20, 24], Distribution::Normal(0.0, 1.0), &device))
        });
        let before = collect(&network);
        let mut optimizer = Optimizer::new(&network, options(OptimizerKind::Muon));
        let rows = network.table.forward(Tensor::<1, Int>::arange(0..20, &device).reshape([1, 20]));
        let hidden = network.layer.forward(rows) * noise;
        // Large, so that Adam's epsilon is small beside every gradient.
        let loss = network.head.forward(hidden).powi_scalar(2).sum() * 1e6;
        let gradients = loss.backward();
        let (network, _) = optimizer.step(0.01, network, gradients);
        let after = collect(&network);
        let moved = |name: &str| -> Vec<f64> {
            before[name].data.iter().zip(&after[name].data).map(|(a, b)| f64::from(a - b)).collect()
        };
        // The first step of Adam has the size of the learning rate in every number.
        for name in ["table.weight", "layer.bias", "head.weight", "head.bias"] {
            assert!(moved(name).iter().all(|step| (step.abs() - 0.01).abs() < 1e-4), "{name}: {:?}", moved(name));
        }
        // The gradient has the rank 20 of its rows at most. In each of these directions the step has about the size
        // 0.2 √32 of the learning rate (Newton-Schulz steps give 0.7 to 1.2 times that), in others nothing.
        let step = moved("layer.weight");
        let size = step.iter().map(|step| step * step).sum::<f64>().sqrt();
        let expected = 0.01 * 0.2 * 32f64.sqrt() * 20f64.sqrt();
        assert!((0.7..1.2).contains(&(size / expected)), "{size}, {expected}");
    }

    #[test]
    fn damaged_moments_are_an_error_or_others_but_no_end() {
        let device = Device::flex().autodiff();
        for kind in [OptimizerKind::Adam, OptimizerKind::Muon] {
            let linear = LinearConfig::new(16, 16).with_bias(false).with_initializer(Initializer::Zeros).init(&device);
            let mut optimizer = Optimizer::new(&linear, options(kind));
            let loss = linear.forward(Tensor::<2>::ones([1, 16], &device)).sum();
            let gradients = loss.backward();
            let (linear, _) = optimizer.step(0.1, linear, gradients);
            let bytes = optimizer.to_bytes().unwrap();
            let restored = |bytes| Optimizer::new(&linear, options(kind)).restored(bytes);
            assert!(restored(bytes.clone()).is_ok());
            for at in 0..bytes.len() {
                for byte in [0, 0x7f, bytes[at] ^ 1] {
                    let mut damaged = bytes.clone();
                    damaged[at] = byte;
                    drop(restored(damaged));
                }
            }
        }
    }
}

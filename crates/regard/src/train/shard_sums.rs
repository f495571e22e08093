//! The numbers of the shards of a batch that are added: gradients and running statistics.
//!
//! Batch norm takes the statistics of each shard ("ghost batch norm", Hoffer et al. 2017), from running statistics that
//! all shards of a step begin with; after the step they are the mean of those of the shards.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Gradients, Tensor, TensorData};

use super::Shards;

/// The beginning of the names of running statistics.
const RUNNING: &str = "running_";

/// The running statistics of a network, in the order of its parameters; empty where it has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunningStatistics(Vec<f32>);

impl RunningStatistics {
    /// Those of a module.
    fn of<M: Module>(module: &M) -> Self {
        let mut visitor = ReadRunning { path: vec![], found: vec![] };
        module.visit(&mut visitor);
        Self(visitor.found)
    }

    /// Makes them those of a module; its clones share them.
    fn set<M: Module>(&self, module: &M) {
        if !self.0.is_empty() {
            module.clone().map(&mut WriteRunning { path: vec![], rest: &self.0 });
        }
    }
}

/// Calls `forward`, which may change the running statistics of the module: its result and those statistics. The module
/// keeps the ones that it had.
pub(crate) fn isolated<M: Module, R>(module: &M, forward: impl FnOnce(&M) -> R) -> (R, RunningStatistics) {
    let before = RunningStatistics::of(module);
    let found = forward(module);
    let after = RunningStatistics::of(module);
    before.set(module);
    (found, after)
}

/// The sums of the passes of a step's shards over one network.
pub(crate) struct ShardSums {
    /// Of each shard of this rank: the gradients of all parameters, for each parameter 1 if it has a gradient, and the
    /// running statistics.
    passes: Vec<Vec<f32>>,
}

impl ShardSums {
    /// No shards yet.
    pub(crate) fn new() -> Self {
        Self { passes: vec![] }
    }

    /// Adds the next shard of this rank: its gradients, and running statistics that count by the shard's share of the
    /// batch.
    pub(crate) fn add<M: Module>(
        &mut self,
        module: &M,
        gradients: &Gradients,
        running: &RunningStatistics,
        share: f64,
    ) {
        let mut visitor = ReadGradients { gradients: Some(gradients), found: vec![], exist: vec![] };
        module.visit(&mut visitor);
        let ReadGradients { mut found, exist, .. } = visitor;
        found.extend(exist);
        found.extend(running.0.iter().map(|value| value * share as f32));
        self.passes.push(found);
    }

    /// Adds a shard without examples.
    pub(crate) fn add_empty<M: Module>(&mut self, module: &M) {
        let mut visitor = ReadGradients { gradients: None, found: vec![], exist: vec![] };
        module.visit(&mut visitor);
        let length = visitor.found.len() + visitor.exist.len() + RunningStatistics::of(module).0.len();
        self.passes.push(vec![0.0; length]);
    }

    /// The gradients of the batch. The module gets its running statistics.
    pub(crate) fn total<M: Module>(self, shards: &Shards, module: &M) -> GradientsParams {
        let sum = shards.sum(self.passes);
        let running = RunningStatistics::of(module).0.len();
        let (gradients, running) = sum.split_at(sum.len() - running);
        let mut zeros = ReadGradients { gradients: None, found: vec![], exist: vec![] };
        module.visit(&mut zeros);
        let (rest, exist) = gradients.split_at(zeros.found.len());
        let mut visitor = WriteGradients { rest, exist: exist.iter(), gradients: GradientsParams::new() };
        module.visit(&mut visitor);
        RunningStatistics(running.to_vec()).set(module);
        visitor.gradients
    }
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    let numbers = tensor.into_data().try_into_vec_as::<f32>();
    numbers.unwrap_or_else(|error| unreachable!("floats convert to f32: {error:?}"))
}

struct ReadGradients<'a> {
    /// None for zeros.
    gradients: Option<&'a Gradients>,
    found: Vec<f32>,
    exist: Vec<f32>,
}

impl ModuleVisitor for ReadGradients<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !param.is_require_grad() {
            return;
        }
        match self.gradients.and_then(|gradients| param.val().grad(gradients)) {
            Some(gradient) => {
                self.found.extend(numbers(gradient));
                self.exist.push(1.0);
            }
            None => {
                let length = self.found.len() + param.lazy_shape().num_elements();
                self.found.resize(length, 0.0);
                self.exist.push(0.0);
            }
        }
    }
}

struct WriteGradients<'a> {
    /// Numbers of the parameters to come.
    rest: &'a [f32],
    /// For each parameter the number of shards in which it has a gradient.
    exist: std::slice::Iter<'a, f32>,
    gradients: GradientsParams,
}

impl ModuleVisitor for WriteGradients<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !param.is_require_grad() {
            return;
        }
        let shape = param.lazy_shape();
        let (own, rest) = self.rest.split_at(shape.num_elements());
        self.rest = rest;
        if self.exist.next().is_some_and(|&count| count > 0.0) {
            let data = TensorData::new(own.to_vec(), shape.to_vec());
            self.gradients.register(param.id, Tensor::<D>::from_data(data, &param.lazy_device().inner()));
        }
    }
}

struct ReadRunning {
    path: Vec<String>,
    found: Vec<f32>,
}

impl ModuleVisitor for ReadRunning {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.path.last().is_some_and(|name| name.starts_with(RUNNING)) {
            self.found.extend(numbers(param.val()));
        }
    }
}

struct WriteRunning<'a> {
    path: Vec<String>,
    rest: &'a [f32],
}

impl ModuleMapper for WriteRunning<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !self.path.last().is_some_and(|name| name.starts_with(RUNNING)) {
            return param;
        }
        let shape = param.lazy_shape();
        let (own, rest) = self.rest.split_at(shape.num_elements());
        self.rest = rest;
        let data = TensorData::new(own.to_vec(), shape.to_vec());
        let (device, id) = (param.lazy_device(), param.id);
        param.transform_for_load(Tensor::from_data(data, &device), id)
    }
}

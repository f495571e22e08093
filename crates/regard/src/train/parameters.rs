//! A module's numbers by their paths, out and in again.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Gradients, Tensor, TensorData};
use regard_nn::drawing;

use crate::store::{Array, Weights};
use crate::{Error, Result};

/// Every parameter and running statistic of a module, by its path.
pub(crate) fn collect<M: Module>(module: &M) -> Weights {
    read(module, None)
}

/// The gradient of every parameter that has one, by its path.
pub(crate) fn gradients<M: Module>(module: &M, gradients: &Gradients) -> Weights {
    read(module, Some(gradients))
}

fn read<M: Module>(module: &M, gradients: Option<&Gradients>) -> Weights {
    let mut collector = Collector { gradients, path: vec![], found: Weights::new() };
    module.visit(&mut collector);
    collector.found
}

/// The shape of every parameter of a module, by its path; nothing is drawn for that.
pub(crate) fn shapes<M: Module>(module: &M) -> Vec<(String, Vec<usize>)> {
    let mut shapes = Shapes { path: vec![], found: vec![] };
    module.visit(&mut shapes);
    shapes.found
}

/// The module with its random numbers drawn: Burn draws them at first use, whenever and in whatever order that is.
pub(crate) fn drawn<M: Module>(module: M) -> M {
    drawing(|| collect(&module));
    module
}

/// The module with all its numbers from `weights`, which [`collect`] gave.
///
/// # Errors
/// [`Error::Weights`] for what is missing or has another shape.
pub(crate) fn restore<M: Module>(module: M, weights: &Weights) -> Result<M> {
    let mut restorer = Restorer { weights, path: vec![], missing: vec![], wrong: vec![] };
    let module = module.map(&mut restorer);
    let Restorer { missing, wrong, .. } = restorer;
    match missing.is_empty() && wrong.is_empty() {
        true => Ok(module),
        false => Err(Error::Weights { missing, extra: vec![], wrong }),
    }
}

/// The module with its parameters numbered in the order they stand: an optimiser's saved state
/// names parameters by number, and fresh numbers are random.
pub(crate) fn numbered<M: Module>(module: M) -> M {
    module.map(&mut Numbering { next: 1 })
}

struct Collector<'a> {
    /// Whose values are read; none for those of the parameters.
    gradients: Option<&'a Gradients>,
    path: Vec<String>,
    found: Weights,
}

impl ModuleVisitor for Collector<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = match self.gradients {
            None => Some(param.val()),
            Some(gradients) => param.val().grad(gradients),
        };
        let Some(value) = value else { return };
        let data = value.into_data();
        let shape = data.shape().to_vec();
        let numbers = data.try_into_vec_as::<f32>();
        let data = numbers.unwrap_or_else(|error| unreachable!("floats convert to f32: {error:?}"));
        let array = Array { shape, data };
        self.found.insert(self.path.join("."), array);
    }
}

struct Shapes {
    path: Vec<String>,
    found: Vec<(String, Vec<usize>)>,
}

impl ModuleVisitor for Shapes {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.found.push((self.path.join("."), param.lazy_shape().to_vec()));
    }
}

struct Restorer<'a> {
    weights: &'a Weights,
    path: Vec<String>,
    missing: Vec<String>,
    wrong: Vec<String>,
}

impl ModuleMapper for Restorer<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.join(".");
        let Some(array) = self.weights.get(&name) else {
            self.missing.push(name);
            return param;
        };
        if array.shape != param.lazy_shape().to_vec() {
            self.wrong.push(format!("{name}: shape {:?}", array.shape));
            return param;
        }
        let (device, id) = (param.lazy_device(), param.id);
        let data = TensorData::new(array.data.clone(), array.shape.clone());
        param.transform_for_load(Tensor::from_data(data, &device), id)
    }
}

struct Numbering {
    next: u64,
}

impl ModuleMapper for Numbering {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let id = ParamId::from(self.next);
        self.next += 1;
        let (_, value, mapper) = param.consume();
        Param::from_mapped_value(id, value, mapper)
    }
}

//! Where a parameter stands in the original code's files, for values and gradients alike
//! (`nets/attention_model.py` and `nets/graph_encoder.py` of Kool et al. 2019).

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor, TensorData};

use super::AttentionModel;
use crate::store::{Array, Weights};
use crate::{Error, Result};

/// Layout of our array in the original one.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// The same.
    Same,
    /// Ours `[in, out]`, theirs `[out, in]`.
    Transposed,
    /// Ours `[in, heads * width]`, theirs `[heads, in, width]`.
    HeadColumns,
    /// Ours `[heads * width, out]`, theirs `[heads, width, out]`.
    HeadRows,
}

use Layout::{HeadColumns, HeadRows, Same, Transposed};

/// Our path, the original name, the layout; `{}` is the number of an encoder layer.
const TABLE: [(&str, &str, Layout); 27] = [
    ("placeholder", "W_placeholder", Same),
    ("depot.weight", "init_embed_depot.weight", Transposed),
    ("depot.bias", "init_embed_depot.bias", Same),
    ("embedding.weight", "init_embed.weight", Transposed),
    ("embedding.bias", "init_embed.bias", Same),
    ("{}.attention.query.weight", "{}.0.module.W_query", HeadColumns),
    ("{}.attention.key.weight", "{}.0.module.W_key", HeadColumns),
    ("{}.attention.value.weight", "{}.0.module.W_val", HeadColumns),
    ("{}.attention.out.weight", "{}.0.module.W_out", HeadRows),
    ("{}.pair_bias", "{}.0.module.W_pair", Same),
    ("{}.attention_norm.gamma", "{}.1.normalizer.weight", Same),
    ("{}.attention_norm.beta", "{}.1.normalizer.bias", Same),
    ("{}.attention_norm.running_mean", "{}.1.normalizer.running_mean", Same),
    ("{}.attention_norm.running_variance", "{}.1.normalizer.running_var", Same),
    ("{}.feed_forward.inner.weight", "{}.2.module.0.weight", Transposed),
    ("{}.feed_forward.inner.bias", "{}.2.module.0.bias", Same),
    ("{}.feed_forward.outer.weight", "{}.2.module.2.weight", Transposed),
    ("{}.feed_forward.outer.bias", "{}.2.module.2.bias", Same),
    ("{}.feed_forward_norm.gamma", "{}.3.normalizer.weight", Same),
    ("{}.feed_forward_norm.beta", "{}.3.normalizer.bias", Same),
    ("{}.feed_forward_norm.running_mean", "{}.3.normalizer.running_mean", Same),
    ("{}.feed_forward_norm.running_variance", "{}.3.normalizer.running_var", Same),
    ("decoder.nodes.weight", "project_node_embeddings.weight", Transposed),
    ("decoder.fixed.weight", "project_fixed_context.weight", Transposed),
    ("decoder.step.weight", "project_step_context.weight", Transposed),
    ("decoder.dynamic.weight", "project_node_step.weight", Transposed),
    ("decoder.out.weight", "project_out.weight", Transposed),
];

/// Original name and layout of one of our paths.
fn original(path: &[String]) -> Option<(String, Layout)> {
    let (number, path) = match path {
        [encoder, layers, number, rest @ ..] if encoder == "encoder" && layers == "layers" => {
            (Some(number), format!("{{}}.{}", rest.join(".")))
        }
        other => (None, other.join(".")),
    };
    let (_, name, layout) = TABLE.iter().find(|(ours, _, _)| *ours == path)?;
    let name = number.map_or((*name).to_owned(), |number| name.replace("{}", &format!("embedder.layers.{number}")));
    Some((name, *layout))
}

impl Layout {
    /// Our array, laid out as the original one.
    fn to_original(self, heads: usize, array: Array) -> Array {
        match (self, array.shape.as_slice()) {
            (Transposed, &[rows, columns]) => permuted(array.data, [1, rows, columns], transpose, vec![columns, rows]),
            (HeadColumns, &[inputs, columns]) => {
                let width = columns / heads;
                let order = |[i, h, k]: [usize; 3]| [h, i, k];
                permuted(array.data, [inputs, heads, width], order, vec![heads, inputs, width])
            }
            (HeadRows, &[rows, outputs]) => Array { shape: vec![heads, rows / heads, outputs], data: array.data },
            _ => array,
        }
    }

    /// An original array, laid out as ours.
    fn to_ours(self, array: &Array) -> Array {
        let data = array.data.clone();
        match (self, array.shape.as_slice()) {
            (Transposed, &[rows, columns]) => permuted(data, [1, rows, columns], transpose, vec![columns, rows]),
            (HeadColumns, &[heads, inputs, width]) => {
                let order = |[h, i, k]: [usize; 3]| [i, h, k];
                permuted(data, [heads, inputs, width], order, vec![inputs, heads * width])
            }
            (HeadRows, &[heads, width, outputs]) => Array { shape: vec![heads * width, outputs], data },
            _ => Array { shape: array.shape.clone(), data },
        }
    }
}

fn transpose([outer, row, column]: [usize; 3]) -> [usize; 3] {
    [outer, column, row]
}

/// Moves axes: `order` takes indices and sizes alike from the old order to the new one.
fn permuted(data: Vec<f32>, from: [usize; 3], order: impl Fn([usize; 3]) -> [usize; 3], shape: Vec<usize>) -> Array {
    let [_, rows, columns] = order(from);
    let mut moved = vec![0.0; data.len()];
    let mut old = data.into_iter();
    for a in 0..from[0] {
        for b in 0..from[1] {
            for (c, value) in (0..from[2]).zip(&mut old) {
                let [i, j, k] = order([a, b, c]);
                moved[(i * rows + j) * columns + k] = value;
            }
        }
    }
    Array { shape, data: moved }
}

/// Every parameter and running statistic.
pub(super) fn values(model: &AttentionModel, heads: usize) -> Weights {
    read(model, heads, None)
}

/// The gradients of the parameters that have one.
pub(super) fn gradients(model: &AttentionModel, heads: usize, gradients: &Gradients) -> Weights {
    read(model, heads, Some(gradients))
}

fn read(model: &AttentionModel, heads: usize, gradients: Option<&Gradients>) -> Weights {
    let mut reader = Reader { heads, gradients, path: vec![], found: Weights::new() };
    model.visit(&mut reader);
    reader.found
}

struct Reader<'a> {
    heads: usize,
    gradients: Option<&'a Gradients>,
    path: Vec<String>,
    found: Weights,
}

impl ModuleVisitor for Reader<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some((name, layout)) = original(&self.path) else { return };
        let value = param.val();
        let tensor = match self.gradients {
            None => Some(value),
            Some(gradients) => value.grad(gradients),
        };
        let Some(tensor) = tensor else { return };
        let data = tensor.into_data();
        let array = Array { shape: data.shape().to_vec(), data: data.iter::<f32>().collect() };
        self.found.insert(name, layout.to_original(self.heads, array));
    }
}

/// The model with all its parameters and running statistics taken from `weights`.
pub(super) fn load(model: AttentionModel, weights: &Weights) -> Result<AttentionModel> {
    let mut loader = Loader { weights, path: vec![], missing: vec![], wrong: vec![] };
    let model = model.map(&mut loader);
    let Loader { missing, wrong, .. } = loader;
    if missing.is_empty() && wrong.is_empty() {
        Ok(model)
    } else {
        Err(Error::Weights { missing, extra: vec![], wrong })
    }
}

struct Loader<'a> {
    weights: &'a Weights,
    path: Vec<String>,
    missing: Vec<String>,
    wrong: Vec<String>,
}

impl ModuleMapper for Loader<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some((name, layout)) = original(&self.path) else { return param };
        let shape = param.lazy_shape();
        let Some(array) = self.weights.get(&name) else {
            self.missing.push(name);
            return param;
        };
        let Array { shape: found, data } = layout.to_ours(array);
        if found != shape.to_vec() {
            self.wrong.push(format!("{name}: shape {:?}", array.shape));
            return param;
        }
        let device = param.lazy_device();
        let id = param.id;
        param.transform_for_load(Tensor::from_data(TensorData::new(data, found), &device), id)
    }
}

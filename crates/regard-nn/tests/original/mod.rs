//! The attention layers of Time-Series-Library in golden cases: their weights, and the checks of their gradients.

#![allow(dead_code, reason = "each test uses its part")]

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::{Device, Gradients, Tensor};
use regard_nn::{AttentionInput, FeedForward, MultiHeadAttention, MultiHeadAttentionConfig, Normalization};
use regard_testing::{Case, Checks};

/// The sizes of the layer of a case.
pub(crate) fn layer_config(case: &Case) -> MultiHeadAttentionConfig {
    let per_head = |key: &str| case.config[key].as_u64().map(|width| width as usize);
    MultiHeadAttentionConfig::new(case.size("d_model"), case.size("n_heads"))
        .with_key_width(per_head("d_keys"))
        .with_value_width(per_head("d_values"))
}

/// The one input of a case or its three, by their names.
pub(crate) fn inputs(case: &Case, device: &Device) -> (AttentionInput, Vec<(String, Tensor<3>)>) {
    let leaf = |name: &str| {
        let found = case.find(name);
        found.map(|values| (name.to_owned(), values.tensor::<3>(device).require_grad()))
    };
    let names = ["input.x", "input.queries", "input.keys", "input.values"];
    let leaves: Vec<(String, Tensor<3>)> = names.into_iter().filter_map(leaf).collect();
    let input = match leaves.as_slice() {
        [(_, x)] => AttentionInput::to_itself(x.clone()),
        [(_, q), (_, k), (_, v)] => AttentionInput::new(q.clone(), k.clone(), v.clone()),
        _ => panic!("{}: one input or three", case.name),
    };
    (input, leaves)
}

/// The linear map that the case calls `weight.{name}`.
pub(crate) fn linear(case: &Case, name: &str, device: &Device) -> Linear {
    Linear {
        weight: Param::from_tensor(case.get(&format!("weight.{name}.weight")).tensor(device).transpose()),
        bias: Some(Param::from_tensor(case.get(&format!("weight.{name}.bias")).tensor(device))),
    }
}

/// Gives `layer` the projections of the case whose names begin with `prefix`.
pub(crate) fn fill(layer: &mut MultiHeadAttention, case: &Case, prefix: &str, device: &Device) {
    let projection = |name: &str| linear(case, &format!("{prefix}{name}_projection"), device);
    layer.query = projection("query");
    layer.key = projection("key");
    layer.value = projection("value");
    layer.out = projection("out");
}

/// Compares the gradients of all projections.
pub(crate) fn check_layer(checks: &mut Checks<'_>, layer: &MultiHeadAttention, prefix: &str, grads: &Gradients) {
    let MultiHeadAttention { query, key, value, out, .. } = layer;
    for (name, linear) in [("query", query), ("key", key), ("value", value), ("out", out)] {
        check_linear(checks, linear, &format!("{prefix}{name}_projection"), grads);
    }
}

/// Compares the gradients of a linear map.
pub(crate) fn check_linear(checks: &mut Checks<'_>, linear: &Linear, name: &str, grads: &Gradients) {
    let weight = linear.weight.val().grad(grads).expect("a gradient");
    checks.tensor(&format!("grad.weight.{name}.weight"), &weight.transpose());
    let bias = linear.bias.as_ref().expect("a bias").val().grad(grads);
    checks.tensor(&format!("grad.weight.{name}.bias"), &bias.expect("a gradient"));
}

/// Gives a network of two maps the weights of `torch.nn.Sequential`, whose second entry is the nonlinearity.
pub(crate) fn fill_network(network: &mut FeedForward, case: &Case, name: &str, device: &Device) {
    network.inner = linear(case, &format!("{name}.0"), device);
    network.outer = linear(case, &format!("{name}.2"), device);
}

/// Compares the gradients of such a network.
pub(crate) fn check_network(checks: &mut Checks<'_>, network: &FeedForward, name: &str, grads: &Gradients) {
    check_linear(checks, &network.inner, &format!("{name}.0"), grads);
    check_linear(checks, &network.outer, &format!("{name}.2"), grads);
}

/// Gives a norm its scale and shift.
pub(crate) fn fill_norm(norm: &mut Normalization, case: &Case, name: &str, device: &Device) {
    norm.gamma = Param::from_tensor(case.get(&format!("weight.{name}.weight")).tensor(device));
    norm.beta = Param::from_tensor(case.get(&format!("weight.{name}.bias")).tensor(device));
}

/// Compares the gradients of a norm.
pub(crate) fn check_norm(checks: &mut Checks<'_>, norm: &Normalization, name: &str, grads: &Gradients) {
    for (what, param) in [("weight", &norm.gamma), ("bias", &norm.beta)] {
        let gradient = param.val().grad(grads).expect("a gradient");
        checks.tensor(&format!("grad.weight.{name}.{what}"), &gradient);
    }
}

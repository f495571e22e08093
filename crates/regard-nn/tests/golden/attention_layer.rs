//! Golden test of multi-head attention against `AttentionLayer` of Time-Series-Library, with `FullAttention`
//! and `DSAttention`: outputs, attention weights and every gradient.

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::{Device, Gradients, Tensor};
use regard_nn::ops::{Mask, with_kernels};
use regard_nn::{AttentionInput, MultiHeadAttention, MultiHeadAttentionConfig};
use regard_testing::{Case, Checks, Golden};

#[test]
fn golden_attention_layers_with_kernels() {
    with_kernels(true, || check_all("kernels"));
}

#[test]
fn golden_attention_layers_composed() {
    with_kernels(false, || check_all("composed"));
}

fn check_all(label: &str) {
    let golden = Golden::open();
    let names = golden.names("attention_layer/");
    assert!(!names.is_empty());
    for name in names {
        check(&golden.case(&name).expect("named by the manifest"), label);
    }
}

fn check(case: &Case, label: &str) {
    let device = Device::flex().autodiff();
    let mut layer = layer_config(case).init(&device);
    fill(&mut layer, case, &device);
    let (input, leaves) = inputs(case, &device);
    let factor = |name: &str| case.find(name).map(|v| v.tensor::<2>(&device).require_grad());
    let (tau, delta) = (factor("input.tau"), factor("input.delta"));
    let input = match (&tau, &delta) {
        (Some(tau), Some(delta)) => input.with_destationary(tau.clone(), delta.clone()),
        _ => input,
    };
    let causal = case.config["mask_flag"].as_bool().unwrap_or(false);
    let input = if causal { input.with_mask(Mask::Causal) } else { input };

    let (with_weights, weights) = layer.forward_with_weights(input.clone());
    let y = layer.forward(input);
    let loss = (y.clone() * case.get("input.R").tensor(&device)).sum();
    let grads = loss.backward();

    let mut checks = Checks::new(case, label);
    checks.tensor("output.y", &y);
    checks.tensor("output.y", &with_weights);
    checks.tensor("output.attn", &weights);
    checks.tensor("output.loss", &loss);
    for (name, x) in &leaves {
        checks.tensor(&format!("grad.{name}"), &x.grad(&grads).expect("a gradient"));
    }
    for (name, x) in [("grad.input.tau", &tau), ("grad.input.delta", &delta)] {
        if let Some(x) = x {
            checks.tensor(name, &x.grad(&grads).expect("a gradient"));
        }
    }
    check_layer(&mut checks, &layer, &grads);
    checks.finish();
}

/// The configuration of the layer of a case.
fn layer_config(case: &Case) -> MultiHeadAttentionConfig {
    let per_head = |key: &str| case.config[key].as_u64().map(|width| width as usize);
    MultiHeadAttentionConfig::new(case.size("d_model"), case.size("n_heads"))
        .with_key_width(per_head("d_keys"))
        .with_value_width(per_head("d_values"))
}

/// The inputs of a case, one or three, with their names.
fn inputs(case: &Case, device: &Device) -> (AttentionInput, Vec<(String, Tensor<3>)>) {
    let leaf = |name: &str| {
        let found = case.find(name);
        found.map(|values| (name.to_owned(), values.tensor::<3>(device).require_grad()))
    };
    let names = ["input.x", "input.queries", "input.keys", "input.values"];
    let leaves: Vec<(String, Tensor<3>)> = names.into_iter().filter_map(leaf).collect();
    let input = match leaves.as_slice() {
        [(_, x)] => AttentionInput::self_attention(x.clone()),
        [(_, q), (_, k), (_, v)] => AttentionInput::new(q.clone(), k.clone(), v.clone()),
        _ => panic!("{}: one input or three", case.name),
    };
    (input, leaves)
}

/// The linear layer `weight.{name}` of the case.
fn linear(case: &Case, name: &str, device: &Device) -> Linear {
    Linear {
        weight: Param::from_tensor(case.get(&format!("weight.{name}.weight")).tensor(device).transpose()),
        bias: Some(Param::from_tensor(case.get(&format!("weight.{name}.bias")).tensor(device))),
    }
}

/// Sets the projections of `layer` to those of the case.
fn fill(layer: &mut MultiHeadAttention, case: &Case, device: &Device) {
    let projection = |name: &str| linear(case, &format!("{name}_projection"), device);
    layer.query = projection("query");
    layer.key = projection("key");
    layer.value = projection("value");
    layer.out = projection("out");
}

/// Compares the gradients of all projections.
fn check_layer(checks: &mut Checks<'_>, layer: &MultiHeadAttention, grads: &Gradients) {
    let MultiHeadAttention { query, key, value, out, .. } = layer;
    for (name, linear) in [("query", query), ("key", key), ("value", value), ("out", out)] {
        check_linear(checks, linear, &format!("{name}_projection"), grads);
    }
}

/// Compares the gradients of a linear layer.
fn check_linear(checks: &mut Checks<'_>, linear: &Linear, name: &str, grads: &Gradients) {
    let weight = linear.weight.val().grad(grads).expect("a gradient");
    checks.tensor(&format!("grad.weight.{name}.weight"), &weight.transpose());
    let bias = linear.bias.as_ref().expect("a bias").val().grad(grads);
    checks.tensor(&format!("grad.weight.{name}.bias"), &bias.expect("a gradient"));
}

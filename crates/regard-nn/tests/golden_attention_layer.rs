//! Multi-head attention against the AttentionLayer of TSLib, with FullAttention and DSAttention:
//! outputs, weights and every gradient.

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
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
    let layer = layer(case, &device);
    let leaf = |name: &str| {
        let found = case.find(name);
        found.map(|values| (name.to_owned(), values.tensor::<3>(&device).require_grad()))
    };
    let inputs: Vec<(String, Tensor<3>)> =
        ["input.x", "input.queries", "input.keys", "input.values"].into_iter().filter_map(leaf).collect();
    let input = match inputs.as_slice() {
        [(_, x)] => AttentionInput::to_itself(x.clone()),
        [(_, q), (_, k), (_, v)] => AttentionInput::new(q.clone(), k.clone(), v.clone()),
        _ => panic!("{}: one input or three", case.name),
    };
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
    for (name, x) in &inputs {
        checks.tensor(&format!("grad.{name}"), &x.grad(&grads).expect("a gradient"));
    }
    for (name, x) in [("grad.input.tau", &tau), ("grad.input.delta", &delta)] {
        if let Some(x) = x {
            checks.tensor(name, &x.grad(&grads).expect("a gradient"));
        }
    }
    for (name, linear) in linears(&layer) {
        let name = format!("grad.weight.{name}_projection");
        let weight = linear.weight.val().grad(&grads).expect("a gradient");
        checks.tensor(&format!("{name}.weight"), &weight.transpose());
        let bias = linear.bias.as_ref().expect("a bias").val().grad(&grads);
        checks.tensor(&format!("{name}.bias"), &bias.expect("a gradient"));
    }
    checks.finish();
}

fn layer(case: &Case, device: &Device) -> MultiHeadAttention {
    let per_head = |key: &str| case.config[key].as_u64().map(|width| width as usize);
    let mut layer = MultiHeadAttentionConfig::new(case.size("d_model"), case.size("n_heads"))
        .with_key_width(per_head("d_keys"))
        .with_value_width(per_head("d_values"))
        .init(device);
    let linear = |name: &str| Linear {
        weight: Param::from_tensor(case.get(&format!("weight.{name}_projection.weight")).tensor(device).transpose()),
        bias: Some(Param::from_tensor(case.get(&format!("weight.{name}_projection.bias")).tensor(device))),
    };
    layer.query = linear("query");
    layer.key = linear("key");
    layer.value = linear("value");
    layer.out = linear("out");
    layer
}

fn linears(layer: &MultiHeadAttention) -> [(&'static str, &Linear); 4] {
    let MultiHeadAttention { query, key, value, out, .. } = layer;
    [("query", query), ("key", key), ("value", value), ("out", out)]
}

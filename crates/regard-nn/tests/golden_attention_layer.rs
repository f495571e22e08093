//! Multi-head attention against the AttentionLayer of TSLib, with FullAttention and DSAttention:
//! outputs, weights and every gradient.

mod original;

use burn::tensor::Device;
use original::{check_layer, fill, inputs, layer_config};
use regard_nn::ops::{Mask, with_kernels};
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
    fill(&mut layer, case, "", &device);
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
    check_layer(&mut checks, &layer, "", &grads);
    checks.finish();
}

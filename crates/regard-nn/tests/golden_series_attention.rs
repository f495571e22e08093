//! ProbAttention and TwoStageAttentionLayer of TSLib: outputs, the queries that are selected and their
//! weights, every gradient.

mod original;

use burn::module::Param;
use burn::tensor::{Device, Tensor};
use original::{check_layer, check_network, check_norm, fill, fill_network, fill_norm, inputs, layer_config};
use regard_nn::ops::{Mask, with_kernels};
use regard_nn::{ProbAttentionConfig, SampledKeys, TwoStageAttention, TwoStageAttentionConfig};
use regard_testing::{Case, Checks, Golden, values_of};

#[test]
fn golden_prob_attention_with_kernels() {
    with_kernels(true, || check_all("prob_attention/", |case| check_prob(case, "kernels")));
}

#[test]
fn golden_prob_attention_composed() {
    with_kernels(false, || check_all("prob_attention/", |case| check_prob(case, "composed")));
}

#[test]
fn golden_two_stage_attention_with_kernels() {
    with_kernels(true, || check_all("two_stage_attention/", |case| check_two_stage(case, "kernels")));
}

#[test]
fn golden_two_stage_attention_composed() {
    with_kernels(false, || check_all("two_stage_attention/", |case| check_two_stage(case, "composed")));
}

fn check_all(family: &str, check: impl Fn(&Case)) {
    let golden = Golden::open_committed();
    let names = golden.names(family);
    assert!(!names.is_empty());
    for name in names {
        check(&golden.case(&name).expect("named by the manifest"));
    }
}

fn check_prob(case: &Case, label: &str) {
    let device = Device::flex().autodiff();
    let flag = |key: &str| case.config[key].as_bool().expect("a switch");
    let config = ProbAttentionConfig::new(layer_config(case)).with_factor(case.size("factor")).with_mix(flag("mix"));
    let mut block = config.init(&device);
    fill(&mut block.attention, case, "", &device);
    let (input, leaves) = inputs(case, &device);
    let input = if flag("mask_flag") { input.with_mask(Mask::Causal) } else { input };
    let sampled = SampledKeys::new(case.size("S"), &case.get("input.index_sample").index_rows());
    assert_eq!(sampled.samples(), block.count(case.size("S")), "{}: as many as the original draws", case.name);

    let (with_weights, weights) = block.forward_with_weights(input.clone(), &sampled);
    let y = block.forward(input, &sampled);
    let loss = (y.clone() * case.get("input.R").tensor(&device)).sum();
    let grads = loss.backward();

    let mut checks = Checks::new(case, label);
    checks.tensor("output.y", &y);
    checks.tensor("output.y", &with_weights);
    checks.tensor("output.loss", &loss);
    check_weights(&mut checks, case, &weights, flag("mask_flag"));
    for (name, x) in &leaves {
        checks.tensor(&format!("grad.{name}"), &x.grad(&grads).expect("a gradient"));
    }
    check_layer(&mut checks, &block.attention, "", &grads);
    checks.finish();
}

/// The rows of selected queries are the original's, all others weigh values alike.
fn check_weights(checks: &mut Checks<'_>, case: &Case, weights: &Tensor<4>, causal: bool) {
    let [batch, heads, queries, keys] = weights.dims();
    let (weights, selected) = (values_of(weights), case.get("output.selected"));
    let count = selected.shape[2];
    let mut rows = Vec::new();
    for head in 0..batch * heads {
        let chosen: Vec<usize> = selected.data[head * count..][..count].iter().map(|&query| query as usize).collect();
        let row = |query: usize| &weights[(head * queries + query) * keys..][..keys];
        rows.extend(chosen.iter().flat_map(|&query| row(query)).map(|&weight| f64::from(weight)));
        for query in (0..queries).filter(|query| !chosen.contains(query)) {
            let alike = |key: usize| if causal { f32::from(u8::from(key <= query)) } else { 1.0 / keys as f32 };
            let holds = row(query).iter().enumerate().all(|(key, &weight)| weight == alike(key));
            checks.holds(&format!("query {query} of head {head} is not selected"), holds);
        }
    }
    // Where there are more queries than keys the original has no weights to give.
    if case.find("output.attn_selected").is_some() {
        checks.values("output.attn_selected", &[batch, heads, count, keys], &rows);
    }
}

fn check_two_stage(case: &Case, label: &str) {
    let device = Device::flex().autodiff();
    let block = two_stage(case, &device);
    let x = case.get("input.x").tensor::<4>(&device).require_grad();
    let y = block.forward(x.clone());
    let undropped = block.forward_with_dropout(x.clone(), &mut |x| x);
    let loss = (y.clone() * case.get("input.R").tensor(&device)).sum();
    let grads = loss.backward();

    let mut checks = Checks::new(case, label);
    checks.tensor("output.y", &y);
    checks.tensor("output.y", &undropped);
    checks.tensor("output.loss", &loss);
    checks.tensor("grad.input.x", &x.grad(&grads).expect("a gradient"));
    checks.tensor("grad.weight.router", &block.router.val().grad(&grads).expect("a gradient"));
    check_layer(&mut checks, &block.time.attention, "time_attention.", &grads);
    check_norm(&mut checks, &block.time.attention_norm, "norm1", &grads);
    check_network(&mut checks, &block.time.feed_forward, "MLP1", &grads);
    check_norm(&mut checks, &block.time.feed_forward_norm, "norm2", &grads);
    check_layer(&mut checks, &block.sender, "dim_sender.", &grads);
    check_layer(&mut checks, &block.receiver, "dim_receiver.", &grads);
    check_norm(&mut checks, &block.receiver_norm, "norm3", &grads);
    check_network(&mut checks, &block.feed_forward, "MLP2", &grads);
    check_norm(&mut checks, &block.feed_forward_norm, "norm4", &grads);
    checks.finish();
}

fn two_stage(case: &Case, device: &Device) -> TwoStageAttention {
    let [width, heads, segments, routers] = ["d_model", "n_heads", "seg_num", "factor"].map(|key| case.size(key));
    let hidden = case.config["d_ff"].as_u64().map(|hidden| hidden as usize);
    let mut block = TwoStageAttentionConfig::new(width, heads, segments, routers).with_hidden(hidden).init(device);
    block.router = Param::from_tensor(case.get("weight.router").tensor(device));
    fill(&mut block.time.attention, case, "time_attention.", device);
    fill_norm(&mut block.time.attention_norm, case, "norm1", device);
    fill_network(&mut block.time.feed_forward, case, "MLP1", device);
    fill_norm(&mut block.time.feed_forward_norm, case, "norm2", device);
    fill(&mut block.sender, case, "dim_sender.", device);
    fill(&mut block.receiver, case, "dim_receiver.", device);
    fill_norm(&mut block.receiver_norm, case, "norm3", device);
    fill_network(&mut block.feed_forward, case, "MLP2", device);
    fill_norm(&mut block.feed_forward_norm, case, "norm4", device);
    block
}

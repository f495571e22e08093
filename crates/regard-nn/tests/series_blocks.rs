//! The laws of the attention blocks for series: see `block_suite!`; and what is special about each.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use regard_nn::ops::Mask;
use regard_nn::{
    AttentionInput, MultiHeadAttentionConfig, ProbAttention, ProbAttentionConfig, SampledKeys, TwoStageAttention,
    TwoStageAttentionConfig,
};
use regard_testing::{block_suite, close, input, missing_gradients, values_of};

const TOLERANCE: f32 = 1e-5;

fn prob(factor: usize) -> ProbAttentionConfig {
    ProbAttentionConfig::new(MultiHeadAttentionConfig::new(12, 3)).with_factor(factor)
}

fn to_itself(block: &ProbAttention, x: Tensor<3>, mask: Mask) -> Tensor<3> {
    let [_, length, _] = x.dims();
    block.forward(AttentionInput::to_itself(x).with_mask(mask), &block.sample(length, length, 3))
}

// Which keys judge a query is drawn by its position, so that the order means something.
block_suite! {
    name: prob_attention,
    block: |device: &Device| prob(1).init(device),
    forward: |block: &ProbAttention, x: Tensor<3>| to_itself(block, x, Mask::None),
    input: [3, 11, 12],
    output: [3, 11, 12],
    law: Ordered,
    without_gradient: ["attention.key.bias"]
}

block_suite! {
    name: causal_prob_attention,
    block: |device: &Device| prob(2).with_mix(true).init(device),
    forward: |block: &ProbAttention, x: Tensor<3>| to_itself(block, x, Mask::Causal),
    input: [2, 9, 12],
    output: [2, 9, 12],
    law: Ordered,
    without_gradient: ["attention.key.bias"]
}

const KEY_BIASES: [&str; 3] = ["time.attention.key.bias", "sender.key.bias", "receiver.key.bias"];

fn two_stage(device: &Device) -> TwoStageAttention {
    TwoStageAttentionConfig::new(8, 2, 4, 3).with_hidden(Some(10)).init(device)
}

block_suite! {
    name: two_stage_attention_over_channels,
    block: two_stage,
    forward: |block: &TwoStageAttention, x: Tensor<3>| {
        let [batch, channels, _] = x.dims();
        block.forward(x.reshape([batch, channels, 4, 8])).reshape([batch, channels, 32])
    },
    input: [2, 5, 32],
    output: [2, 5, 32],
    law: Equivariant,
    without_gradient: KEY_BIASES
}

// Routers belong to their segments. (A single channel has no message to choose, and no order then.)
block_suite! {
    name: two_stage_attention_over_time,
    block: two_stage,
    forward: |block: &TwoStageAttention, x: Tensor<3>| block.forward(x.unsqueeze()).squeeze_dim::<3>(0),
    input: [3, 4, 8],
    output: [3, 4, 8],
    law: Ordered,
    without_gradient: KEY_BIASES
}

#[test]
fn prob_attention_of_all_queries_is_full_attention() {
    let device = Device::flex();
    let block = prob(5).init(&device);
    let x: Tensor<3> = input([2, 9, 12], 1, &device);
    assert_eq!(block.count(9), 9);
    for mask in [Mask::None, Mask::Causal] {
        let input = AttentionInput::to_itself(x.clone()).with_mask(mask);
        let sampled = block.sample(9, 9, 1);
        close(&block.forward(input.clone(), &sampled), &block.attention.forward(input.clone()), TOLERANCE);
        let (y, weights) = block.forward_with_weights(input.clone(), &sampled);
        let (expected, of_full) = block.attention.forward_with_weights(input);
        close(&y, &expected, TOLERANCE);
        close(&weights, &of_full, TOLERANCE);
    }
}

/// Without projections the result is the weights times the values, whatever the mask.
#[test]
fn prob_attention_returns_the_weights_it_used() {
    let device = Device::flex();
    let (width, heads) = (6, 2);
    for (queries, keys, mask) in
        [(10, 10, Mask::None), (10, 10, Mask::Causal), (12, 5, Mask::None), (4, 13, Mask::None)]
    {
        let mut block =
            ProbAttentionConfig::new(MultiHeadAttentionConfig::new(width, heads)).with_factor(1).init(&device);
        block.attention.value.weight = burn::module::Param::from_tensor(Tensor::eye(width, &device));
        block.attention.value.bias = None;
        block.attention.out = block.attention.value.clone();
        let q: Tensor<3> = input([2, queries, width], 1, &device);
        let k: Tensor<3> = if queries == keys { q.clone() } else { input([2, keys, width], 2, &device) };
        let sampled = block.sample(queries, keys, 9);
        let (y, weights) =
            block.forward_with_weights(AttentionInput::new(q, k.clone(), k.clone()).with_mask(mask), &sampled);
        assert_eq!(weights.dims(), [2, heads, queries, keys]);
        let values = k.reshape([2, keys, heads, width / heads]).swap_dims(1, 2);
        let expected = weights.matmul(values).swap_dims(1, 2).reshape([2, queries, width]);
        close(&y, &expected, TOLERANCE);
    }
}

#[test]
fn prob_attention_selects_the_query_that_stands_out() {
    let device = Device::flex();
    let identity = || burn::module::Param::from_tensor(Tensor::eye(2, &device));
    let attention = MultiHeadAttentionConfig::new(2, 1).with_bias(false);
    let mut block = ProbAttentionConfig::new(attention).with_factor(1).init(&device);
    for linear in [&mut block.attention.query, &mut block.attention.key, &mut block.attention.value] {
        linear.weight = identity();
    }
    block.attention.out.weight = identity();
    // One of two queries attends: ⌈ln 2⌉ = 1. Each is judged by both keys.
    let x = Tensor::<3>::from_floats([[[0.1, 0.0], [0.0, 3.0]]], &device);
    let sampled = SampledKeys::new(2, &[vec![0, 1], vec![0, 1]]);
    let y = values_of(&block.forward(AttentionInput::to_itself(x), &sampled));
    let own = 1.0 / (1.0 + (-9.0_f32 / 2.0_f32.sqrt()).exp());
    for (found, expected) in y.iter().zip([0.05, 1.5, 0.1 * (1.0 - own), 3.0 * own]) {
        assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
    }
}

/// The selected queries do not see what comes later, and the others sum what came before.
#[test]
fn causal_prob_attention_passes_no_later_value() {
    let device = Device::flex().autodiff();
    let block = prob(2).init(&device);
    let (query, value): (Tensor<3>, Tensor<3>) = (input([1, 10, 12], 1, &device), input([1, 10, 12], 2, &device));
    let value = value.require_grad();
    let arguments = AttentionInput::new(query.clone(), query, value.clone()).with_mask(Mask::Causal);
    for position in [0, 4, 8] {
        let y = block.forward(arguments.clone(), &block.sample(10, 10, 4));
        let grads = y.narrow(1, position, 1).sum().backward();
        let grad = value.grad(&grads).expect("a gradient");
        let later = values_of(&grad.clone().narrow(1, position + 1, 9 - position));
        assert!(later.iter().all(|&g| g == 0.0), "position {position}: {later:?}");
        assert!(values_of(&grad).iter().any(|&g| g != 0.0));
    }
}

#[test]
fn prob_attention_across_lengths_and_at_their_edges() {
    let device = Device::flex();
    let block = prob(1).init(&device);
    for (batch, queries, keys) in
        [(2, 3, 17), (2, 17, 3), (1, 1, 8), (2, 8, 1), (1, 1, 1), (2, 0, 4), (2, 4, 0), (0, 3, 3)]
    {
        let (q, k): (Tensor<3>, Tensor<3>) =
            (input([batch, queries, 12], 1, &device), input([batch, keys, 12], 2, &device));
        let arguments = AttentionInput::new(q, k.clone(), k);
        let sampled = block.sample(queries, keys, 5);
        let y = block.forward(arguments.clone(), &sampled);
        let (same, weights) = block.forward_with_weights(arguments, &sampled);
        assert_eq!(y.dims(), [batch, queries, 12]);
        assert_eq!(weights.dims(), [batch, 3, queries, keys]);
        assert!(values_of(&y).iter().all(|v| v.is_finite()));
        close(&same, &y, TOLERANCE);
    }
}

#[test]
fn keys_are_drawn_by_their_seed() {
    let draw = |seed| SampledKeys::draw(40, 9, 6, seed);
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    assert_eq!((draw(1).sizes(), draw(1).samples()), ([40, 9], 6));
    let block = prob(1).init(&Device::flex());
    let x: Tensor<3> = input([2, 30, 12], 1, &Device::flex());
    let y = |seed| values_of(&block.forward(AttentionInput::to_itself(x.clone()), &block.sample(30, 30, seed)));
    assert_eq!(y(1), y(1));
    assert_ne!(y(1), y(2));
    assert_eq!([0, 1, 2, 3, 20, 21, 100].map(|length| block.count(length)), [0, 0, 1, 2, 3, 4, 5]);
}

#[test]
#[should_panic(expected = "as many keys as queries")]
fn causal_prob_attention_across_lengths() {
    let device = Device::flex();
    let block = prob(1).init(&device);
    let (q, k): (Tensor<3>, Tensor<3>) = (input([1, 4, 12], 1, &device), input([1, 5, 12], 2, &device));
    block.forward(AttentionInput::new(q, k.clone(), k).with_mask(Mask::Causal), &block.sample(4, 5, 1));
}

#[test]
#[should_panic(expected = "queries and keys of the sampled keys")]
fn keys_sampled_for_another_length() {
    let device = Device::flex();
    let block = prob(1).init(&device);
    block.forward(AttentionInput::to_itself(input([1, 4, 12], 1, &device)), &block.sample(4, 5, 1));
}

#[test]
fn two_stage_attention_knows_batch_channels_and_segments() {
    let device = Device::flex();
    let block = two_stage(&device);
    let x: Tensor<4> = input([3, 5, 4, 8], 1, &device);
    let y = block.forward(x.clone());
    assert_eq!(y.dims(), [3, 5, 4, 8]);
    for item in 0..3 {
        close(&block.forward(x.clone().narrow(0, item, 1)), &y.clone().narrow(0, item, 1), TOLERANCE);
    }
    // Channels and segments each hear of the others.
    let moved = x.clone().slice_fill([0..1, 1..2, 2..3, 0..8], 2.0);
    let far = |a: Tensor<4>, b: &Tensor<4>| (a - b.clone()).abs().max().into_scalar::<f32>() > 1e-4;
    let z = block.forward(moved);
    assert!(far(z.clone().narrow(0, 0, 1).narrow(1, 3, 1), &y.clone().narrow(0, 0, 1).narrow(1, 3, 1)));
    assert!(far(z.clone().narrow(0, 0, 1).narrow(2, 0, 1), &y.clone().narrow(0, 0, 1).narrow(2, 0, 1)));
    close(&z.narrow(0, 1, 2), &y.narrow(0, 1, 2), TOLERANCE);
    for empty in [[0, 5, 4, 8], [2, 0, 4, 8]] {
        assert_eq!(block.forward(Tensor::zeros(empty, &device)).dims(), empty);
    }
}

#[test]
fn two_stage_attention_drops_before_every_residual() {
    let device = Device::flex().autodiff();
    let block = two_stage(&device);
    let x: Tensor<4> = input([2, 3, 4, 8], 1, &device);
    let mut shapes = vec![];
    let y = block.forward_with_dropout(x.clone(), &mut |x| {
        shapes.push(x.dims());
        x.mul_scalar(0.5)
    });
    assert_eq!(shapes, [[24, 8]; 4]);
    let grads = (y.clone() * input(y.dims(), 2, &device)).sum().backward();
    assert_eq!(missing_gradients(&block, &grads, &KEY_BIASES), Vec::<String>::new());
    // With everything dropped only the norms are left.
    let none = block.valid().forward_with_dropout(x.clone().inner(), &mut |x| x.zeros_like());
    let rows = x.inner().reshape([2, 12, 8]);
    let expected = block.valid().receiver_norm.forward(rows);
    close(&none.reshape([2, 12, 8]), &expected, 1e-3);
}

#[test]
#[should_panic(expected = "segments and width")]
fn two_stage_attention_of_other_segments() {
    let device = Device::flex();
    two_stage(&device).forward(Tensor::zeros([1, 2, 5, 8], &device));
}

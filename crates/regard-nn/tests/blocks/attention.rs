//! Properties of the blocks; see `block_suite!`.

use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use regard_nn::ops::{Activation, Mask, NormKind};
use regard_nn::{
    AttentionInput, Encoder, EncoderConfig, EncoderLayer, EncoderLayerConfig, FeedForward, FeedForwardConfig,
    MultiHeadAttention, MultiHeadAttentionConfig, Normalization, NormalizationConfig, PointerDecoder,
    PointerDecoderConfig,
};
use regard_testing::{block_suite, values_of};

fn lengths(lengths: &[usize]) -> Mask {
    Mask::Lengths(Arc::new(lengths.iter().map(|&length| length as u32).collect()))
}

fn layer(norm: NormKind) -> EncoderLayerConfig {
    EncoderLayerConfig::new(16, 4, 24).with_norm(norm)
}

block_suite! {
    name: multi_head_attention,
    block: |device: &Device| MultiHeadAttentionConfig::new(12, 3).init(device),
    forward: |block: &MultiHeadAttention, x: Tensor<3>| block.forward(AttentionInput::self_attention(x)),
    input: [3, 5, 12],
    output: [3, 5, 12],
    law: Equivariant,
    // Adding a constant to all scores of a row does not change the softmax.
    without_gradient: ["key.bias"],
    padded: |block: &MultiHeadAttention, x: Tensor<3>, valid: &[usize]| {
        block.forward(AttentionInput::self_attention(x).with_mask(lengths(valid)))
    }
}

block_suite! {
    name: causal_attention,
    block: |device: &Device| {
        let config = MultiHeadAttentionConfig::new(8, 2).with_bias(false);
        config.with_key_width(Some(3)).with_value_width(Some(5)).init(device)
    },
    forward: |block: &MultiHeadAttention, x: Tensor<3>| {
        block.forward(AttentionInput::self_attention(x).with_mask(Mask::Causal))
    },
    input: [2, 7, 8],
    output: [2, 7, 8],
    law: Ordered
}

block_suite! {
    name: feed_forward,
    block: |device: &Device| {
        FeedForwardConfig::new(6, 17).with_activation(Activation::Gelu).init(device)
    },
    forward: |block: &FeedForward, x: Tensor<3>| block.forward(x),
    input: [2, 5, 6],
    output: [2, 5, 6],
    law: Equivariant,
    padded: |block: &FeedForward, x: Tensor<3>, _: &[usize]| block.forward(x)
}

block_suite! {
    name: batch_normalization,
    block: |device: &Device| NormalizationConfig::new(NormKind::Batch, 6).init(device),
    forward: |block: &Normalization, x: Tensor<3>| block.forward(x),
    input: [3, 5, 6],
    output: [3, 5, 6],
    law: Equivariant,
    // In evaluation, with the running statistics.
    padded: |block: &Normalization, x: Tensor<3>, _: &[usize]| block.forward(x)
}

block_suite! {
    name: instance_normalization,
    block: |device: &Device| NormalizationConfig::new(NormKind::Instance, 6).init(device),
    forward: |block: &Normalization, x: Tensor<3>| block.forward(x),
    input: [3, 5, 6],
    output: [3, 5, 6],
    law: Equivariant
}

block_suite! {
    name: layer_normalization,
    block: |device: &Device| NormalizationConfig::new(NormKind::Layer, 6).init(device),
    forward: |block: &Normalization, x: Tensor<3>| block.forward(x),
    input: [3, 5, 6],
    output: [3, 5, 6],
    law: Equivariant,
    padded: |block: &Normalization, x: Tensor<3>, _: &[usize]| block.forward(x)
}

block_suite! {
    name: encoder_layer_with_batch_norm,
    block: |device: &Device| layer(NormKind::Batch).init(device),
    forward: |block: &EncoderLayer, x: Tensor<3>| block.forward(x),
    input: [4, 6, 16],
    output: [4, 6, 16],
    law: Equivariant
}

block_suite! {
    name: encoder_layer_with_biases,
    block: |device: &Device| {
        layer(NormKind::Layer).with_bias(true).with_activation(Activation::Gelu).init(device)
    },
    forward: |block: &EncoderLayer, x: Tensor<3>| block.forward(x),
    input: [2, 5, 16],
    output: [2, 5, 16],
    law: Equivariant,
    without_gradient: ["attention.key.bias"]
}

block_suite! {
    name: encoder,
    block: |device: &Device| EncoderConfig::new(2, layer(NormKind::Instance)).init(device),
    forward: |block: &Encoder, x: Tensor<3>| block.forward(x),
    input: [3, 7, 16],
    output: [3, 7, 16],
    law: Equivariant
}

// The context of the step is the mean of the nodes, which does not depend on their order. So the
// log-probabilities are permuted with the nodes.
block_suite! {
    name: pointer_decoder,
    block: |device: &Device| PointerDecoderConfig::new(12, 3, 12).init(device),
    forward: |block: &PointerDecoder, x: Tensor<3>| {
        let tables = block.precompute(x.clone());
        block.log_probabilities(&tables, x.mean_dim(1), &Mask::None).swap_dims(1, 2)
    },
    input: [3, 5, 12],
    output: [3, 5, 1],
    law: Equivariant
}

#[test]
fn batch_norm_updates_its_statistics_in_training_only() {
    let training = Device::flex().autodiff();
    let norm = NormalizationConfig::new(NormKind::Batch, 1).init(&training);
    let x = |device: &Device| Tensor::<3>::from_floats([[[1.0], [3.0]]], device);

    let y = norm.forward(x(&training));
    assert!((values_of(&y)[1] - 1.0).abs() < 1e-4);
    let running = |norm: &Normalization| {
        let (mean, variance) = norm.running().expect("running statistics");
        (values_of(&mean)[0], values_of(&variance)[0])
    };
    // Mean 2, unbiased variance 2, each with weight 0.1.
    let (mean, variance) = running(&norm);
    assert!((mean - 0.2).abs() < 1e-6 && (variance - 1.1).abs() < 1e-6);

    use burn::module::Module;
    let valid = norm.valid();
    let y = valid.forward(x(&Device::flex()));
    assert!((values_of(&y)[0] - (1.0 - 0.2) / (1.1_f32 + 1e-5).sqrt()).abs() < 1e-5);
    assert_eq!(running(&valid), (mean, variance));
}

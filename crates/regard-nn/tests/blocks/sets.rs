//! Properties of the blocks on sets: order, size, padding, kernels.

use burn::tensor::{Device, Tensor};
use regard_nn::Ragged;
use regard_nn::ops::{Residual, with_kernels};
use regard_nn::set::{
    AttentionPooling, AttentionPoolingConfig, BlockNorm, DotPoolingConfig, GatedPooling, GatedPoolingConfig,
    InducedSetBlock, InducedSetBlockConfig, RaggedNormConfig, RaggedNormKind, Reduction, ScoreScale, SelfSetBlock,
    SelfSetBlockConfig, SetAttentionBlockConfig, reduce, reduction_weights,
};
use regard_testing::{block_suite, close, input, values_of};

fn varied(config: SetAttentionBlockConfig, norm: BlockNorm) -> SetAttentionBlockConfig {
    config
        .with_scale(ScoreScale::HeadWidth)
        .with_residual(Residual::Raw)
        .with_output_projection(true)
        .with_feed_forward(2)
        .with_norm(norm)
}

fn sab(norm: BlockNorm, device: &Device) -> SelfSetBlock {
    SelfSetBlockConfig(varied(SelfSetBlockConfig::new(8, 8, 2).0, norm)).init(device)
}

fn isab(norm: BlockNorm, device: &Device) -> InducedSetBlock {
    let config = InducedSetBlockConfig::new(8, 8, 2, 3);
    InducedSetBlockConfig { block: varied(config.block, norm), ..config }.init(device)
}

fn pma(norm: BlockNorm, device: &Device) -> AttentionPooling {
    let config = AttentionPoolingConfig::new(8, 2, 2);
    AttentionPoolingConfig { block: varied(config.block, norm), ..config }.init(device)
}

block_suite! {
    name: plain_sab,
    block: |device: &Device| SelfSetBlockConfig::new(6, 8, 2).init(device),
    forward: |block: &SelfSetBlock, x| block.forward(Ragged::uniform(x)).to_padded(),
    input: [3, 5, 6],
    output: [3, 5, 8],
    law: Equivariant,
    without_gradient: ["mab.key.bias"],
}

block_suite! {
    name: plain_isab,
    block: |device: &Device| InducedSetBlockConfig::new(6, 8, 2, 3).init(device),
    forward: |block: &InducedSetBlock, x| block.forward(Ragged::uniform(x)).to_padded(),
    input: [3, 5, 6],
    output: [3, 5, 8],
    law: Equivariant,
    without_gradient: ["mab0.key.bias", "mab1.key.bias"],
}

block_suite! {
    name: plain_pma,
    block: |device: &Device| AttentionPoolingConfig::new(8, 2, 2).init(device),
    forward: |block: &AttentionPooling, x| block.forward(Ragged::uniform(x)).to_padded(),
    input: [3, 5, 8],
    output: [3, 2, 8],
    law: Invariant,
    without_gradient: ["mab.key.bias"],
}

block_suite! {
    name: gated_pooling,
    block: |device: &Device| GatedPoolingConfig { width: 8, hidden: 5 }.init(device),
    forward: |block: &GatedPooling, x| block.forward(&Ragged::uniform(x)).0.unsqueeze_dim::<3>(1),
    input: [3, 5, 8],
    output: [3, 1, 8],
    law: Invariant,
}

block_suite! {
    name: sab_with_norms_after,
    block: |device: &Device| sab(BlockNorm::Post, device),
    forward: |block: &SelfSetBlock, x| block.forward(Ragged::uniform(x)).to_padded(),
    input: [3, 5, 8],
    output: [3, 5, 8],
    law: Equivariant,
    without_gradient: ["mab.key.bias"],
}

block_suite! {
    name: isab_with_set_norms_before,
    block: |device: &Device| isab(BlockNorm::SetNorm, device),
    forward: |block: &InducedSetBlock, x| block.forward(Ragged::uniform(x)).to_padded(),
    input: [3, 5, 8],
    output: [3, 5, 8],
    law: Equivariant,
    without_gradient: ["mab0.key.bias", "mab1.key.bias"],
}

block_suite! {
    name: pma_with_norms_before,
    block: |device: &Device| pma(BlockNorm::Pre, device),
    forward: |block: &AttentionPooling, x| block.forward(Ragged::uniform(x)).to_padded(),
    input: [3, 5, 8],
    output: [3, 2, 8],
    law: Invariant,
    without_gradient: ["mab.key.bias"],
}

/// Sizes of sets, with an empty one and one with a single item.
const LENGTHS: [usize; 5] = [4, 0, 7, 1, 3];

/// All blocks on sets, as functions from rows of width 8.
fn blocks(device: &Device) -> Vec<Box<dyn Fn(Ragged) -> Ragged>> {
    let mut blocks: Vec<Box<dyn Fn(Ragged) -> Ragged>> = Vec::new();
    for norm in [BlockNorm::None, BlockNorm::Post, BlockNorm::Pre, BlockNorm::SetNorm] {
        let (sab, isab, pma) = (sab(norm, device), isab(norm, device), pma(norm, device));
        blocks.push(Box::new(move |x| sab.forward(x)));
        blocks.push(Box::new(move |x| isab.forward(x)));
        blocks.push(Box::new(move |x| pma.forward(x)));
    }
    for reduction in [Reduction::Mean, Reduction::Sum, Reduction::Max] {
        blocks.push(Box::new(move |x| Ragged::uniform(reduce(&x, reduction).unsqueeze_dim(1))));
    }
    let dot = DotPoolingConfig { width: 8 }.init(device);
    blocks.push(Box::new(move |x| Ragged::uniform(dot.forward(&x).0.unsqueeze_dim(1))));
    let gated = GatedPoolingConfig { width: 8, hidden: 5 }.init(device);
    blocks.push(Box::new(move |x| Ragged::uniform(gated.forward(&x).0.unsqueeze_dim(1))));
    for kind in [RaggedNormKind::Layer, RaggedNormKind::Set] {
        let norm = RaggedNormConfig::new(kind, 8).init(device);
        blocks.push(Box::new(move |x| norm.forward(x)));
    }
    blocks
}

#[test]
fn a_set_in_a_batch_agrees_with_the_set_alone() {
    let device = Device::flex();
    let padded = input([LENGTHS.len(), 9, 8], 1, &device);
    let sets = Ragged::from_padded(padded.clone(), &LENGTHS);
    for on in [true, false] {
        with_kernels(on, || {
            for block in blocks(&device) {
                let together = block(sets.clone());
                for (set, &length) in LENGTHS.iter().enumerate() {
                    let items = padded.clone().narrow(0, set, 1).narrow(1, 0, length.max(1));
                    let alone = Ragged::from_padded(items, &[length]);
                    let alone = block(alone).rows;
                    let (from, to) = (together.offsets()[set], together.offsets()[set + 1]);
                    assert_eq!(alone.dims()[0], to - from, "rows of set {set}");
                    if to > from {
                        close(&together.rows.clone().narrow(0, from, to - from), &alone, 1e-6);
                    }
                }
                assert!(values_of(&together.rows).iter().all(|value| value.is_finite()));
            }
        });
    }
}

#[test]
fn padding_can_be_undone() {
    let device = Device::flex();
    let padded: Tensor<3> = input([LENGTHS.len(), 9, 2], 1, &device);
    let sets = Ragged::from_padded(padded.clone(), &LENGTHS);
    assert_eq!((sets.count(), sets.longest(), sets.rows.dims()), (5, 7, [15, 2]));
    let back = Ragged::from_padded(sets.to_padded(), &LENGTHS);
    close(&back.rows, &sets.rows, 0.0);
    assert_eq!(values_of(&sets.to_padded().narrow(0, 1, 1)), vec![0.0; 14]);
    let set_indices: Vec<i64> = sets.set_indices().into_data().iter::<i64>().collect();
    assert_eq!(set_indices, [0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 3, 4, 4, 4]);
    let none = Ragged::from_padded(padded.narrow(0, 0, 2), &[0, 0]);
    assert_eq!((none.longest(), values_of(&none.means())), (0, vec![0.0; 4]));
}

#[test]
fn pooled_values_by_hand() {
    let device = Device::flex();
    let rows = Tensor::<2>::from_floats([[1.0, -2.0], [3.0, -4.0], [5.0, 6.0]], &device);
    let sets = Ragged::new(rows, vec![0, 2, 2, 3]);
    let values = |by| values_of(&reduce(&sets, by));
    assert_eq!(values(Reduction::Mean), [2.0, -3.0, 0.0, 0.0, 5.0, 6.0]);
    assert_eq!(values(Reduction::Sum), [4.0, -6.0, 0.0, 0.0, 5.0, 6.0]);
    assert_eq!(values(Reduction::Max), [3.0, -2.0, 0.0, 0.0, 5.0, 6.0]);
}

#[test]
fn maximum_weights_count_channels() {
    let device = Device::flex();
    let rows = Tensor::<2>::from_floats([[1.0, 5.0], [3.0, 4.0], [3.0, 6.0], [7.0, 7.0]], &device);
    let sets = Ragged::new(rows, vec![0, 3, 3, 4]);
    assert_eq!(values_of(&reduction_weights(&sets, Reduction::Max)), [0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    let third = 1.0 / 3.0;
    assert_eq!(values_of(&reduction_weights(&sets, Reduction::Mean))[..4], [third, third, third, 0.0]);
}

#[test]
fn weights_of_a_pooling_sum_to_one() {
    let device = Device::flex();
    let sets = Ragged::from_padded(input([LENGTHS.len(), 7, 8], 3, &device), &LENGTHS);
    let pma = AttentionPoolingConfig::new(8, 2, 3).init(&device);
    let (y, weights) = pma.forward_with_weights(sets.clone());
    assert_eq!(weights.dims(), [5, 2, 3, 7]);
    close(&y.rows, &pma.forward(sets).rows, 1e-5);
    let sums = values_of(&weights.sum_dim(3));
    for (at, sum) in sums.iter().enumerate() {
        let expected = if LENGTHS[at / 6] == 0 { 0.0 } else { 1.0 };
        assert!((sum - expected).abs() < 1e-5, "{at}: {sum}");
    }
}

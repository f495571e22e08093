//! Attention and pointer in edge cases: fully masked rows, lengths 0 and 1, unusual shapes; values and
//! gradients, with kernels and composed.

use std::sync::Arc;

use crate::agreement::{Leaves, TOLERANCE, agree, same};
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_nn::ops::{
    AttentionOptions, DenseMask, MASKED, Mask, attention, attention_weights, pointer, pointer_chosen,
};
use regard_testing::{close, input, values_of};

fn random_mask(shape: [usize; 3], seed: u64) -> Mask {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let bits = (0..shape.iter().product()).map(|_| random.random_bool(0.5)).collect();
    DenseMask::new(shape, bits).into()
}

#[test]
fn attention_in_random_shapes_and_masks() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    for seed in 0..40 {
        let mut size = |most: usize| random.random_range(1..=most);
        let (b, l, s, heads) = (size(4), size(9), size(9), size(4));
        let (key_width, value_width) = (size(7), size(7));
        let mask = match seed % 5 {
            0 => Mask::None,
            1 => Mask::Causal,
            2 => Mask::Remaining,
            3 => Mask::Lengths(Arc::new((0..b).map(|_| size(s + 1) as u32 - 1).collect())),
            _ => random_mask([b, l, s], seed),
        };
        let mut options = AttentionOptions::new(heads, key_width).with_mask(mask);
        options.clamp = (seed % 3 == 0).then_some(0.4);
        let with_bias = seed % 2 == 0;
        let shapes: [&[usize]; 4] =
            [&[b, l, heads * key_width], &[b, s, heads * key_width], &[b, s, heads * value_width], &[b, 1, 1, s]];
        agree(&shapes, |x| {
            let bias = with_bias.then(|| x.get::<4>(3));
            attention(x.get(0), x.get(1), x.get(2), bias, &options)
        });
    }
}

#[test]
fn attention_without_an_allowed_key_is_zero_and_passes_no_gradient() {
    for mask in [
        Mask::Lengths(Arc::new(vec![0, 1])),
        DenseMask::from_fn([2, 3, 4], |item, _, key| item == 1 && key == 0).into(),
    ] {
        let options = AttentionOptions::new(2, 3).with_mask(mask);
        let y =
            agree(&[&[2, 3, 6], &[2, 4, 6], &[2, 4, 6]], |x| attention(x.get(0), x.get(1), x.get(2), None, &options));
        assert!(y[..18].iter().all(|&v| v == 0.0));
        // A single allowed key is copied.
        let x = Leaves::new(&[&[2, 3, 6], &[2, 4, 6], &[2, 4, 6]]);
        let value = values_of(&x.get::<3>(2));
        same(&y[18..24], &value[24..30], "the only key");
    }
}

#[test]
fn attention_of_empty_inputs() {
    let device = Device::flex();
    let options = AttentionOptions::new(2, 2);
    let empty = |b, n| Tensor::<3>::zeros([b, n, 4], &device);
    let x: Tensor<3> = input([2, 3, 4], 1, &device);
    let call = |q, k: Tensor<3>| attention(q, k.clone(), k, None, &options);
    assert_eq!(call(empty(0, 3), empty(0, 3)).dims(), [0, 3, 4]);
    assert_eq!(call(empty(2, 0), x.clone()).dims(), [2, 0, 4]);
    let none = call(x, empty(2, 0));
    assert_eq!(values_of(&none), [0.0; 24]);
}

#[test]
fn attention_weights_sum_to_one_or_are_zero() {
    let device = Device::flex();
    let (q, k): (Tensor<3>, Tensor<3>) = (input([3, 5, 8], 1, &device), input([3, 4, 8], 2, &device));
    let mask = random_mask([3, 5, 4], 3);
    let options = AttentionOptions::new(2, 4).with_mask(mask.clone());
    let (y, weights) = attention_weights(q.clone(), k.clone(), k.clone(), None, &options);
    close(&attention(q, k.clone(), k, None, &options), &y, TOLERANCE);
    let sums = values_of(&weights.sum_dim(3));
    for (row, sum) in sums.into_iter().enumerate() {
        let (item, query) = (row / 10, row % 5);
        let any = (0..4).any(|key| mask.allows(item, query, key));
        assert!((sum - f32::from(u8::from(any))).abs() < 1e-5, "row {row}: {sum}");
    }
}

#[test]
fn pointer_is_a_distribution_over_the_allowed_nodes() {
    for (seed, clip) in [(1, 10.0), (2, 0.0), (3, 2.5)] {
        let mask = random_mask([3, 6, 5], seed);
        let y = agree(&[&[3, 6, 7], &[3, 5, 7]], |x| pointer(x.get(0), x.get(1), &mask, clip));
        for (row, values) in y.chunks(5).enumerate() {
            let (item, step) = (row / 6, row % 6);
            let any = (0..5).any(|node| mask.allows(item, step, node));
            let sum: f32 = values.iter().map(|v| v.exp()).sum();
            assert!((sum - f32::from(u8::from(any))).abs() < 1e-5, "row {row}: {sum}");
            for (node, &value) in values.iter().enumerate() {
                assert_eq!(value == MASKED, !mask.allows(item, step, node));
            }
        }
    }
}

#[test]
fn pointer_chosen_sums_the_chosen_entries() {
    let (b, n, width) = (3, 6, 5);
    let device = Leaves::device();
    let own: Vec<i64> = (0..b).flat_map(|_| 0..n as i64).collect();
    let own: Tensor<2, Int> = Tensor::from_data(TensorData::new(own, [b, n]), &device);
    let chosen = agree(&[&[b, n, width], &[b, n, width]], |x| {
        let sum = pointer_chosen(x.get(0), x.get(1), &Mask::Remaining, 10.0, own.clone());
        sum.reshape([b, 1, 1])
    });
    let x = Leaves::new(&[&[b, n, width], &[b, n, width]]);
    let all = values_of(&pointer(x.get(0), x.get(1), &Mask::Remaining, 10.0));
    let diagonal = |item: usize| (0..n).map(|t| all[(item * n + t) * n + t]).sum::<f32>();
    same(&chosen, &(0..b).map(diagonal).collect::<Vec<_>>(), "sums");
}

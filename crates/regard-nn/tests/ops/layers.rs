//! Feed-forward network, norms and sub-layers in unusual shapes; values and gradients, with kernels and
//! composed.

use crate::agreement::{Leaves, agree};
use burn::tensor::{Device, Tensor};
use regard_nn::ops::{
    Activation, AttentionWeights, NormArgs, NormKind, PairBias, Projection, attention_sublayer, feed_forward,
    feed_forward_sublayer, output_sublayer, projections, residual_norm, with_kernels,
};
use regard_testing::{input, values_of};

#[test]
fn feed_forward_in_odd_shapes() {
    for (b, n, width, hidden) in [(1, 1, 1, 1), (3, 5, 7, 33), (2, 4, 16, 65)] {
        for act in [Activation::Relu, Activation::Gelu] {
            let shapes: [&[usize]; 5] = [&[b, n, width], &[width, hidden], &[hidden], &[hidden, width], &[width]];
            agree(&shapes, |x| feed_forward(x.get(0), x.get(1), x.get(2), x.get(3), x.get(4), act));
        }
    }
    // The exact GELU: gelu(1) = Φ(1).
    let one = Tensor::<1>::from_floats([1.0], &Device::flex());
    assert!((values_of(&Activation::Gelu.apply(one))[0] - 0.841_344_8).abs() < 1e-6);
}

fn norm_args(kind: NormKind, x: &Leaves, at: usize, running: bool) -> NormArgs {
    let width = x.shape(at)[0];
    let plain = |seed| input([width], seed, &Leaves::device());
    let running = running.then(|| (plain(50), plain(51).abs().add_scalar(0.1)));
    NormArgs { kind, gamma: x.get(at), beta: x.get(at + 1), running, eps: 1e-5 }
}

const KINDS: [(NormKind, bool); 4] =
    [(NormKind::Batch, false), (NormKind::Batch, true), (NormKind::Instance, false), (NormKind::Layer, false)];

#[test]
fn residual_norms_in_odd_shapes() {
    for (b, n, width) in [(1, 2, 3), (4, 5, 7), (3, 1, 16), (2, 9, 33)] {
        for (kind, running) in KINDS {
            let shapes: [&[usize]; 4] = [&[b, n, width], &[b, n, width], &[width], &[width]];
            agree(&shapes, |x| residual_norm(x.get(0), x.get(1), norm_args(kind, x, 2, running)).y);
        }
    }
}

#[test]
fn batch_statistics_are_exact_far_from_zero() {
    for on in [true, false] {
        with_kernels(on, || {
            let device = Device::flex();
            // Values 1000 ± 1: the mean of squares would lose the variance in f32.
            let x: Tensor<3> = input::<3>([8, 16, 4], 1, &device).add_scalar(1000.0);
            let ones = Tensor::<1>::ones([4], &device);
            let args = NormArgs {
                kind: NormKind::Batch,
                gamma: ones.clone(),
                beta: ones.zeros_like(),
                running: None,
                eps: 1e-5,
            };
            let zeros = x.zeros_like();
            let statistics = residual_norm(x.clone(), zeros, args).statistics.expect("statistics");
            let x: Vec<f64> = values_of(&x).into_iter().map(f64::from).collect();
            for channel in 0..4 {
                let column: Vec<f64> = x.iter().skip(channel).step_by(4).copied().collect();
                let mean = column.iter().sum::<f64>() / 128.0;
                let variance = column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 128.0;
                let (m, v) = (&statistics.mean, &statistics.variance);
                assert!((f64::from(values_of(m)[channel]) - mean).abs() < 1e-3);
                assert!((f64::from(values_of(v)[channel]) - variance).abs() < 1e-4 * variance);
            }
            assert_eq!(statistics.count, 128);
        });
    }
}

#[test]
fn sublayers_in_odd_shapes() {
    for (b, n, heads, per_head, hidden) in [(1, 1, 1, 1, 1), (3, 5, 2, 3, 9), (2, 21, 4, 8, 40)] {
        let width = heads * per_head;
        for (kind, running) in KINDS {
            let square: &[usize] = &[width, width];
            let shapes = [&[b, n, width], square, square, square, square, &[width][..], &[width][..]];
            agree(&shapes, |x| {
                let weights = AttentionWeights { query: x.get(1), key: x.get(2), value: x.get(3), out: x.get(4) };
                let args = norm_args(kind, x, 5, running);
                attention_sublayer(x.get(0), weights, heads, None, args).y
            });
            // Numbers of pairs are inputs, which have no gradient.
            let of_heads = [heads, 3];
            agree(&[&shapes[..], &[&of_heads]].concat(), |x| {
                let weights = AttentionWeights { query: x.get(1), key: x.get(2), value: x.get(3), out: x.get(4) };
                let args = norm_args(kind, x, 5, running);
                let pairs = PairBias { values: input([b, 3, n, n], 60, &Leaves::device()), weights: x.get(7) };
                attention_sublayer(x.get(0), weights, heads, Some(pairs), args).y
            });
            let shapes: [&[usize]; 7] =
                [&[b, n, width], &[width, hidden], &[hidden], &[hidden, width], &[width], &[width], &[width]];
            for act in [Activation::Relu, Activation::Gelu] {
                agree(&shapes, |x| {
                    let (w1, b1, w2, b2) = (x.get(1), x.get(2), x.get(3), x.get(4));
                    let args = norm_args(kind, x, 5, running);
                    feed_forward_sublayer(x.get(0), w1, b1, w2, b2, act, args).y
                });
            }
        }
    }
}

#[test]
fn projections_in_odd_shapes() {
    for (rows, width, heads, out) in [(1, 3, 1, 2), (5, 7, 2, 6), (300, 16, 4, 20), (250, 24, 8, 64)] {
        for biases in [false, true] {
            let shapes: [&[usize]; 5] = [&[rows, width], &[width, out], &[out], &[width, out], &[out]];
            agree(&shapes, |x| {
                let bias = |at| biases.then(|| x.get(at));
                let second = Projection { weight: x.get(3), bias: Some(x.get(4)) };
                let maps = vec![Projection { weight: x.get(1), bias: bias(2) }, second];
                projections(x.get(0), maps, heads).unsqueeze_dim(1)
            });
        }
    }
}

#[test]
fn outputs_of_heads_in_odd_shapes() {
    for (rows, width, heads, inner) in [(2, 3, 1, 2), (5, 7, 2, 6), (300, 16, 4, 20), (250, 64, 8, 64)] {
        for (kind, running) in KINDS {
            if kind == NormKind::Instance {
                continue;
            }
            let shapes: [&[usize]; 6] = [&[rows, width], &[rows, inner], &[inner, width], &[width], &[width], &[width]];
            agree(&shapes, |x| {
                let map = Projection { weight: x.get(2), bias: Some(x.get(3)) };
                output_sublayer(x.get(0), x.get(1), map, heads, norm_args(kind, x, 4, running)).y
            });
        }
    }
}

#[test]
fn splitting_large_instances_does_not_change_results() {
    for (kind, running) in KINDS {
        let shapes: [&[usize]; 4] = [&[2, 300, 8], &[2, 300, 8], &[8], &[8]];
        agree(&shapes, |x| residual_norm(x.get(0), x.get(1), norm_args(kind, x, 2, running)).y);
        let shapes: [&[usize]; 7] = [&[1, 300, 8], &[8, 20], &[20], &[20, 8], &[8], &[8], &[8]];
        agree(&shapes, |x| {
            let (w1, b1, w2, b2) = (x.get(1), x.get(2), x.get(3), x.get(4));
            feed_forward_sublayer(x.get(0), w1, b1, w2, b2, Activation::Relu, norm_args(kind, x, 5, running)).y
        });
    }
}

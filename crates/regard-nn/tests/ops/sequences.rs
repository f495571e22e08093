//! Sub-layers for many short sequences: values and gradients, with kernels and composed.

use crate::agreement::{Leaves, agree};
use burn::tensor::{Device, Tensor};
use regard_nn::ops::{
    Activation, Dropout, FeedForwardLayers, NormArgs, NormKind, NormOutput, Projection, ResidualScores,
    SequenceAttentionOptions, SequenceFeedForwardOptions, SequenceProjections, sequence_attention,
    sequence_feed_forward,
};
use regard_testing::{input, values_of};

/// Sizes and options of one case.
#[derive(Clone, Copy, Debug)]
struct Case {
    sequences: usize,
    patches: usize,
    heads: usize,
    key_width: usize,
    value_width: usize,
    width: usize,
    /// Kind of the norm, and true if it uses running statistics.
    norm: Option<(NormKind, bool)>,
    norm_first: bool,
    /// Number of layers, all with the same weights.
    layers: usize,
    residual_scores: bool,
    dropout: bool,
    biases: bool,
}

const BATCH: Option<(NormKind, bool)> = Some((NormKind::Batch, false));
const RUNNING: Option<(NormKind, bool)> = Some((NormKind::Batch, true));
const LAYER: Option<(NormKind, bool)> = Some((NormKind::Layer, false));
const NORMS: [Option<(NormKind, bool)>; 4] = [BATCH, RUNNING, LAYER, None];

/// Three heads of widths five and four, eight patches.
const PLAIN: Case = Case {
    sequences: 3,
    patches: 8,
    heads: 3,
    key_width: 5,
    value_width: 4,
    width: 7,
    norm: LAYER,
    norm_first: false,
    layers: 1,
    residual_scores: false,
    dropout: false,
    biases: true,
};

fn dropout(on: bool, rate: f32, seed: u64) -> Option<Dropout> {
    on.then_some(Dropout { rate, seed })
}

fn norm_args(norm: Option<(NormKind, bool)>, x: &Leaves, at: usize) -> Option<NormArgs> {
    let (kind, running) = norm?;
    let width = x.shape(at)[0];
    let plain = |seed| input([width], seed, &Leaves::device());
    let running = running.then(|| (plain(50), plain(51).abs().add_scalar(0.1)));
    Some(NormArgs { kind, gamma: x.get(at), beta: x.get(at + 1), running, eps: 1e-3 })
}

impl Case {
    fn shapes(&self) -> Vec<Vec<usize>> {
        let (keys, values, width) = (self.heads * self.key_width, self.heads * self.value_width, self.width);
        let x = vec![self.sequences, self.patches, width];
        let maps = [(width, keys), (width, keys), (width, values), (values, width)];
        let maps = maps.into_iter().flat_map(|(inputs, outputs)| [vec![inputs, outputs], vec![outputs]]);
        [x].into_iter().chain(maps).chain([vec![width], vec![width]]).collect()
    }

    /// The result of all layers.
    fn attention(&self, x: &Leaves) -> Tensor<3> {
        // Small weights, so that rounding errors do not grow from layer to layer.
        let scale = 1.0 / (self.width as f32).sqrt();
        let map = |at: usize| Projection {
            weight: x.get::<2>(at).mul_scalar(scale),
            bias: self.biases.then(|| x.get(at + 1)),
        };
        let mut earlier = self.residual_scores.then(ResidualScores::default);
        let mut y = x.get(0);
        for layer in 0..self.layers as u64 {
            let projections = SequenceProjections { query: map(1), key: map(3), value: map(5), out: map(7) };
            let options = SequenceAttentionOptions {
                scale: 0.7,
                weights_dropout: dropout(self.dropout, 0.2, 7 + layer),
                residual_dropout: dropout(self.dropout, 0.3, (9 << 32) + layer),
                norm_first: self.norm_first,
                ..SequenceAttentionOptions::new(self.width, self.heads)
            };
            let norm = norm_args(self.norm, x, 9);
            let (result, scores) = sequence_attention(y, projections, earlier, norm, &options);
            (y, earlier) = (result.y, scores);
        }
        assert_eq!(earlier.map(|earlier| earlier.layers()), self.residual_scores.then_some(self.layers));
        y
    }

    fn check(&self) {
        let shapes = self.shapes();
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        agree(&shapes, |x| self.attention(x));
    }
}

#[test]
fn attention_in_odd_shapes() {
    let sizes =
        [(1, 1, 1, 1, 1, 1), (1, 5, 2, 3, 2, 3), (5, 1, 2, 2, 2, 4), (4, 12, 4, 4, 4, 16), (3, 42, 2, 8, 8, 16)];
    let large = [
        (2, 67, 3, 5, 7, 33),
        (1, 130, 1, 64, 32, 20),
        (23, 17, 5, 1, 1, 5),
        (1, 300, 2, 3, 3, 6),
        (2, 12, 16, 32, 32, 512),
    ];
    for (sequences, patches, heads, key_width, value_width, width) in sizes.into_iter().chain(large) {
        for dropout in [false, true] {
            let sizes = Case { sequences, patches, heads, key_width, value_width, width, ..PLAIN };
            Case { dropout, norm: if sequences * patches > 4 { BATCH } else { LAYER }, ..sizes }.check();
        }
    }
}

#[test]
fn attention_with_all_norms_and_options() {
    for norm in NORMS {
        for norm_first in [false, true] {
            for (biases, dropout) in [(true, false), (false, true)] {
                Case { norm, norm_first, biases, dropout, ..PLAIN }.check();
                Case { norm, norm_first, biases, dropout, residual_scores: true, layers: 2, ..PLAIN }.check();
            }
        }
    }
}

#[test]
fn attention_with_residual_scores() {
    for layers in 1..=4 {
        for (sequences, patches, heads, key_width) in [(1, 1, 1, 1), (7, 42, 4, 4), (2, 64, 2, 16)] {
            let (value_width, width) = (key_width, heads * key_width);
            let sizes = Case { sequences, patches, heads, key_width, value_width, width, ..PLAIN };
            Case { layers, residual_scores: true, dropout: layers == 3, ..sizes }.check();
        }
    }
    // More layers than a kernel has inputs.
    Case { layers: 11, residual_scores: true, ..PLAIN }.check();
}

#[test]
fn residual_scores_are_sums_of_scores() {
    // The scores of the second layer are zero, so it uses those of the first.
    let device = Device::flex();
    let tensor = |shape: [usize; 2], seed| input::<2>(shape, seed, &device);
    let map = |seed| Projection { weight: tensor([6, 6], seed), bias: None };
    let zeros = Projection { weight: Tensor::zeros([6, 6], &device), bias: None };
    let options = SequenceAttentionOptions::new(6, 2);
    let x: Tensor<3> = input([2, 9, 6], 1, &device);
    let first = SequenceProjections { query: map(2), key: map(3), value: map(4), out: map(5) };
    let second = SequenceProjections { query: zeros.clone(), key: zeros, value: map(4), out: map(5) };
    let (first_layer, earlier) = sequence_attention(x.clone(), first, Some(ResidualScores::default()), None, &options);
    let (after, _) = sequence_attention(x, second, earlier, None, &options);
    crate::agreement::same(&values_of(&after.y), &values_of(&first_layer.y), "residual scores");
}

fn feed_forward(x: &Leaves, norm: Option<(NormKind, bool)>, on: bool, first: bool, act: Activation) -> Tensor<3> {
    let map = |at: usize, bias: bool| Projection { weight: x.get(at), bias: bias.then(|| x.get(at + 1)) };
    let maps = FeedForwardLayers { first: map(1, true), second: map(3, !on), activation: act };
    let options = SequenceFeedForwardOptions {
        hidden_dropout: dropout(on, 0.3, 5 << 33),
        residual_dropout: dropout(on, 0.2, 6),
        norm_first: first,
    };
    sequence_feed_forward(x.get(0), maps, norm_args(norm, x, 5), &options).y
}

#[test]
fn feed_forward_in_odd_shapes() {
    for (b, n, width, hidden) in
        [(1, 1, 1, 1), (3, 5, 7, 33), (6, 42, 16, 128), (2, 21, 33, 300), (1, 300, 8, 20), (1, 12, 512, 2048)]
    {
        let shapes: [&[usize]; 7] =
            [&[b, n, width], &[width, hidden], &[hidden], &[hidden, width], &[width], &[width], &[width]];
        for act in [Activation::Relu, Activation::Gelu] {
            for norm in if b * n > 4 { NORMS } else { [LAYER, RUNNING, None, None] } {
                for (on, first) in [(false, false), (true, false), (true, true)] {
                    agree(&shapes, |x| feed_forward(x, norm, on, first, act));
                }
            }
        }
    }
}

#[test]
fn inference_agrees_with_training() {
    for norm in NORMS {
        for (layers, residual_scores) in [(1, false), (3, true)] {
            let case = Case { sequences: 4, patches: 42, layers, residual_scores, norm, ..PLAIN };
            let shapes = case.shapes();
            let leaves = Leaves::new(&shapes.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let (training, inference) = (case.attention(&leaves), case.attention(&leaves.untracked()));
            crate::agreement::same(&values_of(&inference), &values_of(&training), "attention");
        }
        for (width, hidden) in [(7, 200), (40, 300)] {
            let leaves = Leaves::new(&[
                &[4, 42, width],
                &[width, hidden],
                &[hidden],
                &[hidden, width],
                &[width],
                &[width],
                &[width],
            ]);
            for act in [Activation::Relu, Activation::Gelu] {
                let training = feed_forward(&leaves, norm, false, false, act);
                let inference = feed_forward(&leaves.untracked(), norm, false, false, act);
                crate::agreement::same(&values_of(&inference), &values_of(&training), "feed-forward");
            }
        }
    }
}

/// Three layers with all options: loss and gradients of all leaves.
fn step(leaves: &Leaves) -> (f32, Vec<Vec<f32>>) {
    let case =
        Case { sequences: 37, patches: 11, norm: BATCH, layers: 3, residual_scores: true, dropout: true, ..PLAIN };
    let y = case.attention(leaves);
    let r: Tensor<3> = input(y.dims(), 3, &Leaves::device());
    let loss = (y * r).sum();
    let grads = loss.backward();
    let of = |leaf: &Tensor<1>| leaf.grad(&grads).map_or(vec![], |grad| values_of(&grad));
    (values_of(&loss)[0], leaves.all().iter().map(of).collect())
}

fn leaves() -> Leaves {
    let shapes = Case { sequences: 37, patches: 11, ..PLAIN }.shapes();
    Leaves::new(&shapes.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn every_input_has_a_gradient() {
    let (_, grads) = step(&leaves());
    for (index, grad) in grads.iter().enumerate() {
        let largest = grad.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        // Leaf 4 is the key bias: it adds the same number to all scores of a query, which does not change the
        // softmax, also with residual scores.
        assert_eq!(largest > 1e-3, index != 4, "gradient of leaf {index}: {largest}");
        assert!(grad.iter().all(|v| v.is_finite()));
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    let (_, grads) = step(&leaves());
    let at = |leaf: usize, element: usize, by: f32| {
        let mut shifted = leaves();
        shifted.shift(leaf, element, by);
        f64::from(step(&shifted).0)
    };
    for (leaf, element) in [(0, 100), (1, 3), (2, 1), (3, 20), (5, 11), (6, 2), (7, 30), (8, 5), (9, 1), (10, 4)] {
        let h = 1e-2;
        let slope = (at(leaf, element, h) - at(leaf, element, -h)) / (2.0 * f64::from(h));
        let found = f64::from(grads[leaf][element]);
        assert!((slope - found).abs() < 0.02 * found.abs().max(3.0), "leaf {leaf}: {found}, slope {slope}");
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let shapes: [&[usize]; 7] = [&[50, 9, 6], &[6, 40], &[40], &[40, 6], &[6], &[6], &[6]];
            let x = Leaves::new(&shapes);
            let y = feed_forward(&x, BATCH, true, false, Activation::Gelu);
            let grads = (y.clone() * y.clone()).sum().backward();
            let of = |leaf: &Tensor<1>| leaf.grad(&grads).map_or(vec![], |grad| values_of(&grad));
            let mut all: Vec<Vec<f32>> = x.all().iter().map(of).collect();
            let (loss, grads) = step(&leaves());
            all.extend(grads);
            all.extend([values_of(&y), vec![loss]]);
            all.into_iter().flatten().map(f32::to_bits).collect::<Vec<_>>()
        })
    };
    let one = with(1);
    assert!([2, 3].into_iter().all(|threads| with(threads) == one));
}

#[test]
fn dropout_has_its_rate_and_mean() {
    let device = Device::flex();
    let (x, width) = (Tensor::<3>::zeros([40, 25, 16], &device), 16);
    let constant = |rows: usize, columns: usize| Tensor::<2>::zeros([rows, columns], &device);
    let map = || Projection { weight: constant(width, width), bias: Some(Tensor::ones([width], &device)) };
    for rate in [0.1, 0.5] {
        let check = |NormOutput { y, .. }: NormOutput| {
            let y = values_of(&y);
            let dropped = y.iter().filter(|v| **v == 0.0).count() as f32 / y.len() as f32;
            assert!((dropped - rate).abs() < 0.02, "{dropped} instead of {rate}");
            assert!(y.iter().all(|v| *v == 0.0 || (v * (1.0 - rate) - 1.0).abs() < 1e-5));
        };
        let residual_dropout = dropout(true, rate, 3);
        let options = SequenceAttentionOptions { residual_dropout, ..SequenceAttentionOptions::new(width, 4) };
        let projections = SequenceProjections { query: map(), key: map(), value: map(), out: map() };
        check(sequence_attention(x.clone(), projections, None, None, &options).0);
        let options = SequenceFeedForwardOptions { residual_dropout, ..Default::default() };
        let maps = FeedForwardLayers { first: map(), second: map(), activation: Activation::Gelu };
        check(sequence_feed_forward(x.clone(), maps, None, &options));
        // All values are one, and the output projection is the identity. So the result is the sum of the
        // weights that are not dropped: its mean is 1 and its variance follows from 25 independent weights.
        let one = Projection { weight: constant(width, width), bias: Some(Tensor::ones([width], &device)) };
        let options = SequenceAttentionOptions {
            weights_dropout: dropout(true, rate, 3),
            ..SequenceAttentionOptions::new(width, 4)
        };
        let out = Projection { weight: Tensor::eye(width, &device), bias: None };
        let projections = SequenceProjections { query: map(), key: map(), value: one, out };
        let sums = values_of(&sequence_attention(x.clone(), projections, None, None, &options).0.y);
        let mean = sums.iter().sum::<f32>() / sums.len() as f32;
        let variance = sums.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / sums.len() as f32;
        let expected = rate / (1.0 - rate) / 25.0;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((variance / expected - 1.0).abs() < 0.1, "{variance} instead of {expected}");
    }
}

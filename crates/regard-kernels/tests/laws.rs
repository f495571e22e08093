//! Properties of the kernels: they agree with their definition in double precision, and their bits do
//! not depend on the number of threads.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_kernels::attention::{self, Mask};
use regard_kernels::norm::{Norm, NormKind, Rows, residual_norm, residual_norm_backward};
use regard_kernels::pointer;
use regard_kernels::sublayer::{
    self, Activation, AttentionLayer, AttentionWeights, Dropouts, FeedForwardWeights, Pairs, Tail, attention_backward,
    feed_forward_backward,
};

fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    (0..len).map(|_| 2.0 * generator.random::<f32>() - 1.0).collect()
}

fn close(found: &[f32], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f64, |max, x| max.max(x.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(*found) - expected).abs() < 2e-6 * scale, "{what} at {i}: {found} expected {expected}");
    }
}

/// Returns true if query `i` of instance `b` may attend to key `j`.
type Rule<'a> = &'a dyn Fn(usize, usize, usize) -> bool;

/// Attention computed from its definition in double precision.
fn attention_by_definition(
    shape: &attention::Shape,
    inputs: attention::Inputs<'_>,
    allowed: impl Fn(usize, usize, usize) -> bool,
) -> Vec<f64> {
    let attention::Shape { batch, queries, keys, heads, key_width, value_width, scale, .. } = *shape;
    let attention::Inputs { query, key, value } = inputs;
    let mut out = Vec::new();
    for b in 0..batch {
        for i in 0..queries {
            for h in 0..heads {
                let score = |j: usize| -> f64 {
                    let row = |x: &[f32], n: usize, i: usize, d: usize| {
                        f64::from(x[((b * n + i) * heads + h) * key_width + d])
                    };
                    (0..key_width).map(|d| row(query, queries, i, d) * row(key, keys, j, d)).sum::<f64>()
                        * f64::from(scale)
                };
                let weights: Vec<f64> =
                    (0..keys).map(|j| if allowed(b, i, j) { score(j).exp() } else { 0.0 }).collect();
                let sum: f64 = weights.iter().sum();
                for d in 0..value_width {
                    let value = |j: usize| f64::from(value[((b * keys + j) * heads + h) * value_width + d]);
                    let total: f64 = weights.iter().enumerate().map(|(j, weight)| weight * value(j)).sum();
                    out.push(if sum > 0.0 { total / sum } else { 0.0 });
                }
            }
        }
    }
    out
}

#[test]
fn attention_agrees_with_its_definition_for_every_mask() {
    let sizes = [
        (1, 1, 1, 1, 1),
        (3, 7, 7, 4, 3),
        (9, 9, 16, 16, 16),
        (20, 33, 2, 5, 8),
        (130, 130, 2, 16, 16),
        (4, 300, 1, 8, 24),
    ];
    for (queries, keys, heads, key_width, value_width) in sizes {
        let batch = 2;
        let scale = 1.0 / (key_width as f32).sqrt();
        let shape = attention::Shape { batch, queries, keys, heads, key_width, value_width, scale, clamp: None };
        let query = random(batch * queries * heads * key_width, 1);
        let key = random(batch * keys * heads * key_width, 2);
        let value = random(batch * keys * heads * value_width, 3);
        let inputs = attention::Inputs { query: &query, key: &key, value: &value };
        let lengths = [0, keys as u32 / 2 + 1];
        let cells: Vec<bool> = random(batch * queries * keys, 4).iter().map(|x| *x > 0.3).collect();
        let dense = Mask::Dense { allowed: &cells, cells: queries * keys };
        let at = |b: usize, i: usize, j: usize| cells[(b * queries + i) * keys + j];
        let masks: [(Mask<'_>, Rule<'_>); 5] = [
            (Mask::None, &|_, _, _| true),
            (Mask::Causal, &|_, i, j| j <= i),
            (Mask::Remaining, &|_, i, j| j >= i),
            (Mask::Lengths(&lengths), &|b, _, j| j < lengths[b] as usize),
            (dense, &at),
        ];
        for (mask, allowed) in masks {
            let (out, _) = attention::forward(&shape, inputs, mask, None);
            close(&out, &attention_by_definition(&shape, inputs, allowed), &format!("{mask:?}"));
        }
    }
}

#[test]
fn chosen_log_probabilities_agree_with_all_log_probabilities() {
    let shape = pointer::Shape { batch: 3, steps: 19, nodes: 19, width: 24, clip: 10.0 };
    let (glimpse, keys) = (random(3 * 19 * 24, 1), random(3 * 19 * 24, 2));
    let chosen: Vec<u32> = (0..3).flat_map(|_| 0..19).collect();
    for clip in [10.0, 0.0] {
        let shape = pointer::Shape { clip, ..shape };
        let all = pointer::log_probabilities(&shape, &glimpse, &keys, Mask::Remaining);
        let sums = pointer::chosen(&shape, &glimpse, &keys, Mask::Remaining, &chosen);
        for b in 0..3 {
            let expected: f64 = (0..19).map(|t| f64::from(all[(b * 19 + t) * 19 + t])).sum();
            assert!((f64::from(sums[b]) - expected).abs() < 1e-5);
            for t in 0..19 {
                let row = &all[(b * 19 + t) * 19..][..19];
                let total: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
                assert!((total - 1.0).abs() < 1e-6 && row[..t].iter().all(|x| *x == -1e30));
            }
        }
    }
}

/// The bits of all values that a training step computes.
fn step(rows: Rows, kind: NormKind, activation: Activation) -> Vec<u32> {
    let (d, f, heads) = (rows.width, 48, 4);
    let x = random(rows.batch * rows.nodes * d, 11);
    let w: Vec<Vec<f32>> = (0..4).map(|i| random(d * d, 20 + i)).collect();
    let (w1, b1, w2, b2) = (random(d * f, 30), random(f, 31), random(f * d, 32), random(d, 33));
    let (gamma, beta) = (random(d, 34), random(d, 35));
    let norm = Norm { kind, gamma: &gamma, beta: &beta, running: None, eps: 1e-5 };
    let layer = AttentionLayer { rows, heads, key_width: d / heads, value_width: d / heads };
    let weights = AttentionWeights { query: &w[0], key: &w[1], value: &w[2], out: &w[3] };
    let (values, of_heads) = (random(rows.batch * 3 * rows.nodes * rows.nodes, 12), random(heads * 3, 13));
    let pairs = Pairs { values: &values, weights: &of_heads, features: 3 };
    let (y, saved, statistics) = sublayer::attention(&layer, &weights, &norm, Some(pairs), &x, true);
    let first = attention_backward(&layer, &weights, &norm, Some(pairs), &x, &saved.expect("requested"), &y);
    let feed = FeedForwardWeights { w1: &w1, b1: &b1, w2: &w2, b2: &b2, activation, dropouts: Dropouts::default() };
    let tail = Tail::ResidualNorm(norm);
    let (z, saved, _) = sublayer::feed_forward(&rows, &feed, &tail, &y, true);
    let second = feed_forward_backward(&rows, &feed, &tail, &y, &saved.expect("requested"), &z);
    let (plain, saved, _) = residual_norm(&rows, &norm, &x, &z);
    let third = residual_norm_backward(&rows, &norm, &saved, &y);
    let mut all = vec![
        y,
        z,
        plain,
        first.x,
        first.query,
        first.key,
        first.value,
        first.out,
        first.gamma,
        first.beta,
        first.pairs,
    ];
    all.extend([second.x, second.w1, second.b1, second.w2, second.b2, third.0, third.1, third.2]);
    all.extend(statistics.map(|statistics| [statistics.mean, statistics.variance].concat()));
    all.into_iter().flatten().map(f32::to_bits).collect()
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    for kind in [NormKind::Batch, NormKind::Instance, NormKind::Layer] {
        for (batch, nodes) in [(1, 5), (37, 20), (130, 7)] {
            let rows = Rows { batch, nodes, width: 32 };
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                pool.install(|| step(rows, kind, Activation::Relu))
            };
            let one = with(1);
            assert!([2, 3, 8].into_iter().all(|threads| with(threads) == one), "{kind:?} {rows:?}");
            assert!(with(1) == one, "twice the same");
        }
    }
}

#[test]
fn inference_agrees_with_training() {
    for activation in [Activation::Relu, Activation::Gelu] {
        let rows = Rows { batch: 5, nodes: 9, width: 32 };
        let (w1, b1, w2, b2) = (random(32 * 200, 1), random(200, 2), random(200 * 32, 3), random(32, 4));
        let weights =
            FeedForwardWeights { w1: &w1, b1: &b1, w2: &w2, b2: &b2, activation, dropouts: Dropouts::default() };
        let (gamma, beta, mean) = (random(32, 5), random(32, 6), random(32, 7));
        let variance: Vec<f32> = random(32, 8).iter().map(|x| x.abs() + 0.1).collect();
        let x = random(5 * 9 * 32, 9);
        for kind in [NormKind::Batch, NormKind::Instance, NormKind::Layer] {
            let running = Some((&mean[..], &variance[..]));
            let tail = Tail::ResidualNorm(Norm { kind, gamma: &gamma, beta: &beta, running, eps: 1e-5 });
            let (kept, saved, _) = sublayer::feed_forward(&rows, &weights, &tail, &x, true);
            let (light, none, _) = sublayer::feed_forward(&rows, &weights, &tail, &x, false);
            assert!(saved.is_some() && none.is_none());
            close(&light, &kept.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(), "inference");
        }
    }
}

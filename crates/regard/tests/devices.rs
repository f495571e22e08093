//! Other devices compute what the CPU computes: values, gradients, tours, and a training.
//!
//! Run with `cargo test -p regard --features wgpu --test devices`; it needs a Vulkan driver, for
//! which Debian's `mesa-vulkan-drivers`, a processor that plays a graphics card, is enough. With
//! the feature `cuda` instead it needs a card.
#![cfg(any(feature = "wgpu", feature = "cuda"))]

use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use regard::nn::ops::{NormArgs, NormKind, Projection, Tours, norm_composed};
use regard::routes::RouteExperiment;
use regard::routes::decode::{Decode, DecodeOptions};
use regard::routes::model::{AttentionModel, Constructed};
use regard::routes::model::{AttentionModelConfig, Norm};
use regard::routes::train::Learner;
use regard::routing::Problem;
use regard::routing::generate;
use regard::routing::problems::tsp::TspEnv;

/// Greedy tours over `points [batch, nodes, 2]`.
fn greedy(model: &AttentionModel, points: Tensor<3>) -> Constructed {
    let [batch, nodes, _] = points.dims();
    let start = TspEnv::new(vec![[0.0; 2]; nodes]).start();
    model.construct_greedily::<TspEnv>(points, vec![start; batch])
}

fn other() -> Device {
    #[cfg(feature = "cuda")]
    return Device::cuda(0);
    #[cfg(not(feature = "cuda"))]
    Device::wgpu(Default::default())
}

/// Rounding beside that of single precision: the matrix units of NVIDIA's cards multiply with 10 bits of
/// the 23 that a fraction has (TF32), and Burn lets them.
const ROUNDING: f32 = if cfg!(feature = "cuda") { 100.0 } else { 1.0 };

fn config(norm: Norm) -> AttentionModelConfig {
    AttentionModelConfig {
        width: 32,
        heads: 4,
        layers: 2,
        feedforward_width: 64,
        norm,
        ..AttentionModelConfig::kool_2019()
    }
}

/// The same network on both devices, the CPU first.
fn pair(norm: Norm, autodiff: bool) -> [(AttentionModel, Device); 2] {
    let fresh = AttentionModel::new(&config(norm), &Device::flex()).unwrap().to_weights();
    [Device::flex(), other()].map(|device| {
        let device = if autodiff { device.autodiff() } else { device };
        (AttentionModel::from_weights(&config(norm), &fresh, &device).unwrap(), device)
    })
}

fn points(instances: &[Vec<[f32; 2]>], device: &Device) -> Tensor<3> {
    let flat: Vec<f32> = instances.iter().flatten().flatten().copied().collect();
    Tensor::from_data(TensorData::new(flat, [instances.len(), instances[0].len(), 2]), device)
}

fn close(found: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1e-3f32, |max, value| max.max(value.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * scale, "{what}: {a} and {b} of {scale}");
    }
}

/// The generator that fresh weights are drawn from belongs to the whole process: tests that draw
/// take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[test]
fn losses_and_every_gradient_agree() {
    let _alone = alone();
    let instances = generate::uniform(5, 6, 9);
    let order = (0..12).flat_map(|shift| (0..9u32).map(move |t| (t * 2 + shift) % 9)).collect();
    let (tours, coefficient) = (Tours::new([6, 2, 9], order, 1), (0..12).map(|k| k as f32 / 12.0 - 0.4));
    for norm in [Norm::Instance, Norm::Batch] {
        let results = pair(norm, true).map(|(model, device)| {
            let embeddings = model.encode(points(&instances, &device));
            let policy = model.rollout().policy_loss(embeddings, &tours, coefficient.clone().collect());
            let values: Vec<f32> = policy.log_likelihood.into_data().iter::<f32>().collect();
            (values, model.gradients(&policy.loss.backward()), model.to_weights())
        });
        let [(expected, references, statistics), (found, gradients, moved)] = results;
        close(&found, &expected, ROUNDING * 1e-4, "log-likelihoods");
        let largest = references.values().flat_map(|array| &array.data).fold(0.0f32, |m, v| m.max(v.abs()));
        for (name, reference) in &references {
            // Gradients that are zero in exact arithmetic are noise: small beside the largest.
            let worst = gradients[name].data.iter().zip(&reference.data).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
            assert!(worst <= ROUNDING * 2e-4 * largest, "{name}: off by {worst} of {largest}");
        }
        for (name, array) in statistics.iter().filter(|(name, _)| name.contains("running")) {
            close(&moved[name].data, &array.data, ROUNDING * 1e-4, name);
        }
    }
}

/// Numbers between -1 and 1, the same for every device.
fn numbers<const D: usize>(seed: usize, shape: [usize; D], device: &Device) -> Tensor<D> {
    let count: usize = shape.iter().product();
    let data: Vec<f32> = (0..count).map(|at| ((at * 7 + seed * 131) as f32 * 0.61).sin()).collect();
    Tensor::from_data(TensorData::new(data, shape), device)
}

fn values<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().iter().collect()
}

#[test]
fn sums_over_many_rows_agree() {
    let _alone = alone();
    // Devices cut rows into parts: equally long ones, and with filling at the end.
    for (rows, kind) in [(640, NormKind::Batch), (331, NormKind::Batch), (640, NormKind::Layer), (331, NormKind::Layer)]
    {
        let [expected, found] = [Device::flex(), other()].map(|device| {
            let device = device.autodiff();
            let [x, weight] =
                [(1, [rows, 16]), (2, [16, 24])].map(|(seed, shape)| numbers(seed, shape, &device).require_grad());
            let [bias, gamma, beta] = [3, 4, 5].map(|seed| numbers(seed, [24], &device).require_grad());
            let map = Projection { weight: weight.clone(), bias: Some(bias.clone()) };
            let y = map.of_rows(x.clone()).reshape([rows, 1, 24]);
            let args = NormArgs { kind, gamma: gamma.clone(), beta: beta.clone(), running: None, eps: 1e-5 };
            let normed = norm_composed(y.clone(), args);
            let weighted = |y: Tensor<3>, seed| (y * numbers(seed, [rows, 1, 24], &device)).sum();
            let gradients = (weighted(normed.y.clone(), 6) + weighted(y, 7)).backward();
            let statistics =
                normed.statistics.map_or(vec![], |found| [values(found.mean), values(found.variance)].concat());
            [
                ("values", values(normed.y)),
                ("statistics", statistics),
                ("x", values(x.grad(&gradients).unwrap())),
                ("weight", values(weight.grad(&gradients).unwrap())),
                ("bias", values(bias.grad(&gradients).unwrap())),
                ("gamma", values(gamma.grad(&gradients).unwrap())),
                ("beta", values(beta.grad(&gradients).unwrap())),
            ]
        });
        for ((what, expected), (_, found)) in expected.iter().zip(&found) {
            close(found, expected, ROUNDING * 2e-4, &format!("{what} of {rows} rows with {kind:?}"));
        }
    }
}

#[test]
fn tours_agree_in_every_way_of_decoding() {
    let _alone = alone();
    let instances = generate::uniform(6, 8, 12);
    let problems: Vec<_> = instances.iter().cloned().map(TspEnv::new).collect();
    for decode in [Decode::Greedy, Decode::MultiStart(None), Decode::Beam(3), Decode::Sample(4)] {
        let options = DecodeOptions { decode, ..DecodeOptions::default() };
        let [expected, found] = pair(Norm::Instance, false).map(|(model, _)| {
            let decoded = model.decode(&problems, &|b, tour| problems[b].cost(tour), &options).unwrap();
            decoded.into_iter().map(|found| found.cost as f32).collect::<Vec<_>>()
        });
        // Equal but for ties that rounding decides.
        let same = found.iter().zip(&expected).filter(|(a, b)| (*a - *b).abs() < ROUNDING * 1e-4).count();
        assert!(same + 1 >= expected.len(), "{decode:?}: {found:?} {expected:?}");
    }
}

#[test]
fn a_training_goes_the_same_way() {
    let _alone = alone();
    let small = ["data.nodes=8", "model.width=16", "model.heads=2", "model.layers=1", "model.feedforward_width=16"];
    for (sets, steps) in
        [(["train.baseline=shared", "train.batch_size=8"], 4), (["train.baseline=rollout", "train.batch_size=8"], 3)]
    {
        let more = ["train.baseline_warmup_epochs=0", "train.baseline_instances=20"];
        let sets: Vec<String> = small.iter().chain(&sets).chain(&more).map(|set| (*set).to_owned()).collect();
        let experiment = RouteExperiment::parse("", Path::new("test.toml"), &sets).unwrap();
        let [expected, found] = [Device::flex(), other()].map(|device| {
            let mut learner = Learner::<TspEnv>::new(&experiment, &device).unwrap();
            (0..steps).map(|_| learner.step().unwrap()).collect::<Vec<_>>()
        });
        for (found, expected) in found.iter().zip(&expected) {
            // Sampling may differ where a uniform number falls between two probabilities.
            assert!((found.cost - expected.cost).abs() < 0.05 * expected.cost, "{found:?} {expected:?}");
            assert!(found.gradient_norm.is_finite() && found.loss.is_finite());
        }
        assert!((found[0].log_likelihood - expected[0].log_likelihood).abs() < 0.5, "{found:?}");
    }
}

#[test]
fn evaluation_networks_carry_over() {
    let _alone = alone();
    let [(cpu, _), (gpu, device)] = pair(Norm::Batch, true);
    let instances = generate::uniform(7, 3, 10);
    let expected = greedy(&cpu.valid(), points(&instances, &Device::flex()));
    let found = greedy(&gpu.valid(), points(&instances, &device.inner()));
    close(&found.log_likelihood, &expected.log_likelihood, ROUNDING * 1e-4, "log-likelihoods");
    assert_eq!(found.tours, expected.tours);
}

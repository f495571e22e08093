//! Seeds that look at the items again, and deviations that have a floor.

use burn::tensor::{Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard::data::sets::mixture::LogWeights;
use regard::sets::mixture::mixtures;
use regard::sets::model::{Answers, PoolingKind, SetTransformer, SetTransformerConfig};
use regard::sets::task::{Batch, Targets, loss};
use regard::store::NetworkConfig;
use regard::train::LossOptions;
use regard::{Device, Error};
use regard_nn::Ragged;

fn config() -> SetTransformerConfig {
    SetTransformerConfig {
        width: 16,
        heads: 2,
        inducing_points: 3,
        seed_refinements: 2,
        decoder_layers: 1,
        min_std: 0.25,
        ..SetTransformerConfig::regard_set()
    }
}

/// Sets of points in the plane, one after another.
fn sets(points: &[Vec<[f32; 2]>], device: &Device) -> Ragged {
    let mut offsets = vec![0];
    points.iter().for_each(|set| offsets.push(offsets[offsets.len() - 1] + set.len()));
    let numbers: Vec<f32> = points.iter().flatten().flatten().copied().collect();
    Ragged::new(Tensor::from_data(TensorData::new(numbers, [offsets[points.len()], 2]), device), offsets)
}

fn drawn() -> Vec<Vec<[f32; 2]>> {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let mut point = || [random.random_range(-3.0..3.0), random.random_range(-3.0..3.0)];
    [7, 1, 0, 12].map(|length| (0..length).map(|_| point()).collect()).to_vec()
}

fn numbers(model: &SetTransformer, sets: Ragged) -> Vec<f32> {
    let Answers::Sets(rows) = model.forward(sets) else { panic!("an answer for each set") };
    rows.into_data().iter::<f32>().collect()
}

fn near(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    let most = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(most < 1e-5, "{most}");
}

#[test]
fn refined_seeds_know_no_order_and_no_other_set() {
    let (device, points) = (Device::flex(), drawn());
    let model = SetTransformer::new(&config(), &device).unwrap();
    let together = numbers(&model, sets(&points, &device));
    assert!(together.iter().all(|number| number.is_finite()));
    let mut turned = points.clone();
    turned.iter_mut().for_each(|set| set.reverse());
    near(&together, &numbers(&model, sets(&turned, &device)));
    let alone: Vec<f32> =
        points.iter().flat_map(|set| numbers(&model, sets(std::slice::from_ref(set), &device))).collect();
    near(&together, &alone);
}

#[test]
fn refinements_have_weights_that_survive_the_file() {
    let (device, points) = (Device::flex(), drawn());
    let model = SetTransformer::new(&config(), &device).unwrap();
    let without = SetTransformerConfig { seed_refinements: 0, ..config() };
    let (with, without) = (model.to_weights(&config()).len(), {
        let model = SetTransformer::new(&without, &device).unwrap();
        model.to_weights(&without).len()
    });
    assert!(with > without);
    let again = SetTransformer::from_weights(&config(), &model.to_weights(&config()), &device).unwrap();
    near(&numbers(&model, sets(&points, &device)), &numbers(&again, sets(&points, &device)));
}

#[test]
fn every_parameter_gets_a_gradient() {
    let (device, config) = (Device::flex().autodiff(), config());
    let model = SetTransformer::new(&config, &device).unwrap();
    let batch = Batch { sets: sets(&drawn(), &device), targets: Targets::Points };
    let found = loss(model.forward(batch.sets.clone()), &batch, &config, LossOptions::default()).backward();
    let gradients = model.gradients(&config, &found);
    for name in model.to_weights(&config).keys() {
        // A key's bias moves all scores of a query alike, which the softmax does not see.
        let moved = gradients.get(name).is_some_and(|array| array.data.iter().any(|&number| number != 0.0));
        assert!(moved || name.ends_with("fc_k.bias"), "{name}");
    }
}

#[test]
fn no_deviation_is_below_the_floor() {
    let (device, config) = (Device::flex(), config());
    let rows = Tensor::<3>::from_data([[[0.0, 1.0, 1.0, -80.0], [0.0, 0.0, 0.0, 1.0]]], &device);
    let two = SetTransformerConfig { num_seeds: 2, ..config };
    let found = mixtures(rows.clone(), 2, &two).unwrap();
    assert!(found[0].deviations().iter().all(|&deviation| deviation >= 0.25));
    assert!((found[0].deviations()[0] - 0.25).abs() < 1e-6);
    // The likelihood a network learns by is that of the mixture it tells.
    let batch = Batch { sets: sets(&[vec![[1.0, 1.0]]], &device), targets: Targets::Points };
    let learnt: f32 = loss(Answers::Sets(rows), &batch, &two, LossOptions::default()).into_scalar();
    assert!((f64::from(learnt) + found[0].mean_log_likelihood(&[1.0, 1.0], LogWeights::Repository)).abs() < 1e-4);
}

#[test]
fn nothing_is_refined_without_seeds() {
    let config = SetTransformerConfig { pooling: PoolingKind::Mean, ..config() };
    let error = config.validate().unwrap_err();
    assert!(matches!(error, Error::Config { .. }) && error.to_string().contains("refinements"), "{error}");
}

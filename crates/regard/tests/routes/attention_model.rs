//! The network by itself: fresh weights, weights in and out, tours it cannot score, tiny instances.

use burn::tensor::{Device, Tensor};
use regard::Error;
use regard::routes::model::{AttentionModel, AttentionModelConfig, Constructed, Norm};
use regard::routing::Problem;
use regard::routing::problems::tsp::TspEnv;
use regard::store::{Weights, layout};
use regard_testing::{input, values_of};

/// Greedy tours over `points [batch, nodes, 2]`.
fn greedy(model: &AttentionModel, points: Tensor<3>) -> Constructed {
    let [batch, nodes, _] = points.dims();
    let start = TspEnv::new(vec![[0.0; 2]; nodes]).start();
    model.construct_greedily::<TspEnv>(points, vec![start; batch])
}

fn small(norm: Norm) -> AttentionModelConfig {
    AttentionModelConfig {
        width: 12,
        heads: 3,
        layers: 2,
        feedforward_width: 20,
        norm,
        ..AttentionModelConfig::kool_2019()
    }
}

fn model(norm: Norm) -> AttentionModel {
    AttentionModel::new(&small(norm), &Device::flex()).unwrap()
}

/// Points in the unit square, `[batch, nodes, 2]`.
fn points(batch: usize, nodes: usize) -> Tensor<3> {
    input([batch, nodes, 2], 5, &Device::flex()).abs()
}

#[test]
fn fresh_weights_are_drawn_as_the_original_code_draws_them() {
    let weights = model(Norm::Batch).to_weights();
    layout::check(&small(Norm::Batch), &weights).unwrap();
    let largest = |name: &str| weights[name].data.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    let near = |name: &str, bound: f32| {
        let found = largest(name);
        // The smallest array has 24 numbers: five draws in a million have none above.
        assert!(found <= bound && found > 0.6 * bound, "{name}: {found}, bound {bound}");
    };
    near("W_placeholder", 1.0);
    near("embedder.layers.0.0.module.W_query", 0.5); // 1 / sqrt(4)
    near("embedder.layers.1.0.module.W_out", 1.0 / 12.0_f32.sqrt());
    near("embedder.layers.0.2.module.2.weight", 1.0 / 20.0_f32.sqrt());
    near("project_step_context.weight", 1.0 / 24.0_f32.sqrt());
    let all = |name: &str, value: f32| weights[name].data.iter().all(|&v| v == value);
    assert!(all("embedder.layers.0.1.normalizer.weight", 1.0));
    assert!(all("embedder.layers.0.3.normalizer.bias", 0.0));
    assert!(all("embedder.layers.1.1.normalizer.running_mean", 0.0));
    assert!(all("embedder.layers.1.1.normalizer.running_var", 1.0));
}

#[test]
fn weights_go_out_and_in_unchanged() {
    for norm in [Norm::Batch, Norm::Instance, Norm::Layer] {
        // Different numbers everywhere, so that no two places can be mixed up.
        let mut weights = model(norm).to_weights();
        let mut next = 0.0;
        for array in weights.values_mut() {
            for value in &mut array.data {
                next += 1e-4;
                *value = next;
            }
        }
        for device in [Device::flex(), Device::flex().autodiff()] {
            let model = AttentionModel::from_weights(&small(norm), &weights, &device).unwrap();
            assert_eq!(model.to_weights(), weights);
            let twin = AttentionModel::from_weights(&small(norm), &weights, &device).unwrap();
            assert_eq!(twin.to_weights(), weights);
        }
    }
}

#[test]
fn weights_that_do_not_fit_are_named() {
    let config = small(Norm::Batch);
    let weights = model(Norm::Batch).to_weights();
    let fails = |weights: &Weights| {
        let result = AttentionModel::from_weights(&config, weights, &Device::flex());
        let Err(Error::Weights { missing, extra, wrong }) = result else { panic!("accepted") };
        (missing.len(), extra.len(), wrong.len())
    };
    let mut without = weights.clone();
    let taken = without.remove("init_embed.bias").unwrap();
    assert_eq!(fails(&without), (1, 0, 0));
    without.insert("init_embed.bios".into(), taken);
    assert_eq!(fails(&without), (1, 1, 0));
    let mut wrong = weights;
    let array = wrong.get_mut("project_out.weight").unwrap();
    array.shape = vec![array.data.len()];
    assert_eq!(fails(&wrong), (0, 0, 1));
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let config = AttentionModelConfig { heads: 5, ..small(Norm::Batch) };
    let result = AttentionModel::new(&config, &Device::flex());
    assert!(matches!(result, Err(Error::Config { key, .. }) if key == "heads"));
}

#[test]
fn tours_that_are_none_are_refused() {
    let model = model(Norm::Instance);
    let tours: [&[&[usize]]; 4] =
        [&[&[0, 1, 2]], &[&[0, 1, 2], &[0, 1, 1]], &[&[0, 1, 2], &[0, 1]], &[&[0, 1, 2], &[1, 2, 3]]];
    for tours in tours {
        let tours: Vec<Vec<usize>> = tours.iter().map(|tour| tour.to_vec()).collect();
        let result = model.log_probabilities_of(points(2, 3), &tours);
        assert!(matches!(result, Err(Error::Shape { .. })), "{tours:?}");
        assert!(model.log_likelihood_of(points(2, 3), &tours).is_err(), "{tours:?}");
    }
}

#[test]
fn tiny_instances_have_tours() {
    for norm in [Norm::Batch, Norm::Instance, Norm::Layer] {
        let model = model(norm);
        for nodes in 1..4 {
            let built = greedy(&model, points(2, nodes));
            let scored = model.log_likelihood_of(points(2, nodes), &built.tours).unwrap();
            for (one, other) in built.log_likelihood.iter().zip(values_of(&scored)) {
                assert!((one - other).abs() < 1e-4, "{nodes} nodes: {one}, at once {other}");
            }
        }
        assert_eq!(greedy(&model, points(1, 1)).tours, [[0]]);
        assert!(greedy(&model, Tensor::zeros([0, 4, 2], &Device::flex())).tours.is_empty());
    }
}

#[test]
fn equal_points_still_give_a_tour() {
    let built = greedy(&model(Norm::Batch), Tensor::zeros([1, 5, 2], &Device::flex()));
    let mut tour = built.tours[0].clone();
    tour.sort_unstable();
    assert_eq!(tour, [0, 1, 2, 3, 4]);
}

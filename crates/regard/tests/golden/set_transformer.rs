//! The Set Transformer on mixtures of normal distributions against the authors' code: answers, loss,
//! every gradient, a step of Adam; and the sizes of the published networks.

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor};
use regard::data::sets::mixture::{Covariance, Em, LogWeights, Mixture};
use regard::sets::mixture::mixtures;
use regard::sets::model::{Decoding, EncoderKind, NormName, PoolingKind};
use regard::sets::task::{Batch, Targets, TaskKind, loss};
use regard::sets::{Answers, SetTransformer, SetTransformerConfig};
use regard::store::{Array, NetworkConfig, Weights};
use regard::train::LossOptions;
use regard_nn::Ragged;
use regard_nn::ops::with_kernels;
use regard_nn::trace::record;
use regard_testing::{Case, Checks, Golden};

#[test]
fn golden_set_transformers_with_kernels() {
    with_kernels(true, || check_all("kernels"));
}

#[test]
fn golden_set_transformers_composed() {
    with_kernels(false, || check_all("composed"));
}

#[test]
fn the_published_networks_have_their_sizes() {
    let clustering = SetTransformerConfig::set_transformer_2019();
    assert_eq!(clustering.trainable(), 423_172);
    let largest = SetTransformerConfig {
        task: TaskKind::Regression,
        inputs: 1,
        outputs: 1,
        decoding: Decoding::Number,
        encoder: EncoderKind::Sab,
        width: 64,
        num_seeds: 1,
        decoder_layers: 0,
        ..clustering.clone()
    };
    assert_eq!(largest.trainable(), 37_953);
    assert_eq!(SetTransformerConfig::deep_sets_2017().trainable(), 101_520);
    assert_eq!(SetTransformerConfig { pooling: PoolingKind::Mean, ..clustering }.num_seeds, 4);
}

fn check_all(label: &str) {
    let golden = Golden::open();
    let mut nets = 0;
    for name in golden.names("set_transformer/") {
        let case = golden.case(&name).expect("named by the manifest");
        if case.config.get("dim_hidden").is_some() {
            check(&case, label);
            nets += 1;
        }
    }
    assert!(nets > 0, "a case of a network");
}

fn config(case: &Case) -> SetTransformerConfig {
    SetTransformerConfig {
        inputs: case.size("dim_input"),
        outputs: case.size("dim_output"),
        width: case.size("dim_hidden"),
        heads: case.size("num_heads"),
        inducing_points: case.size("num_inds"),
        num_seeds: case.size("num_outputs"),
        norm: if case.config["ln"].as_bool() == Some(true) { NormName::Post } else { NormName::None },
        ..SetTransformerConfig::set_transformer_2019()
    }
}

fn weights(case: &Case) -> Weights {
    let array = |(name, values): (&str, &regard_testing::Values)| {
        let data = values.data.iter().map(|&value| value as f32).collect();
        (name.to_owned(), Array { shape: values.shape.clone(), data })
    };
    case.with_prefix("weight.").map(array).collect()
}

fn check(case: &Case, label: &str) {
    let (device, config) = (Device::flex().autodiff(), config(case));
    assert_eq!(config.trainable(), case.size("parameters"));
    let model = SetTransformer::from_weights(&config, &weights(case), &device).unwrap();
    let mut checks = Checks::new(case, label);
    let x: Tensor<3> = case.get("input.X").tensor(&device).require_grad();
    let batch = Batch { sets: Ragged::uniform(x.clone()), targets: Targets::Points };
    let answers = model.forward(batch.sets.clone());
    let Answers::Sets(raw) = answers.clone() else { panic!("an answer for each set") };
    checks.tensor("output.raw", &raw);
    let loss = loss(answers, &batch, &config, LossOptions::default());
    checks.tensor("output.loss", &loss);
    check_mixtures(&mut checks, case, raw, &config);
    let (_, recording) = record(|| model.forward(batch.sets.clone()));
    for (golden, scope) in [("output.enc", "encoder."), ("output.raw", "answer")] {
        let step = recording.steps.iter().rfind(|step| step.name.starts_with(scope)).expect("a step of that name");
        let values: Vec<f64> = step.values.iter().map(|&value| f64::from(value)).collect();
        checks.values(golden, &case.get(golden).shape, &values);
    }

    let gradients = loss.backward();
    checks.tensor("grad.input.X", &x.grad(&gradients).expect("a gradient"));
    let by_name = model.gradients(&config, &gradients);
    for (name, _) in case.with_prefix("grad.weight.") {
        match by_name.get(name) {
            Some(array) => {
                let values: Vec<f64> = array.data.iter().map(|&v| f64::from(v)).collect();
                checks.values(&format!("grad.weight.{name}"), &array.shape, &values);
            }
            None => checks.holds(&format!("no gradient of {name}"), false),
        }
    }
    let rate = case.number("lr");
    let gradients = GradientsParams::from_grads(gradients, &model);
    let model = AdamConfig::new().with_epsilon(1e-8).init().step(rate, model, gradients);
    let after = model.to_weights(&config);
    checks.step_of_adam(rate, 1.0, |name| (&after[name].shape, &after[name].data));
    checks.finish();
}

/// The mixtures that the answers tell, and what one step of EM makes of them.
fn check_mixtures(checks: &mut Checks<'_>, case: &Case, raw: Tensor<3>, config: &SetTransformerConfig) {
    let x = case.get("input.X");
    let [sets, points, axes] = [x.shape[0], x.shape[1], x.shape[2]];
    let found = mixtures(raw, axes, config).unwrap();
    let components = found[0].components();
    let all = |of: fn(&Mixture) -> &[f64]| found.iter().flat_map(of).copied().collect::<Vec<f64>>();
    checks.values("output.pi", &[sets, components], &all(Mixture::weights));
    checks.values("output.mu", &[sets, components, axes], &all(Mixture::means));
    let em = Em { covariance: Covariance::Diagonal, log_weights: LogWeights::Repository, ..Em::default() };
    let mut sum = 0.0;
    for (set, mixture) in found.iter().enumerate() {
        let items = &x.data[set * points * axes..][..points * axes];
        sum += em.step(mixture, items).mean_log_likelihood(items, LogWeights::Repository) / sets as f64;
    }
    checks.scalar("output.em1_ll", sum);
}

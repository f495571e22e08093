//! The Attention Model on the TSP against the code of Kool et al. 2019: embeddings, masks,
//! log-probabilities, every gradient, running statistics and a step of Adam.

use crate::support::{config, length, weights};
use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};
use regard::routes::model::{AttentionModel, Constructed};
use regard::routing::Problem;
use regard::routing::problems::tsp::TspEnv;
use regard_nn::clip_gradient_norm;
use regard_nn::ops::{MASKED, PolicyLoss, Tours, with_kernels};
use regard_testing::{Case, Checks, Golden, Values};

/// Greedy tours over `points [batch, nodes, 2]`.
fn greedy(model: &AttentionModel, points: Tensor<3>) -> Constructed {
    let [batch, nodes, _] = points.dims();
    let start = TspEnv::new(vec![[0.0; 2]; nodes]).start();
    model.construct_greedily::<TspEnv>(points, vec![start; batch])
}

#[test]
fn golden_attention_models_with_kernels() {
    with_kernels(true, || check_all("kernels"));
}

#[test]
fn golden_attention_models_composed() {
    with_kernels(false, || check_all("composed"));
}

fn check_all(label: &str) {
    let golden = Golden::open();
    let mut modes = [0, 0];
    for name in golden.names("attention_model/") {
        let case = golden.case(&name).expect("named by the manifest");
        match (case.config["problem"].as_str(), case.config["mode"].as_str()) {
            (Some("tsp"), Some("train")) => {
                modes[0] += 1;
                check_training(&case, &format!("{label}, all steps"), false);
                check_training(&case, &format!("{label}, one pass"), true);
            }
            (Some("tsp"), Some("eval")) => {
                modes[1] += 1;
                check_evaluation(&case, label);
            }
            _ => {}
        }
    }
    assert!(modes.iter().all(|&cases| cases > 0), "cases of both modes");
}

/// `one_pass` takes the loss whose gradients are made on the way forward.
fn check_training(case: &Case, label: &str, one_pass: bool) {
    let device = Device::flex().autodiff();
    let model = AttentionModel::from_weights(&config(case), &weights(case), &device).unwrap();
    let mut checks = Checks::new(case, label);
    let points = case.get("input.loc");
    let tours = case.get("input.actions").index_rows();

    let embeddings = model.encode(points.tensor(&device));
    let log_p = model.log_probabilities(embeddings.clone(), &tours).unwrap();
    checks.tensor("output.embeddings", &embeddings);
    check_log_p(&mut checks, case, &log_p);
    check_buffers(&mut checks, case, &model);

    let costs = lengths(points, &tours);
    checks.values("output.cost", &[costs.len()], &costs);
    let advantage = costs.iter().zip(&case.get("input.bl").data);
    let advantage: Vec<f32> = advantage.map(|(cost, base)| (cost - base) as f32).collect();
    let (loss, log_likelihood) = match one_pass {
        true => policy_loss(&model, embeddings, &tours, &advantage),
        false => {
            let log_likelihood = model.log_likelihood(embeddings, &tours).unwrap();
            let advantage: Tensor<1> = Tensor::from_data(TensorData::new(advantage, [costs.len()]), &device);
            ((log_likelihood.clone() * advantage).mean(), log_likelihood)
        }
    };
    checks.tensor("output.log_likelihood", &log_likelihood);
    checks.tensor("output.loss", &loss);

    let gradients = loss.backward();
    let by_name = model.gradients(&gradients);
    for (name, array) in &by_name {
        let values: Vec<f64> = array.data.iter().map(|&v| f64::from(v)).collect();
        checks.values(&format!("grad.weight.{name}"), &array.shape, &values);
    }
    for (name, _) in case.with_prefix("grad.weight.") {
        checks.holds(&format!("no gradient of {name}"), by_name.contains_key(name));
    }

    let mut gradients = GradientsParams::from_grads(gradients, &model);
    let most = case.number("max_grad_norm");
    let norm = clip_gradient_norm(&model, &mut gradients, most);
    checks.scalar("output.grad_norm", norm);
    let rate = case.number("lr");
    let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
    let model = optimizer.step(rate, model, gradients);
    let (after, clip) = (model.to_weights(), (most / (case.get("output.grad_norm").scalar() + 1e-6)).min(1.0));
    checks.step_of_adam(rate, clip, |name| (&after[name].shape, &after[name].data));
    checks.finish();
}

/// The loss of REINFORCE, and the log-likelihoods beside it.
fn policy_loss(
    model: &AttentionModel,
    embeddings: Tensor<3>,
    tours: &[Vec<usize>],
    advantage: &[f32],
) -> (Tensor<1>, Tensor<1>) {
    let count = tours.len();
    let order = tours.iter().flatten().map(|&node| node as u32).collect();
    let tours = Tours::new([count, 1, tours[0].len()], order, 0);
    let coefficient = advantage.iter().map(|advantage| advantage / count as f32).collect();
    let PolicyLoss { loss, log_likelihood } = model.rollout().policy_loss(embeddings, &tours, coefficient);
    (loss, log_likelihood)
}

fn check_evaluation(case: &Case, label: &str) {
    let device = Device::flex();
    let model = AttentionModel::from_weights(&config(case), &weights(case), &device).unwrap();
    let mut checks = Checks::new(case, label);
    let points = case.get("input.loc");
    let expected = case.get("output.actions").index_rows();

    let embeddings = model.encode(points.tensor(&device));
    checks.tensor("output.embeddings", &embeddings);
    let log_p = model.log_probabilities(embeddings.clone(), &expected).unwrap();
    check_log_p(&mut checks, case, &log_p);
    let log_likelihood = model.log_likelihood(embeddings, &expected).unwrap();
    checks.tensor("output.log_likelihood", &log_likelihood);

    let built = greedy(&model, points.tensor(&device));
    checks.holds("greedy tours", built.tours == expected);
    let found: Vec<f64> = built.log_likelihood.iter().map(|&v| f64::from(v)).collect();
    checks.values("output.log_likelihood", &[found.len()], &found);
    let costs = lengths(points, &built.tours);
    checks.values("output.cost", &[costs.len()], &costs);
    checks.finish();

    // The same network, made for training and put into evaluation.
    let training = Device::flex().autodiff();
    let model = AttentionModel::from_weights(&config(case), &weights(case), &training).unwrap();
    assert_eq!(greedy(&model.valid(), points.tensor(&device)).tours, built.tours);
}

/// Log-probabilities, and that exactly the masked nodes are barred.
fn check_log_p(checks: &mut Checks<'_>, case: &Case, log_p: &Tensor<3>) {
    checks.tensor("output.log_p", log_p);
    let barred = log_p.to_data().iter::<f32>().map(|v| v == MASKED).collect::<Vec<_>>();
    let mask = case.get("output.mask").data.iter().map(|&bit| bit == 1.0);
    checks.holds("masks", mask.eq(barred));
}

fn check_buffers(checks: &mut Checks<'_>, case: &Case, model: &AttentionModel) {
    let weights = model.to_weights();
    for (name, _) in case.with_prefix("after_step.buffer.") {
        let array = &weights[name];
        let values: Vec<f64> = array.data.iter().map(|&v| f64::from(v)).collect();
        checks.values(&format!("after_step.buffer.{name}"), &array.shape, &values);
    }
}

fn lengths(points: &Values, tours: &[Vec<usize>]) -> Vec<f64> {
    tours.iter().enumerate().map(|(item, tour)| length(points, item, tour)).collect()
}

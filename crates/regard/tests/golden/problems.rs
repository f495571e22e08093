//! The problems with a depot against the code of Kool et al. 2019: embeddings, masks,
//! log-probabilities, costs, every gradient; and the published networks' greedy tours, beams and
//! mean costs.

use crate::support::instances::FromCase;
use crate::support::weights;
use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use regard::routes::model::AttentionModel;
use regard::routes::model::AttentionModelConfig;
use regard::routing::problems::cvrp::CvrpEnv;
use regard::routing::problems::op::OpEnv;
use regard::routing::problems::pctsp::PctspEnv;
use regard::routing::problems::sdvrp::SdvrpEnv;
use regard::routing::problems::spctsp::SpctspEnv;
use regard::routing::problems::tsp::TspEnv;
use regard::routing::{Problem, State};
use regard_nn::ops::{DenseMask, MASKED, Mask, Tours, with_kernels};
use regard_nn::trace::record;
use regard_nn::{NodeSelection, Outcome};
use regard_testing::{Case, Checks, Golden};

/// Tours may differ where the best two nodes are closer than this in log-probability.
const CLOSE_CALL: f64 = 1e-3;
/// Largest difference of mean costs.
const MEAN_COST: f64 = 1e-3;
/// Instances decoded at once.
const BATCH: usize = 250;

/// Runs `$check::<Problem>($case, …)` for the problem that a case names.
macro_rules! for_problem {
    ($case:expr, $check:ident($($argument:expr),*)) => {
        match $case.config["problem"].as_str() {
            Some("cvrp") => $check::<CvrpEnv>($($argument),*),
            Some("sdvrp") => $check::<SdvrpEnv>($($argument),*),
            Some("op") => $check::<OpEnv>($($argument),*),
            Some("pctsp_det") => $check::<PctspEnv>($($argument),*),
            Some("pctsp_stoch") => $check::<SpctspEnv>($($argument),*),
            _ => continue,
        }
    };
}

#[test]
fn golden_problems_with_kernels() {
    with_kernels(true, || check_cases("kernels"));
}

#[test]
fn golden_problems_composed() {
    with_kernels(false, || check_cases("composed"));
}

#[test]
fn golden_published_problems_with_kernels() {
    with_kernels(true, || check_published("kernels"));
}

#[test]
fn golden_published_problems_composed() {
    with_kernels(false, || check_published("composed"));
}

fn check_cases(label: &str) {
    let golden = Golden::open();
    let mut checked = 0;
    for name in golden.names("attention_model/") {
        let case = golden.case(&name).expect("named by the manifest");
        match case.config["mode"].as_str() {
            Some("train") => for_problem!(case, check_training(&case, label)),
            Some("eval") => for_problem!(case, check_evaluation(&case, label)),
            _ => continue,
        }
        checked += 1;
    }
    assert!(checked > 0, "cases with a depot");
}

#[test]
fn golden_traces_of_decoding() {
    let golden = Golden::open();
    let mut checked = 0;
    for case in golden.cases("attention_model/").iter().filter(|case| case.config["mode"] == "eval") {
        match case.config["problem"].as_str() {
            Some("tsp") => check_trace::<TspEnv>(case),
            _ => for_problem!(case, check_trace(case)),
        }
        checked += 1;
    }
    assert!(checked > 5, "all problems");
}

/// The steps of a trace are the embeddings, masks and log-probabilities of the original code.
fn check_trace<P: FromCase>(case: &Case) {
    let model = AttentionModel::from_weights(&config::<P>(case), &weights(case), &Device::flex()).unwrap();
    let (expected, expected_mask) = (case.get("output.log_p"), case.get("output.mask"));
    let [batch, steps, nodes] = expected.shape[..] else { panic!("{}: log_p", case.name) };
    let layers = case.size("n_encode_layers");
    let (mut embeddings, mut log_p, mut mask) = (vec![], expected.data.clone(), expected_mask.data.clone());
    for (item, problem) in instances::<P>(case, batch).iter().enumerate() {
        let compute = || {
            let embeddings = model.encode(features(std::slice::from_ref(problem), &Device::flex()));
            model.rollout().construct(embeddings, vec![vec![problem.start()]], NodeSelection::Greedy)
        };
        let (outcomes, recording) = record(compute);
        let values = |name: &str| {
            let step = recording.steps.iter().find(|step| step.name == name).unwrap_or_else(|| panic!("no {name}"));
            step.values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>()
        };
        embeddings.extend(values(&format!("encoder.{}.feed_forward.norm", layers - 1)));
        // After the end of a solution the original code goes on with the depot; there is no step to compare.
        let taken = walk_of::<P>(&outcomes[0][0]).len();
        for step in 0..taken.min(steps) {
            let place = (item * steps + step) * nodes..(item * steps + step + 1) * nodes;
            let logarithms = values(&format!("decode.{step}.log_probability"));
            let stored = |value: f64| if value == f64::NEG_INFINITY { f64::from(MASKED) } else { value };
            log_p.splice(place.clone(), logarithms.into_iter().map(stored));
            mask.splice(place, values(&format!("decode.{step}.mask")).into_iter().map(|open| 1.0 - open));
            let probability: f64 = values(&format!("decode.{step}.probability")).iter().sum();
            assert!((probability - 1.0).abs() < 1e-5, "{}: {probability}", case.name);
        }
    }
    let mut checks = Checks::new(case, "trace");
    let shape = case.get("output.embeddings").shape.clone();
    checks.values("output.embeddings", &shape, &embeddings);
    checks.values("output.log_p", &expected.shape, &log_p);
    checks.holds("masks", mask == expected_mask.data);
    checks.finish();
}

fn check_published(label: &str) {
    let Some(golden) = Golden::open_shared() else { return };
    let names = golden.names("kool/");
    let mut checked = 0;
    for case in names.iter().filter(|name| name.ends_with(".greedy")).filter_map(|name| golden.case(name)) {
        for_problem!(case, check_greedy(&golden, &case, label));
        checked += 1;
    }
    assert!(checked > 0, "published networks with a depot");
    for case in names.iter().filter(|name| name.contains(".beam")).filter_map(|name| golden.case(name)) {
        for_problem!(case, check_beams(&golden, &case, label));
    }
}

fn config<P: Problem>(case: &Case) -> AttentionModelConfig {
    AttentionModelConfig { problem: P::NAME.into(), ..crate::support::config(case) }
}

fn instances<P: FromCase>(case: &Case, count: usize) -> Vec<P> {
    (0..count).map(|item| P::from_case(case, item)).collect()
}

fn features<P: Problem>(problems: &[P], device: &Device) -> Tensor<3> {
    let features: Vec<f32> = problems.iter().flat_map(P::features).collect();
    Tensor::from_data(TensorData::new(features, [problems.len(), problems[0].nodes(), P::FEATURES]), device)
}

/// The steps of each instance that were taken before its end; after it the depot stands.
fn walks<P: Problem>(checks: &mut Checks<'_>, problems: &[P], rows: &[Vec<usize>]) -> Vec<Vec<u32>> {
    let walk = |(problem, row): (&P, &Vec<usize>)| -> Vec<u32> {
        let mut state = problem.start();
        let mut walk = Vec::new();
        for &node in row {
            if state.done() {
                checks.holds("the depot after the end", node == 0);
                continue;
            }
            state.step(node);
            walk.push(node as u32);
        }
        checks.holds("the tour is finished", state.done());
        checks.holds("the checker accepts the tour", problem.check(&P::solution(&state)).is_ok());
        walk
    };
    problems.iter().zip(rows).map(walk).collect()
}

fn costs<P: Problem>(problems: &[P], walks: &[Vec<u32>]) -> Vec<f64> {
    let cost =
        |(problem, walk): (&P, &Vec<u32>)| problem.cost(&walk.iter().map(|&node| node as usize).collect::<Vec<_>>());
    problems.iter().zip(walks).map(cost).collect()
}

/// Embeddings, every mask and log-probability, log-likelihoods, costs, and every gradient.
fn check_training<P: FromCase>(case: &Case, label: &str) {
    let device = Device::flex().autodiff();
    let model = AttentionModel::from_weights(&config::<P>(case), &weights(case), &device).unwrap();
    let mut checks = Checks::new(case, label);
    let problems: Vec<P> = instances(case, case.size("B"));
    let walks = walks(&mut checks, &problems, &case.get("input.actions").index_rows());
    let embeddings = model.encode(features(&problems, &device));
    checks.tensor("output.embeddings", &embeddings);
    check_log_p(&mut checks, case, &model, embeddings.clone(), &problems, "input.actions");

    let costs = costs(&problems, &walks);
    checks.values("output.cost", &[costs.len()], &costs);
    let advantage = costs.iter().zip(&case.get("input.bl").data);
    let coefficient = advantage.map(|(cost, base)| ((cost - base) / costs.len() as f64) as f32).collect();
    let tours = tours(&problems, walks);
    let policy = model.rollout().policy_loss(embeddings, &tours, coefficient);
    checks.tensor("output.log_likelihood", &policy.log_likelihood);
    checks.tensor("output.loss", &policy.loss);
    let gradients = policy.loss.backward();
    let by_name = model.gradients(&gradients);
    for (name, array) in &by_name {
        let values: Vec<f64> = array.data.iter().map(|&v| f64::from(v)).collect();
        checks.values(&format!("grad.weight.{name}"), &array.shape, &values);
    }
    for (name, _) in case.with_prefix("grad.weight.") {
        checks.holds(&format!("no gradient of {name}"), by_name.contains_key(name));
    }
    checks.finish();
}

fn tours<P: Problem>(problems: &[P], walks: Vec<Vec<u32>>) -> Tours {
    let starts: Vec<P::State> = problems.iter().map(P::start).collect();
    let walks: Vec<Vec<Vec<u32>>> = walks.into_iter().map(|walk| vec![walk]).collect();
    Tours::replay(&starts, &walks, [problems[0].nodes(), P::SCALARS, 0], P::DYNAMIC)
}

/// Log-probabilities of all nodes at all steps, and that exactly the masked nodes are barred.
fn check_log_p<P: Problem>(
    checks: &mut Checks<'_>,
    case: &Case,
    model: &AttentionModel,
    embeddings: Tensor<3>,
    problems: &[P],
    actions: &str,
) {
    let (rows, device) = (case.get(actions).index_rows(), embeddings.device());
    let ([batch, nodes, width], steps) = (embeddings.dims(), rows[0].len());
    let values: Vec<f32> = embeddings.to_data().iter::<f32>().collect();
    let (mut context, mut open, mut dynamic) = (vec![], vec![], vec![]);
    for (item, (problem, row)) in problems.iter().zip(&rows).enumerate() {
        let mut state = problem.start();
        for &node in row {
            let last = state.last().expect("the depot at least");
            context.extend_from_slice(&values[(item * nodes + last) * width..][..width]);
            let (mut scalars, mut allowed, mut numbers) = (vec![0.0; P::SCALARS], vec![false; nodes], vec![0.0; nodes]);
            state.scalars(&mut scalars);
            state.allowed(&mut allowed);
            if state.done() {
                allowed = (0..nodes).map(|node| node == 0).collect();
            }
            state.dynamic(&allowed, &mut numbers);
            context.extend(scalars);
            open.extend(allowed);
            dynamic.extend(numbers);
            state.step(node);
        }
    }
    let mask = Mask::from(DenseMask::new([batch, steps, nodes], open.clone()));
    let expected = case.get("output.mask").data.iter().map(|&bit| bit == 0.0);
    checks.holds("masks", expected.eq(open));
    let context = Tensor::from_data(TensorData::new(context, [batch, steps, width + P::SCALARS]), &device);
    let tables = model.decoder.precompute(embeddings);
    let log_p = match P::DYNAMIC {
        true => {
            let numbers = Tensor::from_data(TensorData::new(dynamic, [batch, steps, nodes]), &device);
            model.decoder.log_probabilities_dynamic(&tables, numbers, context, &mask)
        }
        false => model.decoder.log_probabilities(&tables, context, &mask),
    };
    checks.tensor("output.log_p", &log_p);
    let barred = log_p.to_data().iter::<f32>().map(|v| v == MASKED).collect::<Vec<_>>();
    checks.holds("barred nodes", case.get("output.mask").data.iter().map(|&bit| bit == 1.0).eq(barred));
}

fn check_evaluation<P: FromCase>(case: &Case, label: &str) {
    let device = Device::flex();
    let model = AttentionModel::from_weights(&config::<P>(case), &weights(case), &device).unwrap();
    let mut checks = Checks::new(case, label);
    let problems: Vec<P> = instances(case, case.size("B"));
    let expected = walks(&mut checks, &problems, &case.get("output.actions").index_rows());
    let embeddings = model.encode(features(&problems, &device));
    checks.tensor("output.embeddings", &embeddings);
    check_log_p(&mut checks, case, &model, embeddings.clone(), &problems, "output.actions");
    let built = greedy(&model, &problems);
    let found: Vec<Vec<u32>> = built.iter().map(walk_of::<P>).collect();
    checks.holds("greedy tours", found == expected);
    let log_likelihood: Vec<f64> = built.iter().map(|outcome| f64::from(outcome.log_probability)).collect();
    checks.values("output.log_likelihood", &[built.len()], &log_likelihood);
    checks.values("output.cost", &[built.len()], &costs(&problems, &found));
    checks.finish();

    // The same network, made for training and put into evaluation.
    let training = AttentionModel::from_weights(&config::<P>(case), &weights(case), &device.autodiff()).unwrap();
    let again: Vec<Vec<u32>> = greedy(&training.valid(), &problems).iter().map(walk_of::<P>).collect();
    assert_eq!(again, found);
}

fn greedy<P: Problem>(model: &AttentionModel, problems: &[P]) -> Vec<Outcome<P::State>> {
    let parts = problems.chunks(BATCH);
    parts
        .flat_map(|part| {
            let starts = part.iter().map(|problem| vec![problem.start()]).collect();
            let embeddings = model.encode(features(part, &Device::flex()));
            model.rollout().construct(embeddings, starts, NodeSelection::Greedy).into_iter().flatten()
        })
        .collect()
}

fn walk_of<P: Problem>(outcome: &Outcome<P::State>) -> Vec<u32> {
    P::solution(&outcome.state).into_iter().map(|node| node as u32).collect()
}

fn published<P: Problem>(golden: &Golden, case: &Case) -> AttentionModel {
    let path = case.config["weights"].as_str().expect("a weights file");
    let stored = golden.case_with_file(path).expect("a case with the weights");
    AttentionModel::from_weights(&config::<P>(&stored), &weights(&stored), &Device::flex()).unwrap()
}

fn check_greedy<P: FromCase>(golden: &Golden, case: &Case, label: &str) {
    let model = published::<P>(golden, case);
    let mut checks = Checks::new(case, label);
    let tolerance = |key: &str| case.entry["tolerance"][key].as_f64().expect("a tolerance");
    let problems: Vec<P> = instances(case, case.size("instances"));
    let expected = walks(&mut checks, &problems, &case.get("output.tours").index_rows());

    let first = case.get("output.embeddings_first2").shape[0];
    let embeddings = model.encode(features(&problems[..first], &Device::flex()));
    let values: Vec<f64> = embeddings.to_data().iter::<f64>().collect();
    checks.within("output.embeddings_first2", &embeddings.dims(), &values, |_| tolerance("embeddings_abs"));

    let built = greedy(&model, &problems);
    let gaps = &case.get("output.min_logp_gap").data;
    for (item, outcome) in built.iter().enumerate() {
        let same = walk_of::<P>(outcome) == expected[item];
        checks.holds(&format!("tour {item}"), same || gaps[item] < CLOSE_CALL);
        let (cost, golden) = (problems[item].cost(&P::solution(&outcome.state)), case.get("output.cost").data[item]);
        checks.holds(&format!("cost {item}: {cost} {golden}"), !same || (cost - golden).abs() <= 1e-5 * golden.abs());
        let (found, golden) = (f64::from(outcome.log_probability), case.get("output.log_likelihood").data[item]);
        let good = (found - golden).abs() <= tolerance("log_likelihood_abs");
        checks.holds(&format!("log-likelihood {item}: {found}, expected {golden}"), !same || good);
    }
    checks.finish();

    let set = case.config["testset"].as_str().expect("a test set");
    let set = golden.case(&format!("kool/{set}")).expect("the test set");
    let problems: Vec<P> = instances(&set, case.size("mean_over"));
    let costs = problems.iter().zip(greedy(&model, &problems));
    let costs = costs.map(|(problem, outcome)| problem.cost(&P::solution(&outcome.state)));
    let mean = costs.sum::<f64>() / problems.len() as f64;
    let expected = case.get("output.mean_cost").scalar();
    assert!((mean - expected).abs() < MEAN_COST, "{}: mean {mean}, expected {expected}", case.name);
}

/// The most probable entry of every beam, and the scores of all.
fn check_beams<P: FromCase>(golden: &Golden, case: &Case, label: &str) {
    let from = case.config["instances_from"].as_str().expect("where the instances are");
    let from = golden.case_with_file(from).expect("the case with the instances");
    let problems: Vec<P> = instances(&from, case.size("instances"));
    let model = published::<P>(golden, case);
    let starts = problems.iter().map(P::start).collect();
    let embeddings = model.encode(features(&problems, &Device::flex()));
    let beams = model.rollout().beam(embeddings, starts, case.size("beam_size"));

    let mut checks = Checks::new(case, label);
    let tolerance = from.entry["tolerance"]["log_likelihood_abs"].as_f64().expect("a tolerance");
    let (scores, owners) = (case.get("output.score"), &case.get("output.ids").data);
    for (item, beam) in beams.iter().enumerate() {
        let rows = (0..owners.len()).filter(|&row| owners[row] == item as f64);
        let mut expected: Vec<f64> = rows.map(|row| scores.data[row]).collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        checks.holds(&format!("entries of beam {item}"), beam.len() == expected.len());
        for (entry, score) in beam.iter().zip(&expected) {
            let near = (f64::from(entry.log_probability) - score).abs() <= tolerance;
            checks.holds(&format!("score of beam {item}: {} and {score}", entry.log_probability), near);
        }
    }
    checks.finish();
}

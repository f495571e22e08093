//! The networks Kool et al. 2019 published: embeddings, first step, greedy tours and mean costs
//! of the paper's test sets.

use crate::support::{config, length, weights};
use burn::tensor::{Device, Tensor};
use regard::routes::model::{AttentionModel, Constructed};
use regard::routing::Problem;
use regard::routing::problems::tsp::TspEnv;
use regard_nn::ops::with_kernels;
use regard_testing::{Case, Checks, Golden, Values};

/// Greedy tours over `points [batch, nodes, 2]`.
fn greedy(model: &AttentionModel, points: Tensor<3>) -> Constructed {
    let [batch, nodes, _] = points.dims();
    let start = TspEnv::new(vec![[0.0; 2]; nodes]).start();
    model.construct_greedily::<TspEnv>(points, vec![start; batch])
}

/// Tours may differ where the best two nodes are closer than this in log-probability.
const CLOSE_CALL: f64 = 1e-3;
/// Largest difference of mean costs.
const MEAN_COST: f64 = 1e-3;
/// Instances decoded at once.
const BATCH: usize = 250;

#[test]
fn golden_published_networks_with_kernels() {
    with_kernels(true, || check_all("kernels"));
}

#[test]
fn golden_published_networks_composed() {
    with_kernels(false, || check_all("composed"));
}

fn check_all(label: &str) {
    let Some(golden) = Golden::open_shared() else { return };
    let cases = golden.names("kool/");
    let cases = cases.iter().filter(|name| name.ends_with(".greedy"));
    let cases = cases.filter_map(|name| golden.case(name));
    let mut checked = 0;
    for case in cases.filter(|case| case.config["problem"] == "tsp") {
        checked += 1;
        let model = model(&golden, &case);
        check_first_instances(&case, &model, label);
        check_mean(&golden, &case, &model);
    }
    assert!(checked > 0, "no networks for the TSP");
}

#[test]
fn golden_beam_search_with_kernels() {
    with_kernels(true, || check_beams("kernels"));
}

#[test]
fn golden_beam_search_composed() {
    with_kernels(false, || check_beams("composed"));
}

fn check_beams(label: &str) {
    let Some(golden) = Golden::open_shared() else { return };
    let names = golden.names("kool/");
    let cases = names.iter().filter(|name| name.contains(".beam")).filter_map(|name| golden.case(name));
    for case in cases.filter(|case| case.config["problem"] == "tsp") {
        check_beam(&golden, &case, label);
    }
}

/// Every entry of every beam: its score, and its tour where no other entry is as probable.
fn check_beam(golden: &Golden, case: &Case, label: &str) {
    let from = case.config["instances_from"].as_str().expect("where the instances are");
    let from = golden.case_with_file(from).expect("the case with the instances");
    let points = from.get("input.loc").first(case.size("instances"));
    let model = model(golden, case);
    let nodes = points.shape[1];
    let starts = vec![TspEnv::new(vec![[0.0; 2]; nodes]).start(); points.shape[0]];
    let embeddings = model.encode(points.tensor(&Device::flex()));
    let beams = model.rollout().beam(embeddings, starts, case.size("beam_size"));

    let mut checks = Checks::new(case, label);
    let tolerance = from.entry["tolerance"]["log_likelihood_abs"].as_f64().expect("a tolerance");
    let (scores, sequences) = (case.get("output.score"), case.get("output.sequences").index_rows());
    let owners = &case.get("output.ids").data;
    for (item, beam) in beams.iter().enumerate() {
        let mut expected: Vec<usize> = (0..owners.len()).filter(|&row| owners[row] == item as f64).collect();
        expected.sort_by(|&a, &b| scores.data[b].total_cmp(&scores.data[a]));
        checks.holds(&format!("entries of beam {item}"), beam.len() == expected.len());
        for (entry, &row) in beam.iter().zip(&expected) {
            let score = scores.data[row];
            let near = (f64::from(entry.log_probability) - score).abs() <= tolerance;
            checks.holds(&format!("score of beam {item}: {} and {score}", entry.log_probability), near);
            let alone =
                expected.iter().filter(|&&other| (scores.data[other] - score).abs() < 2.0 * tolerance).count() == 1;
            let same = TspEnv::solution(&entry.state) == sequences[row];
            checks.holds(&format!("tour of beam {item}"), same || !alone);
        }
    }
    checks.finish();
}

fn model(golden: &Golden, case: &Case) -> AttentionModel {
    let path = case.config["weights"].as_str().expect("a weights file");
    let stored = golden.case_with_file(path).expect("a case with the weights");
    let device = Device::flex();
    AttentionModel::from_weights(&config(&stored), &weights(&stored), &device).unwrap()
}

fn check_first_instances(case: &Case, model: &AttentionModel, label: &str) {
    let device = Device::flex();
    let mut checks = Checks::new(case, label);
    let tolerance = &case.entry["tolerance"];
    let tolerance = |key: &str| tolerance[key].as_f64().expect("a tolerance");
    let points = case.get("input.loc");

    let embeddings = model.encode(points.tensor(&device));
    let first = embeddings.clone().narrow(0, 0, case.get("output.embeddings_first2").shape[0]);
    let name = "output.embeddings_first2";
    checks.within(name, &first.dims(), &values(&first), |_| tolerance("embeddings_abs"));

    let expected = case.get("output.tours").index_rows();
    let log_p = model.log_probabilities(embeddings, &expected).unwrap();
    let [batch, _, nodes] = log_p.dims();
    let step = log_p.narrow(1, 0, 1);
    let close = |_: usize| tolerance("log_likelihood_abs");
    checks.within("output.log_p_step0", &[batch, nodes], &values(&step), close);

    let built = greedy(model, points.tensor(&device));
    let gaps = &case.get("output.min_logp_gap").data;
    for (item, tour) in built.tours.iter().enumerate() {
        let same = *tour == expected[item];
        checks.holds(&format!("tour {item}"), same || gaps[item] < CLOSE_CALL);
        let (cost, golden) = (length(points, item, tour), case.get("output.cost").data[item]);
        checks.holds(&format!("cost {item}"), !same || (cost - golden).abs() <= 1e-5 * golden);
        let found = f64::from(built.log_likelihood[item]);
        let golden = case.get("output.log_likelihood").data[item];
        let good = (found - golden).abs() <= tolerance("log_likelihood_abs");
        checks.holds(&format!("log-likelihood {item}: {found}, expected {golden}"), !same || good);
    }
    checks.finish();
}

fn check_mean(golden: &Golden, case: &Case, model: &AttentionModel) {
    let set = case.config["testset"].as_str().expect("a test set");
    let set = golden.case(&format!("kool/{set}")).expect("the test set");
    let points = set.get("input.loc").first(case.size("mean_over"));
    let built = construct_all(model, &points);
    let costs = built.iter().enumerate().map(|(item, tour)| length(&points, item, tour));
    let mean = costs.sum::<f64>() / points.shape[0] as f64;
    let expected = case.get("output.mean_cost").scalar();
    assert!((mean - expected).abs() < MEAN_COST, "{}: mean {mean}, expected {expected}", case.name);
}

fn construct_all(model: &AttentionModel, points: &Values) -> Vec<Vec<usize>> {
    let all: Tensor<3> = points.tensor(&Device::flex());
    let parts = all.split(BATCH, 0).into_iter();
    parts
        .flat_map(|part| {
            let Constructed { tours, .. } = greedy(model, part);
            tours
        })
        .collect()
}

fn values(tensor: &Tensor<3>) -> Vec<f64> {
    tensor.to_data().iter::<f64>().collect()
}

//! Likelihoods, one step of EM and assignments against those of the original network's predictions.

use regard_data::sets::mixture::{Em, LogWeights, Mixture};
use regard_testing::{Case, Golden};

fn floats(case: &Case, tensor: &str) -> Vec<f64> {
    case.bytes::<4>(tensor).into_iter().map(|b| f32::from_le_bytes(b).into()).collect()
}

fn scalar(case: &Case, tensor: &str) -> f64 {
    f64::from_le_bytes(case.bytes::<8>(tensor)[0])
}

/// All values within the tolerance that the manifest gives for the tensor.
fn near(case: &Case, tensor: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{} {tensor}", case.name);
    let tolerance = case.tolerance(tensor);
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance, "{} {tensor} {at}: {found} {expected}", case.name);
    }
}

#[test]
fn golden_em_step_of_predicted_mixtures() {
    let mut seen = 0;
    for case in
        Golden::open().cases("set_transformer/net").into_iter().filter(|c| c.tensor_names().contains(&"output.em1_ll"))
    {
        let (sets, n, k) = (case.size("B"), case.size("n"), case.size("K"));
        let points = floats(&case, "input.X");
        let set = |at: usize| &points[at * 2 * n..(at + 1) * 2 * n];
        let (weights, means, deviations) =
            (floats(&case, "output.pi"), floats(&case, "output.mu"), floats(&case, "output.sigma"));
        let predicted: Vec<Mixture> = (0..sets)
            .map(|at| {
                let (few, many) = (at * k..(at + 1) * k, 2 * at * k..2 * (at + 1) * k);
                Mixture::isotropic(weights[few.clone()].to_vec(), means[many].to_vec(), &deviations[few]).unwrap()
            })
            .collect();
        let em = Em { log_weights: LogWeights::Repository, ..Em::default() };
        let next: Vec<Mixture> = (0..sets).map(|at| em.step(&predicted[at], set(at))).collect();
        let mean = |mixtures: &[Mixture]| {
            let of = |at: usize| mixtures[at].mean_log_likelihood(set(at), LogWeights::Repository);
            (0..sets).map(of).sum::<f64>() / sets as f64
        };
        near(&case, "output.ll", &[mean(&predicted)], &[scalar(&case, "output.ll")]);
        near(&case, "output.em1_ll", &[mean(&next)], &[scalar(&case, "output.em1_ll")]);
        for (tensor, values) in [
            ("output.em1_pi", Mixture::weights as fn(&Mixture) -> &[f64]),
            ("output.em1_mu", Mixture::means),
            ("output.em1_sigma", Mixture::deviations),
        ] {
            let found: Vec<f64> = next.iter().flat_map(values).copied().collect();
            near(&case, tensor, &found, &floats(&case, tensor));
        }
        let labels: Vec<i64> =
            (0..sets).flat_map(|at| predicted[at].assign(set(at), LogWeights::Repository)).map(|k| k as i64).collect();
        let expected: Vec<i64> = case.bytes::<8>("output.labels").into_iter().map(i64::from_le_bytes).collect();
        assert_eq!(labels, expected, "{}", case.name);
        let (weights, means, deviations) =
            (floats(&case, "input.true_pi"), floats(&case, "input.true_mu"), floats(&case, "input.true_sigma"));
        let truth: Vec<Mixture> = (0..sets)
            .map(|at| {
                let many = 2 * at * k..2 * (at + 1) * k;
                Mixture::new(
                    weights[at * k..(at + 1) * k].to_vec(),
                    means[many.clone()].to_vec(),
                    deviations[many].to_vec(),
                )
                .unwrap()
            })
            .collect();
        near(&case, "output.oracle_ll", &[mean(&truth)], &[scalar(&case, "output.oracle_ll")]);
        seen += 1;
    }
    assert!(seen >= 2, "only {seen} cases");
}

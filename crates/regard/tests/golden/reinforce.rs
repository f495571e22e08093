//! Baselines and the t-test against the code of Kool et al. 2019.

use regard::data::stats::paired_t_test;
use regard::routes::train::baseline::{Exponential, WarmUp};
use regard_testing::{Case, Golden};

#[test]
fn golden_paired_t_tests() {
    let case = Golden::open().case("reinforce/ttest").expect("the case");
    let alpha = case.number("bl_alpha");
    let tolerance = relative(&case);
    let mut rows = 0;
    while let Some(candidate) = case.find(&format!("input.candidate{rows}")) {
        let baseline = case.get(&format!("input.baseline{rows}"));
        let expected = &case.get(&format!("output.result{rows}")).data;
        let test = paired_t_test(&candidate.data, &baseline.data).expect("differences that differ");
        let p = test.p_two_sided / 2.0;
        let updated = test.mean_difference < 0.0 && p < alpha;
        let found = [test.mean_difference, test.t, test.p_two_sided, p, test.degrees, f64::from(u8::from(updated))];
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() <= tolerance * expected.abs().max(1e-12),
                "row {rows}: {found} {expected}"
            );
        }
        rows += 1;
    }
    assert!(rows > 0, "rows of the case");
}

#[test]
fn golden_exponential_and_warm_up_baselines() {
    let case = Golden::open().case("reinforce/baselines").expect("the case");
    let costs = case.get("input.costs");
    let batches: Vec<&[f64]> = costs.data.chunks_exact(costs.shape[1]).collect();
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");

    let mut exponential = Exponential::new(case.number("beta"), None);
    for (batch, expected) in batches.iter().zip(&case.get("output.exponential").data) {
        close(exponential.update(batch), *expected);
    }

    let values = case.get("output.warmup_value");
    let (alphas, warm_up) = (&case.get("output.warmup_alpha").data, WarmUp::new(case.number("n_epochs") as u64));
    let proper = *values.data.last().expect("the proper baseline's constant");
    let mut exponential = Exponential::new(case.number("beta"), None);
    for (epoch, (alpha, expected)) in alphas.iter().zip(values.data.chunks_exact(values.shape[1])).enumerate() {
        close(warm_up.alpha(epoch as u64), *alpha);
        let mixed = if *alpha < 1.0 { (1.0 - alpha) * exponential.update(batches[epoch]) } else { 0.0 };
        close(mixed + alpha * proper, expected[0]);
    }
}

fn relative(case: &Case) -> f64 {
    case.entry["tolerance"]["rel"].as_f64().unwrap_or(1e-6)
}

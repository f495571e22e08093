//! Maps that are fitted, and what networks add to them.

use std::fs;

use regard::Device;
use regard::series::predict::SeriesModel;
use regard::series::{PatchTst, SeriesExperiment};

use crate::{experiment, hours, run};

#[test]
fn a_fitted_shortcut_forecasts_before_anything_is_learnt_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 600, 0);
    let more = [
        "data.columns=[\"sun\",\"shade\"]",
        "model.linear_skip=fitted",
        "train.ridge_penalty=0.001",
        "train.ema_decay=0",
    ];
    let shortcut = |steps: u64, more: &[&str]| {
        let experiment = experiment(&path, more);
        let out = folder.path().join(format!("run{steps}"));
        run(&experiment, &out, false, Some(steps)).unwrap();
        let model = SeriesModel::open(&out, &Device::flex()).unwrap();
        let found = model.measure_test().unwrap();
        let weights = PatchTst::to_weights(&model.network, &model.config);
        let (_, array) = weights.into_iter().find(|(name, _)| name.contains("shortcut.weight")).unwrap();
        (found.errs.mse / found.naive.mse, array.data)
    };
    // Waves are sums of what was seen; a value of the first is missing now and then.
    let (error, first) = shortcut(1, &[&more[..], &["train.learning_rate=1e-9"]].concat());
    assert!(error < 0.1, "{error}");
    let (_, later) = shortcut(40, &more);
    assert!(first == later, "the map has moved");
    let sets = ["model.linear_skip=fitted", "model.decomposition_kernel=5"].map(str::to_owned);
    let refused = SeriesExperiment::load("series/etth1", &sets).unwrap_err().to_string();
    assert!(refused.contains("model.linear_skip") && refused.contains("decomposition"), "{refused}");
}

#[test]
fn what_validation_does_not_support_is_not_added_to_a_fitted_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = hours(folder.path(), 600, 0);
    // So fast that what is learnt is noise.
    let more = ["data.columns=[\"sold\"]", "model.linear_skip=fitted", "train.ema_decay=0", "train.learning_rate=0.1"];
    let error = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        run(&experiment(&path, more), &out, false, None).unwrap();
        let shares: Vec<f64> = fs::read_to_string(out.join("metrics.jsonl"))
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["share"].as_f64())
            .collect();
        (SeriesModel::open(&out, &Device::flex()).unwrap().measure_test().unwrap().errs.mse, shares)
    };
    let (map, none) = error("map", &[&more[..], &["train.learning_rate=1e-12"]].concat());
    let (whole, _) = error("whole", &more);
    let (shrunk, shares) = error("shrunk", &[&more[..], &["train.shrink=true"]].concat());
    assert!(
        none.is_empty() && shares.len() == 4 && shares.iter().all(|share| (0.0..=1.0).contains(share)),
        "{shares:?}"
    );
    assert!((shrunk - map).abs() <= (whole - map).abs(), "map {map}, whole {whole}, shrunk {shrunk}");
    assert!(shares.iter().any(|&share| share < 0.9), "{shares:?}");
    let sets = ["train.shrink=true", "train.select=\"last\""].map(str::to_owned);
    let refused = SeriesExperiment::load("series/etth1", &sets).unwrap_err().to_string();
    assert!(refused.contains("train.shrink"), "{refused}");
}

//! Rankings measured on another file, beside a linear baseline.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard::Device;
use regard::sets::SetExperiment;
use regard::sets::cross_validation::{HeldOut, cross_validate};
use regard::sets::source::read_bags;
use regard::sets::task::TaskKind;
use regard::supervised::CrossValidationOptions;
use regard::supervised::base::Only;

/// Options of a cross-validation of the network alone.
fn repeats(repeats: usize) -> CrossValidationOptions {
    CrossValidationOptions { repeats, only: Some(Only::Network) }
}

/// Lists whose better rows have a larger first feature, columns in this order.
fn lists(folder: &Path, name: &str, seed: u64, columns: [&str; 2]) -> PathBuf {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut text = format!("list,{},{},grade\n", columns[0], columns[1]);
    for list in 0..40 {
        for _ in 0..6 {
            let (good, noise) = (random.random_range(0.0..4.0f64), random.random_range(-1.0..1.0f64));
            let of = |column: &str| if column == "good" { good } else { noise };
            writeln!(text, "l{list},{},{},{}", of(columns[0]), of(columns[1]), good.floor()).unwrap();
        }
    }
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_ranking_is_measured_on_another_file_beside_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = lists(folder.path(), "train.csv", 1, ["good", "noise"]);
    // Columns are found by their names.
    let other = lists(folder.path(), "test.csv", 2, ["noise", "good"]);
    let sets = [
        format!("data.path={}", path.display()),
        format!("data.test={}", other.display()),
        "data.group_by=list".into(),
        "data.item_target=grade".into(),
        "train.epochs=2".into(),
    ];
    let experiment = SetExperiment::load("sets/ranking", &sets).unwrap();
    let read = |path: &Path| read_bags(path, &experiment.data, TaskKind::Ranking, true).unwrap();
    let (bags, test) = (read(&path), read(&other));
    let found =
        cross_validate(&experiment, &bags, HeldOut::Sets(&test), repeats(2), &Device::flex(), &|| true).unwrap();
    let of = |name: &str| found.mean.get(name).unwrap();
    assert!(of("linear_ndcg5") > 0.97, "{found:?}");
    assert!(of("ndcg5") > 0.9 && found.repeats.len() == 2, "{found:?}");
    // A line has no seed.
    assert_eq!(found.deviation.get("linear_ndcg5"), Some(0.0));
    let folds = cross_validate(&experiment, &bags, HeldOut::Folds(4), repeats(1), &Device::flex(), &|| true).unwrap();
    assert!(folds.mean.get("linear_ndcg5").unwrap() > 0.97, "{folds:?}");
}

#[test]
fn other_features_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = lists(folder.path(), "train.csv", 1, ["good", "noise"]);
    let other = lists(folder.path(), "test.csv", 2, ["good", "bad"]);
    let sets = [format!("data.path={}", path.display()), "data.group_by=list".into(), "data.item_target=grade".into()];
    let experiment = SetExperiment::load("sets/ranking", &sets).unwrap();
    let read = |path: &Path| read_bags(path, &experiment.data, TaskKind::Ranking, true).unwrap();
    let (bags, test) = (read(&path), read(&other));
    let error =
        cross_validate(&experiment, &bags, HeldOut::Sets(&test), repeats(1), &Device::flex(), &|| true).unwrap_err();
    assert!(error.to_string().contains("noise"), "{error}");
}

//! Networks on graphs are measured on what they have not seen.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regard::data::graphs::formats::tu::Fold;
use regard::graphs::cross_validation::{CrossValidation, HeldOut};
use regard::graphs::{GraphExperiment, GraphLearner};
use regard::supervised::base::Only;
use regard::supervised::{CrossValidationMetrics, CrossValidationOptions};
use regard::{Device, Error};

/// Options of a cross-validation of the network alone.
fn repeats(repeats: usize) -> CrossValidationOptions {
    CrossValidationOptions { repeats, only: Some(Only::Network) }
}

/// Chains of `2..7` carbons; what is asked is how long they are, and whether there is an oxygen.
fn molecules(folder: &Path, count: usize, last: f64) -> PathBuf {
    let mut text = "smiles,length,oxygen,part\n".to_owned();
    for at in 0..count {
        let (length, oxygen) = (2 + at % 5, at % 3 == 0);
        let smiles = format!("{}{}", "C".repeat(length - 1), if oxygen { "O" } else { "C" });
        let asked = if at + 1 == count { last } else { length as f64 };
        let part = if at + 4 > count { "test" } else { "train" };
        writeln!(text, "{smiles},{asked},{},{part}", if oxygen { "yes" } else { "no" }).unwrap();
    }
    let path = folder.join("molecules.csv");
    fs::write(&path, text).unwrap();
    path
}

fn experiment(path: &Path, more: &[&str]) -> GraphExperiment {
    let path = format!("data.path={}", path.display());
    let small = ["model.width=16", "model.heads=2", "model.layers=2", "train.batch_size=8", "train.epochs=3"];
    let sets: Vec<String> =
        small.iter().copied().chain([path.as_str()]).chain(more.iter().copied()).map(str::to_owned).collect();
    GraphExperiment::load("graphs/molecules", &sets).unwrap()
}

fn validated(experiment: &GraphExperiment, held_out: &HeldOut, repeats: usize) -> CrossValidationMetrics {
    let validation = CrossValidation::new(experiment).unwrap();
    validation.run(held_out, self::repeats(repeats), &Device::flex(), &|| true).unwrap()
}

fn number(found: &CrossValidationMetrics, name: &str) -> f64 {
    found.mean.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", found.mean))
}

#[test]
fn every_graph_is_held_out_once_and_a_seed_gives_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let length = experiment(&molecules(folder.path(), 30, 6.0), &["data.target=length"]);
    let found = validated(&length, &HeldOut::Folds(3), 2);
    assert_eq!((found.repeats.len(), found.folds.len(), found.seeds.len()), (2, 6, 2));
    let (first, rest) = (&found.repeats[0], &found.folds[..3]);
    let of_folds: f64 = rest.iter().map(|fold| fold.get("mae").unwrap() / 3.0).sum();
    assert!((first.get("mae").unwrap() - of_folds).abs() < 1e-9, "folds of ten graphs each");
    assert!(found.constant.is_none() && found.mean.get("mae_paper").is_none());
    assert_ne!(found.repeats[0], found.repeats[1]);
    assert_eq!(found, validated(&length, &HeldOut::Folds(3), 2));
}

#[test]
fn nothing_is_learnt_of_what_is_held_out() {
    let folder = tempfile::tempdir().unwrap();
    let lists = HeldOut::Lists(vec![Fold { training: (0..29).collect(), test: vec![29] }]);
    let error = |last: f64| {
        let path = molecules(folder.path(), 30, last);
        number(&validated(&experiment(&path, &["data.target=length"]), &lists, 1), "mae")
    };
    let (near, far) = (error(1000.0), error(3000.0));
    assert!((far - near - 2000.0).abs() < 1e-3, "the prediction moved with the answer it had to give: {near} {far}");
}

#[test]
fn what_is_asked_follows_from_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 30, 6.0);
    let classes = validated(&experiment(&path, &["data.target=oxygen"]), &HeldOut::Folds(3), 1);
    assert!((0.0..=1.0).contains(&number(&classes, "accuracy")) && classes.mean.get("auc").is_some());
    assert_eq!(classes.constant, Some(20.0 / 30.0));
    let several = experiment(&path, &["data.targets=[\"length\", \"oxygen\"]"]);
    assert!(
        CrossValidation::new(&several).unwrap().run(&HeldOut::Folds(3), repeats(1), &Device::flex(), &|| true).is_err()
    );
}

#[test]
fn a_split_of_the_data_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 30, 6.0);
    let split = experiment(&path, &["data.target=length", "data.split=part"]);
    let validation = CrossValidation::new(&split).unwrap();
    assert!(validation.has_split() && validation.graphs() == 30);
    let found = validated(&split, &HeldOut::Split, 2);
    assert_eq!(found.folds, found.repeats);
    let lists = HeldOut::Lists(vec![Fold { training: (0..27).collect(), test: vec![27, 28, 29] }]);
    assert_eq!(found.repeats, validated(&split, &lists, 2).repeats);
}

#[test]
fn nodes_of_a_single_graph_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let nodes: String = (0..40).map(|node| format!("{node},{},{}\n", node % 2, ["a", "b"][node % 2])).collect();
    let edges: String = (0..40).map(|node| format!("{node},{}\n", (node + 2) % 40)).collect();
    let path = folder.path().join("nodes.csv");
    fs::write(&path, format!("id,x,kind\n{nodes}")).unwrap();
    fs::write(folder.path().join("edges.csv"), format!("source,target\n{edges}")).unwrap();
    let more = [
        "data.smiles=\"\"",
        "data.id=id",
        "data.target=kind",
        "task.level=node",
        "train.epochs=40",
        "train.learning_rate=0.02",
    ];
    let found = validated(&experiment(&path, &more), &HeldOut::Folds(4), 1);
    assert!(number(&found, "accuracy") > 0.9, "{:?}", found.mean);
    assert_eq!((found.folds.len(), found.constant), (4, Some(0.5)));
}

#[test]
fn base_learners_of_nodes_are_weighed_by_whole_graphs() {
    let folder = tempfile::tempdir().unwrap();
    // The class is that of the graph, and a column tells the graph: of other graphs nothing is known.
    let (mut nodes, mut edges) = ("id,graph,x,kind\n".to_owned(), "graph,source,target\n".to_owned());
    for (graph, node) in (0..24).flat_map(|graph| (0..12).map(move |node| (graph, node))) {
        let kind = ["a", "b"][(graph * graph * 7 + graph / 3) % 2];
        writeln!(nodes, "{node},{graph},{},{kind}", graph * 5 % 24).unwrap();
        writeln!(edges, "{graph},{node},{}", (node + 1) % 12).unwrap();
    }
    let path = folder.path().join("nodes.csv");
    fs::write(&path, nodes).unwrap();
    fs::write(folder.path().join("edges.csv"), edges).unwrap();
    let more = ["data.smiles=\"\"", "data.id=id", "data.target=kind", "task.level=node"];
    let validation = CrossValidation::new(&experiment(&path, &more)).unwrap();
    let options = CrossValidationOptions { repeats: 1, only: Some(Only::Base) };
    let found = validation.run(&HeldOut::Folds(4), options, &Device::flex(), &|| true).unwrap();
    assert!(number(&found, "log_loss") < 0.8, "{:?}", found.mean);
}

#[test]
fn the_most_frequent_class_is_that_of_the_held_out_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 30, 6.0);
    let validation = CrossValidation::new(&experiment(&path, &["data.target=oxygen"])).unwrap();
    let options = CrossValidationOptions { repeats: 1, only: Some(Only::Base) };
    // An oxygen is in every third.
    let lists = HeldOut::Lists(vec![Fold { training: (7..30).collect(), test: vec![0, 1, 3, 6] }]);
    let found = validation.run(&lists, options, &Device::flex(), &|| true).unwrap();
    assert_eq!(found.constant, Some(0.75));
}

#[test]
fn what_cannot_be_cut_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 5, 6.0);
    let asked = CrossValidation::new(&experiment(&path, &["data.target=length", "data.test_fraction=0"])).unwrap();
    let refused = |held_out: &HeldOut| asked.run(held_out, repeats(1), &Device::flex(), &|| true).unwrap_err();
    assert!(refused(&HeldOut::Folds(9)).to_string().contains("9 folds"));
    assert!(matches!(refused(&HeldOut::Split), Error::Config { key, .. } if key == "data.test_fraction"));
    let lists = HeldOut::Lists(vec![Fold { training: vec![], test: vec![0] }]);
    assert!(refused(&lists).to_string().contains("no training graph"));
}

#[test]
fn a_target_with_one_class_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alike.csv");
    fs::write(&path, format!("smiles,kind\n{}", "C,yes\nCC,yes\nCO,\n".repeat(5))).unwrap();
    let alike = experiment(&path, &["data.target=kind"]);
    let expected = "`kind` has one class, `yes`; expected at least 2";
    let trained = GraphLearner::new(&alike, &Device::flex()).err().unwrap().to_string();
    assert!(trained.contains("alike.csv") && trained.contains(expected), "{trained}");
    let folds = CrossValidation::new(&alike).unwrap();
    for only in [None, Some(Only::Network), Some(Only::Base)] {
        let options = CrossValidationOptions { repeats: 1, only };
        let error = folds.run(&HeldOut::Folds(3), options, &Device::flex(), &|| true).unwrap_err().to_string();
        assert!(error.contains("alike.csv") && error.contains(expected), "{error}");
    }
}

//! Training: it learns, and a run that was interrupted goes on bit for bit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use regard::routes::RouteExperiment;
use regard::routes::decode::DecodeOptions;
use regard::routes::model::AttentionModel;
use regard::routes::train::{Learner, Trained, Training, train};
use regard::routing::Problem;
use regard::routing::generate::GeneratorConfig;
use regard::routing::problems::tsp::TspEnv;
use regard::store::Manifest;
use regard::train::{Ended, Event, Limits};
use regard::{Device, Error};

/// A network and batches that take no time, with an epoch of ten steps.
fn experiment(sets: &[&str]) -> RouteExperiment {
    let small = [
        "data.nodes=7",
        "model.width=16",
        "model.heads=2",
        "model.layers=1",
        "model.feedforward_width=16",
        "train.batch_size=16",
        "train.epoch_size=160",
        "train.epochs=3",
        "train.baseline_instances=40",
        "train.log_steps=4",
        "eval.instances=50",
    ];
    let sets: Vec<String> = small.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    RouteExperiment::parse("", Path::new("test.toml"), &sets).unwrap()
}

fn run(experiment: &RouteExperiment, out: &Path, resume: bool, steps: Option<u64>) -> regard::Result<Trained> {
    let limits = Limits { steps, ..Limits::default() };
    let training =
        Training { experiment: experiment.clone(), out: out.to_owned(), resume, limits, command: "test".into() };
    train(&training, &Device::flex(), &mut |_: &Event| {})
}

fn bytes(out: &Path) -> [Vec<u8>; 2] {
    ["model.safetensors", "metrics.jsonl"].map(|name| fs::read(out.join(name)).unwrap())
}

const BASELINES: [&[&str]; 11] = [
    &["train.preset=kool-2019"],
    &["train.preset=kool-2019", "train.baseline_warmup_epochs=2", "train.learning_rate_decay=0.9"],
    &["train.baseline=critic", "train.ema_decay=0"],
    &["train.baseline=exponential", "model.norm=batch", "train.warmup_epochs=15"],
    &["train.baseline=shared", "train.num_starts=3", "train.first_node=given", "data.nodes=[5, 9]"],
    &["train.baseline=shared", "train.num_starts=4", "train.first_node=sampled"],
    &["train.baseline=none", "train.max_grad_norm=0"],
    &["train.loss=preference", "train.num_starts=4"],
    &["train.improved_tours=2", "train.improved_weight=3", "data.nodes=14"],
    &["task.problem=cvrp", "train.preset=regard-cvrp", "train.loss=preference", "train.improved_tours=1"],
    &["train.optimizer=muon", "train.baseline=critic"],
];

#[test]
fn an_interrupted_run_goes_on_bit_for_bit() {
    for (index, sets) in BASELINES.iter().enumerate() {
        let (experiment, folder) = (experiment(sets), tempfile::tempdir().unwrap());
        let (straight, broken) = (folder.path().join("straight"), folder.path().join("broken"));
        let whole = run(&experiment, &straight, false, None).unwrap();
        assert_eq!((whole.steps, whole.ended), (30, Ended::Complete), "{sets:?}");
        // Broken off within an epoch, within a line of metrics, and after the first epoch.
        for steps in [3, 17] {
            let part = run(&experiment, &broken, steps > 3, Some(steps)).unwrap();
            assert_eq!((part.steps, part.ended), (steps, Ended::Steps), "{sets:?}");
        }
        let rest = run(&experiment, &broken, true, None).unwrap();
        assert_eq!((rest.steps, rest.validation_cost), (30, whole.validation_cost), "{sets:?}");
        assert_eq!(bytes(&straight), bytes(&broken), "case {index}: {sets:?}");
    }
}

#[test]
fn what_was_written_after_the_last_checkpoint_is_written_again() {
    let (experiment, folder) = (experiment(&[]), tempfile::tempdir().unwrap());
    let (straight, broken) = (folder.path().join("straight"), folder.path().join("broken"));
    run(&experiment, &straight, false, Some(25)).unwrap();
    run(&experiment, &broken, false, Some(12)).unwrap();
    // As a process leaves it that is killed in the middle of a line, and of a checkpoint.
    let metrics = fs::read_to_string(broken.join("metrics.jsonl")).unwrap();
    fs::write(broken.join("metrics.jsonl"), metrics + "{\"kind\":\"step\",\"st").unwrap();
    fs::create_dir(broken.join("resume/step-000000000099.partial")).unwrap();
    run(&experiment, &broken, true, Some(25)).unwrap();
    assert_eq!(bytes(&straight), bytes(&broken));
}

#[test]
fn bits_do_not_depend_on_threads() {
    for sets in [&[][..], &["train.improved_tours=2", "data.nodes=14"], &["train.optimizer=muon", "model.width=128"]] {
        let folder = tempfile::tempdir().unwrap();
        let on = |threads: usize| {
            let out = folder.path().join(threads.to_string());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(&experiment(sets), &out, false, Some(12))).unwrap();
            bytes(&out)
        };
        let one = on(1);
        assert!(one == on(2) && one == on(3), "{sets:?}");
    }
}

#[test]
fn tours_are_improved_only_where_that_is_possible() {
    let refused = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        RouteExperiment::parse("", Path::new("test.toml"), &sets).unwrap_err().to_string()
    };
    let error = refused(&["task.problem=spctsp", "train.preset=regard-cvrp", "train.improved_tours=1"]);
    assert!(error.contains("there is no local search for `spctsp`; expected 0"), "{error}");
    let error = refused(&["train.preset=kool-2019", "train.improved_tours=1"]);
    assert!(error.contains("with the baseline `rollout`; expected 0, or the baseline `shared`"), "{error}");
    let error = refused(&["data.nodes=20", "train.num_starts=4", "train.improved_tours=5"]);
    assert!(error.contains("expected at most 4"), "{error}");
    let error = refused(&["train.improved_tours=1", "train.improved_weight=0"]);
    assert!(error.contains("train.improved_weight"), "{error}");
}

#[test]
fn policies_get_better() {
    let ways = [
        ["train.baseline=shared", "train.num_starts=0"],
        ["train.baseline=exponential", "train.num_starts=1"],
        ["train.loss=preference", "train.num_starts=0"],
        ["train.improved_tours=1", "train.num_starts=0"],
        ["train.optimizer=muon", "train.num_starts=0"],
    ];
    for sets in ways {
        let experiment = experiment(&[&sets[..], &["train.batch_size=64", "train.learning_rate=2e-3"]].concat());
        let mut learner = Learner::<TspEnv>::new(&experiment, &Device::flex()).unwrap();
        let costs: Vec<f64> = (0..150).map(|_| learner.step().unwrap().cost).collect();
        let mean = regard::data::stats::mean;
        let (first, last) = (mean(&costs[..10]), mean(&costs[140..]));
        assert!(last < 0.9 * first, "{sets:?}: {first} to {last}");
    }
}

#[test]
fn a_rate_that_breaks_the_network_ends_the_run_and_keeps_its_checkpoint() {
    let (calm, folder) = (experiment(&[]), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    run(&calm, &out, false, Some(5)).unwrap();
    let good = bytes(&out);
    // The same run, but with a rate that the checks of a resume would not let pass.
    let text = fs::read_to_string(out.join("experiment.toml")).unwrap();
    fs::write(out.join("experiment.toml"), text.replace("learning_rate = 0.0005", "learning_rate = 1e30")).unwrap();
    let wild = experiment(&["train.learning_rate=1e30"]);
    let error = run(&wild, &out, true, None).unwrap_err();
    assert!(format!("{error}").contains("step"), "{error}");
    assert_eq!(bytes(&out)[0], good[0], "the model of the last checkpoint");
}

#[test]
fn negative_costs_do_not_look_like_a_broken_network() {
    let (experiment, folder) =
        (experiment(&["task.problem=op", "train.preset=regard-cvrp"]), tempfile::tempdir().unwrap());
    let trained = run(&experiment, &folder.path().join("run"), false, None).unwrap();
    assert_eq!(trained.ended, Ended::Complete);
    assert!(trained.validation_cost < 0.0, "{}", trained.validation_cost);
}

#[test]
fn limits_end_a_run_cleanly() {
    let (experiment, folder) = (experiment(&[]), tempfile::tempdir().unwrap());
    let with = |limits: Limits, name: &str| {
        let out = folder.path().join(name);
        let training = Training { experiment: experiment.clone(), out, resume: false, limits, command: String::new() };
        train(&training, &Device::flex(), &mut |_: &Event| {}).unwrap().ended
    };
    assert_eq!(with(Limits { time: Some(Duration::ZERO), ..Limits::default() }, "time"), Ended::Time);
    let interrupt = Arc::new(AtomicBool::new(true));
    assert_eq!(with(Limits { interrupt, ..Limits::default() }, "interrupt"), Ended::Interrupted);
    assert!(folder.path().join("time/model.safetensors").is_file());
}

#[test]
fn a_folder_with_a_run_is_not_overwritten_nor_another_run_continued() {
    let (mine, folder) = (experiment(&[]), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let missing = run(&mine, &out, true, Some(1)).unwrap_err();
    assert!(matches!(missing, Error::Context { .. }), "{missing}");
    run(&mine, &out, false, Some(1)).unwrap();
    assert!(run(&mine, &out, false, Some(1)).unwrap_err().to_string().contains("already contains a run"));
    let other = run(&experiment(&["train.learning_rate=1e-3"]), &out, true, Some(2)).unwrap_err().to_string();
    assert!(other.contains("train.learning_rate") && other.contains("0.0005"), "{other}");
    run(&experiment(&["train.epochs=1"]), &out, true, None).unwrap();
}

#[test]
fn every_baseline_learns_with_a_matrix_that_the_encoder_sees() {
    let folder = tempfile::tempdir().unwrap();
    for baseline in ["shared", "rollout", "critic", "exponential"] {
        let starts = if baseline == "shared" { 0 } else { 1 };
        let sets = [format!("train.baseline={baseline}"), format!("train.num_starts={starts}")];
        let matrix = ["data.distribution=asymmetric", "model.distance_bias=true", "model.distances=true"];
        let sets: Vec<&str> = sets.iter().map(String::as_str).chain(matrix).collect();
        run(&experiment(&sets), &folder.path().join(baseline), false, Some(2)).unwrap();
    }
}

#[test]
fn a_run_goes_on_without_the_model_that_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second, straight, broken] =
        ["first", "second", "straight", "broken"].map(|name| folder.path().join(name));
    let from = |path: &Path| experiment(&[&format!("train.init_from={}", path.display()), "train.seed=5"]);
    run(&experiment(&[]), &first, false, Some(10)).unwrap();
    run(&from(&first), &second, false, Some(5)).unwrap();
    run(&from(&second), &straight, false, Some(9)).unwrap();
    run(&from(&second), &broken, false, Some(4)).unwrap();
    fs::remove_dir_all(&second).unwrap();
    run(&from(&second), &broken, true, Some(9)).unwrap();
    assert!(bytes(&broken) == bytes(&straight));
    for out in [&straight, &broken] {
        let manifest = Manifest::read(&out.join("manifest.json")).unwrap();
        let instances = manifest.trainings().iter().map(|training| training.instances).collect::<Vec<_>>();
        assert_eq!(instances, [Some(160), Some(80), Some(144)]);
        assert_eq!(manifest.threads, Some(rayon::current_num_threads()));
        let seconds = manifest.trainings().iter().map(|training| training.wall_seconds.unwrap()).sum();
        assert_eq!(manifest.wall_seconds_of_all(), Some(seconds));
        let card = fs::read_to_string(out.join("README.md")).unwrap();
        assert!(card.contains("Its weights began with those of earlier trainings"), "{card}");
    }
}

#[test]
fn a_run_may_begin_with_another_ones_weights() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    run(&experiment(&[]), &first, false, Some(9)).unwrap();
    let from = format!("train.init_from={}", first.display());
    let next = experiment(&[&from, "train.seed=5"]);
    let out = folder.path().join("next");
    run(&next, &out, false, Some(0)).unwrap();
    assert_eq!(bytes(&out)[0], bytes(&first)[0], "before the first step");
    run(&next, &out, true, Some(5)).unwrap();
    assert_ne!(bytes(&out)[0], bytes(&first)[0]);
    let error = run(&experiment(&[&from, "model.width=32"]), &folder.path().join("x"), false, None).unwrap_err();
    assert!(error.to_string().contains("train.init_from"), "{error}");
    let error = run(&experiment(&[&from, "task.problem=cvrp"]), &folder.path().join("x"), false, None).unwrap_err();
    assert!(error.to_string().contains("task.problem"), "{error}");
    // A network without distances is the beginning of one with them: it decides alike.
    let seeing = folder.path().join("seeing");
    run(&experiment(&[&from, "model.distances=true"]), &seeing, false, Some(0)).unwrap();
    let pairs = folder.path().join("pairs");
    run(&experiment(&[&from, "model.distance_bias=true"]), &pairs, false, Some(0)).unwrap();
    let tours_of = |folder: &PathBuf| {
        let (model, _) = AttentionModel::load(folder, &Device::flex()).unwrap();
        let drawn = TspEnv::draw(&GeneratorConfig::default(), 3, 20, 9);
        let found = model.decode(&drawn, &|_, _| 0.0, &DecodeOptions::default()).unwrap();
        found.iter().map(|found| found.tour.clone()).collect::<Vec<_>>()
    };
    let tours = [&first, &seeing, &pairs].map(tours_of);
    assert!(tours[0] == tours[1] && tours[0] == tours[2]);
    let weights = |folder: &Path| AttentionModel::load(folder, &Device::flex()).unwrap().0.to_weights();
    assert!(weights(&seeing)["project_node_step.weight"].data.iter().all(|weight| *weight == 0.0));
    let of_pairs = |folder: &Path| weights(folder)["embedder.layers.0.0.module.W_pair"].data.clone();
    assert!(of_pairs(&pairs).iter().all(|weight| *weight == 0.0));
    run(&experiment(&[&from, "model.distance_bias=true"]), &pairs, true, Some(3)).unwrap();
    assert!(of_pairs(&pairs).iter().all(|weight| *weight != 0.0));
    run(&experiment(&[&from, "model.distances=true"]), &seeing, true, Some(3)).unwrap();
    assert!(weights(&seeing)["project_node_step.weight"].data.iter().all(|weight| *weight != 0.0));
    let error =
        run(&experiment(&[&format!("train.init_from={}", seeing.display())]), &folder.path().join("x"), false, None);
    assert!(error.unwrap_err().to_string().contains("train.init_from"), "a network with distances is no other");
    // A network with fewer layers is a beginning too: further ones begin as identities, and learn.
    for norm in ["instance", "batch"] {
        let norm = format!("model.norm={norm}");
        let [shallow, deep, shallower] =
            ["shallow", "deep", "shallower"].map(|name| folder.path().join(format!("{name}-{norm}")));
        run(&experiment(&[&norm]), &shallow, false, Some(9)).unwrap();
        let from = format!("train.init_from={}", shallow.display());
        let deeper = experiment(&[&from, &norm, "model.layers=3"]);
        run(&deeper, &deep, false, Some(0)).unwrap();
        let found = [&shallow, &deep].map(tours_of);
        assert_eq!(found[0], found[1], "{norm}");
        let output = |folder: &Path| weights(folder)["embedder.layers.2.0.module.W_out"].data.clone();
        assert!(output(&deep).iter().all(|weight| *weight == 0.0));
        run(&deeper, &deep, true, Some(3)).unwrap();
        assert!(output(&deep).iter().all(|weight| *weight != 0.0));
        let from = format!("train.init_from={}", deep.display());
        let error = run(&experiment(&[&from, &norm]), &shallower, false, None).unwrap_err();
        assert!(error.to_string().contains("train.init_from"), "a network with more layers is no beginning: {error}");
    }
    // Prizes that show on arrival are seen as those that are known.
    let known = folder.path().join("known");
    run(&experiment(&["task.problem=pctsp"]), &known, false, Some(3)).unwrap();
    let shown = folder.path().join("shown");
    let from = format!("train.init_from={}", known.display());
    run(&experiment(&["task.problem=spctsp", &from]), &shown, false, Some(0)).unwrap();
    assert_eq!(bytes(&shown)[0], bytes(&known)[0], "before the first step");
}

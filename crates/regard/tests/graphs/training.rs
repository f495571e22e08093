//! Trainings learn, end, and go on bit for bit.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regard::Device;
use regard::data::graphs::formats::predictions::Predicted;
use regard::graphs::cross_validation::{CrossValidation, HeldOut};
use regard::graphs::experiment::GraphData;
use regard::graphs::predict::GraphModel;
use regard::graphs::source::Source;
use regard::store::{Array, safetensors};
use regard::supervised::base::Only;
use regard::supervised::{CrossValidationOptions, Training, train};
use regard::train::{Ended, Event, Limits, Measures};

use crate::{molecules, on_molecules, run};

#[test]
fn every_task_learns_and_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 60);
    for (at, more) in [
        &["data.targets=[\"length\"]", "train.loss=\"mae\"", "train.epochs=40", "train.learning_rate=0.01"][..],
        &["task.kind=\"labels\"", "data.targets=[\"oxygen\"]", "train.epochs=30", "train.learning_rate=0.01"],
        &["task.kind=\"classification\"", "data.targets=[\"oxygen\"]", "train.epochs=30", "train.learning_rate=0.01"],
        &[
            "task.kind=\"classification\"",
            "data.targets=[\"oxygen\"]",
            "train.epochs=30",
            "train.learning_rate=0.01",
            "train.augmented_views=2",
            "train.consistency=0.5",
        ],
    ]
    .into_iter()
    .enumerate()
    {
        let (experiment, out) = (on_molecules(&path, more), folder.path().join(at.to_string()));
        let trained = run(&experiment, &out, false, None).unwrap();
        assert!(trained.ended == Ended::Complete && trained.validation_cost < 0.35, "{more:?}: {trained:?}");
        let model = GraphModel::open(&out, &Device::flex()).unwrap();
        let checked = model.measure_test().unwrap();
        assert!(checked.measures.0.iter().all(|measure| measure.value().is_finite()), "{more:?}: {checked:?}");
        if at > 0 {
            assert!(checked.measures.get("accuracy").unwrap() > 0.8, "{checked:?}");
        }
    }
}

#[test]
fn an_interrupted_run_goes_on_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 50);
    for (at, more) in [
        &["data.targets=[\"length\"]", "model.attention_dropout=0.3", "model.dropout=0.2"][..],
        &["data.targets=[\"length\"]", "train.schedule=\"plateau\"", "train.ema_decay=0.9", "train.select=\"last\""],
        &[
            "data.targets=[\"length\"]",
            "model.positions=\"laplacian-safe\"",
            "model.position_size=3",
            "train.sign_flip=\"graph\"",
        ],
        &["data.targets=[\"oxygen\"]", "task.kind=\"data\"", "train.augmented_views=3", "train.consistency=1"],
    ]
    .into_iter()
    .enumerate()
    {
        let experiment = on_molecules(&path, more);
        let [straight, broken] = ["straight", "broken"].map(|name| folder.path().join(format!("{name}{at}")));
        run(&experiment, &straight, false, None).unwrap();
        for steps in [3, 9] {
            run(&experiment, &broken, steps > 3, Some(steps)).unwrap();
        }
        run(&experiment, &broken, true, None).unwrap();
        for file in ["model.safetensors", "metrics.jsonl"] {
            assert!(fs::read(straight.join(file)).unwrap() == fs::read(broken.join(file)).unwrap(), "{more:?}: {file}");
        }
    }
}

#[test]
fn examples_are_counted_with_the_smaller_last_batch_of_an_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 55);
    let held_out = ["data.validation_fraction=0.1", "data.test_fraction=0.1", "train.batch_size=16", "train.epochs=2"];
    let experiment = on_molecules(
        &path,
        &[&["data.targets=[\"length\"]", "train.log_steps=1", "train.min_steps=0"], &held_out[..]].concat(),
    );
    let trained = run(&experiment, &folder.path().join("run"), false, None).unwrap();
    let training = Source::of(&experiment).unwrap().0.training.graphs.len() as u64;
    assert!(!training.is_multiple_of(16) && trained.instances == 2 * training, "{training}: {trained:?}");
    let lines = fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let counts: Vec<u64> =
        lines.filter(|line| line["kind"] == "step").map(|line| line["instances"].as_u64().unwrap()).collect();
    assert_eq!(counts[..4], [16, 32, training, training + 16]);
}

#[test]
fn bits_do_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 40);
    let experiment = on_molecules(&path, &["data.targets=[\"length\"]"]);
    let on = |threads: usize| {
        let out = folder.path().join(format!("threads{threads}"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&experiment, &out, false, Some(6))).unwrap();
        fs::read(out.join("model.safetensors")).unwrap()
    };
    let one = on(1);
    assert!(one == on(2) && one == on(3));
}

#[test]
fn a_plateau_ends_a_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 40);
    let more = [
        "data.targets=[\"length\"]",
        "train.schedule=\"plateau\"",
        "train.plateau_patience=0",
        "train.min_learning_rate=0.009",
        "train.learning_rate=0.01",
        "train.epochs=500",
    ];
    let experiment = on_molecules(&path, &more);
    let trained = run(&experiment, &folder.path().join("run"), false, None).unwrap();
    assert!(trained.ended == Ended::Complete && trained.steps < 500 * 4, "{trained:?}");
}

#[test]
fn graphs_on_disk_train_the_same_network() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 60);
    // A molecule that cannot be read stands between the others.
    let text = fs::read_to_string(&path).unwrap().replacen("\nm7,", "\nbad,C1,2,0\nm7,", 1);
    fs::write(&path, text).unwrap();
    for target in ["length", "oxygen"] {
        let target = format!("data.targets=[\"{target}\"]");
        let trained = |on_disk: &str| {
            let on_disk = format!("data.on_disk={on_disk}");
            let more = [target.as_str(), &on_disk, "data.skip_bad=true", "train.shards=2", "model.dropout=0.2"];
            let out = folder.path().join(format!("{target}-{on_disk}"));
            let experiment = on_molecules(&path, &more);
            let trained = run(&experiment, &out, false, None).unwrap();
            (fs::read(out.join("model.safetensors")).unwrap(), trained.validation_cost)
        };
        assert!(trained("always") == trained("never"), "{target}");
    }
}

#[test]
fn weights_of_another_model_are_taken_over_by_the_names_of_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 40);
    let first = folder.path().join("first");
    run(&on_molecules(&path, &["data.targets=[\"length\"]"]), &first, false, None).unwrap();
    // Other atoms, before and between the known ones, and another task.
    let text = fs::read_to_string(&path).unwrap().replace("CC,", "CBrC,").replace("OC,", "OPC,");
    fs::write(&path, text).unwrap();
    let from = format!("train.init_from={}", first.display());
    // A step that is too small to change a number.
    let common = ["task.kind=\"classification\"", "data.targets=[\"oxygen\"]", "train.learning_rate=1e-30", &from];
    let second = folder.path().join("second");
    let training = Training {
        experiment: on_molecules(&path, &common),
        out: second.clone(),
        resume: false,
        limits: Limits { steps: Some(1), ..Limits::default() },
        command: "test".into(),
    };
    let mut warnings = vec![];
    let observer = &mut |event: &Event| {
        if let Event::Warning(warning) = event {
            warnings.push(warning.clone());
        }
    };
    train(&training, &Device::flex(), observer).unwrap();
    let warning = warnings.iter().find(|warning| warning.contains("begin at random")).unwrap();
    assert!(warning.contains("`Br`, `P`") && warning.contains("the head") && !warning.contains("`C`"), "{warning}");
    let read = |out: &std::path::Path| {
        let model = GraphModel::open(out, &Device::flex()).unwrap();
        (model.config.data.node_types.clone(), safetensors::read(&out.join("model.safetensors")).unwrap())
    };
    let [(kinds, before), (all_kinds, after)] = [&first, &second].map(|out| read(out));
    assert_eq!((kinds.join(" "), all_kinds.join(" ")), ("C O".into(), "Br C O P".into()));
    let row = |weights: &Array, at: usize| weights.data[at * weights.shape[1]..][..weights.shape[1]].to_vec();
    for (at, kind) in kinds.iter().enumerate() {
        let there = all_kinds.iter().position(|other| other == kind).unwrap();
        assert_eq!(row(&before["embedding_h.weight"], at), row(&after["embedding_h.weight"], there), "{kind}");
    }
    assert_eq!(before["layers.1.attention.Q.weight"], after["layers.1.attention.Q.weight"]);
    assert_ne!(before["MLP_layer.FC_layers.2.weight"].shape, after["MLP_layer.FC_layers.2.weight"].shape);
    for (set, key) in [("model.layers=3", "`layers`"), ("model.width=8", "`width`")] {
        let refused = run(&on_molecules(&path, &[set, common[1], &from]), &folder.path().join("x"), false, None);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("train.init_from") && refused.contains(key), "{refused}");
    }
}

/// Chains of carbon, whose second target is known in `known` rows alone.
fn with_rare(folder: &Path, known: &[usize]) -> PathBuf {
    let mut text = "smiles,length,rare,part\n".to_owned();
    for at in 0..60 {
        let rare = if known.contains(&at) { "7.5" } else { "" };
        let part = ["train", "train", "val", "train", "test"][at % 5];
        writeln!(text, "{},{},{rare},{part}", "C".repeat(1 + at % 7), 1 + at % 7).unwrap();
    }
    let path = folder.join("rare.csv");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_target_that_no_training_example_has_is_left_to_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["data.targets=[\"length\", \"rare\"]", "data.split=part"];
    let on = |known: &[usize]| {
        let path = format!("data.path={}", with_rare(folder.path(), known).display());
        crate::experiment("graphs/molecules", &[&[path.as_str(), "data.smiles=smiles"], &more[..]].concat())
    };
    // Rows 2 and 4 are those of the validation and of the test.
    let experiment = on(&[2, 4]);
    let (out, mut notes) = (folder.path().join("run"), vec![]);
    let training =
        Training { experiment, out: out.clone(), resume: false, limits: Limits::default(), command: "test".into() };
    train(&training, &Device::flex(), &mut |event: &Event| {
        if let Event::Note(note) = event {
            notes.push(note.clone());
        }
    })
    .unwrap();
    assert!(notes.iter().any(|note| note.contains("none for `rare`: it is unknown in all training")), "{notes:?}");
    let open = || GraphModel::open(&out, &Device::flex()).unwrap();
    let found = open().measure_test().unwrap();
    let finite = |measures: &Measures| measures.0.iter().all(|measure| measure.value().is_finite());
    assert!(finite(&found.measures) && found.members.iter().all(|(_, measures)| finite(measures)), "{found:?}");
    let model = open();
    assert_eq!(model.base.as_ref().unwrap().reports[1].weights, [1.0, 0.0]);
    let data = &training.experiment.data;
    let graphs = model.read(Path::new(&data.path), &GraphData { split: String::new(), ..data.clone() }, false).unwrap();
    let values = |model: &GraphModel| match model.predict(&graphs).unwrap() {
        Predicted::Numbers { values, .. } => values,
        other => panic!("{other:?}"),
    };
    let (blend, network) = (values(&model), values(&open().with_only(Some(Only::Network)).unwrap()));
    let second = |values: &[f64]| values.iter().skip(1).step_by(2).copied().collect::<Vec<f64>>();
    assert!(second(&blend) == second(&network) && second(&blend).iter().all(|value| value.is_finite()));
    let refused = open().with_only(Some(Only::Base)).unwrap_err().to_string();
    assert!(refused.contains("--only") && refused.contains("unknown in all training examples"), "{refused}");
    // One fold trains without the only value.
    let folds = CrossValidation::new(&on(&[2])).unwrap();
    for only in [None, Some(Only::Base)] {
        let options = CrossValidationOptions { repeats: 1, only };
        let found = folds.run(&HeldOut::Folds(3), options, &Device::flex(), &|| true).unwrap();
        assert!(finite(&found.mean) && found.mean.get("mae").is_some(), "{found:?}");
    }
}

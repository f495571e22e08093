//! Networks on sets: they learn, go on bit for bit, and answer alike whatever the order and the batch.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regard::data::sets::formats::predictions::Predicted;
use regard::sets::SetExperiment;
use regard::sets::SetLearner;
use regard::sets::cross_validation::{HeldOut, cross_validate};
use regard::sets::experiment::SetData;
use regard::sets::predict::SetModel;
use regard::sets::source::{Source, read_bags};
use regard::sets::task::TaskKind;
use regard::store::Manifest;
use regard::supervised::base::Only;
use regard::supervised::{CrossValidationOptions, Training, train};
use regard::train::{Ended, Event, Limits, Trained};
use regard::{Device, Error};

/// Options of a cross-validation of the network alone.
fn repeats(repeats: usize) -> CrossValidationOptions {
    CrossValidationOptions { repeats, only: Some(Only::Network) }
}

/// A network and batches that take no time.
fn experiment(name: &str, sets: &[&str]) -> SetExperiment {
    let small = [
        "model.width=16",
        "model.heads=2",
        "model.inducing_points=4",
        "train.batch_size=4",
        "train.steps_per_epoch=5",
        "train.epochs=3",
        "train.log_steps=2",
        "eval.num_sets=7",
        "eval.ensemble=1",
    ];
    let sets: Vec<String> = small.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    SetExperiment::load(name, &sets).unwrap()
}

fn run(experiment: &SetExperiment, out: &Path, resume: bool, steps: Option<u64>) -> regard::Result<Trained> {
    train(&training(experiment, out, resume, steps), &Device::flex(), &mut |_: &Event| {})
}

fn training(experiment: &SetExperiment, out: &Path, resume: bool, steps: Option<u64>) -> Training<SetExperiment> {
    let limits = Limits { steps, ..Limits::default() };
    Training { experiment: experiment.clone(), out: out.to_owned(), resume, limits, command: "test".into() }
}

/// Bags of two numbers a row; the class says whether a first number is above 2, the size is what the
/// count is.
fn bags(folder: &Path, target: &str, count: usize) -> PathBuf {
    let mut text = format!("customer,amount,age,{target}\n");
    for bag in 0..count {
        let rows = 1 + bag % 4;
        let high = bag % 2 == 0;
        for row in 0..rows {
            let amount = if high && row == bag % rows { 3.0 } else { 0.1 * row as f64 };
            let label = match target {
                "class" => {
                    if high {
                        "yes".to_owned()
                    } else {
                        "no".to_owned()
                    }
                }
                "size" => rows.to_string(),
                _ => format!("{}", if high { 3.0 } else { 0.5 }),
            };
            writeln!(text, "c{bag},{amount},{},{label}", (bag * 7 + row) % 5).unwrap();
        }
    }
    let path = folder.join("bags.csv");
    fs::write(&path, text).unwrap();
    path
}

fn on_file(name: &str, path: &Path, target: &str, more: &[&str]) -> SetExperiment {
    let (path, target) = (format!("data.path={}", path.display()), format!("data.target={target}"));
    experiment(name, &[&[path.as_str(), target.as_str(), "data.group_by=customer"], more].concat())
}

#[test]
fn a_target_with_one_class_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = bags(folder.path(), "class", 12);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace(",no\n", ",yes\n")).unwrap();
    let alike = on_file("sets/mil", &path, "class", &[]);
    let expected = "`class` has one class, `yes`; expected at least 2";
    let trained = run(&alike, &folder.path().join("run"), false, None).unwrap_err().to_string();
    assert!(trained.contains("bags.csv") && trained.contains(expected), "{trained}");
    let bags = read_bags(&path, &alike.data, TaskKind::Classification, true).unwrap();
    for only in [None, Some(Only::Network), Some(Only::Base)] {
        let options = CrossValidationOptions { repeats: 1, only };
        let found = cross_validate(&alike, &bags, HeldOut::Folds(3), options, &Device::flex(), &|| true);
        let error = found.unwrap_err().to_string();
        assert!(error.contains("bags.csv") && error.contains(expected), "{error}");
    }
}

fn generated() -> impl Iterator<Item = &'static str> {
    ["clustering", "clustering-2019", "max", "variance", "digit-sum", "odd-digit", "shapes"].into_iter()
}

#[test]
fn every_generated_task_takes_a_step_and_is_measured() {
    for name in generated() {
        let folder = tempfile::tempdir().unwrap();
        let trained =
            run(&experiment(&format!("sets/{name}"), &[]), &folder.path().join("run"), false, Some(2)).unwrap();
        assert!(trained.validation_cost.is_finite() && trained.ended == Ended::Steps, "{name}");
        let model = SetModel::open(&folder.path().join("run"), &Device::flex()).unwrap();
        let checked = model.measure_held_out(Some(3)).unwrap();
        assert!(checked.measures.0.iter().all(|measure| measure.value().is_finite()), "{name}: {checked:?}");
    }
}

#[test]
fn an_interrupted_run_goes_on_bit_for_bit() {
    for (name, more) in
        [("sets/clustering", &[][..]), ("sets/digit-sum", &["model.dropout=0.3", "train.weight_decay=0.1"])]
    {
        let (experiment, folder) = (experiment(name, more), tempfile::tempdir().unwrap());
        let [straight, broken] = ["straight", "broken"].map(|name| folder.path().join(name));
        run(&experiment, &straight, false, None).unwrap();
        run(&experiment, &broken, false, Some(7)).unwrap();
        run(&experiment, &broken, true, None).unwrap();
        for file in ["model.safetensors", "metrics.jsonl"] {
            assert!(fs::read(straight.join(file)).unwrap() == fs::read(broken.join(file)).unwrap(), "{name}: {file}");
        }
    }
}

#[test]
fn a_network_begins_with_the_weights_of_another_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = bags(folder.path(), "size", 30);
    let first = folder.path().join("first");
    run(&on_file("sets/bags", &path, "size", &[]), &first, false, None).unwrap();
    let from = format!("train.init_from={}", first.display());
    // A step that is too small to change a number.
    let second = folder.path().join("second");
    let tuned = on_file("sets/bags", &path, "size", &[&from, "train.learning_rate=1e-30", "train.seed=7"]);
    run(&tuned, &second, false, Some(1)).unwrap();
    let read = |out: &Path| fs::read(out.join("model.safetensors")).unwrap();
    assert!(read(&first) == read(&second));
    // The run does not need that model any more.
    let moved = folder.path().join("moved");
    fs::rename(&first, &moved).unwrap();
    run(&tuned, &second, true, Some(2)).unwrap();
    assert_eq!(Manifest::read(&second.join("manifest.json")).unwrap().earlier.len(), 1);
    fs::rename(&moved, &first).unwrap();
    // The same numbers as people write them elsewhere.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(',', ";").replace('.', ",")).unwrap();
    run(&tuned, &folder.path().join("commas"), false, Some(1)).unwrap();
    // Features of other names mean something else.
    fs::write(&path, text.replacen("amount", "weight", 1)).unwrap();
    let refused = run(&tuned, &folder.path().join("x"), false, None).unwrap_err().to_string();
    assert!(refused.contains("train.init_from") && refused.contains("`data.features`"), "{refused}");
}

#[test]
fn bits_do_not_depend_on_threads() {
    let experiment = experiment("sets/clustering", &[]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut learner = SetLearner::new(&experiment, &Device::flex()).unwrap();
            (0..6).map(|_| learner.learn().unwrap().get("loss").unwrap()).collect::<Vec<f64>>()
        })
    };
    assert!(on(1) == on(2));
}

#[test]
fn the_largest_number_is_learnt() {
    let more = ["train.learning_rate=2e-3", "train.batch_size=32", "train.steps_per_epoch=400", "model.width=32"];
    let mut learner = SetLearner::new(&experiment("sets/max", &more), &Device::flex()).unwrap();
    let losses: Vec<f64> = (0..400).map(|_| learner.learn().unwrap().get("loss").unwrap()).collect();
    let mean = regard::data::stats::mean;
    assert!(mean(&losses[380..]) < 0.1 * mean(&losses[..20]), "{:?}", &losses[380..]);
}

#[test]
fn a_class_of_bags_is_learnt_and_told_in_any_order_of_rows_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = bags(folder.path(), "class", 40);
    let more = [
        "train.epochs=30",
        "train.steps_per_epoch=10",
        "train.batch_size=8",
        "train.learning_rate=5e-3",
        "model.dropout=0.0",
    ];
    let experiment = on_file("sets/mil", &path, "class", &more);
    let out = folder.path().join("run");
    run(&experiment, &out, false, None).unwrap();
    let model = SetModel::open(&out, &Device::flex()).unwrap();
    let data = SetData { group_by: "customer".into(), ..SetData::default() };
    let predicted = |text: &str| {
        let path = folder.path().join("new.csv");
        fs::write(&path, text).unwrap();
        let found = model.predict(&model.read(&path, &data, false).unwrap(), true).unwrap();
        let Some(Predicted::Classes { names, probabilities, .. }) = found.of_sets else { panic!("classes") };
        assert_eq!(names, ["no", "yes"]);
        (probabilities, found.of_items.unwrap())
    };
    let (first, importance) = predicted("customer,amount,age\na,0,1\na,3,2\nb,0.1,3\nb,0,4\n");
    assert!(first[1] > 0.9 && first[3] < 0.1, "{first:?}");
    assert!(importance[1] > importance[0], "the high row is what is looked at: {importance:?}");
    assert!((importance[0] + importance[1] - 1.0).abs() < 1e-5);
    let (second, _) = predicted("age,customer,amount\n4,b,0\n2,a,3\n1,a,0\n3,b,0.1\n");
    let close = |a: f64, b: f64| (a - b).abs() < 1e-5;
    assert!(close(second[1], first[3]) && close(second[3], first[1]), "{first:?} {second:?}");
    let checked = model.measure(&model.read(&path, &experiment.data, true).unwrap()).unwrap();
    assert!(checked.measures.get("accuracy").unwrap() > 0.95);
}

#[test]
fn cross_validation_measures_what_was_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = bags(folder.path(), "class", 40);
    let more = [
        "train.epochs=30",
        "train.steps_per_epoch=10",
        "train.batch_size=8",
        "train.learning_rate=5e-3",
        "model.dropout=0.0",
    ];
    let experiment = on_file("sets/mil", &path, "class", &more);
    let bags = read_bags(&path, &experiment.data, TaskKind::Classification, true).unwrap();
    let found = cross_validate(&experiment, &bags, HeldOut::Folds(4), repeats(2), &Device::flex(), &|| true).unwrap();
    assert!(found.mean.get("accuracy").unwrap() > 0.9, "{found:?}");
    assert_eq!((found.repeats.len(), found.constant, found.seeds[0]), (2, Some(0.5), 1234));
    let again = cross_validate(&experiment, &bags, HeldOut::Folds(4), repeats(2), &Device::flex(), &|| true).unwrap();
    assert_eq!(found, again, "a seed gives the same numbers");
}

#[test]
fn numbers_come_back_in_their_own_measure() {
    let folder = tempfile::tempdir().unwrap();
    let path = bags(folder.path(), "spent", 40);
    let more = [
        "train.epochs=30",
        "train.steps_per_epoch=10",
        "train.batch_size=8",
        "train.learning_rate=5e-3",
        "model.dropout=0.0",
    ];
    let experiment = on_file("sets/bags", &path, "spent", &more);
    let bags = read_bags(&path, &experiment.data, TaskKind::Regression, true).unwrap();
    let found = cross_validate(&experiment, &bags, HeldOut::Folds(4), repeats(1), &Device::flex(), &|| true).unwrap();
    // Between 0.5 and 3; a mean alone would be off by 1.25.
    assert!(found.mean.get("mae").unwrap() < 0.3, "{found:?}");
}

#[test]
fn counts_are_whole_numbers_from_zero() {
    let folder = tempfile::tempdir().unwrap();
    let path = bags(folder.path(), "size", 30);
    let counting = [
        "task.kind=counting",
        "train.epochs=20",
        "train.steps_per_epoch=10",
        "train.batch_size=8",
        "train.learning_rate=5e-3",
    ];
    let experiment = on_file("sets/bags", &path, "size", &[&counting[..], &["model.pooling=sum"]].concat());
    let mut learner = SetLearner::new(&experiment, &Device::flex()).unwrap();
    let losses: Vec<f64> = (0..200).map(|_| learner.learn().unwrap().get("loss").unwrap()).collect();
    assert!(losses[199] < losses[0], "{losses:?}");
    let mut warnings = vec![];
    let mut observe = |event: &Event| {
        if let Event::Warning(text) = event {
            warnings.push(text.clone());
        }
    };
    let training = training(&experiment, &folder.path().join("run"), false, Some(1));
    train(&training, &Device::flex(), &mut observe).unwrap();
    assert!(warnings.iter().any(|one| one.contains("a task of counting has none")), "{warnings:?}");
    let text = fs::read_to_string(&path).unwrap().replace(",1\n", ",-1\n");
    fs::write(&path, text).unwrap();
    let error = SetLearner::new(&experiment, &Device::flex()).err().unwrap().to_string();
    assert!(error.contains("expected counts"), "{error}");
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = bags(folder.path(), "class", 12);
    let message = |experiment: &SetExperiment| SetLearner::new(experiment, &Device::flex()).err().unwrap().to_string();
    let regression = on_file("sets/bags", &path, "class", &[]);
    assert!(message(&regression).contains("is not a number; regression needs numbers"), "{}", message(&regression));
    let missing = on_file("sets/bags", &path, "klass", &[]);
    assert!(message(&missing).contains("has no column `klass`"), "{}", message(&missing));
    let wrong = SetExperiment::load("sets/max", &["train.batsh=3".into()]).unwrap_err().to_string();
    assert!(wrong.contains("train.batsh") && wrong.contains("batch_size"), "{wrong}");
    let wrong = SetExperiment::load("sets/max", &["model.heads=3".into()]).unwrap_err().to_string();
    assert!(wrong.contains("model.heads") && wrong.contains("do not divide"), "{wrong}");
    let wrong = SetExperiment::load("sets/max", &["task.kind=clustering".into()]).unwrap();
    assert!(matches!(SetLearner::new(&wrong, &Device::flex()), Err(Error::Config { .. })));
    let model = folder.path().join("run");
    run(&on_file("sets/mil", &path, "class", &[]), &model, false, Some(1)).unwrap();
    let model = SetModel::open(&model, &Device::flex()).unwrap();
    let other = folder.path().join("other.csv");
    fs::write(&other, "customer,amount,height\na,1,2\n").unwrap();
    let data =
        SetData { group_by: "customer".into(), features: vec!["amount".into(), "age".into()], ..SetData::default() };
    let error = model.read(&other, &data, false).unwrap_err().to_string();
    assert!(error.contains("age"), "{error}");
}

#[test]
fn the_length_of_a_training_fits_the_file_unless_it_is_asked_for() {
    let load = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        SetExperiment::load("sets/mil", &sets).unwrap().train
    };
    let train = load(&["data.path=bags.csv"]);
    assert!(train.family.min_passes > 0 && train.max_steps > 0, "{train:?}");
    let asked = load(&["train.epochs=3", "data.path=bags.csv"]);
    assert_eq!((asked.epochs, asked.family.min_passes, asked.max_steps), (3, 0, 0));
    let bounded = load(&["train.max_steps=70", "train.epochs=3"]);
    assert_eq!((bounded.family.min_passes, bounded.max_steps), (0, 70));

    // Three passes over 24 sets are 18 steps of 4, two steps more than the eight epochs of two steps.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bags.csv");
    let rows: String = (0..24).map(|bag| format!("{},{bag},{bag},1\n{},{bag},2,3\n", bag % 2, bag % 2)).collect();
    std::fs::write(&path, rows).unwrap();
    let steps = |more: &[&str]| {
        let path = format!("data.path={}", path.display());
        let small = ["model.width=4", "train.batch_size=4", "train.steps_per_epoch=2", "data.validation_fraction=0"];
        let sets: Vec<String> =
            std::iter::once(path.as_str()).chain(small).chain(more.iter().copied()).map(str::to_owned).collect();
        let mut learner = SetLearner::new(&SetExperiment::load("sets/mil", &sets).unwrap(), &Device::flex()).unwrap();
        learner.learn_while(|_| true).unwrap();
        learner.steps()
    };
    assert_eq!(steps(&[]), 18);
    assert_eq!((steps(&["train.max_steps=10"]), steps(&["train.epochs=5"])), (10, 10));
}

#[test]
fn sets_on_disk_train_the_same_network() {
    let folder = tempfile::tempdir().unwrap();
    for (target, task) in [("class", "classification"), ("size", "regression")] {
        let path = bags(folder.path(), target, 40);
        let kind = format!("task.kind={task}");
        let trained = |on_disk: &str| {
            let on_disk = format!("data.on_disk={on_disk}");
            let more = [kind.as_str(), &on_disk, "data.validation_fraction=0.25", "train.shards=2"];
            let experiment = on_file("sets/bags", &path, target, &more);
            let out = folder.path().join(format!("{target}-{on_disk}"));
            let trained = run(&experiment, &out, false, None).unwrap();
            let notes = Source::of(&experiment).unwrap().0.notes().concat();
            (fs::read(out.join("model.safetensors")).unwrap(), trained.validation_cost, notes)
        };
        let [disk, memory] = ["always", "never"].map(trained);
        assert!(disk.0 == memory.0 && disk.1 == memory.1, "{task}");
        assert!(disk.2.contains("40 sets stay on disk") && !memory.2.contains("on disk"), "{}", disk.2);
    }
}

#[test]
fn sets_on_disk_are_refused_where_they_cannot_be_read_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = bags(folder.path(), "class", 9);
    let refused = |text: &str| {
        fs::write(&path, text).unwrap();
        let more = ["task.kind=classification", "data.on_disk=always"];
        SetLearner::new(&on_file("sets/bags", &path, "class", &more), &Device::flex()).err().unwrap().to_string()
    };
    let scattered = refused("customer,amount,class\na,1,yes\nb,2,no\na,3,yes\n");
    assert!(scattered.contains("bags.csv:4") && scattered.contains("has `a` again"), "{scattered}");
    let unnamed = refused("1,a,0.5\n0,b,0.7\n");
    assert!(unnamed.contains("not read example by example"), "{unnamed}");
    let wrong = refused("customer,amount,class\na,1,yes\nb,two,no\n");
    assert!(wrong.contains("amount") || wrong.contains("features"), "{wrong}");
    // A file that changes under the training ends it with a word.
    let path = bags(folder.path(), "class", 9);
    let more = ["task.kind=classification", "data.on_disk=always"];
    let mut learner = SetLearner::new(&on_file("sets/bags", &path, "class", &more), &Device::flex()).unwrap();
    learner.learn().unwrap();
    bags(folder.path(), "class", 8);
    assert!(learner.learn().unwrap_err().to_string().contains("was changed"));
}

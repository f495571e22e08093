//! Networks on graphs: they learn, go on bit for bit, and answer alike whatever the order and the batch.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use regard::data::graphs::formats::predictions::Predicted;
use regard::data::graphs::{Graph, Graphs, Kinds};
use regard::experiment::{Family, built_in, family};
use regard::graphs::experiment::{AtomRule, GraphData};
use regard::graphs::input::Places;
use regard::graphs::predict::GraphModel;
use regard::graphs::source::{Source, unlabelled};
use regard::graphs::train::{GraphLearner, Training, train};
use regard::graphs::{GraphExperiment, GraphTransformer, GraphTransformerConfig};
use regard::train::{Ended, Event, Limits, Trained};
use regard::{Device, Error};

/// A network and batches that take no time.
fn experiment(name: &str, sets: &[&str]) -> GraphExperiment {
    let small =
        ["model.width=16", "model.heads=2", "model.layers=2", "train.batch=8", "train.epochs=3", "train.log_steps=2"];
    let sets: Vec<String> = small.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    GraphExperiment::load(name, &sets).unwrap()
}

fn run(experiment: &GraphExperiment, out: &Path, resume: bool, steps: Option<u64>) -> regard::Result<Trained> {
    let limits = Limits { steps, ..Limits::default() };
    let training =
        Training { experiment: experiment.clone(), out: out.to_owned(), resume, limits, command: "test".into() };
    train(&training, &Device::flex(), &mut |_: &Event| {})
}

/// Chains of carbon with an oxygen somewhere; what is asked is how long they are, and whether there is an
/// oxygen at all. Some answers are missing.
fn molecules(folder: &Path, count: usize) -> PathBuf {
    let mut text = "name,smiles,length,oxygen\n".to_owned();
    for at in 0..count {
        let (length, oxygen) = (2 + at % 5, at % 3 == 0);
        let smiles: String = (0..length).map(|i| if oxygen && i == at % length { 'O' } else { 'C' }).collect();
        let known = |text: String, gap: usize| if at % 11 == gap { String::new() } else { text };
        let yes = usize::from(oxygen).to_string();
        writeln!(text, "m{at},{smiles},{},{}", known(length.to_string(), 4), known(yes, 7)).unwrap();
    }
    let path = folder.join("molecules.csv");
    fs::write(&path, text).unwrap();
    path
}

fn on_molecules(path: &Path, more: &[&str]) -> GraphExperiment {
    let path = format!("data.path={}", path.display());
    experiment("graphs/molecules", &[&[path.as_str(), "data.smiles=smiles", "data.id=name"], more].concat())
}

#[test]
fn every_built_in_experiment_on_graphs_is_valid() {
    let mut count = 0;
    for (name, text) in built_in() {
        if family(text, Path::new(name)).unwrap() == Family::Graphs {
            assert!(name.starts_with("graphs/"), "{name}");
            GraphExperiment::load(name, &[]).unwrap();
            count += 1;
        }
    }
    assert_eq!(count, 8);
}

#[test]
fn every_task_learns_and_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 60);
    for (at, more) in [
        &["data.targets=[\"length\"]", "train.loss=\"absolute\"", "train.epochs=40", "train.rate=0.01"][..],
        &["task.kind=\"labels\"", "data.targets=[\"oxygen\"]", "train.epochs=30", "train.rate=0.01"],
        &["task.kind=\"classification\"", "data.targets=[\"oxygen\"]", "train.epochs=30", "train.rate=0.01"],
        &[
            "task.kind=\"classification\"",
            "data.targets=[\"oxygen\"]",
            "train.epochs=30",
            "train.rate=0.01",
            "train.views=2",
            "train.consistency=0.5",
        ],
    ]
    .into_iter()
    .enumerate()
    {
        let (experiment, out) = (on_molecules(&path, more), folder.path().join(at.to_string()));
        let trained = run(&experiment, &out, false, None).unwrap();
        assert!(trained.ended == Ended::Complete && trained.valid_cost < 0.35, "{more:?}: {trained:?}");
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
        &["data.targets=[\"length\"]", "train.schedule=\"plateau\"", "train.average=0.9", "train.keep=\"last\""],
        &[
            "data.targets=[\"length\"]",
            "model.positions=\"laplacian-safe\"",
            "model.position_size=3",
            "train.flips=\"graph\"",
        ],
        &["data.targets=[\"oxygen\"]", "task.kind=\"data\"", "train.views=3", "train.consistency=1"],
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
fn positions_are_standardised_by_what_is_learnt_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 50);
    for (kind, centred) in [("random-walk", true), ("laplacian-safe", false)] {
        let positions = format!("model.positions=\"{kind}\"");
        let more =
            ["data.targets=[\"length\"]", "data.standardise_positions=true", &positions, "model.position_size=4"];
        let experiment = on_molecules(&path, &more);
        let (source, config) = Source::of(&experiment).unwrap();
        let Places::Numbers(rows) = source.examples.input(&config, &source.training.graphs, None).places else {
            panic!("{kind} is told by numbers");
        };
        for column in 0..4 {
            let of: Vec<f32> = rows.iter().skip(column).step_by(4).copied().collect();
            let mean = of.iter().sum::<f32>() / of.len() as f32;
            let square = of.iter().map(|x| x * x).sum::<f32>() / of.len() as f32;
            let still = square == 0.0;
            assert!(still || (square - 1.0).abs() < 1e-3 && (!centred || mean.abs() < 1e-3), "{kind}: {mean} {square}");
        }
        // A model in its folder asks in the same measure.
        let (out, before) = (folder.path().join(kind), folder.path().join(format!("{kind}-before")));
        run(&experiment, &out, false, Some(2)).unwrap();
        let kept = GraphModel::open(&out, &Device::flex()).unwrap();
        assert_eq!(kept.config.data.position_deviation, config.data.position_deviation);
        // Folders of models from before the setting have none.
        let taken = on_molecules(&path, &[&more[..1], &more[2..]].concat());
        run(&taken, &before, false, Some(2)).unwrap();
        let settings = fs::read_to_string(before.join("config.json")).unwrap();
        let mut settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
        let data = settings["data"].as_object_mut().unwrap();
        assert!(data.remove("position_mean").is_some() && data.remove("position_deviation").is_some());
        fs::write(before.join("config.json"), settings.to_string()).unwrap();
        assert!(GraphModel::open(&before, &Device::flex()).unwrap().config.data.position_mean.is_empty());
    }
}

#[test]
fn a_plateau_ends_a_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 40);
    let more = [
        "data.targets=[\"length\"]",
        "train.schedule=\"plateau\"",
        "train.patience=0",
        "train.least_rate=0.009",
        "train.rate=0.01",
        "train.epochs=500",
    ];
    let experiment = on_molecules(&path, &more);
    let trained = run(&experiment, &folder.path().join("run"), false, None).unwrap();
    assert!(trained.ended == Ended::Complete && trained.steps < 500 * 4, "{trained:?}");
}

/// Two triangles with a tail each; the second has its nodes in another order.
fn twins() -> Graphs {
    let mut first = Graph::new("a", 5);
    let mut second = Graph::new("b", 5);
    let place = [3, 0, 4, 1, 2];
    let types = [0u32, 1, 0, 2, 1];
    first.node_types = types.to_vec();
    second.node_types = vec![0; 5];
    for (node, kind) in types.iter().enumerate() {
        second.node_types[place[node]] = *kind;
    }
    for (a, b, kind) in [(0, 1, 0), (1, 2, 1), (2, 0, 0), (2, 3, 1), (3, 4, 0)] {
        first.join(a, b, kind);
        second.join(place[a as usize] as u32, place[b as usize] as u32, kind);
    }
    Graphs::new(Kinds::counted(3), Kinds::counted(2), vec![first, second]).unwrap()
}

#[test]
fn an_answer_depends_neither_on_the_order_of_nodes_nor_on_the_batch() {
    let device = Device::flex();
    let presets = regard::graphs::model::PRESETS;
    for (preset, edge_sums) in presets.iter().flat_map(|preset| [(preset, false), (preset, true)]) {
        let config = GraphTransformerConfig {
            edge_sums,
            composition: edge_sums,
            node_types: 3,
            edge_types: 2,
            width: 16,
            heads: 4,
            layers: 3,
            positions: regard::graphs::model::PositionKind::RandomWalk,
            position_size: 4,
            ..GraphTransformerConfig::preset(preset).unwrap()
        };
        let network = GraphTransformer::new(&config, &device).unwrap();
        let all = unlabelled(&config, twins());
        let answers = |graphs: &[usize]| -> Vec<f32> {
            network.forward(&all.input(&config, graphs, None), &device).into_data().iter::<f32>().collect()
        };
        let (both, alone) = (answers(&[0, 1]), answers(&[1]));
        assert!((both[0] - both[1]).abs() < 1e-5, "{preset}: {both:?}");
        assert!((both[1] - alone[0]).abs() < 1e-5, "{preset}: {both:?} {alone:?}");
    }
}

#[test]
fn lonely_nodes_and_empty_graphs_have_an_answer() {
    let device = Device::flex();
    let graphs = || {
        let mut lonely = Graph::new("lonely", 2);
        lonely.node_types = vec![0, 1];
        let mut pair = Graph::new("pair", 3);
        pair.node_types = vec![0, 1, 2];
        pair.join(0, 1, 0);
        Graphs::new(Kinds::counted(3), Kinds::counted(2), vec![lonely, Graph::new("nothing", 0), pair]).unwrap()
    };
    for readout in ["mean", "sum", "max", "attention"] {
        let config = GraphTransformerConfig {
            node_types: 3,
            edge_types: 2,
            width: 16,
            heads: 4,
            layers: 2,
            readout: serde_json::from_value(readout.into()).unwrap(),
            ..GraphTransformerConfig::regard_graph()
        };
        let network = GraphTransformer::new(&config, &device).unwrap();
        let all = unlabelled(&config, graphs());
        for chosen in [&[0, 1, 2][..], &[0], &[1], &[]] {
            let answers = network.forward(&all.input(&config, chosen, None), &device);
            assert_eq!(answers.dims(), [chosen.len(), 1]);
            assert!(answers.into_data().iter::<f32>().all(f32::is_finite), "{readout} {chosen:?}");
        }
    }
}

#[test]
fn a_model_reads_other_files_and_names_what_it_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 40);
    let experiment = on_molecules(&path, &["data.targets=[\"length\"]"]);
    run(&experiment, &folder.path().join("run"), false, Some(2)).unwrap();
    let model = GraphModel::open(&folder.path().join("run"), &Device::flex()).unwrap();
    let data = GraphData { smiles: "s".into(), id: "n".into(), rule: AtomRule::Described, ..GraphData::default() };
    let other = folder.path().join("other.csv");
    fs::write(&other, "n,s\nx,CCO\ny,C\n").unwrap();
    let examples = model.read(&other, &data, false).unwrap();
    let seen = model.attention(&examples);
    assert_eq!((seen.len(), seen[0].weights.len()), (2, 4 * 2));
    let sums: f32 = seen[0].weights.iter().sum();
    assert!((sums - 3.0 * 2.0).abs() < 1e-4, "the weights of every node that has neighbours add up to 1: {sums}");
    let Predicted::Numbers { tasks, values } = model.predict(&examples) else { panic!("numbers") };
    assert_eq!((tasks, values.len()), (vec!["length".to_owned()], 2));
    fs::write(&other, "n,s\nx,CCO\ny,CBr\n").unwrap();
    let error = model.read(&other, &data, false).unwrap_err().to_string();
    assert!(error.contains("other.csv:3") && error.contains("Br"), "{error}");
}

#[test]
fn json_lines_have_no_column_of_smiles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chains.jsonl");
    let line = |at: usize| format!("{{\"x\": [0, {}, 0], \"e\": [[0, 1, 1], [1, 2, 2]], \"y\": {at}}}\n", at % 2);
    fs::write(&path, (0..20).map(line).collect::<String>()).unwrap();
    let experiment = on_molecules(&path, &["data.targets=[\"length\"]"]);
    let (source, config) = Source::of(&experiment).unwrap();
    assert_eq!((source.examples.graphs.len(), config.node_types), (20, 2));
}

#[test]
fn positions_tell_of_the_edges_the_data_has_and_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 12);
    let cache = format!("data.cache={}", folder.path().join("kept").display());
    let positions = |more: &[&str]| {
        let more = [&["data.target=length", "model.positions=laplacian"], more].concat();
        Source::of(&on_molecules(&path, &more)).unwrap().0.examples
    };
    let (sparse, complete) = (positions(&[]), positions(&["data.complete=true", &cache]));
    assert!(complete.graphs.edges() > sparse.graphs.edges());
    assert_eq!(sparse.positions.values(), complete.positions.values());
    assert_eq!(fs::read_dir(folder.path().join("kept")).unwrap().count(), 1);
    assert_eq!(positions(&[&cache]).positions.values(), sparse.positions.values());
    assert_eq!(fs::read_dir(folder.path().join("kept")).unwrap().count(), 1);
}

#[test]
fn what_data_cannot_answer_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 20);
    let refused = |more: &[&str], expected: &str| {
        let error = Source::of(&on_molecules(&path, more)).unwrap_err();
        let text = format!("{error} {}", matches!(error, Error::Config { .. }));
        assert!(text.contains(expected), "{text}");
    };
    refused(&["task.level=\"node\"", "data.targets=[\"length\"]"], "task.level");
    refused(&["task.kind=\"labels\"", "data.targets=[\"length\"]"], "data.targets");
    refused(&[], "data.targets");
    let sets = ["data.targets=[\"length\"]", "train.views=2", "train.consistency=1"];
    let error = GraphLearner::new(&on_molecules(&path, &sets), &Device::flex()).err().unwrap();
    assert!(error.to_string().contains("train.consistency"), "{error}");
    let alone = GraphExperiment::load("graphs/cora", &["train.views=1".to_owned()]).unwrap_err();
    assert!(alone.to_string().contains("train.views"), "{alone}");
}

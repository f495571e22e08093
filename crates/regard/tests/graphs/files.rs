//! Content of files, what models keep of it, and refusals.

use std::fs;

use regard::data::graphs::formats::predictions::Predicted;
use regard::graphs::GraphExperiment;
use regard::graphs::GraphLearner;
use regard::graphs::experiment::{AtomRule, GraphData};
use regard::graphs::input::Places;
use regard::graphs::predict::GraphModel;
use regard::graphs::source::Source;
use regard::{Device, Error};

use crate::{molecules, on_molecules, run};

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
            panic!("{kind} is predicted by numbers");
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
        assert_eq!(kept.config.data.position_std, config.data.position_std);
        // Folders of models from before the setting have none.
        let taken = on_molecules(&path, &[&more[..1], &more[2..]].concat());
        run(&taken, &before, false, Some(2)).unwrap();
        let settings = fs::read_to_string(before.join("config.json")).unwrap();
        let mut settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
        let data = settings["data"].as_object_mut().unwrap();
        assert!(data.remove("position_mean").is_some() && data.remove("position_std").is_some());
        fs::write(before.join("config.json"), settings.to_string()).unwrap();
        assert!(GraphModel::open(&before, &Device::flex()).unwrap().config.data.position_mean.is_empty());
    }
}

#[test]
fn a_model_reads_other_files_and_names_what_it_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let path = molecules(folder.path(), 40);
    let experiment = on_molecules(&path, &["data.targets=[\"length\"]"]);
    run(&experiment, &folder.path().join("run"), false, Some(2)).unwrap();
    let model = GraphModel::open(&folder.path().join("run"), &Device::flex()).unwrap();
    let data =
        GraphData { smiles: "s".into(), id: "n".into(), atom_features: AtomRule::Described, ..GraphData::default() };
    let other = folder.path().join("other.csv");
    fs::write(&other, "n,s\nx,CCO\ny,C\n").unwrap();
    let examples = model.read(&other, &data, false).unwrap();
    let seen = model.attention(&examples);
    assert_eq!((seen.len(), seen[0].weights.len()), (2, 4 * 2));
    let sums: f32 = seen[0].weights.iter().sum();
    assert!((sums - 3.0 * 2.0).abs() < 1e-4, "the weights of every node that has neighbours add up to 1: {sums}");
    let Predicted::Numbers { tasks, values, .. } = model.predict(&examples).unwrap() else { panic!("numbers") };
    assert_eq!((tasks, values.len()), (vec!["length".to_owned()], 2));
    fs::write(&other, "n,s\nx,CCO\ny,CBr\n").unwrap();
    let error = model.read(&other, &data, false).unwrap_err().to_string();
    assert!(error.contains("other.csv:3") && error.contains("Br"), "{error}");
    // Another number of targets than in training.
    fs::write(&other, "n,s,length,size\nx,CCO,3,1\ny,C,1,2\n").unwrap();
    let targets = vec!["length".to_owned(), "size".to_owned()];
    let error = model.read(&other, &GraphData { targets, ..data }, true).unwrap_err().to_string();
    assert!(error.contains("gives 2 columns; expected 1 as in training: length"), "{error}");
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
    let (sparse, complete) = (positions(&[]), positions(&["data.complete_graph=true", &cache]));
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
    let sets = ["data.targets=[\"length\"]", "train.augmented_views=2", "train.consistency=1"];
    let error = GraphLearner::new(&on_molecules(&path, &sets), &Device::flex()).err().unwrap();
    assert!(error.to_string().contains("train.consistency"), "{error}");
    let alone = GraphExperiment::load("graphs/cora", &["train.augmented_views=1".to_owned()]).unwrap_err();
    assert!(alone.to_string().contains("train.augmented_views"), "{alone}");
}

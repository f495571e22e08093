//! `--attribution` of `regard predict` and `regard forecast`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{Said, regard};

fn shipped(model: &str) -> String {
    format!("{}/../../models/{model}", env!("CARGO_MANIFEST_DIR"))
}

/// Sets of one to ten numbers between 0 and 100, as the shipped model for the largest of them has seen them.
fn numbers(folder: &Path, sets: usize) {
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = "set,x\n".to_owned();
    for set in 0..sets {
        for _ in 0..1 + random(10) {
            writeln!(text, "s{set},{}.{:02}", random(100), random(100)).unwrap();
        }
    }
    fs::write(folder.join("numbers.csv"), text).unwrap();
}

fn asked(folder: &Path, more: &[&str]) -> Said {
    let model = shipped("regard-max");
    regard(folder, &[&["predict", "--model", &model, "numbers.csv", "--group-by", "set"], more].concat())
}

/// Values of each set of the file.
fn sets(folder: &Path) -> Vec<Vec<f64>> {
    let mut all: Vec<(String, Vec<f64>)> = vec![];
    for line in fs::read_to_string(folder.join("numbers.csv")).unwrap().lines().skip(1) {
        let (set, x) = line.split_once(',').unwrap();
        if all.last().is_none_or(|(last, _)| last != set) {
            all.push((set.to_owned(), vec![]));
        }
        all.last_mut().unwrap().1.push(x.parse().unwrap());
    }
    all.into_iter().map(|(_, values)| values).collect()
}

fn list(json: &Value) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn largest(values: &[f64]) -> usize {
    (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap()
}

#[test]
fn the_largest_number_counts_most_where_attention_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    numbers(folder.path(), 200);
    let said = asked(folder.path(), &["--attribution", "leave-one-out", "--json"]).done();
    let (json, sets) = (said.json(), sets(folder.path()));
    assert_eq!(json.as_array().unwrap().len(), 200);
    let first = |(found, values): (&Value, &Vec<f64>)| {
        let attribution = list(&found["attribution"]);
        assert_eq!(attribution.len(), values.len());
        largest(&attribution) == largest(values)
    };
    let right = json.as_array().unwrap().iter().zip(&sets).filter(|pair| first(*pair)).count();
    assert!(right >= 190, "the largest number comes first in {right} of 200 sets");
    assert!(said.err.contains("attribution (leave-one-out) of the predicted number; the network"), "{}", said.err);
    assert!(said.err.contains("attention weights and attribution disagree"), "{}", said.err);
    let faithful = json.as_array().unwrap().iter().filter_map(|one| {
        let areas = &one["faithfulness"];
        Some((areas["deletion_area"].as_f64()?, areas["random_area"].as_f64()?))
    });
    let (deletion, random) = faithful.fold((0.0, 0.0), |sum, areas| (sum.0 + areas.0, sum.1 + areas.1));
    assert!(deletion > random && random > 0.0, "{deletion} {random}");
    let table = asked(folder.path(), &["--attribution", "leave-one-out"]).done().out;
    assert!(table.starts_with("id,row,line,prediction,attribution\ns0,1,2,"), "{table}");
}

#[test]
fn a_row_that_is_deleted_changes_the_prediction_by_its_attribution() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("numbers.csv"), "set,x\na,10\na,70\na,30\na,55.5\n").unwrap();
    let before = asked(folder.path(), &["--attribution", "leave-one-out", "--json"]).done().json();
    let attribution = list(&before[0]["attribution"]);
    fs::write(folder.path().join("numbers.csv"), "set,x\na,10\na,30\na,55.5\n").unwrap();
    let after = asked(folder.path(), &["--json"]).done().json();
    let change = before[0]["prediction"].as_f64().unwrap() - after[0]["prediction"].as_f64().unwrap();
    assert!((change - attribution[1]).abs() < 1e-4 && change > 10.0, "{change} {before}");
}

#[test]
fn shapley_values_and_integrated_gradients_explain_the_whole_difference() {
    let folder = tempfile::tempdir().unwrap();
    numbers(folder.path(), 20);
    let sampled = ["--attribution", "shapley", "--samples", "8", "--json"];
    let shapley = asked(folder.path(), &sampled).done();
    for one in shapley.json().as_array().unwrap() {
        let sum: f64 = list(&one["attribution"]).iter().sum();
        let whole = one["answer"].as_f64().unwrap() - one["baseline_answer"].as_f64().unwrap();
        assert!((sum - whole).abs() < 1e-3, "{one}");
        assert_eq!(list(&one["standard_errors"]).len(), list(&one["attribution"]).len());
    }
    let again = regard(
        folder.path(),
        &[
            &["--threads", "1", "predict", "--model", &shipped("regard-max"), "numbers.csv", "--group-by", "set"][..],
            &sampled,
        ]
        .concat(),
    );
    assert_eq!(again.done().out, shapley.out, "a seed gives the same bits on any number of threads");
    let other = asked(folder.path(), &[&sampled[..], &["--seed", "7"]].concat()).done();
    assert_ne!(other.out, shapley.out);
    let path = asked(folder.path(), &["--attribution", "integrated-gradients", "--steps", "512", "--json"]).done();
    for one in path.json().as_array().unwrap() {
        assert!(one["completeness_error"].as_f64().unwrap() < 0.02, "{one}");
    }
    assert!(path.err.contains("completeness: "), "{}", path.err);
}

#[test]
fn what_cannot_be_attributed_is_said() {
    let folder = tempfile::tempdir().unwrap();
    numbers(folder.path(), 2);
    for (more, expected) in [
        (&["--attribution", "shaply"][..], "expected leave-one-out, occlusion, shapley"),
        (&["--attribution", "occlusion"], "use leave-one-out for the rows of a set"),
        (&["--attribution", "shapley", "--samples", "0"], "`--samples`: is 0; expected 2 to 100000"),
        (&["--attribution", "shapley", "--samples", "18446744073709551615"], "`--samples`"),
        (&["--attribution", "integrated-gradients", "--steps", "0"], "`--steps`: is 0"),
        (&["--attribution", "leave-one-out", "--samples", "5"], "--samples applies only to --attribution shapley"),
        (&["--samples", "5"], "--attribution"),
        (&["--attribution", "leave-one-out", "--importance"], "--importance"),
        (&["--attribution", "leave-one-out", "--plot", "a.svg"], "--plot does not apply to an attribution"),
        (&["--attribution", "leave-one-out", "--only", "base"], "no base learners"),
    ] {
        let said = asked(folder.path(), more);
        assert!(said.code == Some(2) && said.err.contains(expected), "{expected}: {said:?}");
    }
    let mut text = "set,x\n".to_owned();
    (0..60_000).for_each(|row| writeln!(text, "a,{row}").unwrap());
    fs::write(folder.path().join("numbers.csv"), text).unwrap();
    let said = asked(folder.path(), &["--attribution", "shapley", "--samples", "1000"]);
    assert!(said.code == Some(2) && said.err.contains("choose fewer --samples"), "{said:?}");
    let clusters = ["predict", "--model", &shipped("regard-clusters"), "numbers.csv", "--attribution", "leave-one-out"];
    fs::write(folder.path().join("numbers.csv"), "set,x,y\na,1,2\na,2,1\n").unwrap();
    let said = regard(folder.path(), &[&clusters[..], &["--group-by", "set"]].concat());
    assert!(said.code == Some(2) && said.err.contains("--rows FILE"), "{said:?}");
}

/// Rings and paths of nodes of two types, one JSON object a line.
fn graphs(folder: &Path) {
    let mut text = String::new();
    for graph in 0..30 {
        let nodes = 3 + graph % 5;
        let edges: Vec<String> = (0..nodes - usize::from(graph % 2 == 0))
            .map(|node| format!("[{},{},{}]", node, (node + 1) % nodes, node % 2))
            .collect();
        let types: Vec<String> = (0..nodes).map(|node| ((node + graph) % 2).to_string()).collect();
        let (types, edges) = (types.join(","), edges.join(","));
        writeln!(text, r#"{{"id":"g{graph}","x":[{types}],"e":[{edges}],"y":{}}}"#, nodes + graph % 2).unwrap();
    }
    fs::write(folder.join("graphs.jsonl"), text).unwrap();
}

#[test]
fn a_bond_that_is_deleted_changes_the_prediction_by_its_attribution() {
    let folder = tempfile::tempdir().unwrap();
    graphs(folder.path());
    let train = [
        &["train", "graphs/molecules", "--out", "run", "--set", "data.path=graphs.jsonl", "--set", "data.smiles=\"\""]
            [..],
        &["--set", "model.width=16", "--set", "model.layers=2", "--set", "train.epochs=3"],
        &["--set", "eval.blend=false", "--set", "data.targets=[]"],
    ]
    .concat();
    regard(folder.path(), &train).done();
    let one = r#"{"id":"a","x":[0,1,1,0],"e":[[0,1,0],[1,2,1],[2,3,0],[3,0,1]],"y":1}"#;
    fs::write(folder.path().join("a.jsonl"), format!("{one}\n")).unwrap();
    let ask = |more: &[&str]| {
        regard(folder.path(), &[&["predict", "--model", "run", "a.jsonl", "--json"], more].concat()).done().json()
    };
    let found = ask(&["--attribution", "leave-one-out"]);
    let edges = found[0]["attribution"]["edges"].as_array().unwrap();
    assert_eq!((list(&found[0]["attribution"]["nodes"]).len(), edges.len()), (4, 4), "each bond once: {found}");
    let ends = |edge: &Value| (edge["source"].as_str() == Some("1"), edge["target"].as_str() == Some("2"));
    let bond = edges.iter().find(|edge| ends(edge) == (true, true)).unwrap()["attribution"].as_f64().unwrap();
    let number = |json: &Value| {
        let values = json[0].as_object().unwrap().iter();
        values
            .filter(|(key, _)| !["nodes", "edges"].contains(&key.as_str()))
            .find_map(|(_, value)| value.as_f64())
            .unwrap()
    };
    let before = number(&ask(&[]));
    assert!((before - found[0]["answer"].as_f64().unwrap()).abs() < 1e-6);
    fs::write(folder.path().join("a.jsonl"), one.replace("[1,2,1],", "")).unwrap();
    let change = before - number(&ask(&[]));
    assert!((change - bond).abs() < 1e-5 && change.abs() > 1e-4, "{change} {bond} {found}");

    fs::write(folder.path().join("a.jsonl"), one).unwrap();
    let shapley = ask(&["--attribution", "shapley", "--samples", "4"]);
    let path = ask(&["--attribution", "integrated-gradients", "--steps", "512"]);
    for (json, within) in [(&shapley, 1e-4), (&path, 0.02)] {
        assert!(json[0]["completeness_error"].as_f64().unwrap() < within, "{json}");
    }
    let table =
        regard(folder.path(), &["predict", "--model", "run", "a.jsonl", "--attribution", "leave-one-out"]).done();
    assert!(table.out.starts_with("id,part,source,target,attribution,standard_error\na,node,0,,"), "{table:?}");
    assert_eq!(table.out.lines().count(), 9, "{table:?}");
    let wrong = regard(folder.path(), &["predict", "--model", "run", "a.jsonl", "--attribution", "occlusion"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("use leave-one-out"), "{wrong:?}");
}

#[test]
fn a_patch_that_is_deleted_changes_the_forecast_by_its_attribution() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "month,up,down\n".to_owned();
    for month in 0..180 {
        let wave = (std::f64::consts::TAU * f64::from(month) / 12.0).sin() + 0.3 * f64::from(month % 5);
        writeln!(text, "{}-{:02},{:.3},{:.3}", 1990 + month / 12, 1 + month % 12, 10.0 + wave, 5.0 - wave).unwrap();
    }
    fs::write(folder.path().join("waves.csv"), &text).unwrap();
    let settings = [
        "data.path=waves.csv",
        "task.horizon=6",
        "model.look_back=24",
        "model.patch_len=6",
        "model.stride=6",
        "model.width=8",
        "model.heads=2",
        "model.layers=1",
        "train.epochs=2",
        "eval.blend=false",
    ];
    let mut train = vec!["train", "series/forecast", "--out", "run"];
    settings.iter().for_each(|setting| train.extend(["--set", setting]));
    regard(folder.path(), &train).done();
    let ask = |more: &[&str]| {
        regard(folder.path(), &[&["forecast", "--model", "run", "waves.csv", "--json"], more].concat()).done()
    };
    let said = ask(&["--attribution", "occlusion"]);
    let found = said.json();
    assert!(said.err.contains("attribution (occlusion) of the mean of the next 6 values; the network"), "{said:?}");
    let parts = &found[0]["attribution"];
    assert_eq!((found[0]["id"].as_str(), parts["lags"].as_array().unwrap().len()), (Some("up"), 24));
    let patch = parts["patches"].as_array().unwrap().iter().find(|patch| patch["first_lag"] == 12).unwrap();
    assert_eq!(patch["last_lag"], 7);
    let mean = |json: &Value| {
        let rows = json["forecast"].as_array().unwrap().iter().filter(|row| row["unique_id"] == "up");
        rows.map(|row| row["forecast"].as_f64().unwrap()).sum::<f64>() / 6.0
    };
    let before = mean(&ask(&[]).json());
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let last = lines.len() - 1;
    for lag in 7..=12 {
        let cells: Vec<String> = lines[last + 1 - lag].split(',').map(str::to_owned).collect();
        lines[last + 1 - lag] = format!("{},,{}", cells[0], cells[2]);
    }
    fs::write(folder.path().join("waves.csv"), lines.join("\n") + "\n").unwrap();
    let change = before - mean(&ask(&[]).json());
    let value = patch["attribution"].as_f64().unwrap();
    assert!((change - value).abs() < 1e-4 && change.abs() > 1e-3, "{change} {value}");
    fs::write(folder.path().join("waves.csv"), &text).unwrap();
    let path = ask(&["--attribution", "integrated-gradients", "--steps", "8"]).json();
    let shapley = ask(&["--attribution", "shapley", "--samples", "4"]).json();
    for (json, within) in [(&shapley, 1e-4), (&path, 0.02)] {
        for one in json.as_array().unwrap() {
            assert!(one["completeness_error"].as_f64().unwrap() < within, "{json}");
        }
    }
    for (more, expected) in [
        (&["--attribution", "occlusion", "--only", "base"][..], "--attribution applies only to the network"),
        (&["--attribution", "occlusion", "--out", "a.csv"], "--out does not apply to an attribution"),
        (&["--attribution", "occlusion", "--horizon", "7"], "the model predicts 1 to 6 values"),
    ] {
        let said = regard(folder.path(), &[&["forecast", "--model", "run", "waves.csv"], more].concat());
        assert!(said.code == Some(2) && said.err.contains(expected), "{expected}: {said:?}");
    }
}

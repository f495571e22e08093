//! `--shard` and `regard merge`: the parts together are the whole.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{regard, steady};

/// The outputs of a command for each of `count` parts, merged.
fn merged(folder: &Path, arguments: &[&str], count: usize) -> String {
    let files: Vec<String> = (1..=count)
        .map(|index| {
            let said = regard(folder, &[arguments, &["--shard", &format!("{index}/{count}")]].concat()).done();
            let name = format!("part{index}");
            fs::write(folder.join(&name), said.out).unwrap();
            name
        })
        .collect();
    let names: Vec<&str> = files.iter().rev().map(String::as_str).collect();
    regard(folder, &[&["merge"][..], &names].concat()).done().out
}

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name).display().to_string()
}

/// JSON without what depends on the clock.
fn timeless(text: &str) -> Vec<Value> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                ["seconds", "instances_per_second"].iter().for_each(|key| drop(map.remove(*key)));
                map.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let parsed = text.lines().map(|line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        strip(&mut value);
        value
    });
    parsed.collect()
}

#[test]
fn predictions_and_forecasts_in_parts_are_those_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (molecules, station) = (example("molecules.csv"), example("station.csv"));
    let predict = ["predict", "--model", "regard-solubility", &molecules, "--smiles", "smiles", "--id", "name", "-q"];
    for count in [1, 2, 5] {
        assert_eq!(merged(folder, &predict, count), regard(folder, &predict).done().out);
    }
    let json = [&predict[..], &["--json"]].concat();
    assert_eq!(timeless(&merged(folder, &json, 3)), timeless(&regard(folder, &json).done().out));
    let forecast = ["forecast", &station, "--model", "regard-etth1", "--horizon", "12", "-q"];
    assert_eq!(merged(folder, &forecast, 3), regard(folder, &forecast).done().out);
}

#[test]
fn solutions_and_evaluations_in_parts_are_those_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let generate = ["data", "generate", "--problem", "tsp", "--n", "9", "--instances", "5", "--seed", "1", "-q"];
    regard(folder, &[&generate[..], &["--out", "all"]].concat()).done();
    let mut files: Vec<String> =
        fs::read_dir(folder.join("all")).unwrap().map(|entry| entry.unwrap().path().display().to_string()).collect();
    files.sort();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let solve = [&["solve", "--json", "-q"][..], &files].concat();
    assert_eq!(timeless(&merged(folder, &solve, 2)), timeless(&regard(folder, &solve).done().out));
    let library = ["bench", "lib", "all", "--json", "-q"];
    assert_eq!(timeless(&merged(folder, &library, 3)), timeless(&regard(folder, &library).done().out));
    let eval = ["eval", "--paper-set", "tsp9", "--limit", "30", "--json", "-q"];
    let [parts, whole] = [merged(folder, &eval, 4), regard(folder, &eval).done().out].map(|text| timeless(&text));
    for key in ["mean_cost", "std_error", "instances"] {
        let [found, expected] = [&parts, &whole].map(|list| list[0][key].as_f64().unwrap());
        assert!((found - expected).abs() < 1e-9, "{key}: {found} {expected}");
    }
}

#[test]
fn parts_that_are_no_parts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], words: &[&str]| {
        let said = regard(folder.path(), arguments);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(words.iter().all(|word| said.err.contains(word)), "{words:?} in {}", steady(&said.err));
    };
    let bags = example("bags.csv");
    refused(&["solve", "a.csv", "--shard", "3/2"], &["3/2", "I from 1 to N"]);
    refused(&["solve", "a.csv", "--shard", "1/2", "--json"], &["only 1 files for 2 parts"]);
    refused(&["solve", &bags, "--shard", "1/1"], &["--shard 1/1 needs --json"]);
    refused(&["forecast", &bags, "--horizon", "3", "--shard", "1/2"], &["needs --model"]);
    refused(&["eval", "sets/max", "--shard", "1/2"], &["--shard applies only to models for routes"]);
    refused(&["merge", "nothing"], &["nothing"]);
    refused(&["merge", &bags], &["half-written, or no output of --shard"]);
}

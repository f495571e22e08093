//! The problems with a depot, from generated files to checked solutions.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::errors::refused;
use crate::program::regard;

fn json(folder: &Path, arguments: &[&str]) -> Value {
    regard(folder, &[arguments, &["--json"]].concat()).done().json()
}

/// Every problem is generated, described, solved, written, and checked by its own checker.
#[test]
fn every_problem_goes_from_a_file_to_a_checked_solution() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (problem, ending) in [
        ("cvrp", "sol"),
        ("cvrptw", "sol"),
        ("sdvrp", "sol"),
        ("pdp", "tour"),
        ("op", "tour"),
        ("pctsp", "tour"),
        ("spctsp", "tour"),
        ("tsp", "tour"),
    ] {
        let (file, out) = (format!("{problem}.csv"), format!("{problem}.{ending}"));
        json(root, &["data", "generate", "--problem", problem, "--n", "12", "--seed", "3", "--out", &file]);
        let shown = json(root, &["data", "show", &file]);
        assert_eq!(shown["problem"], problem);
        let picture = format!("{problem}.svg");
        let solved = json(root, &["solve", &file, "--out", &out, "--plot", &picture]);
        assert_eq!((&solved["problem"], &solved["checked"]), (&problem.into(), &true.into()), "{solved}");
        let verified = json(root, &["data", "verify", &file, &out]);
        assert_eq!(verified["ok"], true);
        let difference = verified["cost"].as_f64().unwrap() - solved["cost"].as_f64().unwrap();
        assert!(difference.abs() < 1e-9, "{problem}: {verified} {solved}");
        assert!(fs::read_to_string(root.join(&picture)).unwrap().starts_with("<svg"));
    }
}

#[test]
fn a_broken_rule_is_named_with_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let text = "NAME: small\nTYPE: CVRP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\nCAPACITY: 3\nNODE_COORD_SECTION\n\
                1 0 0\n2 0 3\n3 4 0\n4 4 3\nDEMAND_SECTION\n1 0\n2 2\n3 2\n4 1\nDEPOT_SECTION\n1\n-1\nEOF\n";
    fs::write(root.join("small.vrp"), text).unwrap();
    fs::write(root.join("over.sol"), "Route #1: 1 2\nRoute #2: 3\nCost 20\n").unwrap();
    let said = regard(root, &["data", "verify", "small.vrp", "over.sol"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("violated: ") && said.out.contains("capacity"), "{said:?}");
    fs::write(root.join("right.sol"), "Route #1: 1 3\nRoute #2: 2\nCost 99\n").unwrap();
    let verified = json(root, &["data", "verify", "small.vrp", "right.sol"]);
    assert_eq!((&verified["cost"], &verified["stated_cost"]), (&Value::from(20.0), &Value::from(99.0)));
    refused(&regard(root, &["solve", "small.vrp", "--out", "small.txt"]), &["--out", ".sol"]);
    refused(&regard(root, &["data", "verify", "small.vrp", "none.sol"]), &["none.sol"]);
}

#[test]
fn a_folder_of_instances_is_measured_against_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("lib/set")).unwrap();
    let square = "NAME: square\nTYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n\
                  1 0 0\n2 0 3\n3 4 3\n4 4 0\nEOF\n";
    fs::write(root.join("lib/square.tsp"), square).unwrap();
    fs::write(root.join("lib/best_known.csv"), "name,best_known\nsquare,14\n").unwrap();
    json(root, &["data", "generate", "--problem", "cvrp", "--n", "8", "--out", "lib/set/eight.csv"]);
    let found = json(root, &["bench", "lib", "lib", "--time", "50ms", "--out", "solved"]);
    assert_eq!(found["mean_gap"], 0.0);
    let names: Vec<&str> =
        found["instances"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["eight", "square"]);
    assert!(root.join("solved/eight.sol").is_file() && root.join("solved/square.tour").is_file());
    refused(&regard(root, &["bench", "lib", "solved"]), &["no instance", "hint: "]);
}

#[test]
fn the_paper_table_has_a_row_for_every_model_and_set() {
    let folder = tempfile::tempdir().unwrap();
    let found = json(folder.path(), &["bench", "paper", "--sizes", "20", "--limit", "3", "--greedy-only"]);
    let rows = found["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["set"] == "tsp20" && row["paper"] == 3.85), "{found}");
    assert!(rows.iter().all(|row| row["objective"].as_f64().unwrap().is_finite()));
}

/// A pickled list of instances, as Python writes lists of lists of floats (protocol 2).
fn pickled(instances: &[Vec<[f64; 2]>]) -> Vec<u8> {
    let list = |items: Vec<Vec<u8>>| [b"](".to_vec(), items.concat(), b"e".to_vec()].concat();
    let float = |x: &f64| [b"G".to_vec(), x.to_be_bytes().to_vec()].concat();
    let point = |point: &[f64; 2]| list(point.iter().map(float).collect());
    let instance = |points: &Vec<[f64; 2]>| list(points.iter().map(point).collect());
    [b"\x80\x02".to_vec(), list(instances.iter().map(instance).collect()), b".".to_vec()].concat()
}

#[test]
fn a_pickled_set_is_evaluated_and_one_that_calls_a_function_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let square = vec![[0.0, 0.0], [0.0, 0.5], [0.5, 0.5], [0.5, 0.0]];
    fs::write(root.join("set.pkl"), pickled(&[square.clone(), square])).unwrap();
    let found = json(root, &["eval", "--data", "set.pkl", "--improve"]);
    assert_eq!((&found["instances"], &found["mean_cost"]), (&2.into(), &2.0.into()), "{found}");
    fs::write(root.join("bad.pkl"), b"cos\nsystem\n(S'echo'\ntR.").unwrap();
    refused(&regard(root, &["eval", "--data", "bad.pkl"]), &["bad.pkl", "os.system"]);
}

#[test]
fn a_generated_set_is_one_file_in_the_form_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for problem in ["tsp", "cvrp", "op", "pctsp"] {
        let mut costs = Vec::new();
        for file in ["set.pkl", "set.npz"] {
            let generate = ["data", "generate", "--problem", problem, "--n", "8", "--instances", "4", "--out", file];
            assert_eq!(json(root, &generate)["instances"], 4);
            let found = json(root, &["eval", "--data", file, "--out", "solutions.jsonl"]);
            assert_eq!(found["instances"], 4, "{problem} {file}: {found}");
            costs.push(found["mean_cost"].as_f64().unwrap());
            let lines = fs::read_to_string(root.join("solutions.jsonl")).unwrap();
            let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let mean = lines.iter().map(|line| line["cost"].as_f64().unwrap()).sum::<f64>() / 4.0;
            assert!((mean - costs[0]).abs() < 1e-9 && lines.len() == 4, "{problem} {file}");
            assert!(!lines[3]["solution"].as_array().unwrap().is_empty() && lines[3]["instance"] == 4);
        }
        assert_eq!(costs[0], costs[1], "{problem}");
    }
    refused(&regard(root, &["data", "generate", "--n", "5", "--instances", "2", "--out", "x.csv"]), &["FILE.npz"]);
}

#[test]
fn the_gap_of_a_paper_set_is_that_of_the_whole_set() {
    let folder = tempfile::tempdir().unwrap();
    let said = regard(folder.path(), &["eval", "--paper-set", "tsp20", "--limit", "50"]).done();
    assert!(said.err.contains("for the whole set, without --limit") && !said.out.contains("gap"), "{said:?}");
    let said = regard(folder.path(), &["eval", "--paper-set", "tsp20"]).done();
    assert!(said.out.contains("to 3.8369, the best of the paper's methods"), "{said:?}");
}

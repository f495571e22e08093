//! `regard eval`.

use crate::errors::refused;
use crate::files::{PENTAGON, folder, folder_with};
use crate::program::regard;

#[test]
fn a_paper_set_gives_mean_error_and_speed() {
    let folder = folder();
    let eval = ["eval", "--model", "model", "--paper-set", "tsp20", "--limit", "64", "--json"];
    let json = regard(folder.path(), &eval).done().json();
    assert_eq!(json["instances"], 64);
    let (mean, error) = (json["mean_cost"].as_f64().unwrap(), json["std_error"].as_f64().unwrap());
    assert!((3.5..12.0).contains(&mean) && (0.001..1.0).contains(&error), "{json}");
    assert!(json["seconds"].as_f64().unwrap() > 0.0 && json["instances_per_second"].as_f64().unwrap() > 0.0);
    assert!(json["gap"].is_null());
    let improved = regard(folder.path(), &[&eval[..], &["--improve", "--reference", "3.84"]].concat()).done().json();
    assert_eq!(improved["mean_cost_network"], json["mean_cost"]);
    assert!(improved["mean_cost"].as_f64().unwrap() < mean);
    let gap = improved["mean_cost"].as_f64().unwrap() / 3.84 - 1.0;
    assert!((improved["gap"].as_f64().unwrap() - gap).abs() < 1e-12);
}

#[test]
fn a_reference_is_a_prize_where_prizes_are_maximised() {
    let folder = tempfile::tempdir().unwrap();
    let row = "id,x,y,prize\n0,0,0,\n1,0,1,3\n2,1,1,4\n3,1,0,5\n";
    std::fs::write(folder.path().join("op.csv"), format!("# max_length: 4.5\n{row}")).unwrap();
    let gap = |more: &[&str]| {
        let eval = ["eval", "--data", "op.csv", "--improve", "--json"];
        let json = regard(folder.path(), &[&eval[..], more].concat()).done().json();
        assert_eq!(json["mean_cost"], -12.0);
        (json["gap"].as_f64().unwrap(), json["reference"].as_f64())
    };
    let (found, reference) = gap(&["--reference", "15"]);
    assert!((found - 0.2).abs() < 1e-12 && reference == Some(-15.0), "{found} {reference:?}");
    std::fs::write(folder.path().join("best_known.csv"), "name,score\nop,15\n").unwrap();
    assert_eq!(gap(&[]), (found, None));
}

#[test]
fn one_instance_has_no_standard_error() {
    let folder = folder();
    let eval = ["eval", "--model", "model", "--paper-set", "tsp20", "--limit", "1"];
    assert!(!regard(folder.path(), &eval).done().out.contains('±'));
    assert!(regard(folder.path(), &[&eval[..], &["--json"]].concat()).done().json()["std_error"].is_null());
}

#[test]
fn products_in_bfloat16_change_little() {
    let folder = folder_with("in.tsp", PENTAGON);
    let doctor = regard(folder.path(), &["doctor", "--json"]).json();
    let eval = |more: &[&str]| {
        let eval = ["eval", "--model", "model", "--paper-set", "tsp20", "--limit", "64", "--json", "--precision"];
        regard(folder.path(), &[&eval[..], more].concat())
    };
    if !doctor["precisions"].as_array().unwrap().contains(&"bfloat16".into()) {
        return refused(&eval(&["bfloat16"]), &["does not have the precision bfloat16", "hint: "]);
    }
    let mean = |more: &[&str]| eval(more).done().json()["mean_cost"].as_f64().unwrap();
    let (exact, found) = (mean(&["float32"]), mean(&["bfloat16"]));
    assert!(found != exact && (found / exact - 1.0).abs() < 0.05, "{found}, {exact} in single precision");
    assert_eq!(mean(&["bfloat16", "--threads", "1"]), mean(&["bfloat16", "--threads", "2"]));
    refused(&eval(&["half"]), &["--precision", "expected float32 or bfloat16"]);
    let explain = ["explain", "in.tsp", "--model", "model", "--json", "--precision"];
    let [exact, noted] =
        ["float32", "bfloat16"].map(|precision| regard(folder.path(), &[&explain[..], &[precision]].concat()).done());
    assert!(noted.err.contains("explanations are computed in float32"), "{noted:?}");
    assert_eq!(exact.out, noted.out);
}

#[test]
fn shipped_policies_cost_what_the_results_say() {
    let (folder, root) = (folder(), concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut count = 0;
    for entry in std::fs::read_dir(format!("{root}/results")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !(name.starts_with("eval-regard-") && name.ends_with("-greedy.json")) {
            continue;
        }
        let saved: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let (result, set) = (&saved["result"], saved["set"].as_str().unwrap());
        let of = |field: &str| result[field].as_f64().unwrap();
        let model = format!("{root}/models/{}", result["model"].as_str().unwrap());
        let eval = ["eval", "--model", &model, "--paper-set", set, "--decode", "greedy", "--limit", "500", "--json"];
        let found = regard(folder.path(), &eval).done().json()["mean_cost"].as_f64().unwrap();
        // The first instances of the set stand for all of it, as far as chance lets them.
        let error = of("std_error") * (of("instances") / 500.0).sqrt();
        let off = (found - of("mean_cost")).abs();
        assert!(off < 4.0 * error, "{name}: {found}, expected {} ± {error}", of("mean_cost"));
        count += 1;
    }
    assert!(count >= 14, "{count} policies");
}

#[test]
fn the_size_of_a_batch_changes_nothing() {
    let folder = folder();
    let eval = ["eval", "--model", "model", "--paper-set", "tsp12", "--limit", "10", "--json", "--batch"];
    let [one, many] = ["1", "7"].map(|batch| regard(folder.path(), &[&eval[..], &[batch]].concat()).done().json());
    assert_eq!(one["mean_cost"], many["mean_cost"]);
}

#[test]
fn files_of_several_sizes_are_evaluated_together() {
    let folder = folder();
    for (n, out) in [("1", "a.csv"), ("6", "b.csv"), ("9", "c.csv")] {
        regard(folder.path(), &["data", "generate", "--n", n, "--out", out]).done();
    }
    let eval = ["eval", "--model", "model", "--data", "a.csv", "b.csv", "c.csv"];
    let json = regard(folder.path(), &[&eval[..], &["--json"]].concat()).done().json();
    assert_eq!(json["instances"], 3);
    let plain = regard(folder.path(), &eval).done();
    assert!(plain.out.contains("mean cost") && plain.out.contains("±"), "{plain:?}");
}

#[test]
fn settings_belong_to_experiments() {
    let folder = folder();
    let said = regard(folder.path(), &["eval", "--model", "model", "--set", "data.path=x.csv"]);
    assert!(said.code == Some(2) && said.err.contains("hint: --data x.csv evaluates a model on a file"), "{said:?}");
    let said = regard(folder.path(), &["eval", "--model", "model", "--set", "train.epochs=3"]);
    assert!(said.code == Some(2) && said.err.contains("--data FILE"), "{said:?}");
    let said = regard(folder.path(), &["eval", "sets/max", "--decode", "greedy"]);
    assert!(said.code == Some(2) && said.err.contains("--decode applies only to models for routes"), "{said:?}");
}

/// `eval` of a model with these data has no folds, no windows and no picture; each option says so.
#[test]
fn options_of_experiments_are_refused_for_models() {
    let folder = folder();
    regard(folder.path(), &["data", "generate", "--n", "6", "--out", "six.csv"]).done();
    let contexts: [&[&str]; 5] = [
        &["--model", "model", "--paper-set", "tsp20", "--limit", "4"],
        &["--model", "model", "--data", "six.csv"],
        &["--model", "regard-clusters"],
        &["--model", "regard-solubility", "--data", "six.csv"],
        &["--model", "regard-etth1", "--data", "six.csv"],
    ];
    let options: [&[&str]; 8] = [
        &["--folds", "3"],
        &["--folds-from", "."],
        &["--scaffold-folds"],
        &["--repeats", "2"],
        &["--windows", "3"],
        &["--step-size", "3"],
        &["--refit"],
        &["--plot", "plot.svg"],
    ];
    for context in contexts {
        for option in options {
            let said = regard(folder.path(), &[&["eval"][..], context, option].concat());
            assert_eq!(said.code, Some(2), "{context:?} {option:?}: {said:?}");
            assert!(said.err.contains(&format!("{} applies only to an EXPERIMENT", option[0])), "{said:?}");
        }
    }
}

/// Every option of `eval` changes what comes out for a model of routes, or is refused.
#[test]
fn no_option_is_ignored_where_a_model_of_routes_is_evaluated() {
    let folder = folder();
    let places = ["data", "generate", "--n", "9", "--out", "nine.csv"];
    regard(folder.path(), &places).done();
    let eval = |more: &[&str]| {
        let said =
            regard(folder.path(), &[&["eval", "--model", "model", "--data", "nine.csv", "--json"], more].concat());
        let json = (said.code == Some(0)).then(|| said.json());
        let json = json.map(|mut json| {
            let results = json.as_object_mut().unwrap();
            ["seconds", "instances_per_second"].iter().for_each(|key| drop(results.remove(*key)));
            json
        });
        (said.code, json, said.err)
    };
    let (code, plain, _) = eval(&[]);
    assert_eq!(code, Some(0));
    let options: [&[&str]; 14] = [
        &["--only", "base"],
        &["--decode", "sample:64"],
        &["--augment", "8"],
        &["--temperature", "2"],
        &["--top-p", ".5"],
        &["--training-data"],
        &["--improve"],
        &["--reference", "3"],
        &["--set", "train.epochs=1"],
        &["--capacity", "300"],
        &["--max-length", "5"],
        &["--required-prize", "1"],
        &["--column", "x=none"],
        &["--out", "solutions.pkl"],
    ];
    for option in options {
        let (code, json, err) = eval(option);
        assert!(code == Some(2) || json != plain, "{option:?} is ignored: {err}");
    }
    assert!(!folder.path().join("solutions.pkl").exists());
}

/// Places as a German table has them, one of them twice and one that cannot be read.
const PLACES: &str = "\
Ort;Ost;Nord;Gewicht
a;1,5;2,5;3
b;4,25;1,5;1
c;3,5;7,5;2
c;3,6;7,5;2
d;0,5;9,5;4
e;?;1,5;4
";

#[test]
fn tables_are_read_with_the_options_of_solve() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("tables")).unwrap();
    ["a.csv", "b.csv"].iter().for_each(|name| {
        std::fs::write(folder.path().join("tables").join(name), PLACES).unwrap();
    });
    let options = ["--column", "x=Ost", "--column", "y=Nord", "--decimal", "comma", "--duplicates", "first"];
    let skip = [&options[..], &["--skip-bad"]].concat();
    let eval = |more: &[&str]| {
        regard(folder.path(), &[&["eval", "--model", "model", "--data", "tables/a.csv"][..], more].concat())
    };
    assert_eq!(eval(&[]).code, Some(2));
    assert!(eval(&options).err.contains("tables/a.csv:7: field `Ost`: found `?`"), "the row is named");
    let found = eval(&[&skip[..], &["--json"]].concat()).done();
    assert_eq!(found.json()["instances"], 1);
    assert!(found.err.contains("tables/a.csv: "), "what was skipped is said: {found:?}");
    let library = |more: &[&str]| {
        regard(folder.path(), &[&["bench", "lib", "tables", "--time", "20ms", "--json"][..], more].concat())
    };
    assert_eq!(library(&[]).code, Some(2));
    let found = library(&skip).done();
    assert_eq!(found.json()["instances"].as_array().map(Vec::len), Some(2), "{found:?}");

    // Training on the same tables.
    let train = |more: &[&str]| {
        let small = ["train", "routes/tsp20", "--steps", "1", "--set", "data.nodes=3", "--set", "train.batch_size=2"];
        let sizes = ["--set", "model.width=16", "--set", "model.heads=2", "--set", "model.layers=1"];
        let rest = ["--set", "eval.instances=4", "--set", "train.epoch_size=4", "--set", "data.folder=tables"];
        regard(folder.path(), &[&small[..], &sizes, &rest, more].concat())
    };
    assert_eq!(train(&["--out", "plain"]).code, Some(2));
    let settings = [
        "--set",
        "data.column_roles=[\"x=Ost\",\"y=Nord\"]",
        "--set",
        "data.decimal=comma",
        "--set",
        "data.duplicates=first",
        "--set",
        "data.skip_bad=true",
        "--out",
        "run",
    ];
    let trained = train(&settings).done();
    assert!(trained.err.contains("tables/a.csv: ") && trained.err.contains("tables/b.csv: "), "{trained:?}");
    let wrong = train(&["--set", "data.column_roles=[\"weight=Ost\"]", "--out", "other"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("data.column_roles"), "{wrong:?}");
    let none = ["train", "routes/tsp20", "--set", "data.depot=a", "--out", "other"];
    let wrong = regard(folder.path(), &none);
    assert!(wrong.code == Some(2) && wrong.err.contains("data.folder"), "{wrong:?}");

    // A file that is no table says everything itself.
    std::fs::create_dir(folder.path().join("lib")).unwrap();
    std::fs::write(folder.path().join("lib/pentagon.tsp"), crate::files::PENTAGON).unwrap();
    let wrong = regard(folder.path(), &["bench", "lib", "lib", "--depot", "1"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("--depot is for tables (CSV)"), "{wrong:?}");
    let wrong = regard(folder.path(), &["eval", "--model", "model", "--paper-set", "tsp20", "--depot", "1"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("--depot is for tables (CSV)"), "{wrong:?}");
}

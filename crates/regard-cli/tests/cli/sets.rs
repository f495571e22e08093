//! `regard train`, `eval` and `predict` on sets.

use std::fmt::Write as _;
use std::fs;

use crate::program::regard;

/// Customers with some rows each; one of a first customer's is high, none of a second's.
fn customers(count: usize) -> String {
    let mut text = "customer,amount,age,left\n".to_owned();
    for customer in 0..count {
        for row in 0..1 + customer % 3 {
            let amount = if customer % 2 == 0 && row == 0 { 9.0 } else { 0.5 * row as f64 };
            let left = if customer % 2 == 0 { "yes" } else { "no" };
            writeln!(text, "c{customer},{amount},{},{left}", (customer + row) % 4).unwrap();
        }
    }
    text
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("customers.csv"), customers(24)).unwrap();
    folder
}

/// The settings of a small network on the customers.
const SMALL: [&str; 16] = [
    "--set",
    "data.path=customers.csv",
    "--set",
    "data.group_by=customer",
    "--set",
    "data.target=left",
    "--set",
    "model.width=16",
    "--set",
    "model.dropout=0",
    "--set",
    "train.epochs=20",
    "--set",
    "train.steps_per_epoch=10",
    "--set",
    "train.learning_rate=0.005",
];

fn with(first: &[&'static str], last: &[&'static str]) -> Vec<&'static str> {
    [first, &SMALL, last].concat()
}

#[test]
fn a_model_of_groups_is_trained_measured_and_asked() {
    let folder = folder();
    let train = with(&["train", "sets/mil"], &["--set", "model.pooling=attention", "--out", "run", "--json"]);
    let trained = regard(folder.path(), &train).done().json();
    assert_eq!((trained["steps"].as_u64(), trained["ended"].as_str()), (Some(200), Some("complete")));
    let measured = ["eval", "--model", "run", "--data", "customers.csv", "--json"];
    let measured = regard(folder.path(), &measured).done().json();
    assert!(measured["accuracy"].as_f64().unwrap() > 0.9, "{measured}");

    let of_routes = ["eval", "--model", "run", "--data", "customers.csv", "--column", "x=age"];
    let refused = regard(folder.path(), &of_routes);
    assert!(
        refused.code == Some(2) && refused.err.contains("--column applies only to models for routes"),
        "{refused:?}"
    );
    let refused = regard(folder.path(), &["eval", "--model", "run", "--data", "customers.csv", "--limit", "3"]);
    assert!(refused.code == Some(2) && refused.err.contains("--limit applies only to"), "{refused:?}");

    fs::write(folder.path().join("new.csv"), "age,amount,customer\n1,0,n\n3,9,n\n2,0.5,m\n").unwrap();
    let asked = ["predict", "--model", "run", "new.csv", "--importance", "--json"];
    let predicted = regard(folder.path(), &asked).done().json();
    assert_eq!((predicted[0]["id"].as_str(), predicted[0]["prediction"].as_str()), (Some("n"), Some("yes")));
    let importance = |row: usize| predicted[0]["importance"][row].as_f64().unwrap();
    assert!(importance(1) > importance(0) && (importance(0) + importance(1) - 1.0).abs() < 1e-5, "{predicted}");
    assert_eq!((predicted[1]["prediction"].as_str(), predicted[1]["rows"].as_u64()), (Some("no"), Some(1)));
    let plain =
        regard(folder.path(), &["predict", "--model", "run", "new.csv", "--rows", "rows.csv", "--importance"]).done();
    assert!(plain.out.starts_with("id,rows,"), "{plain:?}");
    assert!(plain.out.contains("n,2,yes") && plain.out.contains("m,1,no"), "{plain:?}");
    let rows = fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    assert_eq!(rows.lines().next(), Some("id,row,line,importance"));
    assert!(!plain.err.contains("values far outside"), "{plain:?}");
    fs::write(folder.path().join("cents.csv"), "age,amount,customer\n1,0,n\n3,900,n\n2,50,m\n").unwrap();
    let cents = regard(folder.path(), &["predict", "--model", "run", "cents.csv"]).done();
    let note = "values far outside those of training: `amount` (900; 0 to 9 in training); predictions from them";
    assert!(cents.err.contains(note), "{cents:?}");
    let shown = regard(folder.path(), &["model", "show", "run", "--json"]);
    assert_eq!((shown.json()["kind"].as_str(), shown.code), (Some("set-transformer"), Some(0)));
}

#[test]
fn answers_that_overflow_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("huge.csv"), "set,value\na,1\na,2\nb,1e30\nb,1e30\n").unwrap();
    let said = regard(folder.path(), &["predict", "--model", "regard-max", "huge.csv", "--group-by", "set"]);
    assert!(said.code == Some(2) && said.out.is_empty(), "{said:?}");
    for part in ["set `b`: the prediction is not a number", "far outside those of the training"] {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
}

#[test]
fn an_experiment_is_cut_into_folds() {
    let folder = folder();
    let arguments = with(&["eval", "sets/mil"], &["--folds", "4", "--repeats", "2", "--json"]);
    let json = regard(folder.path(), &arguments).done().json();
    assert!(json["accuracy"].as_f64().unwrap() > 0.8, "{json}");
    assert_eq!(
        (json["sets"].as_u64(), json["folds"].as_u64(), json["majority"].as_f64()),
        (Some(24), Some(4), Some(0.5))
    );
    assert_eq!(json["repeats"].as_array().unwrap().len(), 2);
    for part in ["network", "base"] {
        assert!(json["members"][part]["auc"].is_f64() && json["weights"][part].is_f64(), "{json}");
    }
    let without_seconds = |mut json: serde_json::Value| {
        json.as_object_mut().unwrap().remove("seconds");
        json
    };
    let again = regard(folder.path(), &arguments).done().json();
    assert_eq!(without_seconds(again), without_seconds(json), "a seed gives the same numbers");
}

#[test]
fn a_run_goes_on_and_is_measured_on_the_data_it_was_trained_on_alone() {
    let folder = folder();
    let data = folder.path().join("customers.csv");
    let train = with(&["train", "sets/mil"], &["--out", "run", "--steps", "12"]);
    regard(folder.path(), &train).done();
    let manifest = folder.path().join("run/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let digest = json["data_sha256"].as_str().unwrap();
    assert_eq!(digest.len(), 64);

    let before = fs::read_to_string(&data).unwrap();
    fs::write(&data, before.clone() + "new,1000,3,yes\n").unwrap();
    let resume = ["train", "--out", "run", "--resume"];
    let refused = regard(folder.path(), &resume);
    for part in ["data.path", "`customers.csv` is not the data the run was trained on", &digest[..12], "--out"] {
        assert!(refused.code == Some(2) && refused.err.contains(part), "{part}: {refused:?}");
    }
    let eval = ["eval", "--model", "run", "--training-data", "--json"];
    let refused = regard(folder.path(), &eval);
    for part in ["is not the data the model was trained on", "`--data customers.csv`"] {
        assert!(refused.code == Some(2) && refused.err.contains(part), "{part}: {refused:?}");
    }
    regard(folder.path(), &["eval", "--model", "run", "--data", "customers.csv"]).done();
    // A folder of a version that kept no digest is not checked.
    fs::write(&manifest, text.replace("data_sha256", "unknown")).unwrap();
    regard(folder.path(), &eval).done();
    fs::write(&manifest, text).unwrap();

    fs::write(&data, before).unwrap();
    regard(folder.path(), &eval).done();
    assert_eq!(regard(folder.path(), &[&resume[..], &["--json"]].concat()).done().json()["steps"], 200);
}

#[test]
fn a_training_ends_with_the_weights_of_network_and_base_learners() {
    let folder = folder();
    let none_held_out =
        with(&["train", "sets/mil"], &["--set", "data.validation_fraction=0", "--steps", "20", "--out", "all"]);
    let said = regard(folder.path(), &none_held_out).done();
    for part in ["the network has no weight in the answer", "no weights were fitted to held-out examples: "] {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
    assert!(said.out.contains(": training ") && !format!("{said:?}").contains("valid"), "{said:?}");
    let held_out = with(&["train", "sets/mil"], &["--steps", "20", "--out", "run"]);
    let said = regard(folder.path(), &held_out).done();
    assert!(said.out.contains(": validation ") && said.err.contains("the answer"), "{said:?}");
    let alone = with(&["train", "sets/mil"], &["--set", "eval.blend=false", "--steps", "20", "--out", "alone"]);
    assert!(!regard(folder.path(), &alone).done().err.contains("the answer"));
}

#[test]
fn a_resumed_run_takes_more_epochs_where_no_step_depends_on_them() {
    let folder = folder();
    let plain = ["--set", "eval.blend=false", "--set", "train.log_steps=1", "--set"];
    let train = |schedule: &'static str, last: &[&'static str]| {
        regard(folder.path(), &with(&["train", "sets/mil"], &[&plain[..], &[schedule], last].concat()))
    };
    let files = |run: &str| {
        ["model.safetensors", "metrics.jsonl"].map(|name| fs::read(folder.path().join(run).join(name)).unwrap())
    };
    let more = ["train", "--resume", "--json", "--set", "train.epochs=3", "--out"];
    let constant = "train.schedule=constant";
    train(constant, &["--set", "train.epochs=2", "--out", "run"]).done();
    let resumed = regard(folder.path(), &[&more[..], &["run"]].concat()).done().json();
    assert_eq!((resumed["steps"].as_u64(), resumed["ended"].as_str()), (Some(30), Some("complete")));
    train(constant, &["--set", "train.epochs=3", "--out", "straight"]).done();
    assert!(files("run") == files("straight"));

    train("train.schedule=cosine", &["--set", "train.epochs=2", "--out", "cosine"]).done();
    let refused = regard(folder.path(), &[&more[..], &["cosine"]].concat());
    for part in
        ["`train.epochs`: is 3, but the run has 2", "only `train.checkpoint_minutes` may change", "train.schedule"]
    {
        assert!(refused.code == Some(2) && refused.err.contains(part), "{part}: {refused:?}");
    }
}

#[test]
fn an_unreadable_experiment_of_a_model_is_said() {
    let folder = folder();
    regard(folder.path(), &with(&["train", "sets/mil"], &["--steps", "4", "--out", "run"])).done();
    let manifest = folder.path().join("run/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap().replace("\"standardise\"", "\"standardize\"");
    fs::write(&manifest, text).unwrap();
    let fault = "unknown field `standardize`";
    let refused = regard(folder.path(), &["eval", "--model", "run", "--training-data"]);
    assert!(refused.code == Some(2) && refused.err.contains(fault), "{refused:?}");
    assert!(!refused.err.contains("does not record"), "{refused:?}");
    let predict = ["predict", "--model", "run", "customers.csv", "--group-by", "customer"];
    let said = regard(folder.path(), &predict).done();
    assert!(said.err.contains("run/manifest.json: the experiment of the model is unreadable"), "{said:?}");
    assert!(said.err.contains(fault) && said.out.contains("c7,"), "{said:?}");
}

#[test]
fn base_learners_and_weights_of_two_networks_are_no_model() {
    let folder = folder();
    let run = |out: &'static str, seed: &'static str| {
        let last = ["--steps", "20", "--set", "train.log_steps=1", "--out", out, "--seed", seed];
        regard(folder.path(), &with(&["train", "sets/mil"], &last)).done();
        ["model.safetensors", "base.json"].map(|name| folder.path().join(out).join(name))
    };
    let ([weights, base], [others, _]) = (run("run", "1"), run("other", "2"));
    let kept = fs::read(&weights).unwrap();
    fs::copy(others, &weights).unwrap();
    let predict = ["predict", "--model", "run", "customers.csv"];
    let refused = regard(folder.path(), &predict);
    for part in ["base.json", "belongs to other weights", "--out run --resume"] {
        assert!(refused.code == Some(2) && refused.err.contains(part), "{part}: {refused:?}");
    }
    // A folder of a version that did not keep the digest.
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&base).unwrap()).unwrap();
    assert!(record.as_object_mut().unwrap().remove("weights_sha256").is_some());
    fs::write(&base, record.to_string()).unwrap();
    regard(folder.path(), &predict).done();
    fs::write(&weights, kept).unwrap();
    regard(folder.path(), &predict).done();
}

#[test]
fn another_file_is_measured_on() {
    let folder = folder();
    let in_windows_1252: Vec<u8> = customers(6).replace("c0,", "c\u{fc},").chars().map(|c| c as u8).collect();
    fs::write(folder.path().join("other.csv"), in_windows_1252).unwrap();
    let all = with(&["eval", "sets/mil"], &["--set", "data.test=other.csv", "--set", "train.epochs=1", "--json"]);
    let said = regard(folder.path(), &all).done();
    let json = said.json();
    assert!(json["accuracy"].is_f64() && json["folds"] == 1, "{json}");
    assert!(said.err.contains("other.csv: the file is not UTF-8"), "{said:?}");
    fs::write(folder.path().join("new.csv"), customers(6).replace(",yes\n", ",jawohl\n")).unwrap();
    let all = with(&["eval", "sets/mil"], &["--set", "data.test=new.csv", "--set", "train.epochs=1"]);
    let said = regard(folder.path(), &all);
    let expected = "new.csv: label `jawohl`: is not a class of the training data; its classes are `no`, `yes`";
    assert!(said.code == Some(2) && said.err.contains(expected), "{said:?}");
    let all = with(&["eval", "sets/mil"], &["--set", "data.test=other.csv", "--folds", "3"]);
    let said = regard(folder.path(), &all);
    assert!(said.code == Some(2) && said.err.contains("data.test"), "{said:?}");
}

#[test]
fn a_reliability_diagram_is_refused_before_anything_is_trained() {
    let folder = folder();
    fs::write(folder.path().join("flats.csv"), flats(1, 20)).unwrap();
    let of_numbers = ["eval", "sets/bags", "--set", "data.path=flats.csv", "--set", "data.group_by=flat"];
    let of_numbers = [&of_numbers[..], &["--set", "data.target=price", "--plot", "a.svg"]].concat();
    let of_classes = |more: &[&'static str]| with(&["eval", "sets/mil", "--folds", "2"], more);
    for (args, expected) in [
        (of_numbers, "only one task of classes has a reliability diagram"),
        (of_classes(&["--plot", "a.svg", "--only", "network"]), "hint: leave --only network out"),
        (of_classes(&["--plot", "a.svg", "--set", "eval.blend=false"]), "`eval.blend` is false"),
        (of_classes(&["--plot", "a.pdf"]), ".svg or .png"),
    ] {
        let said = regard(folder.path(), &args);
        // Metrics would be on standard output.
        assert!(said.code == Some(2) && said.out.is_empty() && said.err.contains(expected), "{args:?}: {said:?}");
        assert_eq!(said.err.contains("--only network"), args.contains(&"network"), "{said:?}");
    }
    let drawn = of_classes(&["--plot", "a.svg", "--only", "base", "--json"]);
    let json = regard(folder.path(), &drawn).done().json();
    assert!(json["accuracy"].is_f64() && json["reliability"].is_array(), "{json}");
    assert!(fs::read_to_string(folder.path().join("a.svg")).unwrap().starts_with("<svg"));
}

#[test]
fn generated_sets_need_no_file() {
    let folder = folder();
    let train = [
        "train",
        "sets/clustering",
        "--out",
        "run",
        "--steps",
        "2",
        "--set",
        "model.width=16",
        "--set",
        "eval.num_sets=4",
        "--json",
    ];
    regard(folder.path(), &train).done();
    let json = regard(folder.path(), &["eval", "--model", "run", "--training-data", "--json"]).done().json();
    for name in ["ll0", "ll1", "oracle"] {
        assert!(json[name].as_f64().is_some_and(f64::is_finite), "{name}: {json}");
    }
}

#[test]
fn clusters_are_written_and_drawn() {
    let folder = folder();
    let train = ["train", "sets/clustering", "--out", "run", "--steps", "2", "--set", "eval.num_sets=4"];
    regard(folder.path(), &train).done();
    let corner = |at: usize| format!("{},{}", 1000 + 40 * (at % 2), 500 + 40 * (at / 2));
    let points: String = (0..40).map(|row| format!("a,{}.{row}\n", corner(row % 4))).collect();
    fs::write(folder.path().join("points.csv"), format!("set,x,y\n{points}b,1.5,2.5\n")).unwrap();
    let asked = |more: &[&str]| {
        let all = [&["predict", "--model", "run", "points.csv", "--group-by", "set"], more].concat();
        regard(folder.path(), &all)
    };
    let plain = asked(&["--rescale", "--refine", "50", "--rows", "rows.csv", "--plot", "a.svg"]).done();
    assert!(plain.out.starts_with("id,component,weight,mean(x),mean(y),deviation(x),deviation(y)\na,1,"), "{plain:?}");
    assert_eq!(plain.out.lines().count(), 1 + 4 + 4);
    let rows = fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    assert!(rows.starts_with("id,row,line,component\na,1,2,") && rows.lines().count() == 42, "{rows}");
    assert!(fs::read_to_string(folder.path().join("a.svg")).unwrap().contains("40 points"));

    let json = asked(&["--rescale", "--refine", "50", "--json"]).done().json();
    let mean = json[0]["components"][0]["mean"][0].as_f64().unwrap();
    assert!((990.0..1060.0).contains(&mean), "{json}");
    let weight = |at: usize| json[0]["components"][at]["weight"].as_f64().unwrap();
    assert!(((0..4).map(weight).sum::<f64>() - 1.0).abs() < 1e-6, "{json}");
    for (more, expected) in [
        (&["--plot", "b.svg", "--example", "c"][..], "no such set"),
        (&["--plot", "b.pdf"], ".svg or .png"),
        (&["--importance"], "--rows FILE"),
    ] {
        let said = asked(more);
        assert!(said.code == Some(2) && said.err.contains(expected), "{said:?}");
    }
}

/// Something of the repository.
fn of_repository(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_shipped_model_finds_the_quarters_of_towns() {
    let (folder, model) = (folder(), of_repository("models/regard-clusters"));
    let towns = of_repository("examples/towns.csv");
    let asked = ["predict", "--model", &model, &towns, "--group-by", "town", "--rescale", "--refine", "20", "--json"];
    let json = regard(folder.path(), &asked).done().json();
    // As `make_towns.py` draws them.
    for (town, (name, drawn)) in [("Aldermere", 0.54), ("Brackwater", 0.3), ("Caldbeck", 0.12)].iter().enumerate() {
        assert_eq!(json[town]["id"], *name);
        for quarter in json[town]["components"].as_array().unwrap() {
            let found = quarter["deviation"][0].as_f64().unwrap();
            assert!((0.75 * drawn..1.25 * drawn).contains(&found), "{name}: {quarter}");
        }
    }
    let on_file = ["eval", "--model", &model, "--data", &towns, "--group-by", "town", "--json"];
    assert!(regard(folder.path(), &on_file).done().json()["ll0"].is_f64());
    let measured = regard(folder.path(), &["eval", "--model", &model, "--json"]).done().json();
    assert!(measured["ll0"].as_f64() > measured["oracle"].as_f64().map(|oracle| oracle - 0.02), "{measured}");
}

#[test]
fn the_shipped_model_tells_the_largest_number() {
    let (folder, model) = (folder(), of_repository("models/regard-max"));
    fs::write(folder.path().join("numbers.csv"), "set,number\na,3\na,97.5\na,41\nb,12\n").unwrap();
    let asked = ["predict", "--model", &model, "numbers.csv", "--group-by", "set", "--json"];
    let json = regard(folder.path(), &asked).done().json();
    for (set, largest) in [97.5, 12.0].iter().enumerate() {
        let found = json[set]["prediction"].as_f64().unwrap();
        assert!((found - largest).abs() < 0.2, "{json}");
    }
    fs::write(folder.path().join("answers.csv"), "set,number,max\na,3,97.5\na,97.5,97.5\nb,12,12\nb,5,12\n").unwrap();
    let measure = ["eval", "--model", &model, "--data", "answers.csv"];
    let measured = regard(folder.path(), &[&measure[..], &["--group-by", "set", "--target", "max", "--json"]].concat());
    assert!(measured.done().json()["mae"].as_f64().is_some_and(|mae| mae < 0.2));
    let refused = regard(folder.path(), &[&measure[..], &["--smiles", "set"]].concat());
    assert!(
        refused.code == Some(2) && refused.err.contains("--smiles does not apply to models for sets"),
        "{refused:?}"
    );
    let refused = regard(folder.path(), &measure);
    assert!(refused.code == Some(2) && refused.err.contains("`--group-by`"), "{refused:?}");
}

#[test]
fn importances_are_drawn() {
    let folder = folder();
    let train = with(&["train", "sets/mil"], &["--set", "model.pooling=attention", "--out", "run", "--steps", "2"]);
    regard(folder.path(), &train).done();
    let draw = ["predict", "--model", "run", "customers.csv", "--plot", "c2.png", "--example", "c2"];
    let said = regard(folder.path(), &draw).done();
    assert!(said.out.starts_with("id,rows,prediction") && !said.out.contains("importance"), "{said:?}");
    assert!(fs::read(folder.path().join("c2.png")).unwrap().starts_with(b"\x89PNG"));
    let wrong = regard(folder.path(), &["predict", "--model", "run", "customers.csv", "--attention", "edges.csv"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("--attention applies only to models on graphs"), "{wrong:?}");
    let wrong = regard(folder.path(), &["predict", "--model", "run", "customers.csv", "--rescale"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("classification"), "{wrong:?}");
}

#[test]
fn what_is_wrong_with_a_file_is_named() {
    let folder = folder();
    let refused = |text: &str, expected: &[&str]| {
        fs::write(folder.path().join("customers.csv"), text).unwrap();
        let said = regard(folder.path(), &with(&["eval", "sets/mil"], &["--folds", "2"]));
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(expected.iter().all(|part| said.err.contains(part)), "{expected:?}: {said:?}");
    };
    refused("customers,amount,left\n1,2,no\n", &["customers.csv:1", "customer", "customers"]);
    refused("customer,amount,left\na,x,no\nb,1,yes\n", &["customers.csv:2", "amount", "x"]);
    refused("customer,amount,left\na,inf,no\nb,1,yes\n", &["customers.csv:2", "amount"]);
    refused("customer,amount,left\na,1,no\na,2,yes\n", &["customers.csv:3", "left"]);
    refused("customer,amount,left\n", &["customers.csv"]);
    refused("customer,amount,left\na,1,no\n", &["--folds 2: "]);
    let missing = regard(folder.path(), &["eval", "sets/max"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("has no file to split"), "{missing:?}");
    let routes = regard(folder.path(), &["eval", "routes/tsp20"]);
    assert!(routes.code == Some(2) && routes.err.contains("its instances are generated"), "{routes:?}");
}

/// Groups of two rows with a price: a line through their means, and noise from -1 to 1 that nothing explains.
fn flats(seed: u64, count: usize) -> String {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut text = "flat,size,floor,price\n".to_owned();
    for flat in 0..count {
        let rows = [[uniform(), uniform()], [uniform(), uniform()]];
        let price = 5.0 + rows[0][0] + rows[1][0] - rows[0][1] - rows[1][1] + 2.0 * uniform() - 1.0;
        for [size, floor] in rows {
            writeln!(text, "f{flat},{size:.4},{floor:.4},{price:.4}").unwrap();
        }
    }
    text
}

/// The share of the prices of `flats` that lie in the intervals of a table of predictions.
fn coverage(flats: &str, predictions: &str, low: &str, high: &str) -> f64 {
    let mut lines = predictions.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column =
        |name: &str| head.iter().position(|known| *known == name).unwrap_or_else(|| panic!("{name}: {head:?}"));
    let (low, high) = (column(low), column(high));
    let prices: Vec<f64> =
        flats.lines().skip(1).step_by(2).map(|l| l.rsplit(',').next().unwrap().parse().unwrap()).collect();
    let fields: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(fields.len(), prices.len());
    let within = |(fields, price): (&Vec<&str>, &f64)| {
        let [low, high] = [low, high].map(|at| fields[at].parse::<f64>().unwrap());
        (low..=high).contains(price)
    };
    fields.iter().zip(&prices).filter(|pair| within(*pair)).count() as f64 / prices.len() as f64
}

#[test]
fn predicted_numbers_have_intervals_that_hold_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("flats.csv"), flats(1, 500)).unwrap();
    let new = flats(2, 200);
    fs::write(folder.path().join("new.csv"), &new).unwrap();
    let train = |more: &[&str], out: &str| {
        let all = [
            &["train", "sets/bags", "--set", "data.path=flats.csv", "--set", "data.group_by=flat"][..],
            &["--set", "data.target=price", "--set", "data.validation_fraction=0.4", "--set", "model.width=16"],
            &["--set", "model.dropout=0", "--set", "train.epochs=4", "--set", "train.steps_per_epoch=20"],
            &["--set", "train.min_passes=1", "--out", out],
            more,
        ];
        regard(folder.path(), &all.concat()).done()
    };
    train(&[], "blend");
    train(&["--set", "eval.blend=false"], "network");
    for (model, more) in
        [("blend", &[][..]), ("blend", &["--only", "network"]), ("blend", &["--only", "base"]), ("network", &[])]
    {
        let said = regard(folder.path(), &[&["predict", "--model", model, "new.csv"][..], more].concat()).done();
        assert!(said.out.starts_with("id,rows,prediction,lo-80,hi-80,lo-95,hi-95\n"), "{said:?}");
        let of = |low, high| coverage(&new, &said.out, low, high);
        let (eighty, most) = (of("lo-80", "hi-80"), of("lo-95", "hi-95"));
        assert!((0.7..=0.9).contains(&eighty) && (0.9..=1.0).contains(&most), "{model} {more:?}: {eighty} {most}");
    }
    let levels = ["predict", "--model", "blend", "new.csv", "--levels", "50,97.5", "--json"];
    let json = regard(folder.path(), &levels).done().json();
    let (prediction, intervals) = (json[0]["prediction"].as_f64().unwrap(), &json[0]["intervals"]);
    assert_eq!((intervals[0]["level"].as_f64(), intervals[1]["level"].as_f64()), (Some(50.0), Some(97.5)));
    let end = |at: usize, name: &str| intervals[at][name].as_f64().unwrap();
    assert!(end(1, "low") < end(0, "low") && end(0, "low") < prediction && prediction < end(0, "high"), "{json}");
    let wrong = regard(folder.path(), &["predict", "--model", "blend", "new.csv", "--levels", "99.9"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("need 999 validation examples"), "{wrong:?}");
    let wrong = regard(folder.path(), &["predict", "--model", "blend", "new.csv", "--levels", "100"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("at most 99.9"), "{wrong:?}");

    // A folder of an earlier version has no such errors.
    fs::remove_file(folder.path().join("blend/validation_errors.json")).unwrap();
    let said = regard(folder.path(), &["predict", "--model", "blend", "new.csv"]).done();
    assert!(said.out.starts_with("id,rows,prediction\n"), "{said:?}");
    assert!(said.err.starts_with("no prediction intervals: `blend` has no errors of validation examples"), "{said:?}");
    fs::write(folder.path().join("network/validation_errors.json"), "{\"format\":1}").unwrap();
    let said = regard(folder.path(), &["predict", "--model", "network", "new.csv"]);
    assert!(said.code == Some(2) && said.err.contains("validation_errors.json"), "{said:?}");
}

#[test]
fn there_is_one_table_on_standard_output() {
    let folder = folder();
    let train = with(&["train", "sets/mil"], &["--set", "model.pooling=attention", "--out", "run", "--steps", "5"]);
    regard(folder.path(), &train).done();
    let said = regard(folder.path(), &["predict", "--model", "run", "customers.csv", "--importance"]).done();
    let mut lines = said.out.lines();
    assert_eq!(lines.next(), Some("id,row,line,prediction,p(no),p(yes),importance"), "{said:?}");
    assert!(lines.all(|line| line.split(',').count() == 7), "{said:?}");
    let wrong = regard(folder.path(), &["predict", "--model", "run", "customers.csv", "--levels", "80"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("predicts no numbers"), "{wrong:?}");
}

#[test]
fn a_cosine_schedule_falls_to_its_end_when_the_time_ends() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("flats.csv"), flats(1, 60)).unwrap();
    let train = [
        &["train", "sets/bags", "--set", "data.path=flats.csv", "--set", "data.group_by=flat"][..],
        &["--set", "data.target=price", "--set", "model.width=16", "--set", "train.steps_per_epoch=10"],
        &["--set", "train.epochs=100000", "--set", "train.max_steps=0", "--set", "train.log_steps=1"],
        &["--set", "eval.blend=false", "--time", "3s", "--out", "run"],
    ];
    let said = regard(folder.path(), &train.concat()).done();
    assert!(said.err.contains("fit into --time; the learning rate (cosine)"), "{said:?}");
    let metrics = fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    let rate = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["learning_rate"].as_f64();
    let rates: Vec<f64> = metrics.lines().filter_map(rate).collect();
    let highest = rates.iter().copied().fold(0.0, f64::max);
    assert!(rates[rates.len() - 1] < 0.05 * highest, "{highest} {:?}", rates.last());
}

#[test]
fn base_learners_are_a_part_of_the_time() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("flats.csv"), flats(1, 400)).unwrap();
    let train = [
        &["train", "sets/bags", "--set", "data.path=flats.csv", "--set", "data.group_by=flat"][..],
        &["--set", "data.target=price", "--set", "model.width=16", "--set", "train.steps_per_epoch=5"],
        &["--set", "train.epochs=100000", "--set", "train.max_steps=0", "--time", "3s", "--out", "run", "--json"],
    ];
    let said = regard(folder.path(), &train.concat()).done();
    assert!(said.err.contains(" of --time; at most a third of it is theirs"), "{said:?}");
    // Otherwise they take as long as they need, up to five minutes.
    let base = said.err.split("base learners took ").nth(1).and_then(|rest| rest.split(' ').next());
    let base: f64 = base.unwrap().parse().unwrap();
    assert!(base < 3.0 && said.json()["steps"].as_u64() > Some(0), "{said:?}");
}

#[test]
fn a_row_of_a_paper_is_trained_with_several_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let measured = |out: &str, more: &[&str]| {
        let paper =
            ["bench", "paper", "--table", "set-transformer", "--rows", "max: rFF + mean", "--steps", "3", "--out"];
        let rows = regard(folder.path(), &[&paper[..], &[out, "--json"], more].concat()).done().json();
        (rows[0]["ours"][0].as_f64().unwrap(), rows[0].clone())
    };
    let (mean, both) = measured("both", &["--seeds", "2"]);
    assert_eq!(both["seeds"], serde_json::json!([1234, 1235]));
    assert_eq!(both["steps"], 6);
    let (first, alone) = measured("first", &[]);
    assert_eq!((&alone["seeds"], &alone["deviations"][0]), (&serde_json::json!([1234]), &serde_json::Value::Null));
    let (second, _) = measured("second", &["--seed", "1235"]);
    assert_ne!(first, second);
    assert_eq!(mean, (first + second) / 2.0);
    let deviation = both["deviations"][0].as_f64().unwrap();
    assert!((deviation - (first - second).abs() / 2_f64.sqrt()).abs() < 1e-12, "{both}");
    // The runs are finished: they are measured again, not trained.
    assert_eq!(measured("both", &["--seeds", "2"]).1["ours"], both["ours"]);
    // A training that diverges is reported and left out, and the next seed goes on.
    let diverging = ["bench", "paper", "--table", "set-transformer", "--rows", "max: rFF + mean", "--steps", "3"];
    let how = ["--json", "--out", "diverging", "--seeds", "2", "--set", "train.learning_rate=1e30"];
    let said = regard(folder.path(), &[&diverging[..], &how].concat()).done();
    assert!(said.err.contains("seed 1234 is not in the mean"), "{said:?}");
    let row = &said.json()[0];
    assert_eq!((&row["diverged"], &row["ours"][0]), (&serde_json::json!([1234, 1235]), &serde_json::Value::Null));
    assert_eq!(row["seconds"].to_string(), "0.0");
}

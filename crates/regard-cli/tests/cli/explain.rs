//! `regard explain attention`.

use std::path::{Path, PathBuf};

use crate::files::folder_with;
use crate::program::regard;

#[test]
fn the_first_page_is_the_example_worked_by_hand() {
    let said = regard(Path::new("."), &["explain", "attention"]).done();
    assert!(said.out.contains("0.66976") && said.out.contains("0.33024"), "{said:?}");
    insta::assert_snapshot!("explain_attention", said.out);
}

#[test]
fn an_input_of_ones_own() {
    let input = r#"{"query": [[1, 0], [0, 2]], "key": [[1, 0], [0, 2], [1, 1]], "value_weights": [[2, 0], [0, 2]],
        "mask": [[1, 1, 0], [1, 1, 1]], "query_tokens": ["we", "see"], "key_tokens": ["you", "and", "me"]}"#;
    let folder = folder_with("in.json", input);
    let said = regard(folder.path(), &["explain", "attention", "--input", "in.json"]).done();
    insta::assert_snapshot!("explain_attention_masked", said.out);
    let wrong = folder_with("in.json", r#"{"x": [[1, 2]], "lengths": [2]}"#);
    let said = regard(wrong.path(), &["explain", "attention", "--input", "in.json"]);
    assert!(said.code == Some(2) && said.err.contains("lengths: expected 1 numbers of keys, none above 1"), "{said:?}");
}

#[test]
fn json_has_every_step_with_its_shape() {
    let json = regard(Path::new("."), &["explain", "attention", "--json"]).done().json();
    assert_eq!(json["schema"], "regard-trace/1");
    let weights = step(&json, "attention");
    assert_eq!(weights["shape"], serde_json::json!([2, 2, 2]));
    let own = weights["values"][0][0][0].as_f64().unwrap();
    assert!((own - 0.669_761_55).abs() < 1e-6);
    let all = ["explain", "attention", "--json", "--parameters", "--filter", "query"];
    let parameters = regard(Path::new("."), &all).done().json()["parameters"].clone();
    assert_eq!(parameters.as_array().map(Vec::len), Some(1), "those of the steps that are shown: {parameters}");
    let one = regard(Path::new("."), &["explain", "attention", "--filter", "attention", "--head", "1"]).done();
    assert!(one.out.contains("head 1") && !one.out.contains("raw_score ="), "{}", one.out);
}

#[test]
fn steps_are_drawn_and_written_as_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let places = repository("examples/capitals.csv").display().to_string();
    let draw =
        |filter: &str, file: &str| regard(folder.path(), &["explain", &places, "--filter", filter, "--plot", file]);
    draw("decode.3.probability", "plane.svg").done();
    draw("encoder.0.attention", "heads.png").done();
    let plane = std::fs::read_to_string(folder.path().join("plane.svg")).unwrap();
    assert!(plane.contains("Reykjavik") && plane.matches("<circle").count() >= 47, "{plane}");
    assert!(std::fs::read(folder.path().join("heads.png")).unwrap().starts_with(b"\x89PNG"));
    let many = draw("encoder.0", "many.svg");
    assert!(many.code == Some(2) && many.err.contains("--plot draws one step"), "{many:?}");
    let said = regard(folder.path(), &["explain", &places, "--html", "tour.html"]).done();
    assert!(said.err.contains("tour.html"), "{said:?}");
    let html = std::fs::read_to_string(folder.path().join("tour.html")).unwrap();
    let foreign = ["https://", " src=", "@import", "url("];
    assert!(html.contains("decode.46.probability") && foreign.iter().all(|word| !html.contains(word)));
}

/// The page in `file` after its script ran, in a browser without a window; `None`, and a line that says so, without one.
fn in_browser(file: &Path, state: &str) -> Option<String> {
    let programs = ["chromium", "chromium-browser", "google-chrome"];
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--virtual-time-budget=3000",
        "--dump-dom",
    ];
    let address = format!("file://{}#{state}", file.display());
    let profile = tempfile::tempdir().unwrap();
    let data = format!("--user-data-dir={}", profile.path().display());
    let run =
        |program: &&str| std::process::Command::new(program).args(arguments).args([&data, &address]).output().ok();
    let said = programs.iter().find_map(run).filter(|said| said.status.success());
    if said.is_none() {
        regard_testing::skipped("no Chromium that starts");
    }
    said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned())
}

#[test]
fn pages_of_every_family_show_their_steps_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let root = repository(".");
    let pages: [(&[&str], &str, &[&str]); 6] = [
        (&["examples/harbours.csv"], "", &["Decisions", "Gullstrand", "<polyline"]),
        (&["examples/harbours.csv"], "step=decode.3.probability", &["decode.3.logits", "<circle", "chosen", "3 of 6"]),
        (
            &["examples/clouds.csv", "--model", "models/regard-clusters", "--group-by", "cloud"],
            "step=pooling.attention&head=1",
            &["head 1", "row 12", "data:image/png", "seed 0"],
        ),
        (
            &["examples/molecules.csv", "--model", "models/regard-solubility", "--example", "18"],
            "step=layer.0.attention",
            &["C2→O3", "mean of the heads", "data:image/png"],
        ),
        (
            &["examples/station.csv", "--model", "models/regard-etth1", "--example", "OT"],
            "step=forecast",
            &["window.center", "class=\"line solid\""],
        ),
        (&["attention"], "step=attention", &["0.67", "0.33", "token 2", "raw_score"]),
    ];
    for (arguments, state, expected) in pages {
        let file = folder.path().join("page.html");
        let html = file.display().to_string();
        regard(&root, &[&["explain"], arguments, &["--html", &html]].concat()).done();
        let Some(shown) = in_browser(&file, state) else { return };
        // The numbers stand in the file too; the script writes the rest.
        let drawn = &shown[..shown.find("trace-data").unwrap()];
        for word in expected {
            assert!(drawn.contains(word), "{arguments:?}#{state}: no {word} in {drawn}");
        }
    }
}

#[test]
fn a_model_folder_that_is_not_there_is_named() {
    let said = regard(&repository("."), &["explain", "examples/capitals.csv", "--model", "models/nothing"]);
    assert!(said.code == Some(2) && said.err.contains("models/nothing"), "{said:?}");
    assert!(!said.err.contains("is a model on routes"), "{said:?}");
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The trace of a command.
fn trace(arguments: &[&str]) -> serde_json::Value {
    let json = regard(&repository("."), &[&["explain"], arguments, &["--json"]].concat()).done().json();
    assert_eq!(json["schema"], "regard-trace/1");
    json
}

fn step<'t>(trace: &'t serde_json::Value, name: &str) -> &'t serde_json::Value {
    let steps = trace["steps"].as_array().unwrap();
    steps.iter().find(|step| step["name"] == name).unwrap_or_else(|| panic!("no step {name}"))
}

fn row(step: &serde_json::Value) -> Vec<f64> {
    step["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap_or(f64::NEG_INFINITY)).collect()
}

#[test]
fn decisions_of_a_policy_can_be_recomputed_from_json() {
    let trace = trace(&["examples/capitals.csv"]);
    let (clipped, mask) = (row(step(&trace, "decode.3.clipped")), row(step(&trace, "decode.3.mask")));
    let logits = row(step(&trace, "decode.3.logits"));
    assert!(logits.iter().zip(&clipped).all(|(logit, clipped)| (10.0 * logit.tanh() - clipped).abs() < 1e-4));
    let total: f64 = clipped.iter().zip(&mask).map(|(x, open)| x.exp() * open).sum();
    let probability = row(step(&trace, "decode.3.probability"));
    for ((x, open), found) in clipped.iter().zip(&mask).zip(&probability) {
        assert!((x.exp() * open / total - found).abs() < 1e-5);
    }
    let reasons = step(&trace, "decode.3.mask")["notes"].as_array().unwrap().iter().filter(|note| *note == "visited");
    assert_eq!(reasons.count(), 3);
    let axes = &step(&trace, "encoder.0.attention")["axes"];
    assert_eq!(
        (&axes[0]["name"], &axes[1]["name"], &axes[2]["name"]),
        (&"head".into(), &"node".into(), &"node".into())
    );
    assert_eq!(axes[1]["labels"].as_array().unwrap().len(), probability.len());
}

#[test]
fn a_page_shows_decisions_and_a_part_shows_numbers() {
    let root = repository(".");
    let said = regard(&root, &["explain", "examples/capitals.csv"]).done();
    assert!(said.out.contains("decisions, log-probability") && said.out.contains("encoder.2.norm"), "{}", said.out);
    let part = ["explain", "examples/capitals.csv", "--filter", "encoder.0.attention", "--head", "2"];
    let said = regard(&root, &part).done();
    assert!(said.out.contains("head 2") && !said.out.contains("head 3"), "{}", said.out);
    let wrong: [(&[&str], &str); 5] = [
        (&["--step", "99"], "there are the decoding steps 0 to "),
        (&["--layer", "9"], "there are the layers 0 to 5"),
        (&["--layer", "0", "--head", "8"], "there are the heads 0 to 7"),
        (&["--filter", "nothing"], "no step has that in its name"),
        (&["--example", "a"], "--example does not apply to a model on routes"),
    ];
    for (more, expected) in wrong {
        let said = regard(&root, &[&["explain", "examples/capitals.csv"], more].concat());
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(expected), "{more:?}: {}", said.err);
    }
}

#[test]
fn models_of_every_family_are_explained() {
    let model = |name: &str| repository("models").join(name).display().to_string();
    let folder = folder_with("bags.csv", "bag,x\na,3\na,41\nb,5\n");
    let explain = |arguments: &[&str]| {
        let json = regard(folder.path(), &[&["explain"], arguments, &["--json"]].concat()).done().json();
        assert!(json["steps"].as_array().is_some_and(|steps| !steps.is_empty()), "{arguments:?}");
        json
    };
    let sets = model("regard-max");
    let set = explain(&["bags.csv", "--model", &sets, "--group-by", "bag", "--filter", "pooling.attention"]);
    let labels = &step(&set, "pooling.attention")["axes"].as_array().unwrap().last().unwrap()["labels"];
    assert_eq!(labels, &serde_json::json!(["row 1", "row 2"]));
    let other = explain(&["bags.csv", "--model", &sets, "--group-by", "bag", "--example", "b", "--parameters"]);
    assert_eq!(other["input"], "set b");
    assert!(other["parameters"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == "answer.weight")));
    let none = regard(folder.path(), &["explain", "bags.csv", "--model", &sets, "--group-by", "bag", "--example", "c"]);
    assert!(none.code == Some(2) && none.err.contains("the first are a, b"), "{none:?}");

    std::fs::write(folder.path().join("molecules.csv"), "name,smiles\nethanol,CCO\nbenzene,c1ccccc1\n").unwrap();
    let solubility = model("regard-solubility");
    let graph = explain(&["molecules.csv", "--model", &solubility, "--smiles", "smiles"]);
    assert_eq!(step(&graph, "positions.laplacian.eigenvalues")["shape"], serde_json::json!([2]));
    assert!(step(&graph, "layer.0.clamped")["axes"][0]["labels"][0].as_str().is_some_and(|edge| edge.contains('→')));

    let kinds = regard(folder.path(), &["explain", "bags.csv", "--model", &solubility]);
    assert!(kinds.code == Some(2) && kinds.err.contains("is a model on graphs"), "{kinds:?}");
    let both = "looks like a file of sets";
    assert!(kinds.err.contains(both), "{kinds:?}");
    let routes = regard(folder.path(), &["explain", "molecules.csv", "--model", &model("regard-tsp")]);
    assert!(routes.err.contains("a model on routes, and molecules.csv looks like a file of graphs"), "{routes:?}");
    let missing = regard(folder.path(), &["explain", "nothing.csv"]);
    assert!(missing.code == Some(2) && !missing.err.contains("no model is given"), "{missing:?}");
}

/// A training of a small network, without its experiment.
const SMALL: [&str; 16] = [
    "--set",
    "data.nodes=7",
    "--set",
    "model.width=16",
    "--set",
    "model.heads=2",
    "--set",
    "model.layers=1",
    "--set",
    "model.feedforward_width=16",
    "--set",
    "train.baseline_instances=50",
    "--set",
    "eval.instances=10",
    "--set",
    "train.batch_size=8",
];

#[test]
fn a_training_step_is_shown_by_an_experiment_and_by_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let of = |arguments: &[&str]| regard(folder.path(), &[arguments, &SMALL[..]].concat());
    let said = of(&["explain", "learning", "routes/tsp20-kool"]).done();
    for expected in
        ["training step 1 on 4 instances of tsp", "sampled tour", "tour of the baseline", "norm of the gradient", "p "]
    {
        assert!(said.out.contains(expected), "{expected}: {}", said.out);
    }
    let json =
        of(&["explain", "learning", "routes/tsp20-kool", "--instances", "3", "--seed", "5", "--json"]).done().json();
    assert_eq!((&json["schema"], &json["model"]), (&"regard-trace/1".into(), &"routes/tsp20-kool".into()));
    assert_eq!(step(&json, "sampled.cost")["shape"], serde_json::json!([3, 1]));
    assert_eq!(step(&json, "comparison.difference")["shape"], serde_json::json!([50]));

    let train = ["train", "routes/tsp20-kool", "--out", "run", "--steps", "3", "-v", "--set", "train.epoch_size=16"];
    let trained = of(&train).done();
    assert!(trained.err.contains("mean difference") && trained.err.contains(", p "), "{}", trained.err);
    let metrics = std::fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    let valid = metrics.lines().find(|line| line.contains("\"valid\"")).unwrap();
    assert!(["mean_difference", "t_statistic", "p_value"].iter().all(|name| valid.contains(name)), "{valid}");
    let run = regard(folder.path(), &["explain", "learning", "run", "--filter", "gradient.layer"]).done();
    assert!(run.out.contains("training step 4 on 4 instances") && run.out.contains("encoder.0"), "{}", run.out);
}

#[test]
fn what_has_no_training_step_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let tsp = repository("models/regard-tsp").display().to_string();
    let cases: [(&[&str], &[&str]); 5] = [
        (&["sets/max"], &["sets/max is an experiment on sets", "for experiments on routes"]),
        (&["empty"], &["empty holds no run", "experiment.toml"]),
        (&[&tsp], &["is a model without the run that trained it", "train.init_from"]),
        (&["routes/tsp20-kool", "--instances", "9999"], &["a step has 1 to 512 instances", "train.batch_size"]),
        (&["routes/nothing"], &["neither a file nor a built-in experiment"]),
    ];
    for (arguments, expected) in cases {
        let said = regard(folder.path(), &[&["explain", "learning"], arguments].concat());
        crate::errors::refused(&said, expected);
    }
}

#[test]
fn without_a_model_the_built_in_one_for_the_file_is_explained() {
    let explain = |arguments: &[&str]| regard(&repository("."), &[&["explain"], arguments].concat());
    let cases: [(&[&str], &str); 5] = [
        (&["examples/harbours.csv"], "regard-tsp"),
        (&["examples/bags.csv"], "regard-max"),
        (&["examples/clouds.csv"], "regard-clusters"),
        (&["examples/molecules.csv"], "regard-solubility"),
        (&["examples/station.csv"], "regard-etth1"),
    ];
    for (arguments, model) in cases {
        let chosen = explain(&[arguments, &["--json"]].concat()).json();
        assert_eq!(chosen["model"], model, "{arguments:?}");
        // The name of a built-in model is a value of --model.
        let mut named = [arguments, &["--json", "--model", model]].concat();
        if ["regard-max", "regard-clusters"].contains(&model) {
            named.extend(["--group-by", if model == "regard-max" { "bag" } else { "cloud" }]);
        }
        assert_eq!(explain(&named).json()["steps"], chosen["steps"], "{arguments:?}");
    }
    let said = explain(&["examples/bags.csv"]);
    assert!(
        said.err.contains("--group-by COLUMN") && said.err.contains("regard-max is the built-in model"),
        "{said:?}"
    );
}

#[test]
fn without_a_model_that_fits_the_built_in_ones_are_named() {
    let folder = folder_with("bags.csv", "bag,a,b,c\na,3,1,2\na,4,1,1\n");
    let said = regard(folder.path(), &["explain", "bags.csv"]);
    crate::errors::refused(&said, &["seems to hold sets", "no built-in model fits", "regard-clusters", "--model"]);
    let folder = folder_with("words.csv", "word\nhello\n");
    crate::errors::refused(&regard(folder.path(), &["explain", "words.csv"]), &["no model is given", "regard-etth1"]);
    let folder = folder_with("graph.jsonl", "{\"nodes\": [{\"a\": 1}], \"edges\": []}\n");
    crate::errors::refused(&regard(folder.path(), &["explain", "graph.jsonl"]), &["no model is given"]);
}

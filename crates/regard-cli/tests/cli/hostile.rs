//! Hostile files, settings and models: each ends with exit code 2 and says where, in time and without a panic.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use regard::routes::model::{AttentionModelConfig, ModelDir};
use regard::store::Manifest;
use serde_json::Value;

use crate::errors::refused;
use crate::files::{PENTAGON, config, folder, folder_with, weights};
use crate::program::{command, regard, said};

/// A small training, and sets of numbers with a target each.
const SMALL: [&str; 12] = [
    "--set",
    "data.path=bags.csv",
    "--set",
    "data.group_by=bag",
    "--set",
    "data.target=y",
    "--set",
    "model.width=16",
    "--set",
    "train.epochs=4",
    "--set",
    "train.steps_per_epoch=5",
];

/// Sets whose target is `target` of their number.
fn bags(folder: &Path, target: impl Fn(usize) -> String) {
    let mut text = "bag,x,y\n".to_owned();
    for bag in 0..30 {
        for row in 0..3 {
            writeln!(text, "b{bag},{},{}", (7 * bag + row) % 10, target(bag)).unwrap();
        }
    }
    fs::write(folder.join("bags.csv"), text).unwrap();
}

fn train<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["train", "sets/bags", "--out", "run", "--set", "eval.blend=false"][..], &SMALL, more].concat()
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A model whose embeddings overflow, although each of its weights is finite.
fn overflowing(folder: &Path, problem: &str) {
    let config = AttentionModelConfig { problem: problem.into(), ..config() };
    let mut weights = weights(&config);
    weights.get_mut("init_embed.bias").unwrap().data.fill(1e38);
    ModelDir::save(folder.join("wild"), &config, &weights, &Manifest::default()).unwrap();
}

#[test]
fn probabilities_that_are_not_numbers_end_the_command() {
    for problem in ["tsp", "cvrp", "sdvrp"] {
        let folder = folder_with("in.tsp", PENTAGON);
        overflowing(folder.path(), problem);
        let set = format!("{problem}20");
        for decode in ["greedy", "sample:8", "multistart:4", "beam:3"] {
            let eval = ["eval", "--model", "wild", "--paper-set", &set, "--limit", "3", "--decode", decode];
            let said = regard(folder.path(), &eval);
            assert!(said.code == Some(2) && said.out.is_empty(), "{said:?}");
            for part in ["instance 1, step ", "the probability of the next node is not a number", "hint: "] {
                assert!(said.err.contains(part), "{said:?}");
            }
        }
        if problem == "tsp" {
            for more in [&[][..], &["--decode", "greedy", "--time", "200ms"]] {
                let said = regard(folder.path(), &[&["solve", "in.tsp", "--model", "wild"][..], more].concat());
                refused(&said, &["step 1", "is not a number"]);
            }
        }
    }
}

#[test]
fn a_training_that_diverges_ends() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = "[task]\nproblem = 'cvrp'\n[data]\nnodes = 6\n[model]\nwidth = 16\nheads = 2\nlayers = 1\n\
                      feedforward_width = 16\n[train]\nbatch_size = 8\nepoch_size = 400\nepochs = 2\nlearning_rate = 1e30\n\
                      max_grad_norm = 0.0\n[eval]\ninstances = 20\n";
    fs::write(folder.path().join("wild.toml"), experiment).unwrap();
    let said = regard(folder.path(), &["train", "wild.toml", "--out", "run"]);
    refused_after_notes(&said.err, said.code, &["run: step ", "hint: try a lower `train.learning_rate`"]);
}

/// A refusal below the notes of a training.
fn refused_after_notes(err: &str, code: Option<i32>, fragments: &[&str]) {
    assert_eq!(code, Some(2), "{err}");
    fragments.iter().for_each(|fragment| assert!(err.contains(fragment), "`{fragment}` is not in {err}"));
}

#[test]
fn what_a_training_writes_can_be_read_again() {
    for (suffix, more) in [
        ("e300", &[][..]),
        ("e37", &[]),
        ("", &["--set", "train.weight_decay=1e9"]),
        ("", &["--set", "train.learning_rate=1e30"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        bags(folder.path(), |bag| format!("{bag}{suffix}"));
        let said = regard(folder.path(), &train(more));
        assert!(matches!(said.code, Some(0 | 2)), "{said:?}");
        let run = folder.path().join("run");
        if run.join("config.json").exists() {
            regard(folder.path(), &["model", "show", "run"]).done();
            assert!(!fs::read_to_string(run.join("manifest.json")).unwrap().contains("null"), "{said:?}");
        }
        if run.join("metrics.jsonl").exists() {
            let lines = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
            assert!(!lines.contains("null"), "{lines}");
        }
    }
}

#[test]
fn grades_of_relevance_have_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "query,x,grade\n".to_owned();
    (0..40).for_each(|row| writeln!(text, "q{},{row},{}", row / 4, if row % 4 == 0 { 1100 } else { 0 }).unwrap());
    fs::write(folder.path().join("ranked.csv"), text).unwrap();
    let said = regard(
        folder.path(),
        &[
            "train",
            "sets/ranking",
            "--set",
            "data.source=file",
            "--set",
            "data.path=ranked.csv",
            "--set",
            "data.group_by=query",
            "--set",
            "data.item_target=grade",
        ],
    );
    refused(&said, &["data.item_target", "1100", "from 0 to 64"]);
}

#[test]
fn sizes_are_checked_before_memory_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    bags(folder.path(), |bag| bag.to_string());
    for (set, words) in [
        ("train.checkpoint_minutes=4e17", ["train.checkpoint_minutes", "at most 525600"]),
        ("train.batch_size=9223372036854775807", ["train.batch_size", "1 to 65536"]),
        ("train.batch_size=1000000000", ["train.batch_size", "1 to 65536"]),
        ("train.epochs=9223372036854775807", ["train.epochs", "1 to 1000000"]),
        ("train.steps_per_epoch=9223372036854775807", ["train.steps_per_epoch", "0 to 1000000000"]),
        ("eval.ensemble=1000000000", ["eval.ensemble", "1 to 1000"]),
        ("task.family=nan", ["task.family", "`nan` is not a family"]),
        ("task.family=graphs", ["task.family", "of the family `sets`"]),
        ("model.format=1000000000", ["model.format", "reads format 1"]),
        ("model.kind=patchtst", ["model.kind", "set-transformer"]),
    ] {
        refused(&regard(folder.path(), &train(&["--set", set])), &words);
    }
    for (flag, value) in [("--repeats", "18446744073709551615"), ("--repeats", "1000000000"), ("--folds", "1000000000")]
    {
        let eval = [&["eval", "sets/bags", flag, value][..], &SMALL].concat();
        refused(&regard(folder.path(), &eval), &[flag, "expected an integer from "]);
    }
    let windows = ["eval", "series/forecast", "--windows", "18446744073709551615"];
    refused(&regard(folder.path(), &windows), &["--windows", "expected an integer from 1 to"]);
}

#[test]
fn the_environment_is_checked() {
    let folder = folder_with("in.tsp", PENTAGON);
    for (name, value) in [("REGARD_SIMD", "foo"), ("RAYON_NUM_THREADS", "100000"), ("RAYON_NUM_THREADS", "many")] {
        let output = command(folder.path(), &["solve", "in.tsp", "--model", "model"]).env(name, value).output();
        refused(&said(output.unwrap()), &[name, value, "hint: "]);
    }
    let output =
        command(folder.path(), &["solve", "in.tsp", "--model", "model"]).env("RAYON_NUM_THREADS", "1").output();
    said(output.unwrap()).done();
}

#[test]
fn settings_of_trained_weights_cannot_be_edited() {
    let folder = folder_with("in.tsp", PENTAGON);
    let path = folder.path().join("model/config.json");
    let config = fs::read_to_string(&path).unwrap();
    let solve = || regard(folder.path(), &["solve", "in.tsp", "--model", "model"]);
    // The weights of four heads have the shapes of those of two.
    fs::write(&path, config.replace("\"heads\": 2", "\"heads\": 4")).unwrap();
    refused(&solve(), &["model/config.json", "describes another network than that of `model.safetensors`", "hint: "]);
    fs::write(&path, config.replace('\n', "\r\n")).unwrap();
    solve().done();
}

#[test]
fn the_manifest_holds_the_metrics_of_the_weights_that_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    bags(folder.path(), |bag| ((13 * bag) % 7).to_string());
    let more = ["--set", "train.select=best", "--set", "train.epochs=12", "--set", "train.learning_rate=0.02"];
    regard(folder.path(), &train(&more)).done();
    let lines = fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let costs: Vec<f64> =
        lines.filter(|line| line["kind"] == "valid").map(|line| line["cost"].as_f64().unwrap()).collect();
    let best = costs.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(costs.last().is_some_and(|last| *last > best), "the last epoch is the best one: {costs:?}");
    let manifest = json_of(&folder.path().join("run/manifest.json"));
    assert_eq!(manifest["metrics"]["validation_cost"].as_f64(), Some(best), "{costs:?}");
}

#[test]
fn files_that_a_model_names_are_read_on_request_only() {
    let folder = tempfile::tempdir().unwrap();
    bags(folder.path(), |bag| bag.to_string());
    regard(folder.path(), &train(&[])).done();
    refused(
        &regard(folder.path(), &["eval", "--model", "run"]),
        &["run: the model folder names the data `bags.csv`", "--data FILE", "--training-data"],
    );
    let asked = ["eval", "--model", "run", "--training-data", "--json"];
    assert!(regard(folder.path(), &asked).done().json()["mae"].as_f64().is_some());
    regard(folder.path(), &["eval", "--model", "run", "--data", "bags.csv"]).done();
    let said = regard(folder.path(), &["eval", "--model", "run", "--training-data", "--data", "bags.csv"]);
    refused(&said, &["--training-data"]);
}

#[test]
fn a_cache_that_a_model_names_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let molecules = "smiles,name,y\nCCO,a,1\nCCCC,b,2\nCCN,c,3\nCCCO,d,4\nCOC,e,5\nCCOC,f,6\nCN,g,7\nCCCN,h,8\n";
    fs::write(folder.path().join("molecules.csv"), molecules).unwrap();
    let sets =
        ["data.path=molecules.csv", "data.target=y", "data.cache=kept", "model.positions=laplacian", "model.width=16"];
    let sets = sets.iter().chain(&["train.epochs=1", "train.batch_size=2", "eval.blend=false"]);
    let sets: Vec<&str> = sets.flat_map(|set| ["--set", set]).collect();
    regard(folder.path(), &[&["train", "graphs/molecules", "--out", "run"][..], &sets].concat()).done();
    fs::remove_dir_all(folder.path().join("kept")).unwrap();
    for command in
        [["eval", "--model", "run", "--data", "molecules.csv"], ["predict", "--model", "run", "molecules.csv", "-q"]]
    {
        regard(folder.path(), &command).done();
        assert!(!folder.path().join("kept").exists());
    }
}

#[test]
fn an_option_without_effect_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    bags(folder.path(), |bag| bag.to_string());
    regard(folder.path(), &train(&[])).done();
    let predict = ["predict", "--model", "run", "bags.csv", "--rows", "rows.csv"];
    refused(&regard(folder.path(), &predict), &["--rows", "--importance"]);
    assert!(!folder.path().join("rows.csv").exists());
}

#[test]
fn names_do_not_steer_the_terminal() {
    let name = "\x1b[2Jpent\x07agon\u{9b}31m";
    let folder = folder_with("in.tsp", &PENTAGON.replace("pentagon", name));
    for arguments in
        [&["solve", "in.tsp", "--model", "model"][..], &["data", "check", "in.tsp"], &["data", "show", "in.tsp"]]
    {
        let said = regard(folder.path(), arguments).done();
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!said.out.contains(steers) && !said.err.contains(steers), "{said:?}");
    }
    fs::write(folder.path().join("bad.tsp"), PENTAGON.replace("EUC_2D", "\x1b]0;x\x07")).unwrap();
    let said = regard(folder.path(), &["data", "check", "bad.tsp"]);
    refused(&said, &["bad.tsp:5"]);
    assert!(!said.err.contains('\x1b'), "{said:?}");
}

#[test]
fn the_first_value_of_a_series_without_a_header_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let dated: String = (1..=28).map(|day| format!("2024-01-{day:02},{}\n", day % 7)).collect();
    let numbers: String = (1..=28).map(|row| format!("{}\n", row % 7)).collect();
    for (name, text) in [("dated.csv", dated), ("numbers.csv", numbers)] {
        fs::write(folder.path().join(name), text).unwrap();
        let said = regard(folder.path(), &["forecast", name, "--horizon", "2", "--only", "base"]);
        refused(&said, &[&format!("{name}:1"), "expected a header", "hint: "]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_without_an_end_is_refused() {
    let folder = folder();
    for command in
        [&["forecast", "/dev/zero", "--horizon", "2"][..], &["explain", "/dev/zero"], &["solve", "/dev/zero"]]
    {
        refused(&regard(folder.path(), command), &["/dev/zero: is larger than 64 MiB, the most that is read"]);
    }
}

#[test]
fn many_unknown_settings_take_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "[train]\n".to_owned();
    (0..100_000).for_each(|key| writeln!(text, "key_number_{key} = {key}").unwrap());
    fs::write(folder.path().join("many.toml"), text).unwrap();
    let begun = Instant::now();
    let said = regard(folder.path(), &["settings", "many.toml"]);
    refused(&said, &["train.key_number_0", "line 2", "is not a setting"]);
    // The line of each key was once found by counting from the start.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// A training of many steps, begun in the folder; its first checkpoint is written.
fn begun(folder: &Path) -> Child {
    let arguments = train(&["--set", "train.epochs=1000000", "--set", "train.checkpoint_minutes=0.0001"]);
    let child = command(folder, &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let resume = folder.join("run/resume");
    let saved = || {
        fs::read_dir(&resume).is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                name.starts_with("step-") && !name.ends_with(".partial")
            })
        })
    };
    let start = Instant::now();
    while !saved() {
        assert!(start.elapsed() < Duration::from_secs(120), "no checkpoint is written");
        sleep(Duration::from_millis(5));
    }
    child
}

#[cfg(unix)]
#[test]
fn one_training_at_a_time_writes_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    bags(folder.path(), |bag| bag.to_string());
    let mut child = begun(folder.path());
    let second = regard(folder.path(), &["train", "--out", "run", "--resume", "--steps", "10"]);
    refused(&second, &["run: another training writes into it", "--out"]);
    refused(&regard(folder.path(), &train(&[])), &["run: already contains a run"]);
    child.kill().unwrap();
    child.wait().unwrap();
    // The lock ends with the process.
    let said = regard(folder.path(), &["train", "--out", "run", "--resume", "--steps", "10"]).done();
    assert!(said.err.contains("resuming after step"), "{said:?}");
}

#[cfg(unix)]
#[test]
fn sigterm_ends_a_training_as_ctrl_c_does() {
    let folder = tempfile::tempdir().unwrap();
    bags(folder.path(), |bag| bag.to_string());
    let mut child = begun(folder.path());
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    regard(folder.path(), &["model", "show", "run"]).done();
    let said = regard(folder.path(), &["train", "--out", "run", "--resume", "--steps", "10"]).done();
    assert!(said.err.contains("resuming after step"), "{said:?}");
    // The card has the command that began the run, with its settings.
    let manifest = fs::read_to_string(folder.path().join("run/manifest.json")).unwrap();
    assert!(manifest.contains("regard train sets/") && !manifest.contains("--resume"), "{manifest}");
}

#[test]
fn a_run_without_a_checkpoint_says_that_it_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    bags(folder.path(), |bag| bag.to_string());
    regard(folder.path(), &train(&["--steps", "2"])).done();
    fs::remove_dir_all(folder.path().join("run/resume")).unwrap();
    let said = regard(folder.path(), &["train", "--out", "run", "--resume", "--steps", "2"]).done();
    assert!(said.err.contains("run: no checkpoint was saved; training starts again at step 1"), "{said:?}");
}

#[test]
fn a_run_says_that_it_goes_on_in_another_precision() {
    let folder = tempfile::tempdir().unwrap();
    let doctor = regard(folder.path(), &["doctor", "--json"]).done().json();
    if !doctor["precisions"].as_array().unwrap().contains(&"bfloat16".into()) {
        println!("skipped: this processor has one precision");
        return;
    }
    bags(folder.path(), |bag| bag.to_string());
    regard(folder.path(), &train(&["--steps", "2", "--precision", "bfloat16"])).done();
    let on = |more: &[&str]| regard(folder.path(), &[&["train", "--out", "run", "--resume"][..], more].concat()).done();
    let said = on(&["--steps", "3", "--precision", "bfloat16"]);
    assert!(!said.err.contains("goes on in"), "{said:?}");
    let said = on(&["--steps", "4"]);
    assert!(said.err.contains("was trained in bfloat16 and goes on in float32; `--precision bfloat16`"), "{said:?}");
    assert!(!on(&["--steps", "5"]).err.contains("goes on in"));
}

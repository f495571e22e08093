//! `regard train` and `regard plot`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::program::{command, regard};

/// A network and batches that take no time.
const SMALL: &str = "\
# A small one
[data]
nodes = 6
[model]
width = 16
heads = 2
layers = 1
feedforward_width = 16
[train]
batch_size = 8
epoch_size = 400
epochs = 2
log_steps = 5
checkpoint_minutes = 0.0005
[eval]
instances = 20
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

fn files(folder: &Path, run: &str) -> [Vec<u8>; 2] {
    ["model.safetensors", "metrics.jsonl"].map(|name| fs::read(folder.join(run).join(name)).unwrap())
}

#[test]
fn a_run_leaves_a_model_metrics_and_curves() {
    let folder = folder();
    let train = [
        "train",
        "small.toml",
        "--out",
        "run",
        "--steps",
        "60",
        "--seed",
        "7",
        "--threads",
        "1",
        "--json",
        "--tensorboard",
    ];
    let json = regard(folder.path(), &train).done().json();
    assert_eq!(
        (json["steps"].as_u64(), json["ended"].as_str(), json["out"].as_str()),
        (Some(60), Some("steps"), Some("run"))
    );
    for name in ["model.safetensors", "manifest.json", "metrics.jsonl", "config.json", "experiment.toml", "README.md"] {
        assert!(folder.path().join("run").join(name).is_file(), "{name}");
    }
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("run/manifest.json")).unwrap()).unwrap();
    assert_eq!((&manifest["seed"], &manifest["experiment"]["train"]["seed"]), (&7.into(), &7.into()));
    assert_eq!(
        manifest["command"],
        "regard train small.toml --out run --steps 60 --seed 7 --threads 1 --json --tensorboard"
    );
    let events = fs::read_dir(folder.path().join("run/tensorboard")).unwrap().next().unwrap().unwrap();
    assert!(events.metadata().unwrap().len() > 500);
    let eval = regard(folder.path(), &["eval", "--model", "run", "--paper-set", "tsp6", "--limit", "20", "--json"]);
    assert!(eval.done().json()["mean_cost"].as_f64().unwrap() > 1.0);
    let plot = regard(folder.path(), &["plot", "run", "--json"]).done().json();
    assert_eq!(plot["steps"], 60);
    assert!(fs::read_to_string(folder.path().join("run/curves.svg")).unwrap().contains("<svg"));
}

#[test]
fn killed_at_any_moment_and_resumed_it_is_the_same_run() {
    let folder = folder();
    for threads in ["1", "2"] {
        let straight = format!("straight{threads}");
        regard(folder.path(), &["train", "small.toml", "--out", &straight, "--threads", threads]).done();
        for (index, moment) in [0, 40, 90, 160].into_iter().enumerate() {
            let out = format!("broken{threads}-{index}");
            let train = ["train", "small.toml", "--out", &out, "--threads", threads, "-q"];
            let mut child = command(folder.path(), &train).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let begun = Instant::now();
            let path = folder.path().join(&out).join("metrics.jsonl");
            while !path.exists() && begun.elapsed() < Duration::from_secs(60) {
                sleep(Duration::from_millis(1));
            }
            sleep(Duration::from_millis(moment));
            // SIGKILL: nothing of the program runs any more.
            child.kill().unwrap();
            child.wait().unwrap();
            regard(folder.path(), &[&train[..], &["--resume"]].concat()).done();
            assert!(files(folder.path(), &out) == files(folder.path(), &straight), "{out}");
        }
    }
}

#[test]
fn a_run_goes_on_without_naming_its_experiment() {
    let folder = folder();
    regard(folder.path(), &["train", "small.toml", "--out", "run", "--steps", "10"]).done();
    let rest = regard(folder.path(), &["train", "--out", "run", "--resume", "--json"]).done().json();
    assert_eq!((rest["steps"].as_u64(), rest["ended"].as_str()), (Some(100), Some("complete")));
}

#[test]
fn mistakes_say_what_to_do() {
    let folder = folder();
    let refused = |arguments: &[&str], words: &[&str]| {
        let said = regard(folder.path(), &[&["train"], arguments].concat());
        assert_eq!(said.code, Some(2), "{said:?}");
        for word in words {
            assert!(said.err.contains(word), "{word} in {said:?}");
        }
    };
    refused(&["routes/tsp2O"], &["routes/tsp20"]);
    refused(&["small.toml", "--set", "train.lerning_rate=1"], &["did you mean `learning_rate`"]);
    refused(&["small.toml", "--set", "train.learning_rate=fast"], &["train.learning_rate"]);
    refused(&["small.toml", "--time", "soon"], &["expected a time"]);
    refused(&["--resume", "--out", "nowhere"], &["nowhere holds no run: experiment.toml is missing"]);
    fs::write(folder.path().join("empty.csv"), "").unwrap();
    refused(&["empty.csv"], &["empty.csv: is empty, expected an experiment"]);
    refused(&[], &["EXPERIMENT"]);
    regard(folder.path(), &["train", "small.toml", "--out", "run", "--steps", "1"]).done();
    refused(&["small.toml", "--out", "run"], &["already contains a run", "--resume"]);
    refused(&["sets/max", "--out", "run"], &["run: already contains a run", "--resume"]);
    refused(&["small.toml", "--out", "run", "--resume", "--set", "train.batch_size=9"], &["train.batch_size", "8"]);
    let plot = regard(folder.path(), &["plot", "nowhere"]);
    assert!(plot.code == Some(2) && plot.err.contains("metrics.jsonl"), "{plot:?}");
}

#[test]
fn built_in_experiments_are_listed_by_family() {
    let here = Path::new(".");
    let list = regard(here, &["train", "--list"]).done().out;
    let order = [
        "Routes\n",
        "  routes/tsp20 ",
        "Sets\n",
        "Graphs\n",
        "  graphs/molecules ",
        "Time series\n",
        "regard settings NAME",
    ];
    let places: Vec<_> =
        order.iter().map(|text| list.find(text).unwrap_or_else(|| panic!("{text} in {list}"))).collect();
    assert!(
        list.contains("Kool") && places.is_sorted() && list.lines().all(|line| line.chars().count() <= 100),
        "{list}"
    );
    let json = regard(here, &["train", "--list", "--json"]).done().json();
    assert!(json.as_array().unwrap().iter().all(|one| one["description"].as_str().unwrap().ends_with('.')), "{json}");
}

#[test]
fn settings_explain_themselves() {
    let here = Path::new(".");
    let page = regard(here, &["settings", "routes/tsp20", "--section", "train"]).done().out;
    assert!(page.contains("[train]") && !page.contains("[model]"), "{page}");
    assert!(page.contains("number, above 0") && page.contains("Learning rate of the network."), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    let json = regard(here, &["settings", "series/forecast", "--set", "task.horizon=7", "--json"]).done().json();
    let horizon = json["settings"].as_array().unwrap().iter().find(|one| one["key"] == "horizon").unwrap();
    assert_eq!(
        (&horizon["section"], &horizon["default"], &horizon["given"]),
        (&"task".into(), &7.into(), &true.into())
    );
    let said = regard(here, &["settings", "routes/tsp2O"]);
    assert!(said.code == Some(2) && said.err.contains("did you mean"), "{said:?}");
    let said = regard(here, &["settings", "routes/tsp20", "--section", "trian"]);
    assert!(said.code == Some(2) && said.err.contains("task, data, model, train, eval"), "{said:?}");
}

/// The learning rates of the lines of a run's metrics.
fn learning_rates(folder: &Path, run: &str) -> Vec<f64> {
    let lines = fs::read_to_string(folder.join(run).join("metrics.jsonl")).unwrap();
    let of_line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["learning_rate"].as_f64();
    lines.lines().filter_map(of_line).collect()
}

/// A schedule over more steps than any time limit of a test allows.
const LONG: [&str; 4] = ["--set", "train.epochs=100000", "--set", "train.learning_rate_decay=0.9999"];

#[test]
fn a_schedule_falls_to_its_end_when_the_time_ends() {
    let folder = folder();
    let train = [&["train", "small.toml", "--time", "3s", "--json", "--out", "run"][..], &LONG].concat();
    let begun = Instant::now();
    let said = regard(folder.path(), &train).done();
    assert!(said.err.contains("fit into --time; the learning rate (decay by 0.9999 in an epoch)"), "{said:?}");
    assert_eq!(said.err.matches("fit into --time").count(), 1, "{said:?}");
    assert!(begun.elapsed() < Duration::from_secs(30) && said.json()["steps"].as_u64() < Some(5_000_000), "{said:?}");
    let rates = learning_rates(folder.path(), "run");
    let (first, last) = (rates[0], rates[rates.len() - 1]);
    assert!(last < 0.2 * first, "{first} {last}");
    assert!(rates.windows(2).all(|pair| pair[1] <= pair[0]), "the rate never rises");

    // A constant rate has nothing to shorten.
    let train = ["train", "small.toml", "--time", "1s", "--out", "constant", "--set", "train.epochs=100000"];
    let said = regard(folder.path(), &train).done();
    assert!(said.err.contains("has no schedule that would be shortened"), "{said:?}");
    let rates = learning_rates(folder.path(), "constant");
    assert!(rates.iter().all(|rate| *rate == rates[0]));
}

#[test]
fn a_resumed_run_keeps_the_end_that_its_time_limit_decided() {
    let folder = folder();
    let train = [&["train", "small.toml", "--time", "6s", "--out", "killed"][..], &LONG].concat();
    let mut child = command(folder.path(), &train).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let path = folder.path().join("killed/metrics.jsonl");
    while !path.exists() && begun.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(1));
    }
    // The end is decided after the first twentieth of the time; a checkpoint follows within milliseconds.
    sleep(Duration::from_secs(2));
    child.kill().unwrap();
    child.wait().unwrap();
    let copy = folder.path().join("copy");
    copied(&folder.path().join("killed"), &copy);
    let resumed = ["killed", "copy"].map(|out| {
        let said = regard(folder.path(), &["train", "--resume", "--json", "--out", out]).done();
        assert!(said.err.contains("the training was shortened by --time: it ends at step"), "{said:?}");
        let json = said.json();
        assert_eq!(json["ended"].as_str(), Some("complete"));
        json["steps"].as_u64().unwrap()
    });
    assert_eq!(resumed[0], resumed[1]);
    assert!(resumed[0] < 1_000_000, "{resumed:?}");
    assert!(files(folder.path(), "killed") == files(folder.path(), "copy"));
    let rates = learning_rates(folder.path(), "copy");
    assert!(rates[rates.len() - 1] < 0.05 * rates[0], "{rates:?}");
    // It is complete; only another number of epochs undoes the shortening.
    let again = regard(folder.path(), &["train", "--resume", "--json", "--out", "copy"]).done().json();
    assert_eq!(again["steps"].as_u64(), Some(resumed[0]));
    let more = ["train", "--resume", "--out", "copy", "--set", "train.epochs=99999", "--json", "--steps"];
    let steps = (resumed[0] + 10).to_string();
    let more = regard(folder.path(), &[&more[..], &[&steps]].concat()).done().json();
    assert_eq!(more["steps"].as_u64(), Some(resumed[0] + 10));
}

/// Copies a folder.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copied(&path, &target),
            false => assert!(fs::copy(&path, &target).is_ok(), "{}", target.display()),
        }
    }
}

//! `regard model`.

use std::collections::BTreeMap;
use std::path::Path;

use regard::routes::model::AttentionModelConfig;
use regard::store::safetensors;

use crate::files::{folder, weights};
use crate::program::regard;

#[test]
fn a_model_is_described() {
    let folder = folder();
    let said = regard(folder.path(), &["model", "show", "model"]).done();
    insta::assert_snapshot!("model_show", said.out);
    let json = regard(folder.path(), &["model", "show", "model", "--json"]).done().json();
    assert_eq!(json["kind"], "attention-model");
    assert_eq!(json["width"], 16);
    let elements = |tensor: &serde_json::Value| -> u64 {
        tensor["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).product()
    };
    let all: u64 = json["tensors"].as_array().unwrap().iter().map(elements).sum();
    assert_eq!(json["parameters"].as_u64().unwrap() + json["running_statistics"].as_u64().unwrap(), all);
    let verbose = regard(folder.path(), &["model", "show", "model", "-v"]).done();
    assert!(verbose.out.contains("init_embed.weight"), "{verbose:?}");
}

#[test]
fn weights_with_the_original_names_are_imported() {
    let folder = folder();
    let config = AttentionModelConfig::kool_2019();
    let file = folder.path().join("kool.safetensors");
    let mut weights = weights(&config);
    // A variance is positive.
    weights.iter_mut().filter(|(name, _)| name.ends_with("running_var")).for_each(|(_, array)| array.data.fill(1.0));
    safetensors::write(&file, &weights, &BTreeMap::new()).unwrap();
    let said = regard(folder.path(), &["model", "import", "kool", "kool.safetensors", "--out", "imported"]).done();
    assert!(said.out.contains("708,608") && said.out.contains("1,536 running statistics"), "{said:?}");
    assert!(said.err.contains("wrote imported"), "{said:?}");
    let json = regard(folder.path(), &["model", "show", "imported", "--json"]).done().json();
    assert_eq!(json["preset"], "kool-2019");
    assert_eq!(json["manifest"]["provenance"]["file"], "kool.safetensors");
}

fn repository(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).display().to_string()
}

#[test]
fn checkpoints_of_other_codes_become_models_that_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| regard(folder.path(), arguments);
    let [clusters, molecules, series, table] =
        ["set_transformer.tar", "graph_transformer.pkl", "patchtst.pth", "patchtst.csv"]
            .map(|name| repository(&format!("golden/checkpoints/{name}")));

    let said = run(&["model", "import", "set-transformer", &clusters, "--out", "clusters"]).done();
    assert!(said.err.contains("heads = 4, task = clustering; --set changes it"), "{}", said.err);
    std::fs::write(folder.path().join("points.csv"), "bag,x,y\na,1,2\na,-1,0.5\na,3,3\n").unwrap();
    let predicted = run(&["predict", "--model", "clusters", "points.csv", "--group-by", "bag"]).done();
    assert!(!predicted.out.is_empty());
    let explained = run(&["explain", "points.csv", "--model", "clusters", "--group-by", "bag", "--json"]).done().json();
    assert!(explained["steps"].as_array().unwrap().iter().any(|step| step["name"] == "mixture.responsibility"));

    let import = ["model", "import", "graph-transformer", &molecules, "--out", "zinc", "--set", "heads=4", "--json"];
    let json = run(&import).done().json();
    assert_eq!((&json["config"]["heads"], &json["config"]["data"]["node_types"][1]), (&4.into(), &"O".into()));
    std::fs::write(folder.path().join("molecules.csv"), "smiles\nCCO\nC=CN\n").unwrap();
    let predicted = run(&["predict", "--model", "zinc", "molecules.csv", "--smiles", "smiles"]).done();
    assert_eq!(predicted.out.lines().count(), 3, "{predicted:?}");
    run(&["explain", "molecules.csv", "--model", "zinc", "--smiles", "smiles", "--layer", "0"]).done();

    let import = ["model", "import", "patchtst", &series, "--data", &table, "--train-rows", "30", "--out", "hours"];
    let said = run(&import).done();
    assert!(said.err.contains("look_back = 24, stride = 4, end_padding = true"), "{}", said.err);
    let forecast = run(&["forecast", &table, "--model", "hours"]).done();
    assert!(forecast.out.contains("2024-01-02 16:00:00"), "{}", forecast.out);
    run(&["explain", &table, "--model", "hours", "--json"]).done();

    for name in ["clusters", "zinc", "hours"] {
        let shown = run(&["model", "show", name]).done();
        assert!(shown.out.contains("from") && shown.out.contains("sha256"), "{name}: {}", shown.out);
        let json = run(&["model", "show", name, "--json"]).done().json();
        assert_eq!(json["manifest"]["provenance"]["sha256"].as_str().map(str::len), Some(64), "{name}");
    }
    let wrong = run(&["model", "import", "graph-transformer", &clusters, "--out", "x"]);
    crate::errors::refused(&wrong, &["set_transformer.tar", "embedding_h.weight"]);
    assert!(!folder.path().join("x").exists());
}

#[test]
fn every_shipped_model_is_described() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut kinds = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !path.join("config.json").is_file() {
            continue;
        }
        let text = regard(&root, &["model", "show", &name]).done().out;
        for word in [name.as_str(), "kind", "parameters", "created"] {
            assert!(text.contains(word), "{name}, {word}: {text}");
        }
        let detailed = regard(&root, &["model", "show", &name, "-v"]).done().out;
        assert!(detailed.contains("tensors") && detailed.len() > text.len(), "{name}: {detailed}");
        let json = regard(&root, &["model", "show", &name, "--json"]).done().json();
        assert!(json["parameters"].as_u64().is_some_and(|count| count > 0), "{name}");
        let tensors = json["tensors"].as_array().unwrap_or_else(|| panic!("{name}: {json}"));
        assert!(tensors.iter().all(|tensor| tensor["name"].is_string() && tensor["shape"].is_array()), "{name}");
        kinds.insert(json["kind"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds.len(), 4, "{kinds:?}");
}

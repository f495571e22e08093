//! The folder of a model: round trip, and every way in which one can be broken.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::checkpoint::{small, weights};
use regard::Error;
use regard::routes::model::{AttentionModelConfig, ModelDir, Norm};
use regard::store::{Array, Manifest, safetensors};

fn manifest() -> Manifest {
    let metrics = BTreeMap::from([("mean_cost".to_owned(), 3.85)]);
    Manifest { command: Some("regard train".into()), seed: Some(7), metrics, ..Manifest::default() }
}

fn save(folder: &Path) -> ModelDir {
    ModelDir::save(folder, &small(), &weights(&small()), &manifest()).unwrap()
}

#[test]
fn what_was_saved_is_loaded() {
    for norm in [Norm::Batch, Norm::Instance, Norm::Layer] {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("runs/mine");
        let config = AttentionModelConfig { norm, ..small() };
        let saved = ModelDir::save(&folder, &config, &weights(&config), &manifest()).unwrap();
        let opened = ModelDir::open(&folder).unwrap();
        assert_eq!(opened, saved);
        assert_eq!((opened.config(), opened.manifest()), (&config, saved.manifest()));
        let architecture_sha256 = opened.manifest().and_then(|found| found.architecture_sha256.clone());
        assert_eq!(opened.manifest(), Some(&Manifest { architecture_sha256, ..manifest() }));
        assert_eq!(opened.weights().unwrap(), weights(&config));
        assert_eq!(opened.name(), "mine");
        assert!(fs::read_to_string(folder.join("README.md")).unwrap().starts_with("# mine\n"));
        assert_eq!(fs::read_dir(root.path().join("runs")).unwrap().count(), 1, "nothing unfinished stays");
    }
}

#[test]
fn loading_needs_only_config_and_weights() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("m");
    save(&folder);
    fs::remove_file(folder.join("manifest.json")).unwrap();
    fs::remove_file(folder.join("README.md")).unwrap();
    let opened = ModelDir::open(&folder).unwrap();
    assert!(opened.manifest().is_none());
    assert_eq!(opened.weights().unwrap(), weights(&small()));
}

#[test]
fn saving_again_replaces_the_model_and_keeps_other_files() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("m");
    save(&folder);
    fs::write(folder.join("metrics.jsonl"), "{}").unwrap();
    let config = AttentionModelConfig { layers: 1, ..small() };
    ModelDir::save(&folder, &config, &weights(&config), &Manifest::default()).unwrap();
    assert_eq!(ModelDir::open(&folder).unwrap().config().layers, 1);
    assert_eq!(fs::read_to_string(folder.join("metrics.jsonl")).unwrap(), "{}");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_or_file_that_is_no_model_is_never_overwritten() {
    let root = tempfile::tempdir().unwrap();
    let (folder, file, empty) = (root.path().join("photos"), root.path().join("a.txt"), root.path().join("empty"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&empty).unwrap();
    fs::write(folder.join("one.jpg"), "x").unwrap();
    fs::write(&file, "x").unwrap();
    for path in [&folder, &file] {
        let error = ModelDir::save(path, &small(), &weights(&small()), &manifest()).unwrap_err();
        assert!(error.to_string().ends_with("exists and is not a model folder"), "{error}");
        assert!(error.hint().is_some());
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    save(&empty);
}

#[test]
fn a_model_that_could_not_be_loaded_again_is_not_saved() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("m");
    let mut broken = weights(&small());
    broken.get_mut("W_placeholder").unwrap().data[3] = f32::NAN;
    let error = ModelDir::save(&folder, &small(), &broken, &manifest()).unwrap_err();
    assert!(error.to_string().contains("W_placeholder: value 3 is NaN"), "{error}");
    broken.remove("W_placeholder");
    assert!(ModelDir::save(&folder, &small(), &broken, &manifest()).is_err());
    let config = AttentionModelConfig { heads: 3, ..small() };
    assert!(ModelDir::save(&folder, &config, &weights(&small()), &manifest()).is_err());
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "nothing unfinished stays");
}

#[test]
fn the_same_weights_give_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (root.path().join("a"), root.path().join("b"));
    let metadata = BTreeMap::from([("x".to_owned(), "1".to_owned()), ("y".to_owned(), "2".to_owned())]);
    safetensors::write(&a, &weights(&small()), &metadata).unwrap();
    safetensors::write(&b, &weights(&small()), &metadata).unwrap();
    assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap());
    assert_eq!(safetensors::read(&a).unwrap(), weights(&small()));
    safetensors::write(&a, &BTreeMap::new(), &metadata).unwrap();
    assert!(safetensors::read(&a).unwrap().is_empty());
}

#[test]
fn missing_parts_are_named() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("m");
    let open = || ModelDir::open(&folder).unwrap_err();
    assert!(matches!(open().root(), Error::Io { .. }));
    assert!(open().hint().unwrap().starts_with("a model is a folder"));
    fs::create_dir(&folder).unwrap();
    assert!(open().to_string().ends_with("is not a model folder: it has no `config.json`"));
    fs::write(folder.join("config.json"), "{}").unwrap();
    assert!(open().to_string().ends_with("is not a model folder: it has no `model.safetensors`"));
    assert!(ModelDir::open(folder.join("config.json")).is_err());
}

#[test]
fn a_model_for_another_problem_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let model = save(&root.path().join("m"));
    model.require_problem("tsp").unwrap();
    let message = model.require_problem("cvrp").unwrap_err().to_string();
    assert!(message.ends_with("`problem`: the model solves `tsp`, but the problem is `cvrp`"), "{message}");
}

#[test]
fn broken_weights_are_refused_with_words() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("m");
    let model = save(&folder);
    let path = folder.join("model.safetensors");
    let good = fs::read(&path).unwrap();
    let message = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        model.weights().unwrap_err().to_string()
    };
    for (found, expected) in [
        (message(b""), "is 0 bytes long, too short for a safetensors file"),
        (message(b"\xff\xff\xff\xff\xff\xff\xff\xff{}"), "promise a header longer than its 10 bytes"),
        (message(b"\x02\0\0\0\0\0\0\0[]"), "is not a safetensors file"),
        (message(&good[..good.len() - 1]), "it was cut, or has bytes at its end"),
        (message(b"\x02\0\0\0\0\0\0\0{}"), "missing: W_placeholder [16]"),
    ] {
        assert!(
            found.contains("model.safetensors: ") && found.contains(expected),
            "expected `{expected}`, found `{found}`"
        );
    }
    for length in (0..good.len()).step_by(101) {
        fs::write(&path, &good[..length]).unwrap();
        assert!(model.weights().is_err(), "{length} bytes");
    }
}

#[test]
fn weights_of_another_network_are_listed() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("m");
    let model = save(&folder);
    let mut other = weights(&small());
    other.insert("extra".into(), Array::new(vec![1], vec![0.0]).unwrap());
    other.insert("init_embed.weight".into(), Array::new(vec![8, 3], vec![0.0; 24]).unwrap());
    other.remove("init_embed.bias");
    other.get_mut("embedder.layers.0.1.normalizer.running_var").unwrap().data[0] = -1.0;
    safetensors::write(&folder.join("model.safetensors"), &other, &BTreeMap::new()).unwrap();
    let error = model.weights().unwrap_err();
    let Error::Weights { missing, extra, wrong } = error.root() else { panic!("{error}") };
    assert_eq!(missing, &["init_embed.bias [8]"]);
    assert_eq!(extra, &["extra [1]"]);
    assert_eq!(wrong.len(), 2);
    assert!(wrong.contains(&"init_embed.weight: expected shape [8, 2], found [8, 3]".to_owned()));
}

//! `regard model`.

use std::collections::BTreeMap;

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

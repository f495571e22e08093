//! Checkpoints of Kool's code as released, and the networks of the reference cases, go through the
//! importer.

use std::collections::BTreeMap;
use std::path::Path;

use regard::routes::import::kool;
use regard::routes::model::{AttentionModelConfig, ModelDir, Norm};
use regard::store::{Array, Manifest, Weights, legacy_torch, safetensors};
use regard_testing::{Case, Golden};

/// The cases of Kool's checkpoints, with the file of each.
fn checkpoints(golden: &Golden) -> Vec<(Case, String)> {
    let names = golden.names("kool/").into_iter().filter(|name| name.ends_with(".weights"));
    let cases = names.filter_map(|name| golden.case(&name));
    cases
        .map(|case| (case.entry["files"][0]["path"].as_str().unwrap().to_owned(), case))
        .map(|(file, case)| (case, file))
        .collect()
}

/// Checks the settings against those of a case; `sizes` holds the arguments of the original.
fn check_settings(case: &Case, sizes: &serde_json::Value, config: &AttentionModelConfig) {
    let size = |key: &str| sizes[key].as_u64().unwrap_or_else(|| panic!("{}: no {key}", case.name)) as usize;
    let norm = match sizes["normalization"].as_str() {
        Some("instance") => Norm::Instance,
        _ => Norm::Batch,
    };
    let problem = match case.config["problem"].as_str() {
        Some("pctsp_det") => "pctsp",
        Some("pctsp_stoch") => "spctsp",
        other => other.expect("a problem"),
    };
    assert_eq!(config.problem, problem, "{}", case.name);
    assert_eq!((config.width, config.layers), (size("embedding_dim"), size("n_encode_layers")), "{}", case.name);
    assert_eq!((config.heads, config.norm), (case.size("n_heads"), norm), "{}", case.name);
    assert_eq!(config.feedforward_width, case.size("feed_forward_hidden"), "{}", case.name);
    assert_eq!(f64::from(config.tanh_clipping), sizes["tanh_clipping"].as_f64().unwrap(), "{}", case.name);
}

#[test]
fn golden_checkpoints_are_imported() {
    let Some(golden) = Golden::open_shared() else {
        return;
    };
    for (case, file) in checkpoints(&golden) {
        let (config, weights, provenance) = kool(&golden.path(&file), None).unwrap();
        check_settings(&case, &case.config["args"], &config);
        assert_eq!(config.parameters(), case.size("parameters"));
        assert_eq!(weights.values().map(|array| array.data.len()).sum::<usize>(), case.size("tensors_total_numel"));
        assert_eq!(case.entry["files"][0]["sha256"], provenance.sha256.as_str());
        for (name, array) in &weights {
            assert_eq!((&array.shape, &array.data), (&case.get(name).shape, &case.get(name).f32()), "{name}");
        }
    }
}

#[test]
fn golden_legacy_files_equal_their_safetensors_bit_for_bit() {
    let Some(golden) = Golden::open_shared() else {
        return;
    };
    for name in golden.names("kool/").into_iter().filter(|name| name.ends_with(".pt")) {
        let stem = name.split('.').next().unwrap();
        let legacy = legacy_torch::read(&golden.path(&name)).unwrap();
        let converted = safetensors::read(&golden.path(&format!("{stem}.safetensors"))).unwrap();
        assert!(legacy.keys().eq(converted.keys()), "{name}");
        for (tensor, array) in &legacy {
            let bits = |array: &Array| array.data.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(array.shape, converted[tensor].shape, "{tensor}");
            assert_eq!(bits(array), bits(&converted[tensor]), "{tensor}");
        }
        assert_eq!(kool(&golden.path(&name), None).unwrap().1, converted);
    }
}

#[test]
fn golden_legacy_files_cut_anywhere_are_errors() {
    let Some(golden) = Golden::open_shared() else {
        return;
    };
    for name in golden.names("kool/").into_iter().filter(|name| name.ends_with(".pt")) {
        let bytes = std::fs::read(golden.path(&name)).unwrap();
        for length in (0..bytes.len()).step_by(1024) {
            assert!(legacy_torch::parse(&bytes[..length], Path::new("cut.pt")).is_err(), "{length} bytes");
        }
    }
}

#[test]
fn golden_networks_of_other_sizes_survive_import_and_saving() {
    let Some(golden) = Golden::open_shared() else {
        return;
    };
    let cases = golden.names("attention_model/").into_iter().filter_map(|name| golden.case(&name));
    for case in cases.filter(|case| case.config["mode"] == "eval") {
        let root = tempfile::tempdir().unwrap();
        let arrays = case.with_prefix("weight.");
        let given: Weights = arrays
            .map(|(name, values)| (name.to_owned(), Array { shape: values.shape.clone(), data: values.f32() }))
            .collect();
        let file = root.path().join("weights.safetensors");
        safetensors::write(&file, &given, &BTreeMap::new()).unwrap();
        let (config, weights, provenance) = kool(&file, case.config["problem"].as_str()).unwrap();
        check_settings(&case, &case.config, &config);
        let manifest = Manifest { provenance: Some(provenance), ..Manifest::default() };
        ModelDir::save(root.path().join("model"), &config, &weights, &manifest).unwrap();
        assert_eq!(ModelDir::open(root.path().join("model")).unwrap().weights().unwrap(), given, "{}", case.name);
    }
}

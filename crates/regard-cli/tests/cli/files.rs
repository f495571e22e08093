//! Small instances and a small model, written where a test runs.

use std::fs;
use std::path::Path;

use regard::routes::model::{AttentionModelConfig, ModelDir, Norm};
use regard::store::{Array, Manifest, NetworkConfig, Weights};
use tempfile::TempDir;

/// A regular pentagon, out of order; its best tour is as long as its edge five times.
pub(crate) const PENTAGON: &str = "\
NAME: pentagon
TYPE: TSP
COMMENT: five places on a circle
DIMENSION: 5
EDGE_WEIGHT_TYPE: EUC_2D
NODE_COORD_SECTION
1 0 100
2 -59 -81
3 95 31
4 -95 31
5 59 -81
EOF
";

/// A folder with the model `model` in it.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    model(&folder.path().join("model"));
    folder
}

/// The same with one more file.
pub(crate) fn folder_with(name: &str, text: &str) -> TempDir {
    let folder = folder();
    fs::write(folder.path().join(name), text).unwrap();
    folder
}

/// Settings of a network small enough to build in no time.
pub(crate) fn config() -> AttentionModelConfig {
    AttentionModelConfig {
        preset: None,
        width: 16,
        heads: 2,
        layers: 1,
        feedforward_width: 16,
        norm: Norm::Instance,
        ..AttentionModelConfig::kool_2019()
    }
}

fn model(path: &Path) {
    let manifest = Manifest { description: Some("weights without meaning".into()), ..Manifest::default() };
    ModelDir::save(path, &config(), &weights(&config()), &manifest).unwrap();
}

/// Weights between -0.5 and 0.5 that look random and are always the same.
pub(crate) fn weights(config: &AttentionModelConfig) -> Weights {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let slots = config.param_specs().into_iter();
    slots
        .map(|slot| {
            let data = (0..slot.elements()).map(|_| next()).collect();
            (slot.name.to_string(), Array { shape: slot.shape.clone(), data })
        })
        .collect()
}

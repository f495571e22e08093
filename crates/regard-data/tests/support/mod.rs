//! Where shared data lies, and the golden cases in it.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use serde_json::Value;

/// A folder or file below the shared data, or `None` with a note when it is not there.
pub(crate) fn shared(below: &str) -> Option<PathBuf> {
    let root = std::env::var_os("REGARD_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = root.join(below);
    if path.exists() {
        return Some(path);
    }
    #[expect(clippy::print_stdout, reason = "says which tests did not run")]
    {
        println!("skipped: no shared data ({})", path.display());
    }
    None
}

/// One case of the golden manifest.
pub(crate) struct Case {
    folder: PathBuf,
    value: Value,
}

impl Case {
    /// All cases whose name starts with `prefix`.
    pub(crate) fn all(prefix: &str) -> Vec<Case> {
        let Some(path) = shared("golden/manifest.json") else {
            return Vec::new();
        };
        let manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let cases = manifest["cases"].as_array().unwrap().iter().cloned();
        let folder = path.parent().unwrap().to_path_buf();
        cases
            .map(|value| Case { folder: folder.clone(), value })
            .filter(|case| case.name().starts_with(prefix))
            .collect()
    }

    /// Name of the case.
    pub(crate) fn name(&self) -> &str {
        self.value["name"].as_str().unwrap()
    }

    /// Its configuration.
    pub(crate) fn config(&self) -> &Value {
        &self.value["config"]
    }

    /// A whole number of its configuration.
    pub(crate) fn number(&self, key: &str) -> usize {
        self.config()[key].as_u64().unwrap_or_else(|| panic!("{}: no {key}", self.name())) as usize
    }

    /// Names of its tensors.
    pub(crate) fn tensors(&self) -> Vec<&str> {
        let all = self.value["tensors"].as_array().unwrap();
        all.iter().map(|t| t["name"].as_str().unwrap()).collect()
    }

    /// The largest difference allowed from a tensor.
    pub(crate) fn tolerance(&self, tensor: &str) -> f64 {
        let all = self.value["tensors"].as_array().unwrap();
        let found = all.iter().find(|t| t["name"] == tensor).unwrap_or_else(|| panic!("{}: no {tensor}", self.name()));
        found["tol_abs"].as_f64().unwrap_or_else(|| panic!("{}: {tensor} has no tolerance", self.name()))
    }

    /// The little-endian bytes of a tensor, in pieces of `N`.
    pub(crate) fn read<const N: usize>(&self, tensor: &str) -> Vec<[u8; N]> {
        let file = self.value["files"][0]["path"].as_str().unwrap();
        let bytes = std::fs::read(self.folder.join(file)).unwrap();
        let all = SafeTensors::deserialize(&bytes).unwrap();
        let data = all.tensor(tensor).unwrap().data().to_vec();
        data.chunks_exact(N).map(|c| c.try_into().unwrap()).collect()
    }
}

//! Builds the models in `models/regard-PROBLEM` into the binary, so that `regard solve` needs no
//! file beside it.
//!
//! A source tree without such a folder still builds: the binary then asks for `--model`, or solves
//! without a network where the problem has a construction.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Problems a model may be there for, as in its `config.json`.
const PROBLEMS: [&str; 6] = ["tsp", "cvrp", "sdvrp", "op", "pctsp", "spctsp"];

/// The files of a model folder that the binary carries; the last one is optional.
const FILES: [&str; 3] = ["config.json", "model.safetensors", "manifest.json"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", watched(&root.join("../../models")).display());
    let models = PROBLEMS.map(|problem| shipped(&root, problem));
    let models = models.into_iter().collect::<io::Result<Vec<_>>>()?;
    let models: Vec<String> = models.into_iter().flatten().collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("shipped.rs"), format!("&[{}]", models.join(", ")))
}

/// The deepest of the folder and its parents that exists: Cargo rebuilds always when told to watch
/// a missing path.
fn watched(folder: &Path) -> &Path {
    folder.ancestors().find(|path| path.exists()).unwrap_or(folder)
}

/// The Rust expression `Shipped` that embeds the model for a problem, if there is one.
fn shipped(root: &Path, problem: &str) -> io::Result<Option<String>> {
    let name = format!("regard-{problem}");
    let folder = root.join("../../models").join(&name);
    let [config, weights, manifest] = FILES.map(|file| folder.join(file));
    if !config.is_file() || !weights.is_file() {
        return Ok(None);
    }
    let bytes = |path: &Path| -> io::Result<String> { Ok(format!("include_bytes!({:?})", path.canonicalize()?)) };
    let (config, weights) = (bytes(&config)?, bytes(&weights)?);
    let manifest = if manifest.is_file() { format!("Some({})", bytes(&manifest)?) } else { "None".to_owned() };
    Ok(Some(format!(
        "Shipped {{ name: {name:?}, problem: {problem:?}, config: {config}, weights: {weights}, manifest: {manifest} }}"
    )))
}

//! Builds the models in `models/regard-PROBLEM` into the binary, so that `regard solve` needs no
//! file beside it.
//!
//! A source tree without such a folder still builds: the binary then asks for `--model`, or solves
//! without a network where the problem has a construction.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files of a model folder that the binary carries; the last one is optional.
const FILES: [&str; 3] = ["config.json", "model.safetensors", "manifest.json"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", watched(&root.join("../../models")).display());
    let models = problems(&root)?.iter().map(|problem| shipped(&root, problem)).collect::<io::Result<Vec<_>>>()?;
    let models: Vec<String> = models.into_iter().flatten().collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("shipped.rs"), format!("&[{}]", models.join(", ")))
}

/// The problems with a model of their own: each folder `models/regard-PROBLEM` whose `config.json` names that problem.
fn problems(root: &Path) -> io::Result<Vec<String>> {
    let Ok(folders) = fs::read_dir(root.join("../../models")) else { return Ok(Vec::new()) };
    let mut problems = Vec::new();
    for folder in folders {
        let folder = folder?.path();
        let name = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("regard-"));
        let (Some(problem), Ok(config)) = (name, fs::read_to_string(folder.join("config.json"))) else { continue };
        let compact: String = config.split_whitespace().collect();
        if compact.contains(&format!("\"problem\":\"{problem}\"")) {
            problems.push(problem.to_owned());
        }
    }
    problems.sort();
    Ok(problems)
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

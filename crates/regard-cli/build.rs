//! Builds the model in `models/regard-tsp` into the binary, so that `regard solve` needs no file
//! beside it.
//!
//! A source tree without that folder still builds: the binary then asks for `--model`.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files of a model folder that the binary carries; the last one is optional.
const FILES: [&str; 3] = ["config.json", "model.safetensors", "manifest.json"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let folder = root.join("../../models/regard-tsp");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", watched(&folder).display());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("shipped.rs"), shipped(&folder)?)
}

/// The deepest of the folder and its parents that exists: Cargo rebuilds always when told to watch
/// a missing path.
fn watched(folder: &Path) -> &Path {
    folder.ancestors().find(|path| path.exists()).unwrap_or(folder)
}

/// The Rust expression `Option<Shipped>` that embeds the folder.
fn shipped(folder: &Path) -> io::Result<String> {
    let [config, weights, manifest] = FILES.map(|name| folder.join(name));
    if !config.is_file() || !weights.is_file() {
        return Ok("None".to_owned());
    }
    let bytes = |path: &Path| -> io::Result<String> { Ok(format!("include_bytes!({:?})", path.canonicalize()?)) };
    let manifest = if manifest.is_file() { format!("Some({})", bytes(&manifest)?) } else { "None".to_owned() };
    Ok(format!("Some(Shipped {{ config: {}, weights: {}, manifest: {manifest} }})", bytes(&config)?, bytes(&weights)?))
}

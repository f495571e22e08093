//! Builds model folders of `models/` into the program, so that it needs no file beside it: the network of every routing
//! problem (`models/regard-PROBLEM`), and one model for each kind of task of the other families.
//!
//! A source tree without such a folder still builds: a command that needs the model then asks for `--model`.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The models of other families than routes.
const OTHERS: [&str; 5] = ["regard-clusters", "regard-max", "regard-solubility", "regard-etth1", "regard-forecaster"];

/// The files of a model folder that are built in; the first two must exist.
const FILES: [&str; 5] = ["config.json", "model.safetensors", "manifest.json", "base.json", "validation_errors.json"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../models");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", watched(&root).display());
    let models = names(&root)?.iter().map(|name| model(&root, name)).collect::<io::Result<Vec<_>>>()?;
    let models: Vec<String> = models.into_iter().flatten().collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("built_in.rs"), format!("&[{}]", models.join(", ")))
}

/// The folders to build in: `models/regard-PROBLEM` whose `config.json` names that problem, and [`OTHERS`].
fn names(root: &Path) -> io::Result<Vec<String>> {
    let Ok(folders) = fs::read_dir(root) else { return Ok(Vec::new()) };
    let mut names: Vec<String> = OTHERS.map(str::to_owned).to_vec();
    for folder in folders {
        let folder = folder?.path();
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
        let (Some(problem), Ok(config)) =
            (name.strip_prefix("regard-"), fs::read_to_string(folder.join("config.json")))
        else {
            continue;
        };
        let compact: String = config.split_whitespace().collect();
        if compact.contains(&format!("\"problem\":\"{problem}\"")) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The deepest of the folder and its parents that exists: Cargo rebuilds always when told to watch
/// a missing path.
fn watched(folder: &Path) -> &Path {
    folder.ancestors().find(|path| path.exists()).unwrap_or(folder)
}

/// The Rust expression `BuiltIn` that embeds a model folder, if it is one.
fn model(root: &Path, name: &str) -> io::Result<Option<String>> {
    let folder = root.join(name);
    if !FILES[..2].iter().all(|file| folder.join(file).is_file()) {
        return Ok(None);
    }
    let mut files = Vec::new();
    for file in FILES {
        let path = folder.join(file);
        if path.is_file() {
            files.push(format!("({file:?}, include_bytes!({:?}))", path.canonicalize()?));
        }
    }
    Ok(Some(format!("BuiltIn {{ name: {name:?}, files: &[{}] }}", files.join(", "))))
}

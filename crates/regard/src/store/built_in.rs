//! Models that are built into the program: folders in memory that are opened by their name.
//!
//! The path `regard-tsp` means the folder of this name where there is one on the disk, else the built-in model.
//! `built-in:regard-tsp` always means the latter.

use std::path::{Path, PathBuf};

/// Prefix of a path that means a built-in model in any case.
const PREFIX: &str = "built-in:";

/// Names and bytes of the files of a model.
type Files = &'static [(&'static str, &'static [u8])];

/// The models with their files; none without the feature `built-in-models`.
fn all() -> impl Iterator<Item = (&'static str, Files)> {
    #[cfg(feature = "built-in-models")]
    let models = regard_models::BUILT_IN.iter().map(|model| (model.name, model.files));
    #[cfg(not(feature = "built-in-models"))]
    let models = std::iter::empty();
    models
}

/// Names of the built-in models, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| name)
}

/// The path of the built-in model `name`, whatever is on the disk; `None` if there is no such model.
pub fn path(name: &str) -> Option<PathBuf> {
    names().find(|known| *known == name).map(|name| PathBuf::from(format!("{PREFIX}{name}")))
}

/// If true, the path of a folder means a built-in model.
pub fn is_model(folder: &Path) -> bool {
    found(folder).is_some()
}

/// Name of the built-in model that the path of a folder means.
pub fn name(folder: &Path) -> Option<&'static str> {
    found(folder).map(|(name, _)| name)
}

/// The model that the path of a folder means, with its files.
fn found(folder: &Path) -> Option<(&'static str, Files)> {
    let text = folder.to_str()?;
    let name = match text.strip_prefix(PREFIX) {
        Some(name) => name,
        None if folder.exists() => return None,
        None => text,
    };
    all().find(|(known, _)| *known == name)
}

/// The bytes of a file in a built-in model.
pub(super) fn bytes(file: &Path) -> Option<&'static [u8]> {
    let name = file.file_name()?;
    let (_, files) = found(file.parent()?)?;
    files.iter().find(|(known, _)| name == *known).map(|(_, bytes)| *bytes)
}

//! The trained models that are built into the program and the Python package, as the bytes of their folders.
//!
//! The folders are those of `models/` in the source tree that [`build.rs`] names. A source tree without them still
//! builds; [`BUILT_IN`] is empty then.
//!
//! [`build.rs`]: https://doc.rust-lang.org/cargo/reference/build-scripts.html

/// A model folder in memory.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Name of the folder, such as `regard-tsp`.
    pub name: &'static str,
    /// Names and bytes of its files.
    pub files: &'static [(&'static str, &'static [u8])],
}

/// The models, by name.
// A static, not a constant: a constant is copied into every unit of code that names it, megabytes each time.
pub static BUILT_IN: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_settings_and_weights() {
        for model in BUILT_IN {
            for name in ["config.json", "model.safetensors"] {
                let found = model.files.iter().find(|(file, _)| *file == name);
                assert!(found.is_some_and(|(_, bytes)| !bytes.is_empty()), "{} has no {name}", model.name);
            }
        }
    }
}

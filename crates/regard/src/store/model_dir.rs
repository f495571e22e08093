//! The folder of a model: opening and saving.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regard_data::file::write_atomic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::array::Weights;
use super::built_in;
use super::manifest::{MANIFEST, Manifest, architecture_sha256, sha256};
use super::network::NetworkConfig;
use super::{card, file, layout, safetensors};
use crate::{Error, Result};

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
const CARD: &str = "README.md";
/// The settings of a run, in its folder.
const RUN: &str = "experiment.toml";

/// The way out of a path that is no model.
fn folder_hint() -> String {
    let names: Vec<&str> = built_in::names().collect();
    let built_in =
        if names.is_empty() { String::new() } else { format!(" or one that is built in ({})", names.join(", ")) };
    format!("a model is a folder{built_in}; import weights with `regard model import kool FILE --out DIR`")
}

/// The folder of a model, with its settings read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkDir<C> {
    path: PathBuf,
    config: C,
    manifest: Option<Manifest>,
}

impl<C: NetworkConfig> NetworkDir<C> {
    /// Opens a model: reads `config.json`, and `manifest.json` where there is one.
    ///
    /// # Errors
    /// [`Error::Io`] for a folder or file that cannot be read, [`Error::Config`] for settings that
    /// do not hold together or are of another kind or format, [`Error::Parse`] for text that is not
    /// JSON.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        if !path.is_dir() && !built_in::is_model(&path) {
            let (kind, reason) = match path.exists() {
                true => (std::io::ErrorKind::NotADirectory, "is a file, not the folder of a model"),
                false => (std::io::ErrorKind::NotFound, "the folder does not exist"),
            };
            return Err(Error::io(path, std::io::Error::new(kind, reason)).with_hint(folder_hint()));
        }
        for name in [CONFIG, WEIGHTS] {
            if !file::is_file(&path.join(name)) {
                return Err(not_a_model(path, name));
            }
        }
        let read = file::read_json(&path.join(CONFIG))?;
        let config = C::from_json(&read).map_err(|error| error.in_file(&path.join(CONFIG)))?;
        let manifest = Manifest::of_model(&path)?;
        let expected = manifest.as_ref().and_then(|manifest| manifest.architecture_sha256.as_ref());
        if expected.is_some_and(|expected| *expected != architecture_sha256(&read)) {
            return Err(other_architecture(path.join(CONFIG)));
        }
        Ok(Self { path, config, manifest })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the folder.
    pub fn name(&self) -> String {
        if let Some(name) = built_in::name(&self.path) {
            return name.to_owned();
        }
        let full = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        full.file_name().map_or_else(|| "model".into(), |name| name.to_string_lossy().into_owned())
    }

    /// The folder as an argument of a command, quoted where a shell would cut it.
    fn argument(&self) -> String {
        let path = self.path.display().to_string();
        let plain = |c: char| c.is_alphanumeric() || "/\\._-+:@".contains(c);
        if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
    }

    /// Settings of the network.
    pub fn config(&self) -> &C {
        &self.config
    }

    /// The manifest, where the folder has one.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Reads the weights, and checks that they are those of the network.
    ///
    /// # Errors
    /// As [`safetensors::read`] and [`layout::check`].
    pub fn weights(&self) -> Result<Weights> {
        let path = self.path.join(WEIGHTS);
        let weights = safetensors::read(&path)?;
        layout::check(&self.config, &weights).map_err(|error| error.in_file(&path))?;
        Ok(weights)
    }

    /// Saves a model.
    ///
    /// A new folder is written under a temporary name beside `path`, then renamed: it is complete
    /// or absent. In the folder of a model, the model's files are replaced and other files stay.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Weights`] for a model that could not be loaded again;
    /// [`Error::Unsupported`] when `path` exists and is not a model's folder; [`Error::Io`].
    pub fn save(path: impl Into<PathBuf>, config: &C, weights: &Weights, manifest: &Manifest) -> Result<Self> {
        let path = path.into();
        let replaced = replaces(&path)?;
        Self::put(path, config, weights, manifest, None, replaced)
    }

    /// As [`Self::save`], into a folder that may hold other files, which stay.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn save_into(path: &Path, config: &C, weights: &Weights, manifest: &Manifest) -> Result<Self> {
        fs::create_dir_all(path).map_err(|error| Error::io(path, error))?;
        Self::put(path.to_owned(), config, weights, manifest, None, true)
    }

    /// As [`Self::save_into`], with files that belong to the weights: `companions` gets the SHA-256 of the file of weights.
    ///
    /// # Errors
    /// As there, and those of `companions`.
    pub(crate) fn save_with(
        path: &Path,
        config: &C,
        weights: &Weights,
        manifest: &Manifest,
        companions: Companions<'_>,
    ) -> Result<Self> {
        fs::create_dir_all(path).map_err(|error| Error::io(path, error))?;
        Self::put(path.to_owned(), config, weights, manifest, Some(companions), true)
    }

    fn put(
        path: PathBuf,
        config: &C,
        weights: &Weights,
        manifest: &Manifest,
        companions: Option<Companions<'_>>,
        into_existing: bool,
    ) -> Result<Self> {
        config.validate()?;
        layout::check(config, weights)?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
        }
        let staged = Staged(file::partial_name(&path)?);
        fs::create_dir_all(&staged.0).map_err(|error| Error::io(&staged.0, error))?;
        let text = json_text(&path.join(CONFIG), config)?;
        // What cannot be read again, such as a deviation that is not finite, is not written.
        let read = file::json(&text, &path)?;
        C::from_json(&read).map_err(|error| error.in_file(&path.join(CONFIG)))?;
        let manifest = Manifest { architecture_sha256: Some(architecture_sha256(&read)), ..manifest.clone() };
        let saved = Self { path, config: config.clone(), manifest: Some(manifest) };
        saved.write_to(&staged.0, weights, &text)?;
        let companions = companions.map_or(Ok(vec![]), |companions| companions(&weights_sha256(&staged.0)?))?;
        for Companion { name, content } in &companions {
            if let Some(content) = content {
                write_atomic(staged.0.join(name), |out| out.write_all(content))?;
            }
        }
        if into_existing {
            // Everything is written: what a killed process can mix is told by the digest in the companions.
            let (gone, there): (Vec<_>, Vec<_>) = companions.iter().partition(|companion| companion.content.is_none());
            let there = there.into_iter().map(|companion| companion.name);
            for name in [WEIGHTS].into_iter().chain(there).chain([CONFIG, MANIFEST, CARD]) {
                let target = saved.path.join(name);
                fs::rename(staged.0.join(name), &target).map_err(|error| Error::io(target, error))?;
            }
            for Companion { name, .. } in gone {
                let target = saved.path.join(name);
                match fs::remove_file(&target) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(target, error)),
                    _ => {}
                }
            }
        } else {
            fs::rename(&staged.0, &saved.path).map_err(|error| Error::io(&saved.path, error))?;
        }
        Ok(saved)
    }

    fn write_to(&self, folder: &Path, weights: &Weights, config: &str) -> Result<()> {
        let metadata = BTreeMap::from([("kind".to_owned(), self.config.kind().to_owned())]);
        safetensors::write(&folder.join(WEIGHTS), weights, &metadata)?;
        write_text(&folder.join(CONFIG), config)?;
        let manifest = folder.join(MANIFEST);
        write_text(&manifest, &json_text(&manifest, &self.manifest)?)?;
        let card = card::card(&self.name(), &self.argument(), &self.config, self.manifest.as_ref());
        write_text(&folder.join(CARD), &card)
    }
}

/// A file that belongs to the weights of a model.
pub(crate) struct Companion {
    /// Its name in the model's folder.
    pub(crate) name: &'static str,
    /// Its content; without one, a file of an earlier model is removed.
    pub(crate) content: Option<Vec<u8>>,
}

/// Makes the companions of weights whose file has a SHA-256.
pub(crate) type Companions<'a> = &'a dyn Fn(&str) -> Result<Vec<Companion>>;

impl Companion {
    /// The content of a companion: a record, and the SHA-256 of the file of weights to which it belongs.
    pub(crate) fn json(record: &impl Serialize, weights_sha256: &str) -> Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Belonging<'a, R> {
            #[serde(flatten)]
            record: &'a R,
            weights_sha256: &'a str,
        }
        serde_json::to_vec(&Belonging { record, weights_sha256 }).map_err(|error| Error::state("model", error))
    }

    /// The record in the companion of this name; `None` where the model has none. Those of earlier versions do not say to
    /// which weights they belong.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Parse`], also for a record that belongs to other weights than those beside it.
    pub(crate) fn read<R: DeserializeOwned>(folder: &Path, name: &str, limit: u64) -> Result<Option<R>> {
        #[derive(Deserialize)]
        struct Belonging {
            weights_sha256: Option<String>,
        }
        let path = folder.join(name);
        if !file::is_file(&path) {
            return Ok(None);
        }
        let text = file::text(file::read(&path, limit)?, &path)?;
        let record = file::json(&text, &path)?;
        let Belonging { weights_sha256: expected } = file::json(&text, &path)?;
        let Some(expected) = expected else { return Ok(Some(record)) };
        if expected == weights_sha256(folder)? {
            return Ok(Some(record));
        }
        let reason = format!("belongs to other weights than those of `{WEIGHTS}`: its SHA-256 of them is another");
        Err(Error::Parse { path, line: 0, field: String::new(), reason }.with_hint(format!(
            "a training that was killed while it saved its model saves it again with `regard train --out {} --resume`",
            folder.display()
        )))
    }
}

/// SHA-256 of the file of weights in a folder.
fn weights_sha256(folder: &Path) -> Result<String> {
    Ok(sha256(&file::read(&folder.join(WEIGHTS), file::WEIGHTS_LIMIT)?))
}

/// The kind of the model in a folder, from its `config.json`.
///
/// # Errors
/// [`Error::Io`], [`Error::Parse`]; [`Error::Config`] when there is none.
pub fn kind_of(folder: &Path) -> Result<String> {
    let path = folder.join(CONFIG);
    if !file::is_file(&path) && folder.join(RUN).is_file() {
        return Err(not_a_model(folder.to_path_buf(), CONFIG));
    }
    let value: serde_json::Value = file::read_json(&path)?;
    let kind = value.get("kind").and_then(serde_json::Value::as_str);
    kind.map(str::to_owned).ok_or_else(|| Error::config("kind", "is missing").in_file(&path))
}

/// The error for a folder without the file `name` of a model.
fn not_a_model(path: PathBuf, name: &str) -> Error {
    let (reason, hint) = match path.join(RUN).is_file() {
        true => (
            format!("is the folder of a run that has not saved a model: it has no `{name}`"),
            format!("continue it with `regard train --out {} --resume`", path.display()),
        ),
        false => (
            format!("is not a model folder: it has no `{name}`"),
            format!("a model is a folder with `{CONFIG}` and `{WEIGHTS}`"),
        ),
    };
    Error::Parse { path, line: 0, field: String::new(), reason }.with_hint(hint)
}

/// True if `path` is the folder of a model that would be replaced; an empty folder is like none.
fn replaces(path: &Path) -> Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    let refused = || {
        Error::Unsupported { what: path.display().to_string(), reason: "exists and is not a model folder".into() }
            .with_hint("give another folder, or remove this one first")
    };
    if !path.is_dir() {
        return Err(refused());
    }
    if path.join(CONFIG).is_file() && path.join(WEIGHTS).is_file() {
        return Ok(true);
    }
    let mut entries = fs::read_dir(path).map_err(|error| Error::io(path, error))?;
    if entries.next().is_none() { Ok(false) } else { Err(refused()) }
}

/// The content of a JSON file.
fn json_text(path: &Path, value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::io(path, error.into()))?;
    Ok(text + "\n")
}

fn write_text(path: &Path, text: &str) -> Result<()> {
    Ok(write_atomic(path, |out| out.write_all(text.as_bytes()))?)
}

/// The error for settings with which the weights were not trained: some, such as the number of heads, fit weights of the
/// same shapes and give other answers.
fn other_architecture(path: PathBuf) -> Error {
    let reason = format!("describes another network than that of `{WEIGHTS}`: its hash is not the one in `{MANIFEST}`");
    Error::Parse { path, line: 0, field: String::new(), reason }
        .with_hint("settings of a trained network cannot be edited; restore the file, or train with other settings")
}

/// A folder that is not finished; removed when it is still there at the end.
struct Staged(PathBuf);

impl Drop for Staged {
    fn drop(&mut self) {
        // Renamed away when all went well; otherwise the error that matters is already on its way.
        let _ = fs::remove_dir_all(&self.0);
    }
}

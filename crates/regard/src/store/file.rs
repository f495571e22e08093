//! Reading a whole file, with its size looked at first; files of built-in models come from memory.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::built_in;
use crate::{Error, Result};

/// Largest weights file that is read: 4 GiB, a thousand times the models of this crate.
pub(crate) const WEIGHTS_LIMIT: u64 = 4 << 30;
/// Largest JSON file that is read: 16 MiB.
pub(crate) const JSON_LIMIT: u64 = 16 << 20;

/// If true, there is such a file, on the disk or in a model that is built in.
pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file() || built_in::bytes(path).is_some()
}

/// The bytes of a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    if let Some(bytes) = built_in::bytes(path) {
        return Ok(bytes.to_vec());
    }
    let io = |source| Error::io(path, source);
    let refuse = |reason: String| Error::Parse { path: path.to_owned(), line: 0, field: String::new(), reason };
    let metadata = fs::metadata(path).map_err(io)?;
    if !metadata.is_file() {
        return Err(refuse("is not a file".into()));
    }
    if metadata.len() > limit {
        return Err(refuse(format!("is {} bytes long; at most {limit} are read", metadata.len())));
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read; `take` keeps the promise anyway.
    fs::File::open(path).map_err(io)?.take(limit).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// The text of a JSON or TOML file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    text(read(path, JSON_LIMIT)?, path)
}

/// The text of the bytes of a file.
pub(crate) fn text(bytes: Vec<u8>, path: &Path) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| Error::Parse {
        path: path.to_owned(),
        line: 0,
        field: format!("byte {}", error.utf8_error().valid_up_to()),
        reason: "is not UTF-8 text".into(),
    })
}

/// A JSON error as one of ours, with the line. `text` distinguishes an empty file from a broken one.
fn json_error(path: &Path, text: &str, error: &serde_json::Error) -> Error {
    let full = error.to_string();
    let reason = match full.rfind(" at line ") {
        _ if text.trim().is_empty() => "is empty; expected a JSON object".to_owned(),
        Some(end) => full[..end].to_owned(),
        None => full,
    };
    Error::Parse { path: path.to_owned(), line: error.line(), field: String::new(), reason }
}

/// The value in a JSON file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    json(&read_text(path)?, path)
}

/// The value in the text of a JSON file.
pub(crate) fn json<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T> {
    serde_json::from_str(text).map_err(|error| json_error(path, text, &error))
}

/// A name beside `path` for what is not finished: `name.PROCESS.partial`.
pub(crate) fn partial_name(path: &Path) -> Result<PathBuf> {
    let Some(name) = path.file_name() else {
        let reason = std::io::Error::new(std::io::ErrorKind::InvalidInput, "does not end in a file name");
        return Err(Error::io(path, reason));
    };
    let mut partial = name.to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    Ok(path.with_file_name(partial))
}

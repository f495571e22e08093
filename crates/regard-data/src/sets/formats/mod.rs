//! Files of bags, and of what is predicted for them.

pub mod csv;
pub(crate) mod gathered;
pub mod jsonl;
pub mod libsvm;
pub mod mixtures;
pub mod npz;
mod options;
pub mod predictions;

use std::path::Path;

pub use self::options::{Layout, ReadOptions};
use super::Bags;
use crate::file::read_text;
use crate::{Error, Result};

/// Reads bags from a file of any format.
///
/// A name ending in `.npz` is read as [`npz`], in `.parquet` (with the feature of that name) as the
/// [`csv`] it would be, in `.jsonl` or `.ndjson` as [`jsonl`], in `.csv` or
/// `.tsv` as [`csv`], in `.svm` or `.libsvm` as [`libsvm`]; of any other name the content decides.
/// For libsvm, the sizes of the queries are looked for in a file of the same name with `.query` after
/// it.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, and [`Error::Parse`] with file, line and expectation
/// when it is malformed.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Bags> {
    let path = path.as_ref();
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    if extension.as_deref() == Some("npz") {
        return npz::read(path);
    }
    if extension.as_deref() == Some("parquet") {
        return from_parquet(path, options);
    }
    let text = read_text(path)?;
    match extension.as_deref() {
        Some("jsonl" | "ndjson") => jsonl::parse(&text, path),
        Some("csv" | "tsv") => csv::parse(&text, path, options),
        Some("svm" | "libsvm") => with_queries(&text, path, options),
        _ if jsonl::looks_like(&text) => jsonl::parse(&text, path),
        _ if libsvm::looks_like(&text) => with_queries(&text, path, options),
        _ if crate::npz::looks_like(text.as_bytes()) => npz::read(path),
        _ => csv::parse(&text, path, options),
    }
}

#[cfg(feature = "parquet")]
fn from_parquet(path: &Path, options: &ReadOptions) -> Result<Bags> {
    let commas = ReadOptions { delimiter: Some(b','), ..options.clone() };
    csv::parse(&crate::parquet::as_csv(path)?, path, &commas)
}

#[cfg(not(feature = "parquet"))]
fn from_parquet(path: &Path, _: &ReadOptions) -> Result<Bags> {
    let error = Error::parse(path, 0, "is a Parquet file, which this build does not read");
    Err(error.with_hint("build with `--features parquet`, or write the table as CSV"))
}

fn with_queries(text: &str, path: &Path, options: &ReadOptions) -> Result<Bags> {
    let mut name = path.as_os_str().to_owned();
    name.push(".query");
    let beside = Path::new(&name);
    match read_text(beside) {
        Ok(sizes) => libsvm::parse(text, path, Some((&sizes, beside)), options),
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            libsvm::parse(text, path, None, options)
        }
        Err(error) => Err(error),
    }
}

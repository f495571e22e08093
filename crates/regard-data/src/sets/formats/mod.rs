//! Files of bags, and of predictions for them.

pub(crate) mod builder;
pub mod csv;
pub mod jsonl;
pub mod libsvm;
pub mod mixtures;
pub mod npz;
pub mod predictions;

use std::path::Path;

use super::Bags;
use crate::file::{extension, read_text};
use crate::table::{Text, json_lines};
use crate::{Error, Result};

/// Reads bags from a file of any format.
///
/// A name ending in `.npz` is read as [`npz`], in `.jsonl` or `.ndjson` as [`jsonl`], in `.csv` or
/// `.tsv` as [`csv`], in `.svm` or `.libsvm` as [`libsvm`]; of any other name the content decides. Text may be
/// compressed by gzip (`.csv.gz`). A Parquet file (with the feature of that name) is read as the [`csv`] it would be.
/// For libsvm, the sizes of the queries are read from a file of the same name with `.query` after
/// it.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, and [`Error::Parse`] with file, line and expectation
/// when it is malformed.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Bags> {
    let path = path.as_ref();
    let extension = extension(path);
    if extension == "npz" {
        return npz::read(path);
    }
    let Text { text, delimiter, encoding } = Text::read(path)?;
    let bags = parse(&text, delimiter, path, &extension, options)?;
    let notes = encoding.note().map(|note| format!("the file {note}")).into_iter().chain(bags.notes().to_vec());
    let notes = notes.collect();
    Ok(bags.with_notes(notes))
}

fn parse(text: &str, delimiter: Option<u8>, path: &Path, extension: &str, options: &ReadOptions) -> Result<Bags> {
    if delimiter.is_some() {
        return csv::parse(text, path, &ReadOptions { delimiter, ..options.clone() });
    }
    match extension {
        "jsonl" | "ndjson" => jsonl::parse(text, path),
        "csv" | "tsv" => csv::parse(text, path, options),
        "svm" | "libsvm" => with_queries(text, path, options),
        _ if json_lines::looks_like(text) => jsonl::parse(text, path),
        _ if libsvm::looks_like(text) => with_queries(text, path, options),
        _ if crate::npz::looks_like(text.as_bytes()) => npz::read(path),
        _ => csv::parse(text, path, options),
    }
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

/// Options of reading a file of bags. The format decides which of them matter.
///
/// ```
/// use regard_data::sets::formats::ReadOptions;
///
/// let options = ReadOptions { group_by: Some("customer".into()), target: Some("left".into()), ..Default::default() };
/// assert!(options.features.is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Tables: the decimal mark of numbers; `None` is the one that they show.
    pub decimal: Option<crate::table::numbers::Decimal>,
    /// Tables: the decimal mark of numbers that may be read in both ways, where the file does not tell: that of training, for
    /// example.
    pub likely_decimal: Option<crate::table::numbers::Decimal>,
    /// Tables: the column whose equal values make a bag.
    pub group_by: Option<String>,
    /// Tables: the column of a bag's label, the same in all its rows.
    pub target: Option<String>,
    /// Labels may be absent, all of them: bags to be predicted.
    pub target_optional: bool,
    /// Tables: the column of a row's label.
    pub row_target: Option<String>,
    /// Tables with a header: the columns to read as features, in this order (`column=value` for one value of a text
    /// column); `None` takes every other column of numbers or of few different texts.
    pub features: Option<Vec<String>>,
    /// Tables with a header: names of the features in training. Text columns are encoded as there: a value that
    /// training did not have is 0 in all features of its column.
    pub encoded: Option<Vec<String>>,
    /// Tables: numbers may be missing, and are NaN then; with a header, an indicator says where.
    pub may_miss: bool,
    /// Tables: the character between fields; `None` is the one of comma, semicolon and tab that the
    /// first line has most of.
    pub delimiter: Option<u8>,
    /// Tables: whether the first line names the columns.
    pub layout: Layout,
    /// libsvm: how many features there are; `None` is the largest that occurs.
    pub width: Option<usize>,
    /// libsvm: features are counted from 0 instead of 1.
    pub zero_based: bool,
}

/// The kind of a table's first line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// Rows as in [`Layout::Headerless`] when no column is named in the options and the first line is
    /// numbers from its third field on, otherwise a header. Numbers that count columns (`0,1,2`) are a
    /// header.
    #[default]
    Auto,
    /// The first line names the columns.
    Header,
    /// There is no header: rows are the bag's label, its id, then the features, as is customary for
    /// multiple-instance learning.
    Headerless,
}

impl ReadOptions {
    /// If true, a column is named.
    fn names_columns(&self) -> bool {
        self.group_by.is_some() || self.target.is_some() || self.row_target.is_some() || self.features.is_some()
    }
}

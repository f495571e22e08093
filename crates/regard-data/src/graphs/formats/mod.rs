//! Files of graphs, and of predictions for them.

pub mod attention;
pub mod cora;
pub mod edge_list;
mod edges;
pub mod jsonl;
mod lines;
pub mod predictions;
pub mod smiles_csv;
pub mod tu;
pub mod tu_folder;

use std::path::{Path, PathBuf};

use super::Graphs;
use crate::error::shown;
use crate::file::{extension, read_text};
use crate::graphs::molecules::Rule;
use crate::table::{Table, Text, json_lines};
use crate::{Error, Result};

/// Reads graphs from a file of any format.
///
/// A folder is read as [`tu_folder`], a name ending in `.jsonl` or `.ndjson` as [`jsonl`], whatever columns
/// are named, for it has none. Where a column of SMILES is named, any other file is read as [`smiles_csv`];
/// a name ending in `.csv` or `.tsv` as the nodes of an [`edge_list`]; of any other name the content
/// decides, which may also be [`tu`] or [`cora`]. Edges beside nodes are looked for in a file of the same
/// name with `edges` for `nodes`. Text may be compressed by gzip (`.csv.gz`); a Parquet file (with the feature of
/// that name) is read as the table it would be.
///
/// # Errors
/// [`Error::Io`] when a file cannot be read, and [`Error::Parse`] with file, line and expectation when
/// it is malformed.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Graphs> {
    let path = path.as_ref();
    if crate::file::is_folder(path) {
        return match &options.edges {
            Some(edges) => Err(surplus_edges(path, edges)),
            None => tu_folder::read(path),
        };
    }
    let Text { text, delimiter, encoding } = Text::read(path)?;
    let graphs = parse(&text, delimiter, path, options)?;
    Ok(match encoding.note() {
        Some(note) => graphs.with_note(format!("the file {note}")),
        None => graphs,
    })
}

/// The files that [`read`] reads for a path, as far as they exist: one file, nodes and edges, or those of a folder by name.
#[must_use]
pub fn files(path: &Path, options: &ReadOptions) -> Vec<PathBuf> {
    if crate::file::is_folder(path) {
        return tu_folder::files(path);
    }
    let edges = if options.smiles.is_some() { None } else { edges_beside(path, options).ok() };
    std::iter::once(path.to_path_buf()).chain(edges.filter(|edges| crate::file::is_file(edges))).collect()
}

fn parse(text: &str, delimiter: Option<u8>, path: &Path, options: &ReadOptions) -> Result<Graphs> {
    let options = &ReadOptions { delimiter: delimiter.or(options.delimiter), ..options.clone() };
    let only = |format: Result<Graphs>| match &options.edges {
        Some(edges) => Err(surplus_edges(path, edges)),
        None => format,
    };
    match extension(path).as_str() {
        "jsonl" | "ndjson" => only(jsonl::parse(text, path, options)),
        _ if options.smiles.is_some() => only(smiles_csv::parse(text, path, options)),
        "csv" | "tsv" => with_edges(text, path, options),
        _ if delimiter.is_some() => with_edges(text, path, options),
        _ if json_lines::looks_like(text) => only(jsonl::parse(text, path, options)),
        _ if cora::looks_like(text) => {
            let edges = edges_beside(path, options)?;
            cora::parse(text, path, &read_text(&edges)?, &edges)
        }
        _ if tu::looks_like(text) => only(tu::parse(text, path, options)),
        _ => with_edges(text, path, options),
    }
}

/// The error for a file of edges beside a file that has them itself.
fn surplus_edges(path: &Path, edges: &Path) -> Error {
    let reason = format!("holds its edges itself, yet {} is named as their file", edges.display());
    Error::parse(path, 0, reason).with_hint("`--edges` (`data.edges`) applies to a table of nodes; leave it out here")
}

fn with_edges(text: &str, path: &Path, options: &ReadOptions) -> Result<Graphs> {
    let edges = edges_beside(path, options).map_err(|error| match smiles_column(text, path, options.delimiter) {
        None => error,
        Some(column) => {
            let column = shown(&column);
            let reason = format!("has a column `{column}`, but the experiment reads no SMILES");
            Error::parse(path, 0, reason).with_hint(format!(
                "`--set data.smiles={column}` reads them, as does an experiment on molecules such as `graphs/molecules`"
            ))
        }
    })?;
    edge_list::parse(text, path, &Text::read(&edges)?.text, &edges, options)
}

/// The file of edges: the one that is named, or the same name with `edges` for `nodes`.
fn edges_beside(path: &Path, options: &ReadOptions) -> Result<PathBuf> {
    if let Some(edges) = &options.edges {
        return Ok(edges.clone());
    }
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| name.contains("nodes"));
    name.map(|name| path.with_file_name(name.replacen("nodes", "edges", 1))).ok_or_else(|| {
        let error = Error::parse(path, 0, "is a table without a column of SMILES, and no file of edges is known");
        error.with_hint(
            "give the column of SMILES, or the file of edges; for nodes.csv the file edges.csv is found automatically",
        )
    })
}

/// The column of a table whose name contains `smiles`, in letters of any case.
fn smiles_column(text: &str, path: &Path, delimiter: Option<u8>) -> Option<String> {
    let table = Table::of(text, path, (delimiter, [None; 2]), "a header").ok()?;
    table.header.names.iter().find(|name| name.to_lowercase().contains("smiles")).cloned()
}

/// A file that seems to hold graphs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognised {
    /// A table of molecules, with the name of its column of SMILES.
    Molecules(String),
    /// Any other file of graphs.
    Graphs,
}

/// The graphs that a file seems to hold, by its name and its first lines; `None` for a file of something else, and for
/// one that cannot be read.
///
/// A table is one of molecules if the name of a column contains `smiles`, in letters of any case, and one of nodes if a
/// file of edges lies beside it. A folder needs a file `NAME_A.txt`.
#[must_use]
pub fn recognise(path: &Path) -> Option<Recognised> {
    if crate::file::is_folder(path) {
        let mut names = std::fs::read_dir(path).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        return names.any(|name| name.ends_with("_A.txt")).then_some(Recognised::Graphs);
    }
    if ["jsonl", "ndjson"].contains(&extension(path).as_str()) {
        return Some(Recognised::Graphs);
    }
    let Text { text, delimiter, .. } = Text::read(path).ok()?;
    if ["csv", "tsv"].contains(&extension(path).as_str()) || delimiter.is_some() {
        let beside = || edges_beside(path, &ReadOptions::default()).is_ok_and(|edges| crate::file::is_file(&edges));
        return match smiles_column(&text, path, delimiter) {
            Some(column) => Some(Recognised::Molecules(column)),
            None => beside().then_some(Recognised::Graphs),
        };
    }
    let known = json_lines::looks_like(&text) || cora::looks_like(&text) || tu::looks_like(&text);
    known.then_some(Recognised::Graphs)
}

/// Options of reading a file of graphs. The format decides which of them matter.
///
/// ```
/// use regard_data::graphs::formats::ReadOptions;
///
/// let options = ReadOptions { smiles: Some("smiles".into()), targets: vec!["expt".into()], ..Default::default() };
/// assert!(!options.skip_bad);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Tables: the decimal mark of numbers; `None` is the one that they show.
    pub decimal: Option<crate::table::numbers::Decimal>,
    /// Tables: the decimal mark of numbers that may be read in both ways, where the file does not tell: that of training, for
    /// example.
    pub likely_decimal: Option<crate::table::numbers::Decimal>,
    /// Tables: the column of SMILES; each row is a molecule.
    pub smiles: Option<String>,
    /// Molecules: what atoms and bonds are called.
    pub rule: Rule,
    /// Tables: the columns of what is to be predicted.
    pub targets: Vec<String>,
    /// Columns of targets may be absent: graphs to be predicted.
    pub targets_optional: bool,
    /// Tables: the column of names; rows are numbered from 1 without one.
    pub id: Option<String>,
    /// Tables: the column that says `train`, `val` or `test`.
    pub split: Option<String>,
    /// Molecules: rows that are wrong are left out and listed by
    /// [`Graphs::skipped`](crate::graphs::Graphs::skipped).
    pub skip_bad: bool,
    /// Tables: the character between fields; `None` is the one of comma, semicolon and tab that the
    /// first line has most of.
    pub delimiter: Option<u8>,
    /// Tables of nodes: the file of edges; `None` looks for the same name with `edges` for `nodes`.
    pub edges: Option<PathBuf>,
    /// Tables of nodes and edges: names of the features in training, which are read in this order, other columns
    /// left out; `None` reads every column.
    pub node_features: Option<Vec<String>>,
    /// As `node_features`, of edges.
    pub edge_features: Option<Vec<String>>,
    /// Lists of edges have one direction each; otherwise each line is an edge both ways, and one that is
    /// repeated is taken once.
    pub directed: bool,
}

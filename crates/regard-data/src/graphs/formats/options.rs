//! What a file of graphs cannot say itself.

use std::path::PathBuf;

use crate::graphs::molecules::Rule;

/// How a file of graphs is read. Which of these matter depends on its format.
///
/// ```
/// use regard_data::graphs::formats::ReadOptions;
///
/// let options = ReadOptions { smiles: Some("smiles".into()), targets: vec!["expt".into()], ..Default::default() };
/// assert!(!options.skip_bad);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
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
    /// Lists of edges have one direction each; otherwise each line is an edge both ways, and one that is
    /// repeated is taken once.
    pub directed: bool,
}

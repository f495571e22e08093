//! `regard predict`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `regard predict`.
#[derive(Debug, Args)]
#[command(after_help = "\
The file has the columns the model was trained on, in any order, and the column that says which rows
belong together. CSV goes to standard output; --json prints one object.

Examples:
  regard predict --model runs/customers customers.csv
  regard predict --model runs/customers customers.csv --importance --json")]
pub(crate) struct PredictArgs {
    /// File of sets: CSV, JSON lines, npz or libsvm rows
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Model folder
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// Column whose equal values make a set [default: as in training]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) group_by: Option<String>,
    /// Tell how much the model looked at every row too
    #[arg(long)]
    pub(crate) importance: bool,
    /// Write the answers about rows to a CSV file of their own
    #[arg(long, value_name = "FILE")]
    pub(crate) rows: Option<PathBuf>,
}

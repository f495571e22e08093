//! `regard predict`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `regard predict`.
#[derive(Debug, Args)]
#[command(after_help = "\
The file has the columns the model was trained on, in any order, and the column that says which rows
belong together. CSV goes to standard output; --json prints one list. A model that finds clusters
tells the mixture of every set, and with --rows the cluster of every row.

Examples:
  regard predict --model runs/customers customers.csv
  regard predict --model runs/customers customers.csv --importance --json
  regard predict --model runs/clustering points.csv --rescale --refine 20 --plot clusters.svg
  regard predict --model runs/solubility molecules.csv --smiles smiles --attention edges.csv")]
pub(crate) struct PredictArgs {
    /// File of sets (CSV, JSON lines, npz, libsvm rows) or graphs (a table of SMILES, nodes beside edges, JSON
    /// lines, TU's files)
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
    /// Column of SMILES, of a model on graphs [default: as in training]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) smiles: Option<String>,
    /// Column of names, of a model on graphs [default: as in training]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// File of edges beside one of nodes [default: the same name with `edges` for `nodes`]
    #[arg(long, value_name = "FILE")]
    pub(crate) edges: Option<PathBuf>,
    /// Write how much nodes look along every edge, by layer and head, to a CSV file
    #[arg(long, value_name = "FILE")]
    pub(crate) attention: Option<PathBuf>,
    /// Draw a set: its clusters, or how much the model looked at every row; or a graph, its edges as dark as
    /// they are looked along
    #[arg(long, value_name = "F.svg|F.png")]
    pub(crate) plot: Option<PathBuf>,
    /// The set or graph to draw [default: the first]
    #[arg(long, value_name = "ID", requires = "plot")]
    pub(crate) set: Option<String>,
    /// Better clusters by at most so many steps of expectation maximisation
    #[arg(long, value_name = "STEPS", default_value_t = 0)]
    pub(crate) refine: usize,
    /// Bring points to the scale that a model that finds clusters was trained on, set by set
    #[arg(long)]
    pub(crate) rescale: bool,
}

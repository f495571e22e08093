//! `regard predict`.

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;

/// Arguments of `regard predict`.
#[derive(Debug, Args)]
#[command(after_help = "\
The file has the columns the model was trained on, in any order, and the column that says which rows
belong together. CSV goes to standard output; --json prints one list. A model that finds clusters
tells the mixture of every set, and with --rows the cluster of every row. A model of time series fills
what is missing, scores how odd each value is or tells the class of each series, as it was trained;
what comes next tells `regard forecast`.

Examples:
  regard predict --model runs/customers customers.csv
  regard predict --model runs/customers customers.csv --importance --json
  regard predict --model runs/clustering points.csv --rescale --refine 20 --plot clusters.svg
  regard predict --model runs/solubility molecules.csv --smiles smiles --attention edges.csv
  regard predict --model runs/filling sensors.csv")]
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
    /// Leave out molecules that cannot be read, and tell which
    #[arg(long)]
    pub(crate) skip_bad: bool,
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

impl PredictArgs {
    /// Refuses what models on graphs have no use for.
    pub(crate) fn check_for_graphs(&self) -> anyhow::Result<()> {
        let of_sets = [
            ("--group-by", self.group_by.is_some()),
            ("--importance", self.importance),
            ("--rows", self.rows.is_some()),
            ("--rescale", self.rescale),
            ("--refine", self.refine > 0),
        ];
        self.refuse(&of_sets, "sets", "is one on graphs; --attention FILE tells what it looks at")
    }

    /// Refuses what models on time series have no use for.
    pub(crate) fn check_for_series(&self) -> anyhow::Result<()> {
        let of_others = [
            ("--group-by", self.group_by.is_some()),
            ("--importance", self.importance),
            ("--rows", self.rows.is_some()),
            ("--rescale", self.rescale),
            ("--refine", self.refine > 0),
            ("--smiles", self.smiles.is_some()),
            ("--skip-bad", self.skip_bad),
            ("--id", self.id.is_some()),
            ("--edges", self.edges.is_some()),
            ("--attention", self.attention.is_some()),
            ("--plot", self.plot.is_some()),
        ];
        self.refuse(&of_others, "sets or graphs", "is one on time series")
    }

    /// Refuses what models on sets have no use for.
    pub(crate) fn check_for_sets(&self) -> anyhow::Result<()> {
        let of_graphs = [
            ("--smiles", self.smiles.is_some()),
            ("--skip-bad", self.skip_bad),
            ("--id", self.id.is_some()),
            ("--edges", self.edges.is_some()),
            ("--attention", self.attention.is_some()),
        ];
        self.refuse(&of_graphs, "graphs", "is one on sets; --importance tells what it looks at")
    }

    fn refuse(&self, given: &[(&str, bool)], family: &str, hint: &str) -> anyhow::Result<()> {
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Failure::new(format!("{name} is for models on {family}"))
                .hint(format!("`{}` {hint}", self.model.display()))
                .into()),
            None => Ok(()),
        }
    }

    /// Which of the examples `ids` is drawn: the one that is named, else the first. `what` is a word for one.
    pub(crate) fn drawn(&self, ids: &[String], what: &str) -> anyhow::Result<usize> {
        if ids.is_empty() {
            return Err(Failure::new(format!("{}: there is no {what} to draw", self.file.display())).into());
        }
        let Some(id) = &self.set else { return Ok(0) };
        ids.iter().position(|known| known == id).ok_or_else(|| {
            let some: Vec<&str> = ids.iter().take(5).map(String::as_str).collect();
            Failure::new(format!("--set {id}: {} has no such {what}", self.file.display()))
                .hint(format!("its {what}s begin with {}", some.join(", ")))
                .into()
        })
    }
}

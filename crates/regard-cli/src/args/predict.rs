//! `regard predict`.

use std::path::PathBuf;

use clap::Args;
use regard::experiment::DecimalMark;
use regard::supervised::base::Only;

use super::attribution::AttributionArgs;
use crate::failure::Failure;
use crate::shard::ShardArgs;

/// Arguments of `regard predict`.
#[derive(Debug, Args)]
#[command(after_help = "\
The file needs the columns that the model was trained on, in any order, and for sets the column of \
set identifiers. Predictions go to standard output as CSV, a line for each set, graph or node; --json \
prints a list. A predicted number comes with its prediction intervals in the columns lo-80, hi-80 and \
so on: they are as wide as the errors on the validation examples of the training (split conformal \
prediction). A predicted class comes with the probability of every class. A clustering model \
predicts the mixture of every set, and with --rows the cluster of every row. A model on time series \
fills in missing values, scores anomalies or predicts the class of each series, depending on its \
task; `regard forecast` predicts future values.

Examples:
  regard predict --model runs/customers customers.csv
  regard predict --model runs/customers customers.csv --attribution leave-one-out --json
  regard predict --model runs/prices flats.csv --levels 80,90
  regard predict --model runs/clustering points.csv --rescale --refine 20 --plot clusters.svg
  regard predict --model runs/solubility molecules.csv --smiles smiles --attention edges.csv
  regard predict --model runs/imputation sensors.csv")]
pub(crate) struct PredictArgs {
    /// File of sets (CSV, JSON lines, npz, libsvm), graphs (a table of SMILES, tables of nodes and edges,
    /// JSON lines, TU files) or series (CSV); `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Model folder, or name of a built-in model such as regard-solubility
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// Predict with the network alone, or with the base learners alone (imputation of series: by interpolation), instead
    /// of their blend [possible values: network, base]
    #[arg(long, value_name = "PART")]
    pub(crate) only: Option<Only>,
    /// Levels of the prediction intervals of numbers in percent [default: 80,95]
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = super::percent)]
    pub(crate) levels: Vec<f64>,
    /// Sets: column of set identifiers [default: as in training]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) group_by: Option<String>,
    /// Decimal mark of the numbers in a table: point or comma [default: what the numbers of a column show]
    #[arg(long, value_name = "MARK")]
    pub(crate) decimal: Option<DecimalMark>,
    /// Sets: also report the attention weight of every row in the pooling; without --rows the table then has a line for
    /// each row. Attention weights do not say what the prediction depends on; --attribution measures that
    #[arg(long, conflicts_with = "attribution")]
    pub(crate) importance: bool,
    #[command(flatten)]
    pub(crate) attribution: AttributionArgs,
    /// Sets: write the predictions for single rows to a CSV file
    #[arg(long, value_name = "FILE")]
    pub(crate) rows: Option<PathBuf>,
    /// Graphs: column of SMILES [default: as in training]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) smiles: Option<String>,
    /// Skip molecules that cannot be read, and list them
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// Graphs: column of identifiers [default: as in training]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Graphs: file of edges that belongs to a file of nodes [default: the same name with `edges`
    /// instead of `nodes`]
    #[arg(long, value_name = "FILE")]
    pub(crate) edges: Option<PathBuf>,
    /// Graphs: write the attention weight of every edge, by layer and head, to a CSV file
    #[arg(long, value_name = "FILE")]
    pub(crate) attention: Option<PathBuf>,
    /// Draw an example: a set with its clusters or attention weights, or a graph with the attention weights of
    /// its edges
    #[arg(long, value_name = "F.svg|F.png")]
    pub(crate) plot: Option<PathBuf>,
    /// Identifier of the set or graph to draw [default: the first]
    #[arg(long, value_name = "ID", requires = "plot")]
    pub(crate) example: Option<String>,
    /// Clusters: refine them with at most N steps of expectation maximisation (EM)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = super::integer)]
    pub(crate) refine: usize,
    /// Clusters: scale the points of each set to the range that the model was trained on
    #[arg(long)]
    pub(crate) rescale: bool,
    #[command(flatten)]
    pub(crate) shard: ShardArgs,
}

impl PredictArgs {
    /// Refuses options that do not apply to models on graphs.
    pub(crate) fn check_for_graphs(&self) -> anyhow::Result<()> {
        let of_sets = [
            ("--group-by", self.group_by.is_some()),
            ("--importance", self.importance),
            ("--rows", self.rows.is_some()),
            ("--rescale", self.rescale),
            ("--refine", self.refine > 0),
        ];
        self.refuse_with_attribution()?;
        self.refuse(&of_sets, "sets", "is a model on graphs; --attention FILE writes its attention weights")
    }

    /// Refuses options that do not apply to models on time series.
    pub(crate) fn check_for_series(&self) -> anyhow::Result<()> {
        let of_others = [
            ("--levels", !self.levels.is_empty()),
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
        self.refuse_with_attribution()?;
        self.refuse(&of_others, "sets or graphs", "is a model on time series")
    }

    /// Refuses options that do not apply to models on sets.
    pub(crate) fn check_for_sets(&self) -> anyhow::Result<()> {
        let of_graphs = [
            ("--smiles", self.smiles.is_some()),
            ("--skip-bad", self.skip_bad),
            ("--id", self.id.is_some()),
            ("--edges", self.edges.is_some()),
            ("--attention", self.attention.is_some()),
        ];
        self.refuse_with_attribution()?;
        self.refuse(&of_graphs, "graphs", "is a model on sets; --importance reports its attention weights")
    }

    /// Refuses a level twice, and options of tables and pictures that an attribution does not write.
    fn refuse_with_attribution(&self) -> anyhow::Result<()> {
        super::refuse_same_levels(&self.levels)?;
        self.shard.refuse(&[
            ("--rows", self.rows.is_some()),
            ("--attention", self.attention.is_some()),
            ("--plot", self.plot.is_some()),
        ])?;
        let without = [
            ("--levels", !self.levels.is_empty()),
            ("--plot", self.plot.is_some()),
            ("--attention", self.attention.is_some()),
        ];
        match without.iter().find(|(_, given)| *given && self.attribution.attribution.is_some()) {
            Some((name, _)) => Err(Failure::new(format!("{name} does not apply to an attribution"))
                .hint(format!("run the command a second time with {name}, without --attribution"))
                .into()),
            None => Ok(()),
        }
    }

    fn refuse(&self, given: &[(&str, bool)], family: &str, hint: &str) -> anyhow::Result<()> {
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Failure::new(format!("{name} applies only to models on {family}"))
                .hint(format!("`{}` {hint}", self.model.display()))
                .into()),
            None => Ok(()),
        }
    }

    /// Index of the example to draw: the named one, else the first. `what` is `set` or `graph`.
    pub(crate) fn example_to_draw(&self, ids: &[String], what: &str) -> anyhow::Result<usize> {
        super::example(self.example.as_deref(), ids, &self.file, what)
    }
}

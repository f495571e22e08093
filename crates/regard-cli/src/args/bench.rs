//! `regard bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use regard::routes::solve::{Finish, SolveOptions};
use regard::routing::formats::csv::TableOptions;

use super::TableArgs;
use crate::failure::Failure;
use crate::shard::ShardArgs;

/// Benchmarks.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Solve every instance of a folder and report the gaps to its best_known.csv
    Lib(BenchLibArgs),
    /// Reproduce a table of a paper and print its numbers next to ours
    Paper(BenchPaperArgs),
}

/// Arguments of `regard bench lib`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads the .tsp, .vrp, .oplib, .csv and Solomon's .txt files of the folder and its subfolders. \
Instances without a best-known value are solved too, but do not count in the mean gap.

Examples:
  regard bench lib instances/tsplib --time 2s --largest 1100
  regard bench lib instances/cvrplib --time 2s --json > gaps.json
  regard bench lib deliveries --column demand=Weight --capacity 300")]
pub(crate) struct BenchLibArgs {
    /// Folder with instances
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Model folder [default: $REGARD_MODEL, else the built-in models]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Time for each instance, for example 2s or 500ms [default: a fixed number of search steps]
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    time: Option<Duration>,
    /// Skip instances with more than N nodes
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    largest: Option<usize>,
    /// Solve only the first N instances in order of name
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    limit: Option<usize>,
    /// Write the solutions to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// `regard bench lib` with defaults filled in.
#[derive(Debug)]
pub(crate) struct BenchLibJob {
    pub(crate) folder: PathBuf,
    pub(crate) model: Option<PathBuf>,
    pub(crate) largest: usize,
    pub(crate) limit: usize,
    pub(crate) out: Option<PathBuf>,
    /// Options of tables of places, for the CSV files of the folder.
    pub(crate) table: TableOptions,
    pub(crate) options: SolveOptions,
    pub(crate) shard: ShardArgs,
}

impl BenchLibArgs {
    /// Fills in the defaults.
    pub(crate) fn check(self, seed: u64) -> anyhow::Result<BenchLibJob> {
        let finish = self.time.map_or(Finish::Bounded, Finish::Timed);
        Ok(BenchLibJob {
            folder: self.folder,
            model: self.model,
            largest: self.largest.unwrap_or(usize::MAX),
            limit: self.limit.unwrap_or(usize::MAX),
            out: self.out,
            table: self.table.options(),
            options: SolveOptions { finish, seed, ..SolveOptions::default() },
            shard: self.shard,
        })
    }
}

/// Arguments of `regard bench paper`.
#[derive(Debug, Args)]
#[command(after_help = "\
kool: evaluates the built-in models and every folder in --models on the test sets of their problem, \
with the size they were trained on unless --sizes is given. It uses greedy decoding and 1280 \
samples, and for our models also every start node in 8 views. The other tables: trains every row in \
its own folder in --out, which takes hours, and resumes existing runs.

Examples:
  regard bench paper --table kool --models models --limit 1000
  regard bench paper --table set-transformer --out runs/set-transformer --rows max")]
pub(crate) struct BenchPaperArgs {
    /// Table: kool (Table 1 of Kool et al. 2019), set-transformer (§5.1 and §5.3 of Lee et al. 2019),
    /// graph-transformer (Table 1 of Dwivedi & Bresson 2021) or patchtst (Table 3 of Nie et al. 2023)
    #[arg(long, value_name = "NAME", default_value = "kool",
        value_parser = ["kool", "set-transformer", "graph-transformer", "patchtst"])]
    pub(crate) table: String,
    /// Folder of model folders
    #[arg(long, value_name = "DIR")]
    pub(crate) models: Option<PathBuf>,
    /// Evaluate only the first N instances of each test set
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    pub(crate) limit: Option<usize>,
    /// Number of nodes of the test sets: 20, 50 or 100 [default: the size the model was trained on,
    /// else all three]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = super::integer)]
    pub(crate) sizes: Vec<usize>,
    /// Skip the rows with sampling
    #[arg(long)]
    pub(crate) greedy_only: bool,
    /// Trained tables: folder for the runs [default: runs/TABLE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Trained tables: only rows whose name contains TEXT, for example max or clustering
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) rows: String,
    /// Trained tables: stop each training after N steps
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    pub(crate) steps: Option<usize>,
    /// Trained tables: stop each training after this time, for example 2h; schedules are shortened to it
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub(crate) time: Option<Duration>,
    /// Trained tables: train every row N times, with seeds that follow each other; the table has means
    /// and standard deviations of those that do not diverge
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = super::at_least_one)]
    pub(crate) seeds: usize,
    /// Trained tables: folder of the data files, for example of ETTh1.csv
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Trained tables: change a setting of the experiments, for example data.path=zinc12k.csv
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

impl BenchPaperArgs {
    /// Refuses options of the tables that are trained for the table of models, and the other way round.
    ///
    /// # Errors
    /// [`Failure`] with the first such option.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let of_models = [
            ("--models", self.models.is_some()),
            ("--limit", self.limit.is_some()),
            ("--sizes", !self.sizes.is_empty()),
            ("--greedy-only", self.greedy_only),
        ];
        let of_trained = [
            ("--out", self.out.is_some()),
            ("--rows", !self.rows.is_empty()),
            ("--steps", self.steps.is_some()),
            ("--time", self.time.is_some()),
            ("--seeds", self.seeds > 1),
            ("--data", self.data.is_some()),
            ("--set", !self.set.is_empty()),
        ];
        let (others, whose) = match self.table == "kool" {
            true => (&of_trained[..], "tables whose models are trained, as --table patchtst"),
            false => (&of_models[..], "--table kool"),
        };
        match others.iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Failure::new(format!("{flag} does not apply to --table {}", self.table))
                .hint(format!("it is for {whose}"))
                .into()),
            None => Ok(()),
        }
    }
}

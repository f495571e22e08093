//! `regard eval`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use regard::routes::decode::Decode;
use regard::routes::evaluate::EvaluateOptions;

use super::NetworkArgs;

/// Arguments of `regard eval`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("source").required(true),
    after_help = "\
The paper's test sets are made on the spot: numpy's generator, seed 1234, 10,000 instances in the
unit square. Instance files are scaled into it; costs are in each file's own metric.

Examples:
  regard eval --model models/kool-tsp-100 --paper-set tsp100 --limit 500 --json
  regard eval --model models/kool-op-dist-20 --paper-set op_dist20
  regard eval --data instances/*.tsp --decode multistart --augment 8"
)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Test set of Kool et al. 2019: tsp20, cvrp50, sdvrp20, op_dist50 (op_const, op_unif),
    /// pctsp_det20, pctsp_stoch100, or any other size
    #[arg(long, value_name = "NAME", group = "source")]
    paper_set: Option<String>,
    /// Instance files of one problem, or one file with a set: .pkl of Kool's code, .npz
    #[arg(long, value_name = "FILE", num_args = 1.., group = "source")]
    data: Vec<PathBuf>,
    /// Use the first N instances only
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    limit: Option<usize>,
    /// Shorten each tour by local search
    #[arg(long)]
    improve: bool,
    /// Mean cost to compare with [default: the best-known costs of the files, if all have one]
    #[arg(long, value_name = "VALUE", value_parser = super::amount, allow_negative_numbers = true)]
    reference: Option<f64>,
    /// Instances that go through the network together, at most
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = super::at_least_one)]
    batch: usize,
}

/// Where the instances come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A generated test set, by name.
    PaperSet(String),
    /// Instance files.
    Files(Vec<PathBuf>),
}

/// A checked `regard eval`.
#[derive(Debug)]
pub(crate) struct EvalJob {
    pub(crate) model: Option<PathBuf>,
    pub(crate) source: Source,
    pub(crate) limit: Option<usize>,
    pub(crate) options: EvaluateOptions,
}

impl EvalArgs {
    /// Checks what can be checked without opening a file.
    pub(crate) fn check(self, seed: u64) -> EvalJob {
        let options = EvaluateOptions {
            decode: self.network.decode.unwrap_or(Decode::Greedy),
            augment: self.network.augment.unwrap_or(1),
            temperature: self.network.temperature,
            top_p: self.network.top_p,
            improve: self.improve,
            batch: self.batch,
            reference: self.reference,
            seed,
        };
        EvalJob {
            model: self.network.model,
            source: match self.paper_set {
                Some(name) => Source::PaperSet(name),
                None => Source::Files(self.data),
            },
            limit: self.limit,
            options,
        }
    }
}

//! `regard eval`.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use regard::routes::decode::Decode;
use regard::routes::evaluate::EvaluateOptions;

use super::NetworkArgs;

/// Arguments of `regard eval`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("source"),
    after_help = "\
The paper's test sets are made on the spot: numpy's generator, seed 1234, 10,000 instances in the
unit square. Instance files are scaled into it; costs are in each file's own metric.

Examples:
  regard eval --model models/kool-tsp-100 --paper-set tsp100 --limit 500 --json
  regard eval --model models/kool-op-dist-20 --paper-set op_dist20
  regard eval --data instances/*.tsp --decode multistart --augment 8
  regard eval --model models/regard-clustering
  regard eval sets/mil --set data.path=musk1.csv --folds 10 --repeats 5
  regard eval graphs/molecules --set data.path=esol.csv --set data.target=solubility --folds 5
  regard eval graphs/tu --set data.path=MUTAG.txt --folds-from MUTAG_10fold
  regard eval series/forecast --set data.path=sales.csv --set task.horizon=14 --folds 8
  regard eval series/classify --set data.path=heartbeats.csv --set data.label=kind --folds 5"
)]
pub(crate) struct EvalArgs {
    /// An experiment on a file of sets, graphs or series: train on parts of it, measure on the rest
    #[arg(value_name = "EXPERIMENT", conflicts_with_all = ["model", "paper_set", "data"])]
    experiment: Option<String>,
    /// Overrule a setting of the experiment
    #[arg(long, value_name = "KEY=VALUE", requires = "experiment")]
    set: Vec<String>,
    /// Leave out molecules that cannot be read, and tell which: data.skip_bad=true
    #[arg(long, requires = "experiment")]
    skip_bad: bool,
    /// Folds of the cross-validation [default: 10, or the split that the data has]; of time series, places
    /// in the past from which is told what came next [default: 5]
    #[arg(long, value_name = "K", value_parser = super::at_least_one, requires = "experiment")]
    folds: Option<usize>,
    /// Folder of given folds: train_idx-1.txt, test_idx-1.txt and so on, graphs counted from 0
    #[arg(long, value_name = "DIR", requires = "experiment", conflicts_with = "folds")]
    folds_from: Option<PathBuf>,
    /// Time series: train once, before the first fold, and not anew for each
    #[arg(long, requires = "experiment")]
    once: bool,
    /// Times all is done, the folds cut anew
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = super::at_least_one, requires = "experiment")]
    repeats: usize,
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
    /// Files; none where nothing is named.
    Files(Vec<PathBuf>),
}

/// A model to evaluate.
#[derive(Debug)]
pub(crate) struct EvalJob {
    pub(crate) model: Option<PathBuf>,
    pub(crate) source: Source,
    pub(crate) limit: Option<usize>,
    pub(crate) options: EvaluateOptions,
}

impl EvalJob {
    /// The one file of a model on sets, graphs or series, where one is given.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::Files(files) => files.first().map(PathBuf::as_path),
            Source::PaperSet(_) => None,
        }
    }
}

/// How the data of an experiment is cut into folds.
#[derive(Debug)]
pub(crate) struct FoldOptions {
    /// Number of folds, or of origins of a back-test, where it is given.
    pub(crate) folds: Option<usize>,
    /// Folder of given folds.
    pub(crate) given: Option<PathBuf>,
    /// Repeats of the cross-validation, each with folds of its own.
    pub(crate) repeats: usize,
    /// If true, a back-test trains anew for every origin.
    pub(crate) refit: bool,
}

/// An experiment to evaluate by training it several times.
#[derive(Debug)]
pub(crate) struct EvalExperimentJob {
    /// A file, or the name of a built-in experiment.
    pub(crate) experiment: String,
    /// Assignments that override its settings.
    pub(crate) sets: Vec<String>,
    pub(crate) folds: FoldOptions,
}

/// A checked `regard eval`.
#[derive(Debug)]
pub(crate) enum Evaluation {
    /// Of a model.
    Model(EvalJob),
    /// Of an experiment.
    Experiment(EvalExperimentJob),
}

impl EvalArgs {
    /// The evaluation; `given` is the seed of the command line, `seed` the one that counts.
    pub(crate) fn evaluation(self, given: Option<u64>, seed: u64) -> Evaluation {
        let Some(experiment) = self.experiment.clone() else { return Evaluation::Model(self.check(seed)) };
        let mut sets = self.set;
        sets.extend(self.skip_bad.then(|| "data.skip_bad=true".to_owned()));
        sets.extend(given.map(|seed| format!("train.seed={seed}")));
        let folds = FoldOptions { folds: self.folds, given: self.folds_from, repeats: self.repeats, refit: !self.once };
        Evaluation::Experiment(EvalExperimentJob { experiment, sets, folds })
    }

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

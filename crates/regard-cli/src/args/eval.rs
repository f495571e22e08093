//! `regard eval`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use regard::graphs::GraphExperiment;
use regard::graphs::model::KIND as GRAPH_TRANSFORMER;
use regard::routes::decode::Decode;
use regard::routes::evaluate::EvaluateOptions;
use regard::series::SeriesExperiment;
use regard::series::model::KIND as PATCHTST;
use regard::series::task::SeriesTask;
use regard::sets::SetExperiment;
use regard::sets::model::KIND as SET_TRANSFORMER;
use regard::store::kind_of;

use super::{AnyExperiment, NetworkArgs};
use crate::commands::cross_validation::Cut;
use crate::failure::Failure;

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

/// What `regard eval` is about.
#[derive(Debug)]
pub(crate) enum Evaluated {
    /// A routing model.
    Routes(EvalJob),
    /// A model on sets, by its folder; on a file, or on the sets of its experiment.
    SetModel { model: PathBuf, file: Option<PathBuf>, limit: Option<usize> },
    /// A model on graphs, by its folder; on a file, or on the test part of its experiment's data.
    GraphModel { model: PathBuf, file: Option<PathBuf> },
    /// A model on time series, by its folder; on a file, or on the test part of its experiment's data.
    SeriesModel { model: PathBuf, file: Option<PathBuf> },
    /// An experiment on time series, from several places in the past.
    SeriesExperiment { experiment: Box<SeriesExperiment>, origins: usize, refit: bool },
    /// An experiment on whole series and their classes, cut into folds.
    SeriesClasses(Box<SeriesExperiment>, Cut),
    /// An experiment on sets, cut into folds.
    SetExperiment(Box<SetExperiment>, Cut),
    /// An experiment on graphs, cut into folds or by its split.
    GraphExperiment(Box<GraphExperiment>, Cut),
}

impl EvalArgs {
    /// What is evaluated; `given` is the seed of the command line, `seed` the one that counts.
    pub(crate) fn about(self, given: Option<u64>, seed: u64) -> anyhow::Result<Evaluated> {
        if let Some(name) = &self.experiment {
            let mut sets = self.set.clone();
            sets.extend(self.skip_bad.then(|| "data.skip_bad=true".to_owned()));
            sets.extend(given.map(|seed| format!("train.seed={seed}")));
            let cut = Cut { folds: self.folds, lists: self.folds_from, repeats: self.repeats };
            return match AnyExperiment::load(name, &sets)? {
                AnyExperiment::Sets(experiment) => Ok(Evaluated::SetExperiment(experiment, cut)),
                AnyExperiment::Graphs(experiment) => Ok(Evaluated::GraphExperiment(experiment, cut)),
                AnyExperiment::Series(experiment) if experiment.task.kind == SeriesTask::Classification => {
                    Ok(Evaluated::SeriesClasses(experiment, cut))
                }
                AnyExperiment::Series(experiment) => {
                    Ok(Evaluated::SeriesExperiment { experiment, origins: self.folds.unwrap_or(5), refit: !self.once })
                }
                AnyExperiment::Routes(_) => {
                    Err(Failure::new(format!("{name}: instances of routes are drawn, not cut into folds"))
                        .hint("train it, then: regard eval --model DIR --paper-set tsp20")
                        .into())
                }
            };
        }
        let kind = self.network.model.as_deref().and_then(|model| kind_of(model).ok());
        match (self.network.model.clone(), kind.as_deref()) {
            (Some(model), Some(SET_TRANSFORMER)) => {
                let file = self.data.into_iter().next();
                return Ok(Evaluated::SetModel { model, file, limit: self.limit });
            }
            (Some(model), Some(GRAPH_TRANSFORMER)) => {
                return Ok(Evaluated::GraphModel { model, file: self.data.into_iter().next() });
            }
            (Some(model), Some(PATCHTST)) => {
                return Ok(Evaluated::SeriesModel { model, file: self.data.into_iter().next() });
            }
            _ => {}
        }
        if self.paper_set.is_none() && self.data.is_empty() {
            return Err(Failure::new("nothing to evaluate on")
                .hint("name a test set with --paper-set, or files with --data")
                .into());
        }
        Ok(Evaluated::Routes(self.check(seed)))
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

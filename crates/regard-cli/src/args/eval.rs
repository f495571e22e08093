//! `regard eval`.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use regard::routes::decode::Decode;
use regard::routes::evaluate::EvaluateOptions;
use regard::routing::formats::csv::TableOptions;
use regard::series::back_test::BackTestOptions;
use regard::supervised::CrossValidationOptions;
use regard::supervised::base::Only;

use super::solve::check_extension;
use super::{ColumnArgs, NetworkArgs, TableArgs};
use crate::failure::Failure;
use crate::shard::ShardArgs;

/// Arguments of `regard eval`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("source"),
    after_help = "\
Routes: --paper-set generates the test set of the paper (numpy's generator, seed 1234, 10,000 \
instances in the unit square); instance files are scaled to the unit square, and costs are in the \
metric of the file; tables of places are read with the options of `regard solve`. --skip-bad also \
skips molecules that cannot be read. Sets, graphs, series: an EXPERIMENT is evaluated by \
cross-validation, forecasts by a back-test; a --model is evaluated on --data, or with --training-data \
on the data that its experiment held out.

Metrics: a plain name, such as mae or accuracy, is computed over all rows. A name that ends in \
_paper is computed as in the paper's code: as a mean of batch means, and for forecasts without the \
last incomplete batch.

Examples:
  regard eval --model models/kool-tsp-100 --paper-set tsp100 --limit 500 --json
  regard eval --model models/kool-op-dist-20 --paper-set op_dist20
  regard eval --data instances/*.tsp --decode multistart --augment 8
  regard eval --model models/regard-clusters
  regard eval --model regard-solubility --data esol.csv --smiles smiles --target logS
  regard eval --model runs/customers --data customers.csv --group-by customer --target left
  regard eval sets/mil --set data.path=musk1.csv --folds 10 --repeats 5
  regard eval graphs/molecules --set data.path=esol.csv --set data.target=solubility --folds 5
  regard eval graphs/tu --set data.path=MUTAG.txt --folds-from MUTAG_10fold
  regard eval graphs/molecules --set data.path=d.csv --set data.target=y --scaffold-folds --folds 5
  regard eval series/forecast --set data.path=sales.csv --set task.horizon=14 --windows 8
  regard eval series/classify --set data.path=heartbeats.csv --set data.label=kind --folds 5"
)]
pub(crate) struct EvalArgs {
    /// Experiment on sets, graphs or series: trains on parts of its data and evaluates on the rest
    #[arg(value_name = "EXPERIMENT", conflicts_with_all = ["model", "paper_set", "data"])]
    experiment: Option<String>,
    /// Change a setting of the experiment
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Number of folds of the cross-validation [default: the split of the data, else 10]
    #[arg(long, value_name = "K", value_parser = super::folds)]
    folds: Option<usize>,
    /// Folder with predefined folds: train_idx-1.txt, test_idx-1.txt and so on; sets, graphs or
    /// series are numbered from 0
    #[arg(long, value_name = "DIR", conflicts_with = "folds")]
    folds_from: Option<PathBuf>,
    /// Molecules: keep molecules with the same scaffold (rings and the chains between them) in one fold
    #[arg(long, conflicts_with = "folds_from")]
    scaffold_folds: bool,
    /// Sets and graphs: measure only the network, or only the base learners, instead of their blend [possible
    /// values: network, base]
    #[arg(long, value_name = "PART", conflicts_with = "paper_set")]
    only: Option<Only>,
    /// Forecasts: number of windows of the rolling-origin back-test [default: 5]
    #[arg(long, value_name = "N", value_parser = super::count::<10_000>, conflicts_with = "folds")]
    windows: Option<usize>,
    /// Forecasts: number of rows from one window to the next [default: the horizon]
    #[arg(long, value_name = "ROWS", value_parser = super::count::<1_000_000_000>)]
    step_size: Option<usize>,
    /// Forecasts: train a new network for every window instead of one before the first
    #[arg(long)]
    refit: bool,
    /// Sets and graphs with classes: draw accuracy by confidence (a reliability diagram) as SVG or PNG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Number of repetitions of the cross-validation, each with different folds [default: 1]
    #[arg(long, value_name = "N", value_parser = super::count::<1000>)]
    repeats: Option<usize>,
    #[command(flatten)]
    network: NetworkArgs,
    /// Test set of Kool et al. 2019: tsp20, cvrp50, sdvrp20, op_dist50 (op_const, op_unif),
    /// pctsp_det20, pctsp_stoch100, or another size
    #[arg(long, value_name = "NAME", group = "source")]
    paper_set: Option<String>,
    /// Files to evaluate on: instances of one problem, or a set of them (.pkl of Kool's code, .npz); sets,
    /// graphs or series
    #[arg(long, value_name = "FILE", num_args = 1.., group = "source")]
    data: Vec<PathBuf>,
    /// Read the files that the experiment of the model names, and evaluate on the data that it held out
    #[arg(long, requires = "model", conflicts_with_all = ["experiment", "source"])]
    training_data: bool,
    /// Evaluate only the first N instances, or N generated sets
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    limit: Option<usize>,
    /// Routes: improve each solution by local search
    #[arg(long)]
    improve: bool,
    /// Routes: reference mean cost for the gap, for orienteering the mean prize [default: the best-known values of the
    /// files, if all have one]
    #[arg(long, value_name = "VALUE", value_parser = super::amount)]
    reference: Option<f64>,
    /// Routes: write the solution of each instance as JSON lines: its number, cost and nodes by index
    #[arg(long, value_name = "FILE.jsonl", value_parser = super::jsonl_file, conflicts_with = "experiment")]
    out: Option<PathBuf>,
    /// Routes: maximum number of instances per batch [default: 512]
    #[arg(long, value_name = "N", value_parser = super::count::<65_536>)]
    batch: Option<usize>,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// Source of instances.
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
    /// The only part of the answer that is measured.
    pub(crate) only: Option<Only>,
    /// File for the solutions of routes.
    pub(crate) out: Option<PathBuf>,
    /// If true, files that the model's experiment names may be read.
    pub(crate) training_data: bool,
    /// Options of tables of places.
    pub(crate) table: TableOptions,
    /// Columns of other files.
    pub(crate) columns: ColumnArgs,
    /// The first given option that only models for routes have.
    of_routes: Option<String>,
    pub(crate) options: EvaluateOptions,
    pub(crate) shard: ShardArgs,
}

/// Instances of a batch where none are given.
const BATCH: usize = 512;

impl EvalJob {
    /// Refuses parts of the answer for a model that has one part alone.
    ///
    /// # Errors
    /// [`Failure`] with the flag.
    pub(crate) fn refuse_only(&self) -> anyhow::Result<()> {
        match self.only {
            Some(_) => Err(Failure::new("--only is for models on sets and graphs").hint("leave it out").into()),
            None => Ok(()),
        }
    }

    /// Refuses options of routes for a model on `family`, and several files.
    ///
    /// # Errors
    /// [`Failure`] with the flag.
    pub(crate) fn refuse_routes(&self, family: &str) -> anyhow::Result<()> {
        let model = self.model.as_deref().unwrap_or(Path::new(".")).display();
        if let Some(flag) = &self.of_routes {
            let hint = match flag.as_str() {
                "--out" => format!("`regard predict --model {model} FILE` prints predictions"),
                _ => "leave it out".to_owned(),
            };
            let what = format!("{flag} applies only to models for routes; `{model}` is a model on {family}");
            return Err(Failure::new(what).hint(hint).into());
        }
        match &self.source {
            Source::Files(files) if files.len() > 1 => {
                let what = format!("--data: a model on {family} is evaluated on one file, not on {}", files.len());
                Err(Failure::new(what).hint("evaluate one file after the other").into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses to skip rows where the reader has no such way.
    ///
    /// # Errors
    /// [`Failure`] with the flag.
    pub(crate) fn refuse_skip_bad(&self, family: &str) -> anyhow::Result<()> {
        if !self.table.skip_bad {
            return Ok(());
        }
        Err(Failure::new(format!("--skip-bad does not apply to models on {family}"))
            .hint("it is for tables of places and of molecules")
            .into())
    }

    /// Refuses a number of instances where all examples of a file are measured.
    ///
    /// # Errors
    /// [`Failure`] with the flag.
    pub(crate) fn refuse_limit(&self) -> anyhow::Result<()> {
        if self.limit.is_none() {
            return Ok(());
        }
        Err(Failure::new("--limit applies only to instances of routes and to generated sets")
            .hint("leave it out")
            .into())
    }

    /// Refuses to read what a model's folder names, unless it is asked for: a folder may come from anywhere. `paths` are
    /// the files and folders of its experiment.
    ///
    /// # Errors
    /// [`Failure`] with the first of them.
    pub(crate) fn check_paths(&self, folder: &Path, paths: &[&str]) -> anyhow::Result<()> {
        match paths.iter().find(|path| !path.is_empty()) {
            Some(path) if !self.training_data => {
                let what = format!(
                    "{}: the model folder names the data `{path}`, which is not read unasked",
                    folder.display()
                );
                let hint = "--data FILE evaluates on a file; --training-data reads what the model folder names, and \
                            evaluates on the part that was held out";
                Err(Failure::new(what).hint(hint).into())
            }
            _ => Ok(()),
        }
    }

    /// The one file of a model on sets, graphs or series, where one is given.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::Files(files) => files.first().map(PathBuf::as_path),
            Source::PaperSet(_) => None,
        }
    }
}

/// Folds of a cross-validation, or windows of a back-test.
#[derive(Clone, Debug)]
pub(crate) struct FoldOptions {
    /// Number of folds, where it is given.
    pub(crate) folds: Option<usize>,
    /// Folder of given folds.
    pub(crate) given: Option<PathBuf>,
    /// If true, molecules of one scaffold are in one fold.
    pub(crate) scaffolds: bool,
    /// Repeats of the cross-validation, each with folds of its own, where they are given.
    pub(crate) repeats: Option<usize>,
    /// The only part that is measured.
    pub(crate) only: Option<Only>,
    /// File of the reliability diagram.
    pub(crate) plot: Option<PathBuf>,
    /// Number of windows of a back-test, where it is given.
    pub(crate) windows: Option<usize>,
    /// Rows from one window of a back-test to the next, where they are given.
    pub(crate) step_size: Option<usize>,
    /// If true, a back-test trains a new network for every window.
    pub(crate) refit: bool,
}

/// Windows of a back-test where their number is not given.
const WINDOWS: usize = 5;

impl FoldOptions {
    /// The options of a cross-validation.
    ///
    /// # Errors
    /// [`Failure`] for options of a back-test.
    pub(crate) fn check_cross_validation(&self) -> anyhow::Result<()> {
        let of_forecasts =
            [("--windows", self.windows.is_some()), ("--step-size", self.step_size.is_some()), ("--refit", self.refit)];
        match of_forecasts.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::new(format!("{flag} applies only to forecasts of time series"))
                .hint("--folds K cross-validates other experiments")
                .into()),
        }
    }

    /// Refuses options that only sets and graphs have, for series.
    ///
    /// # Errors
    /// [`Failure`] with the flag.
    pub(crate) fn refuse_parts(&self) -> anyhow::Result<()> {
        match [("--only", self.only.is_some()), ("--plot", self.plot.is_some())].iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::new(format!("{flag} is for sets and graphs")).hint("leave it out").into()),
        }
    }

    /// The repeats of a cross-validation.
    pub(crate) fn repeats(&self) -> usize {
        self.repeats.unwrap_or(1)
    }

    /// The repeats and parts of a cross-validation.
    pub(crate) fn cross_validation(&self) -> CrossValidationOptions {
        CrossValidationOptions { repeats: self.repeats(), only: self.only }
    }

    /// The options of a back-test.
    ///
    /// # Errors
    /// [`Failure`] for options of a cross-validation.
    pub(crate) fn back_test(&self) -> anyhow::Result<BackTestOptions> {
        self.refuse_parts()?;
        if self.folds.is_some() || self.given.is_some() || self.scaffolds || self.repeats.is_some() {
            return Err(Failure::new("forecasts are evaluated by a back-test, not by cross-validation")
                .hint("--windows N sets the number of windows of the back-test")
                .into());
        }
        let windows = self.windows.unwrap_or(WINDOWS);
        Ok(BackTestOptions { windows, step_size: self.step_size, refit: self.refit })
    }
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
    Model(Box<EvalJob>),
    /// Of an experiment.
    Experiment(EvalExperimentJob),
}

impl EvalArgs {
    /// The evaluation; `given` is the seed of the command line, `seed` the one that counts.
    ///
    /// # Errors
    /// [`Failure`] for options without effect.
    pub(crate) fn evaluation(self, given: Option<u64>, seed: u64) -> anyhow::Result<Evaluation> {
        self.network.check()?;
        let Some(experiment) = self.experiment.clone() else {
            self.refuse_settings()?;
            self.refuse_folds()?;
            return Ok(Evaluation::Model(Box::new(self.check(seed))));
        };
        if let Some(flag) =
            self.first_of_routes(TableOptions { skip_bad: false, decimal: None, ..self.table.options() })
        {
            let what = format!("{flag} applies only to models for routes, not to the EXPERIMENT `{experiment}`");
            return Err(Failure::new(what).hint("--set KEY=VALUE changes a setting of the experiment").into());
        }
        if let Some(flag) = self.columns.given().next() {
            let what = format!("{flag} names a column of --data, not of the EXPERIMENT `{experiment}`");
            let hint = "--set names those of an experiment, such as `--set data.group_by=customer`; the settings of \
                        `[data]` are in `regard reference settings`";
            return Err(Failure::new(what).hint(hint).into());
        }
        if let Some(plot) = &self.plot {
            check_extension("--plot", plot, &["svg", "png"])?;
        }
        let mut sets = self.set;
        sets.extend(self.table.skips_bad().then(|| "data.skip_bad=true".to_owned()));
        sets.extend(self.table.options().decimal.map(|mark| format!("data.decimal={}", mark.name())));
        sets.extend(given.map(|seed| format!("train.seed={seed}")));
        let folds = FoldOptions {
            folds: self.folds,
            given: self.folds_from,
            scaffolds: self.scaffold_folds,
            repeats: self.repeats,
            only: self.only,
            plot: self.plot,
            windows: self.windows,
            step_size: self.step_size,
            refit: self.refit,
        };
        Ok(Evaluation::Experiment(EvalExperimentJob { experiment, sets, folds }))
    }

    /// Refuses settings for a model, which is evaluated as it was trained.
    fn refuse_settings(&self) -> anyhow::Result<()> {
        let Some(setting) = self.set.first() else { return Ok(()) };
        let hint = match setting.strip_prefix("data.path=") {
            Some(file) => format!("--data {file} evaluates a model on a file"),
            None => "--data FILE evaluates a model on a file; `regard train` trains one with other settings".to_owned(),
        };
        let what = format!("--set {setting}: settings are those of an EXPERIMENT, and none is given");
        Err(Failure::new(what).hint(hint).into())
    }

    /// Refuses options of cross-validations and back-tests for a model, which is not trained again. The parser cannot:
    /// it gives up `requires` where the required argument conflicts with another.
    fn refuse_folds(&self) -> anyhow::Result<()> {
        let of_experiments = [
            ("--folds", self.folds.is_some()),
            ("--folds-from", self.folds_from.is_some()),
            ("--scaffold-folds", self.scaffold_folds),
            ("--repeats", self.repeats.is_some()),
            ("--windows", self.windows.is_some()),
            ("--step-size", self.step_size.is_some()),
            ("--refit", self.refit),
            ("--plot", self.plot.is_some()),
        ];
        let Some((flag, _)) = of_experiments.iter().find(|(_, given)| *given) else { return Ok(()) };
        let what = format!("{flag} applies only to an EXPERIMENT, which is trained and evaluated in parts of its data");
        Err(Failure::new(what)
            .hint("a model is evaluated once, on --data FILE; `regard eval EXPERIMENT` has folds and windows")
            .into())
    }

    /// The first given option that only models for routes have, these options of tables among them.
    fn first_of_routes(&self, table: TableOptions) -> Option<String> {
        let others = [
            ("--paper-set", self.paper_set.is_some()),
            ("--decode", self.network.decode.is_some()),
            ("--augment", self.network.augment.is_some()),
            ("--improve", self.improve),
            ("--reference", self.reference.is_some()),
            ("--batch", self.batch.is_some()),
            ("--out", self.out.is_some()),
            ("--shard", self.shard.shard.is_some()),
            ("--limit", self.limit.is_some() && self.experiment.is_some()),
        ];
        let other = others.iter().find(|(_, given)| *given).map(|(flag, _)| (*flag).to_owned());
        other.or_else(|| table.first_given())
    }

    /// The evaluation of a model, with defaults filled in.
    pub(crate) fn check(self, seed: u64) -> EvalJob {
        // Molecules that cannot be read are skipped under the same name, and numbers of all tables have a decimal mark.
        let of_routes = self.first_of_routes(TableOptions { skip_bad: false, decimal: None, ..self.table.options() });
        let options = EvaluateOptions {
            decode: self.network.decode.unwrap_or(Decode::Greedy),
            augment: self.network.augment.unwrap_or(1),
            temperature: self.network.temperature,
            top_p: self.network.top_p,
            improve: self.improve,
            batch: self.batch.unwrap_or(BATCH),
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
            only: self.only,
            out: self.out,
            training_data: self.training_data,
            table: self.table.options(),
            columns: self.columns,
            of_routes,
            options,
            shard: self.shard,
        }
    }
}

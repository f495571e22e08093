//! One file for each command.

pub(crate) mod attribution;
mod bench;
mod cross_validation;
mod data;
mod doctor;
mod eval;
mod experiments;
pub(crate) mod explain;
mod families;
pub(crate) mod forecast;
pub(crate) mod graphs;
mod import;
mod intervals;
mod learning;
mod model;
mod parts;
mod plot;
pub(crate) mod series;
pub(crate) mod sets;
pub(crate) mod solve;
mod train;

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use regard::Device;
use regard::nn::precision::Precision;
use regard::routing::formats::csv::TableOptions;
use regard::routing::formats::{self, Instance};
use regard::supervised::{Family, Model};

use crate::args::{BenchCommand, Cli, Command, DataCommand, Evaluation, FoldOptions, ImportCommand, ModelCommand};
#[cfg(feature = "serve")]
use crate::args::{GlobalArgs, ServeArgs};
use crate::device;
use crate::ranks;
use crate::report::Printer;
use crate::shard;

/// Result of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Outcome {
    /// Success.
    Done,
    /// A check failed.
    No,
}

/// Opens the folder of a model on sets, graphs or series, and says so where its experiment cannot be read.
pub(crate) fn open_model<F: Family>(folder: &Path, device: &Device, printer: &Printer) -> regard::Result<Model<F>> {
    let model = Model::open(folder, device)?;
    if let Some(error) = &model.experiment_error {
        printer.note(&format!(
            "warning: {}: the experiment of the model is unreadable ({error}); columns and options of its data are not \
             known and have to be given",
            folder.join("manifest.json").display()
        ));
    }
    Ok(model)
}

/// Makes the folder of a file that is to be written.
fn make_folder(path: &Path) -> anyhow::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())
        }
        _ => Ok(()),
    }
}

/// Seed where none is given; that of the paper's code.
pub(crate) const SEED: u64 = 1234;

/// `regard serve`, which stands above the commands whose answers it gives.
#[cfg(feature = "serve")]
pub(crate) type Serve = fn(&ServeArgs, &GlobalArgs, &Device, &mut Printer) -> anyhow::Result<Outcome>;

/// Runs the command.
pub(crate) fn run(cli: Cli, #[cfg(feature = "serve")] serve: Serve) -> anyhow::Result<Outcome> {
    let device = device::choose(&cli.global.device)?;
    device::check_instruction_set()?;
    device::limit_threads(cli.global.threads)?;
    let seed = cli.global.seed.unwrap_or(SEED);
    let mut printer = Printer::new(&cli.global);
    let printer = &mut printer;
    match cli.command {
        Command::Explain(_) if cli.global.precision == Some(Precision::Bfloat16) => {
            printer.note("explanations are computed in float32, whatever --precision says");
        }
        _ => device::choose_precision(cli.global.precision, &device)?,
    }
    match cli.command {
        Command::Solve(args) => solve::run(&args.check(seed)?, &device, printer),
        Command::Train(args) if args.list => experiments::list(printer),
        Command::Train(args) => train::run(args.check(cli.global.seed)?, &device, printer),
        Command::Eval(args) => match args.evaluation(cli.global.seed, seed)? {
            Evaluation::Model(job) => (families::of_model(job.model.as_deref()).evaluate)(&job, &device, printer),
            // The folds are dealt out to the ranks where `mpirun` started several, of which the first speaks for all.
            Evaluation::Experiment(job) => ranks::together(|ranks| {
                let experiment = families::load(&job.experiment, &job.sets)?;
                match ranks.is_first() {
                    true => experiment
                        .evaluate(&job.folds, &device, printer)
                        .map_err(|error| cross_validation::with_option(error, &job.folds)),
                    false => {
                        let folds = FoldOptions { plot: None, ..job.folds.clone() };
                        experiment.evaluate(&folds, &device, &mut Printer::silent())
                    }
                }
            }),
        },
        Command::Predict(mut args) => {
            args.attribution.seed = seed;
            (families::of_model(Some(&args.model)).predict)(&args, &device, printer)
        }
        Command::Forecast(mut args) => {
            args.attribution.seed = seed;
            forecast::run(&args, seed, &device, printer)
        }
        Command::Merge(args) => {
            printer.result(&shard::merge(&args.files)?)?;
            Ok(Outcome::Done)
        }
        Command::Bench(BenchCommand::Lib(args)) => bench::library(args.check(seed)?, &device, printer),
        Command::Bench(BenchCommand::Paper(args)) => {
            args.check()?;
            match args.table.as_str() {
                "kool" => bench::paper(&args, seed, &device, printer),
                _ => bench::trained(&args, cli.global.seed, &device, printer),
            }
        }
        Command::Plot(args) => plot::run(&args.check()?, printer),
        Command::Explain(args) => explain::run(&args, cli.global.seed, &device, printer),
        Command::Model(ModelCommand::Import(ImportCommand::Kool(args))) => model::import_kool(&args, printer),
        Command::Model(ModelCommand::Import(ImportCommand::SetTransformer(args))) => {
            import::set_transformer(&args, printer)
        }
        Command::Model(ModelCommand::Import(ImportCommand::GraphTransformer(args))) => {
            import::graph_transformer(&args, printer)
        }
        Command::Model(ModelCommand::Import(ImportCommand::Patchtst(args))) => import::patchtst(&args, printer),
        Command::Model(ModelCommand::Show(args)) => model::show(args, printer),
        Command::Data(DataCommand::Generate(args)) => data::generate(args.check(seed)?, printer),
        Command::Data(DataCommand::Check(args)) => data::check(&args, printer),
        Command::Data(DataCommand::Verify(args)) => data::verify(&args, printer),
        Command::Data(DataCommand::Show(args)) => data::show(&args, printer),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve(&args, &cli.global, &device, printer),
        Command::Doctor => doctor::run(printer),
        Command::Settings(args) => experiments::settings(&args, printer),
        Command::Reference { page } => experiments::reference(page, printer),
        Command::Completions { shell } => completions(shell, printer),
    }
}

/// Reads an instance, a table with these options, and says on standard error what was guessed, skipped or not used.
pub(crate) fn read_instance(path: &Path, options: &TableOptions, printer: &Printer) -> anyhow::Result<Instance> {
    let (instance, notes) = formats::read_instance_with(path, options)?;
    for note in notes.texts() {
        printer.note(&format!("{}: {note}", path.display()));
    }
    Ok(instance)
}

/// Prints the completion script of a shell.
fn completions(shell: clap_complete::Shell, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "regard", &mut script);
    printer.result(&String::from_utf8(script)?)?;
    Ok(Outcome::Done)
}

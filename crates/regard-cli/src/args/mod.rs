//! Arguments of the command line.
//!
//! Many commands have two types: the arguments as clap parses them, and a job with defaults filled in and everything
//! checked that can be checked without opening a file.

mod attribution;
mod bench;
mod columns;
mod data;
mod eval;
mod explain;
mod forecast;
mod import;
mod learning;
mod network;
mod plot;
mod predict;
#[cfg(feature = "serve")]
mod serve;
mod solve;
mod table;
mod train;

pub(crate) use bench::{BenchCommand, BenchLibJob, BenchPaperArgs};
pub(crate) use columns::ColumnArgs;
pub(crate) use data::{CheckArgs, DataCommand, Generate, GenerateJob, GraphArgs, ShowArgs, VerifyArgs};
pub(crate) use eval::{EvalArgs, EvalJob, Evaluation, FoldOptions, Source};
pub(crate) use explain::{AttentionArgs, ExplainArgs, ExplainCommand, ExplainFileArgs, ViewArgs};
pub(crate) use forecast::ForecastArgs;
pub(crate) use import::{CheckpointArgs, GraphTransformerArgs, PatchtstArgs, SetTransformerArgs};
pub(crate) use learning::LearningArgs;
use network::NetworkArgs;
pub(crate) use plot::{PlotArgs, PlotJob};
pub(crate) use predict::PredictArgs;
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArgs;
pub(crate) use solve::{SolveArgs, SolveJob, SolveTask};
pub(crate) use table::TableArgs;
pub(crate) use train::{SettingsArgs, TrainArgs, TrainJob};

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};
use regard::nn::precision::Precision;

use crate::failure::Failure;

/// Attention models on structured data: routing problems, sets, graphs and time series
#[derive(Debug, Parser)]
#[command(
    name = "regard",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Results go to standard output, everything else to standard error. \
                  Exit codes: 0 success, 1 a check failed, 2 usage or input error."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The program's arguments. Every option takes a number that begins with a minus sign, so that its own parser refuses
/// it, and options of times take all that begins with one.
pub(crate) fn command() -> clap::Command {
    with_minus_signs(Cli::command())
}

fn with_minus_signs(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        if arg.is_positional() || !arg.get_action().takes_values() {
            return arg;
        }
        // `-1s` and `-5,80` are no numbers.
        let is_word = |name: &clap::builder::Str| ["TIME", "PERCENT"].contains(&name.as_str());
        match arg.get_value_names().is_some_and(|names| names.iter().any(is_word)) {
            true => arg.allow_hyphen_values(true),
            false => arg.allow_negative_numbers(true),
        }
    });
    command.mut_subcommands(with_minus_signs)
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Device: auto, cpu, wgpu or cuda:N, if built in (see `regard doctor`)
    #[arg(long, global = true, default_value = "auto", value_name = "DEVICE")]
    pub(crate) device: String,
    /// Seed of all random numbers [default: 1234, or that of the experiment]
    #[arg(long, global = true, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Number of threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Precision of products with the weights of attention blocks in forward passes: float32, or bfloat16 where the
    /// processor has it (see `regard doctor`), which is faster and less accurate [default: float32]
    #[arg(long, global = true, value_name = "PRECISION", value_parser = precision)]
    pub(crate) precision: Option<Precision>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only the result, without notes and progress
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print more detail
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Hide the progress bar
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Solve routing problems
    Solve(SolveArgs),
    /// Train the model of an experiment
    Train(TrainArgs),
    /// Print the settings of an experiment with type, value, range and meaning
    Settings(SettingsArgs),
    /// Evaluate a model on test data, or an experiment by cross-validation or back-test
    Eval(EvalArgs),
    /// Predict for the sets, graphs or series of a file
    Predict(PredictArgs),
    /// Forecast a table of time series
    Forecast(ForecastArgs),
    /// Merge the outputs of commands with --shard
    Merge(MergeArgs),
    /// Run benchmarks: a library of instances, or the tables of papers
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Plot the learning curves of a training run
    Plot(PlotArgs),
    /// Explain what a model computes for a file, step by step, with all numbers
    Explain(ExplainArgs),
    /// Serve models over HTTP, with a page to look at them
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Import and inspect models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Generate, check and inspect instances
    #[command(subcommand)]
    Data(DataCommand),
    /// Report processor, threads, memory, devices and the default model
    Doctor,
    /// Print a page of the book that is generated from the code
    #[command(hide = true)]
    Reference {
        /// Page to print
        page: ReferencePage,
    },
    /// Print the completion script of a shell
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

/// Pages of the book that are generated from the code.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum ReferencePage {
    /// Every setting of every family.
    Settings,
    /// Every command and option.
    Commands,
}

/// Index of the example of `file` that `--example` names, else of the first. `what` is `set`, `graph` or `series`.
pub(crate) fn example(wanted: Option<&str>, ids: &[String], file: &Path, what: &str) -> anyhow::Result<usize> {
    if ids.is_empty() {
        return Err(Failure::new(format!("{}: there is no {what}", file.display())).into());
    }
    let Some(id) = wanted else { return Ok(0) };
    ids.iter().position(|known| known == id).ok_or_else(|| {
        let some: Vec<&str> = ids.iter().take(5).map(String::as_str).collect();
        Failure::new(format!("--example {id}: {} has no such {what}", file.display()))
            .hint(format!("the first are {}", some.join(", ")))
            .into()
    })
}

/// Arguments of `regard merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Takes the outputs of one command that ran once for each part, in any order. Every part must be there \
and whole; the merged output is that of the command without --shard: a table, a list, lines of JSON, \
or means over all instances.

Examples:
  for i in 1 2 3 4; do regard predict --model regard-zinc zinc.csv --shard $i/4 > part$i.csv; done
  regard merge part*.csv > predictions.csv")]
pub(crate) struct MergeArgs {
    /// Files with the outputs of all parts
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Commands on models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Convert weights of another project to a model folder
    #[command(subcommand)]
    Import(ImportCommand),
    /// Describe a model folder
    Show(ModelShowArgs),
}

/// Projects whose weights can be imported.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Attention, Learn to Solve Routing Problems! (Kool et al. 2019)
    Kool(KoolArgs),
    /// Set Transformer (Lee et al. 2019)
    SetTransformer(SetTransformerArgs),
    /// A Generalization of Transformer Networks to Graphs (Dwivedi & Bresson 2021)
    GraphTransformer(GraphTransformerArgs),
    /// A Time Series is Worth 64 Words (Nie et al. 2023), supervised
    Patchtst(PatchtstArgs),
}

/// Arguments of `regard model import kool`.
#[derive(Debug, Args)]
pub(crate) struct KoolArgs {
    /// Weights: a checkpoint (.pt, legacy torch format) or .safetensors with the original names
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Problem: tsp, cvrp, sdvrp, op, pctsp or spctsp [default: from args.json or the names of the weights]
    #[arg(long, value_name = "NAME")]
    pub(crate) problem: Option<String>,
    /// Model folder to write
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// Arguments of `regard model show`.
#[derive(Debug, Args)]
pub(crate) struct ModelShowArgs {
    /// Model folder, or name of a built-in model [default: $REGARD_MODEL, else the built-in model for the
    /// problem]
    #[arg(value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
}

/// Reads an integer that is at least 0.
fn integer(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected an integer of at least 0".to_owned())
}

/// Largest seed: settings are TOML, whose integers have 64 bits with a sign.
const LARGEST_SEED: u64 = i64::MAX as u64;

/// Reads a seed.
fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|&seed| seed <= LARGEST_SEED);
    seed.ok_or_else(|| format!("expected an integer from 0 to {LARGEST_SEED}"))
}

/// Reads a level of intervals.
fn percent(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "expected percentages such as 80,95".to_owned())
}

/// Refuses a level of intervals that is given twice.
fn refuse_same_levels(levels: &[f64]) -> anyhow::Result<()> {
    match levels.iter().enumerate().find(|(at, level)| levels[..*at].contains(level)) {
        Some((_, level)) => Err(Failure::new(format!("--levels: {level} is given twice")).hint("give it once").into()),
        None => Ok(()),
    }
}

/// Reads an integer that is at least 1.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) | Err(_) => Err("expected an integer of at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Reads an integer from 1 to `MOST`; more would only exhaust the system.
fn count<const MOST: usize>(text: &str) -> Result<usize, String> {
    at_least_one(text)
        .ok()
        .filter(|&count| count <= MOST)
        .ok_or_else(|| format!("expected an integer from 1 to {MOST}"))
}

/// Reads the name of a precision.
fn precision(text: &str) -> Result<Precision, String> {
    let names = Precision::ALL.map(Precision::name).join(" or ");
    Precision::of_name(text).ok_or_else(|| format!("expected {names}"))
}

/// Reads a number of threads; more than 1024 would only exhaust the system.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    count::<1024>(text)
}

/// Reads the name of a file to be written that ends in `.csv`.
fn csv_file(text: &str) -> Result<PathBuf, String> {
    file_named(text, "csv")
}

/// Reads the name of a file to be written that ends in `.html` or `.htm`.
fn html_file(text: &str) -> Result<PathBuf, String> {
    let other = |_| file_named(text, "htm");
    file_named(text, "html").or_else(other).map_err(|_| "expected a name that ends in .html or .htm".to_owned())
}

/// Reads the name of a file to be written that ends in `.jsonl`.
fn jsonl_file(text: &str) -> Result<PathBuf, String> {
    file_named(text, "jsonl")
}

fn file_named(text: &str, ending: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending)) {
        true => Ok(path),
        false => Err(format!("expected a name that ends in .{ending}")),
    }
}

/// Reads the number of folds of a cross-validation.
fn folds(text: &str) -> Result<usize, String> {
    const MOST: usize = 10_000;
    let folds = text.parse().ok().filter(|folds| (2..=MOST).contains(folds));
    folds.ok_or_else(|| format!("expected an integer from 2 to {MOST}"))
}

/// Reads a finite number that is not negative.
fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("expected a number of at least 0".to_owned()),
    }
}

/// Reads a finite number above 0.
fn positive(text: &str) -> Result<f64, String> {
    let number = amount(text).ok().filter(|&number| number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

/// Seconds of the longest time, 7 days.
const LONGEST_TIME: f64 = 7.0 * 24.0 * 3600.0;

/// Reads `500ms`, `2s`, `1.5m` or a plain number of seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a time such as 500ms, 2s or 1m".to_owned();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.trim().parse().map_err(|_| expected())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" | "" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(expected()),
    };
    if seconds > LONGEST_TIME {
        return Err("is longer than 7 days (168h), the most that is taken".to_owned());
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    /// Texts below the options that the terminal would break a second time, or that break a sentence themselves.
    fn broken_texts(command: &clap::Command, found: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines: Vec<&str> = help.lines().collect();
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
        let long = lines.iter().filter(|line| line.starts_with(' ') && line.chars().count() > 100);
        let broken = lines.windows(2).filter(|two| is_prose(two[0]) && is_prose(two[1])).map(|two| &two[1]);
        found.extend(long.chain(broken).map(|line| format!("{}: {line}", command.get_name())));
        command.get_subcommands().for_each(|one| broken_texts(one, found));
    }

    #[test]
    fn the_terminal_breaks_sentences_of_help() {
        let mut found = Vec::new();
        broken_texts(&command(), &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }

    #[test]
    fn the_roles_of_columns_are_those_of_all_problems() {
        let solve = command().find_subcommand("solve").unwrap().clone();
        let column = solve.get_arguments().find(|arg| arg.get_id() == "column").unwrap();
        let help = column.get_help().unwrap().to_string();
        for role in ["id", "lat", "depot", "demand", "ready", "due", "service", "pickup", "real_prize"] {
            assert!(help.contains(role), "{role} is not in {help}");
        }
    }

    #[test]
    fn times_are_read() {
        assert_eq!(duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("3"), Ok(Duration::from_secs(3)));
        for bad in ["", "s", "-1s", "0s", "2 weeks", "1e300h", "nan"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_checked() {
        assert_eq!(at_least_one("3"), Ok(3));
        assert!(at_least_one("0").is_err());
        assert!(at_least_one("x").is_err());
        assert_eq!(threads("2"), Ok(2));
        assert!(threads("0").is_err() && threads("1000000").is_err());
        assert_eq!(count::<7>("7"), Ok(7));
        for bad in ["0", "8", "18446744073709551615", "18446744073709551616"] {
            assert_eq!(count::<7>(bad), Err("expected an integer from 1 to 7".to_owned()), "{bad}");
        }
        assert_eq!(amount("2.5"), Ok(2.5));
        assert!(amount("0").is_ok() && positive("0").is_err() && positive("0.5").is_ok());
        for bad in ["-1", "nan", "inf", "x"] {
            assert!(amount(bad).is_err() && positive(bad).is_err(), "{bad}");
        }
        assert_eq!((integer("0"), seed("9223372036854775807")), (Ok(0), Ok(LARGEST_SEED)));
        assert!(integer("-1").is_err() && seed("-1").is_err() && seed("9223372036854775808").is_err());
        assert_eq!(percent("99.5"), Ok(99.5));
        assert!(percent("foo").is_err() && percent("").is_err());
    }
}

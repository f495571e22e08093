//! `regard data`.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand};
use regard::routing::generate::{GeneratorConfig, Points, Prizes};
use regard::routing::{formats, registry};

use crate::failure::Failure;

/// Largest number of coordinates `data generate` writes in one go.
const MOST_PLACES: usize = 50_000_000;

/// What can be done with instances.
#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Write random instances
    Generate(GenerateArgs),
    /// Check instance files, and a solution if one is given
    Check(CheckArgs),
    /// Check a solution against its instance; exit code 1 names the constraint it violates
    Verify(VerifyArgs),
    /// Describe an instance file
    Show(ShowArgs),
}

/// Arguments of `regard data generate`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub(crate) struct GenerateArgs {
    /// Problem the instances are for
    #[arg(long, default_value = registry::DEFAULT, value_name = "PROBLEM",
        value_parser = PossibleValuesParser::new(registry::NAMES))]
    problem: String,
    /// Distribution of the places in the unit square, for problems that have several: uniform, cluster or
    /// gaussian-mixture
    #[arg(long, default_value = "uniform", value_name = "NAME", value_parser = Points::parse)]
    distribution: Points,
    /// Distribution of prizes, for problems that have several: const, unif or dist
    #[arg(long, default_value = "dist", value_name = "NAME", value_parser = Prizes::parse)]
    prizes: Prizes,
    /// Places of each instance, a depot not counted, drawn with --seed
    #[arg(long, value_name = "N", group = "what", value_parser = super::at_least_one)]
    n: Option<usize>,
    /// Test set of Kool et al. 2019 instead: tsp20, cvrp50, sdvrp20, op_dist50, pctsp_det20, …
    #[arg(long, value_name = "NAME", group = "what")]
    paper_set: Option<String>,
    /// Number of instances [default: 1, or the whole paper set]
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    instances: Option<usize>,
    /// Folder to write to, or the file when there is one instance
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
    /// Format of the files; TSPLIB, CVRPLIB and OPLib know whole distances only, so tsp, vrp and
    /// oplib have coordinates times 1,000,000 [default: by the name of FILE, else csv]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(formats::endings()))]
    format: Option<String>,
}

/// A checked `regard data generate`.
#[derive(Debug)]
pub(crate) struct GenerateJob {
    /// A paper set's name, or places of each instance and how many.
    pub(crate) what: Generate,
    pub(crate) out: PathBuf,
    /// Ending of the format.
    pub(crate) format: String,
    /// Whether `out` is one file, not a folder.
    pub(crate) single: bool,
}

/// What to generate.
#[derive(Debug)]
pub(crate) enum Generate {
    PaperSet { name: String, limit: Option<usize> },
    Random { problem: String, seed: u64, instances: usize, n: usize, config: GeneratorConfig },
}

impl GenerateArgs {
    /// Checks sizes and names.
    pub(crate) fn check(self, seed: u64) -> anyhow::Result<GenerateJob> {
        let by_name = format_of(&self.out);
        let instances = match (&self.paper_set, self.instances) {
            (None, instances) => Some(instances.unwrap_or(1)),
            (Some(_), limit) => limit,
        };
        let single = by_name.is_some() && !self.out.is_dir();
        if single && instances != Some(1) {
            return Err(Failure::new(format!(
                "--out {}: expected a folder, because there are several instances",
                self.out.display()
            ))
            .hint("each instance becomes one file")
            .into());
        }
        if let (Some(asked), Some(named), true) = (&self.format, &by_name, single)
            && asked != named
        {
            return Err(Failure::new(format!("--format {} does not fit the name {}", asked, self.out.display())).into());
        }
        let what = match (self.paper_set, self.n) {
            (Some(name), _) => Generate::PaperSet { name, limit: instances },
            (None, n) => {
                let (n, instances) = (n.unwrap_or(1), instances.unwrap_or(1));
                bounded(n, instances)?;
                let config = GeneratorConfig { points: self.distribution, prizes: self.prizes };
                Generate::Random { problem: self.problem, seed, instances, n, config }
            }
        };
        Ok(GenerateJob {
            what,
            format: self.format.or(by_name).unwrap_or_else(|| formats::csv::ENDING.to_owned()),
            out: self.out,
            single,
        })
    }
}

/// The format of a file of this name.
fn format_of(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_str()?;
    formats::endings().into_iter().find(|ending| *ending == extension).map(str::to_owned)
}

fn bounded(n: usize, instances: usize) -> anyhow::Result<()> {
    match n.checked_mul(instances) {
        Some(places) if places <= MOST_PLACES => Ok(()),
        _ => Err(Failure::new(format!("{instances} instances of {n} places are more than {MOST_PLACES} places"))
            .hint("generate fewer at a time, with another --seed for each part")
            .into()),
    }
}

/// Arguments of `regard data check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Instance files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Solution to check against the instance: .tour, or .sol for routes of vehicles
    #[arg(long, alias = "tour", value_name = "FILE")]
    pub(crate) solution: Option<PathBuf>,
}

/// Arguments of `regard data verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Instance file
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: PathBuf,
    /// Its solution: .tour, .sol for routes of vehicles, or .json
    #[arg(value_name = "SOLUTION")]
    pub(crate) solution: PathBuf,
}

/// Arguments of `regard data show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Instance file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

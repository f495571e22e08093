//! `regard data`.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use regard::data::routes::drawn::Prizes;
use regard::data::routes::generate::Points;
use regard::routes::problem::Drawing;

use crate::failure::Failure;

/// Largest number of nodes that `data generate` writes in one call.
const MOST_NODES: usize = 50_000_000;

/// Commands on instance files.
#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Generate random instances
    Generate(GenerateArgs),
    /// Check instance files, and optionally a solution
    Check(CheckArgs),
    /// Check a solution against its instance; exit code 1 if it violates a constraint
    Verify(VerifyArgs),
    /// Describe an instance file
    Show(ShowArgs),
}

/// Arguments of `regard data generate`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub(crate) struct GenerateArgs {
    /// Routing problem
    #[arg(long, value_enum, default_value = "tsp", value_name = "PROBLEM")]
    problem: ProblemName,
    /// Distribution of the nodes in the unit square: uniform, cluster or gaussian-mixture (tsp, cvrp, sdvrp)
    #[arg(long, default_value = "uniform", value_name = "NAME", value_parser = Points::parse)]
    distribution: Points,
    /// Distribution of the prizes of orienteering: const, unif or dist
    #[arg(long, default_value = "dist", value_name = "NAME", value_parser = Prizes::parse)]
    prizes: Prizes,
    /// Number of nodes of each instance, the depot not counted
    #[arg(long, value_name = "N", group = "what", value_parser = super::at_least_one)]
    n: Option<usize>,
    /// Test set of Kool et al. 2019 to write instead: tsp20, cvrp50, sdvrp20, op_dist50, pctsp_det20, …
    #[arg(long, value_name = "NAME", group = "what")]
    paper_set: Option<String>,
    /// Number of instances [default: 1, or the whole paper set]
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    instances: Option<usize>,
    /// Folder to write to; a file for a single instance
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
    /// Format of the files; tsp, vrp and oplib multiply coordinates by 1,000,000, since TSPLIB,
    /// CVRPLIB and OPLib round distances to whole numbers [default: by the name of FILE, else csv]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<InstanceFormat>,
}

/// Problems that instances can be generated for.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum ProblemName {
    Tsp,
    Cvrp,
    Sdvrp,
    Op,
    Pctsp,
    Spctsp,
}

impl ProblemName {
    /// The name of the problem.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ProblemName::Tsp => "tsp",
            ProblemName::Cvrp => "cvrp",
            ProblemName::Sdvrp => "sdvrp",
            ProblemName::Op => "op",
            ProblemName::Pctsp => "pctsp",
            ProblemName::Spctsp => "spctsp",
        }
    }
}

/// File formats of instances.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum InstanceFormat {
    Csv,
    Tsp,
    Vrp,
    Oplib,
}

impl InstanceFormat {
    /// The file name extension, without the dot.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            InstanceFormat::Csv => "csv",
            InstanceFormat::Tsp => "tsp",
            InstanceFormat::Vrp => "vrp",
            InstanceFormat::Oplib => "oplib",
        }
    }

    /// The format of a file of this name.
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        [Self::Csv, Self::Tsp, Self::Vrp, Self::Oplib].into_iter().find(|format| format.extension() == extension)
    }
}

/// `regard data generate` with names and sizes checked.
#[derive(Debug)]
pub(crate) struct GenerateJob {
    /// Instances to generate.
    pub(crate) what: Generate,
    pub(crate) out: PathBuf,
    pub(crate) format: InstanceFormat,
    /// If true, `out` is a file, not a folder.
    pub(crate) single: bool,
}

/// Instances to generate.
#[derive(Debug)]
pub(crate) enum Generate {
    PaperSet { name: String, limit: Option<usize> },
    Random { problem: ProblemName, seed: u64, instances: usize, n: usize, drawing: Drawing },
}

impl GenerateArgs {
    /// Checks sizes and names.
    pub(crate) fn check(self, seed: u64) -> anyhow::Result<GenerateJob> {
        let by_name = InstanceFormat::of(&self.out);
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
        if let (Some(format), Some(named), true) = (self.format, by_name, single)
            && format != named
        {
            return Err(Failure::new(format!(
                "--format {} does not fit the name {}",
                format.extension(),
                self.out.display()
            ))
            .into());
        }
        let what = match (self.paper_set, self.n) {
            (Some(name), _) => Generate::PaperSet { name, limit: instances },
            (None, n) => {
                let (n, instances) = (n.unwrap_or(1), instances.unwrap_or(1));
                bounded(n, instances)?;
                let drawing = Drawing { points: self.distribution, prizes: self.prizes };
                Generate::Random { problem: self.problem, seed, instances, n, drawing }
            }
        };
        Ok(GenerateJob { what, format: self.format.or(by_name).unwrap_or(InstanceFormat::Csv), out: self.out, single })
    }
}

fn bounded(n: usize, instances: usize) -> anyhow::Result<()> {
    match n.checked_mul(instances) {
        Some(nodes) if nodes <= MOST_NODES => Ok(()),
        _ => Err(Failure::new(format!("{instances} instances of {n} nodes are more than {MOST_NODES} nodes"))
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
    /// Solution to check against the instance: .tour, or .sol for vehicle routes
    #[arg(long, alias = "tour", value_name = "FILE")]
    pub(crate) solution: Option<PathBuf>,
}

/// Arguments of `regard data verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Instance file
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: PathBuf,
    /// Solution of the instance: .tour, .sol for vehicle routes, or .json
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

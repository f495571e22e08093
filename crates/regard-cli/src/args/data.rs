//! `regard data`.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand};
use regard::data::graphs::formats::{ReadOptions, Recognised};
use regard::routing::generate::{Drawn, GeneratorConfig, Points, Prizes};
use regard::routing::{formats, registry};

use super::TableArgs;
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
    /// Routing problem [default: tsp]
    #[arg(long, value_name = "PROBLEM", value_parser = PossibleValuesParser::new(registry::NAMES))]
    problem: Option<String>,
    /// Distribution of the nodes in the unit square, for problems that have this option: uniform,
    /// cluster, gaussian-mixture or mixed (one of them for each instance); or with a matrix of distances that differ by direction: hills or asymmetric
    /// [default: uniform]
    #[arg(long, value_name = "NAME", value_parser = Points::parse)]
    distribution: Option<Points>,
    /// Distribution of the prizes of nodes, for problems that have this option: const, unif or dist [default: dist]
    #[arg(long, value_name = "NAME", value_parser = Prizes::parse)]
    prizes: Option<Prizes>,
    /// Number of nodes of each instance, without the depot
    #[arg(long, value_name = "N", group = "what", value_parser = super::at_least_one)]
    n: Option<usize>,
    /// Test set of Kool et al. 2019 to write instead: tsp20, cvrp50, sdvrp20, op_dist50, pctsp_det20, …
    #[arg(long, value_name = "NAME", group = "what")]
    paper_set: Option<String>,
    /// Number of instances [default: 1, or the whole paper set]
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    instances: Option<usize>,
    /// Folder to write to; a file for a single instance, or a .pkl (as Kool's code) or .npz file (as
    /// RL4CO) for all instances
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
    /// Format of the files; tsp, vrp and oplib multiply coordinates by 1,000,000, since TSPLIB,
    /// CVRPLIB and OPLib round distances to integers [default: the extension of FILE, else csv, or what
    /// holds a matrix of distances]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(formats::endings()))]
    format: Option<String>,
}

/// `regard data generate` with names and sizes checked.
#[derive(Debug)]
pub(crate) struct GenerateJob {
    /// Instances to generate.
    pub(crate) what: Generate,
    pub(crate) out: PathBuf,
    /// Ending of the format.
    pub(crate) format: String,
    /// If true, `out` is a file, not a folder.
    pub(crate) single: bool,
}

/// Instances to generate.
#[derive(Debug)]
pub(crate) enum Generate {
    PaperSet { name: String, limit: Option<usize> },
    Random { problem: String, seed: u64, instances: usize, n: usize, config: GeneratorConfig },
}

impl GenerateArgs {
    /// Checks sizes and names.
    pub(crate) fn check(self, seed: u64) -> anyhow::Result<GenerateJob> {
        self.refuse_without_effect()?;
        let by_name = format_of(&self.out);
        self.refuse_unknown_ending(by_name.is_some())?;
        let instances = match (&self.paper_set, self.instances) {
            (None, instances) => Some(instances.unwrap_or(1)),
            (Some(_), limit) => limit,
        };
        let single = by_name.is_some() && !self.out.is_dir();
        let is_set = by_name.as_deref().is_some_and(|ending| formats::sets::ENDINGS.contains(&ending));
        if single && !is_set && instances != Some(1) {
            return Err(Failure::new(format!(
                "--out {}: expected a folder, because there are several instances",
                self.out.display()
            ))
            .hint("each instance is written to its own file; `--out FILE.pkl` and `--out FILE.npz` hold all")
            .into());
        }
        if let (Some(asked), Some(named), true) = (&self.format, &by_name, single)
            && asked != named
        {
            return Err(Failure::new(format!(
                "--format {} does not match the file name {}",
                asked,
                self.out.display()
            ))
            .into());
        }
        let what = match (self.paper_set, self.n) {
            (Some(name), _) => Generate::PaperSet { name, limit: instances },
            (None, n) => {
                let (n, instances) = (n.unwrap_or(1), instances.unwrap_or(1));
                let default = GeneratorConfig::default();
                let config = GeneratorConfig {
                    points: self.distribution.unwrap_or(default.points),
                    prizes: self.prizes.unwrap_or(default.prizes),
                };
                bounded(if config.points.has_matrix() { n.saturating_mul(n) } else { n }, instances, n)?;
                let problem = self.problem.unwrap_or_else(|| registry::DEFAULT.to_owned());
                Generate::Random { problem, seed, instances, n, config }
            }
        };
        let with_matrix = match &what {
            Generate::Random { problem, config, .. } if config.points.has_matrix() => {
                formats::ending_with_matrix(problem)
            }
            _ => None,
        };
        let format = self.format.or(by_name);
        Ok(GenerateJob {
            what,
            format: format.unwrap_or_else(|| with_matrix.unwrap_or(formats::csv::ENDING).to_owned()),
            out: self.out,
            single,
        })
    }
}

impl GenerateArgs {
    /// Refuses a name whose ending is none of a file of instances, unless it is that of a folder.
    fn refuse_unknown_ending(&self, is_known: bool) -> anyhow::Result<()> {
        let is_folder = self.out.is_dir() || self.out.to_string_lossy().ends_with(std::path::is_separator);
        if is_known || is_folder || self.out.extension().is_none() {
            return Ok(());
        }
        let endings = formats::listed(formats::endings().into_iter().chain(formats::sets::ENDINGS));
        let out = self.out.display();
        Err(Failure::new(format!("--out {out}: expected a name that ends in {endings}"))
            .hint(format!("for a folder of this name write `--out {out}/`"))
            .into())
    }

    /// Refuses options that the instances do not depend on.
    fn refuse_without_effect(&self) -> anyhow::Result<()> {
        let (points, prizes) = (self.distribution.is_some(), self.prizes.is_some());
        if let Some(set) = &self.paper_set {
            let given = [("--problem", self.problem.is_some()), ("--distribution", points), ("--prizes", prizes)];
            let Some((flag, _)) = given.iter().find(|(_, given)| *given) else { return Ok(()) };
            let what = format!("{flag} does not apply to --paper-set {set}, which names all of its instances");
            return Err(Failure::new(what).hint("leave it out, or use --n N instead of --paper-set").into());
        }
        let problem = self.problem.as_deref().unwrap_or(registry::DEFAULT);
        let distribution = self.distribution.filter(|points| points.has_matrix());
        // Distances must be written, which not every format can.
        let is_written = |name: &str| distribution.is_none() || formats::ending_with_matrix(name).is_some();
        let applies = |flag: &str, name: &str| {
            let by = |drawn: Drawn| if flag == "--prizes" { drawn.prizes } else { drawn.points && is_written(name) };
            Drawn::of(name).is_some_and(by)
        };
        let given = [("--distribution", points), ("--prizes", prizes)];
        let Some((flag, _)) = given.iter().find(|(flag, given)| *given && !applies(flag, problem)) else {
            return Ok(());
        };
        let which = registry::NAMES.iter().copied().filter(|name| applies(flag, name)).collect::<Vec<_>>().join(", ");
        let option = match distribution.filter(|_| *flag == "--distribution") {
            Some(distribution) => format!("{flag} {}", distribution.name()),
            None => (*flag).to_owned(),
        };
        let what = format!("{option} does not apply to --problem {problem}");
        Err(Failure::new(what).hint(format!("it is for {which}; leave it out")).into())
    }
}

/// The format of a file of this name.
fn format_of(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_str()?.to_lowercase();
    let mut all = formats::endings().into_iter().chain(formats::sets::ENDINGS);
    all.find(|ending| *ending == extension).map(str::to_owned)
}

fn bounded(each: usize, instances: usize, n: usize) -> anyhow::Result<()> {
    match each.checked_mul(instances) {
        Some(all) if all <= MOST_NODES => Ok(()),
        _ => Err(Failure::new(format!(
            "{instances} instances of {n} nodes are more than {MOST_NODES} nodes or distances"
        ))
        .hint("generate them in several calls, each with a different --seed")
        .into()),
    }
}

/// Arguments of `regard data check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Instance files, or files of graphs
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Solution to check against the instance: .tour, .sol for vehicle routes, .csv or .json
    #[arg(long, alias = "tour", value_name = "FILE")]
    pub(crate) solution: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) graphs: GraphArgs,
}

/// Arguments of `regard data verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Instance file
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: PathBuf,
    /// Solution of the instance: .tour, .sol for vehicle routes, .csv or .json
    #[arg(value_name = "SOLUTION")]
    pub(crate) solution: PathBuf,
    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// Arguments of `regard data show`.
#[derive(Debug, Args)]
#[command(after_help = "\
A file of graphs is known by its name and content: a table with a column of SMILES, nodes.csv beside edges.csv, JSON \
lines (.jsonl), a TU file or a folder of TU files. Any of the options for graphs has the file read as graphs.

Examples:
  regard data show capitals.csv
  regard data show molecules.csv --targets solubility
  regard data show nodes.csv --edges links.csv --first 1
  regard data show MUTAG --json")]
pub(crate) struct ShowArgs {
    /// Instance file, or file or folder of graphs
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) graphs: GraphArgs,
    /// Graphs: the number of them that are printed node by node [default: 2]
    #[arg(long, value_name = "N", value_parser = super::integer, help_heading = "Graphs")]
    pub(crate) first: Option<usize>,
}

/// Options of files of graphs.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Graphs")]
pub(crate) struct GraphArgs {
    /// Column of SMILES; each row is a molecule [default: the column whose name contains `smiles`]
    #[arg(long, value_name = "COLUMN")]
    smiles: Option<String>,
    /// Column of the names of molecules or nodes [default: they are numbered]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Columns of targets, separated by commas
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    targets: Vec<String>,
    /// File of edges, for a table of nodes [default: edges.csv beside nodes.csv]
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,
}

impl GraphArgs {
    /// The name of the first option that is given.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--smiles", self.smiles.is_some()),
            ("--id", self.id.is_some()),
            ("--targets", !self.targets.is_empty()),
            ("--edges", self.edges.is_some()),
        ];
        given.iter().find(|(_, given)| *given).map(|(name, _)| *name)
    }

    /// The options of the reader for a file that seems to hold this.
    pub(crate) fn options(&self, recognised: Option<Recognised>, skip_bad: bool) -> ReadOptions {
        let column = match recognised {
            Some(Recognised::Molecules(column)) if self.edges.is_none() => Some(column),
            _ => None,
        };
        ReadOptions {
            smiles: self.smiles.clone().or(column),
            id: self.id.clone(),
            targets: self.targets.clone(),
            edges: self.edges.clone(),
            skip_bad,
            ..ReadOptions::default()
        }
    }
}

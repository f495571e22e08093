//! `regard solve`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use regard::routes::solve::{Finish, Objective, SolveOptions};
use regard::routing::formats::csv::TableOptions;
use regard::routing::formats::solution::ENDINGS;

use super::{NetworkArgs, TableArgs};
use crate::failure::Failure;
use crate::shard::{Places, ShardArgs};

/// Arguments of `regard solve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --decode the network decodes greedily, then from 16 start nodes in 8 views each; large \
instances get fewer start nodes and views, to limit time and memory. For some problems a \
construction heuristic adds a second solution. Local search improves the better one.

Routes go to standard output, the stages of the search to standard error. On a terminal a long \
tour is shortened; --out and --json have all of it.

Examples:
  regard solve examples/capitals.csv --plot capitals.svg
  regard solve deliveries.csv --column demand=Weight --capacity 300 --out routes.geojson
  regard solve berlin52.tsp --decode sample:1280 --no-improve --json
  regard solve X-n303-k21.vrp --time 5s --out X-n303-k21.sol
  regard solve *.tsp --out tours/")]
pub(crate) struct SolveArgs {
    /// Instance files: TSPLIB (.tsp), CVRPLIB (.vrp), OPLib (.oplib), Solomon's format (.txt) or CSV (id,x,y or
    /// id,latitude,longitude; with demand, prize or penalty, the first row is the depot). Other
    /// words for these columns are found and said
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    network: NetworkArgs,
    /// Improve the solution of the network by local search [default]
    #[arg(long, overrides_with = "no_improve")]
    improve: bool,
    /// Report the solution of the network without local search
    #[arg(long)]
    no_improve: bool,
    /// Time limit for network and local search together, for example 2s, 500ms or 1m
    #[arg(long, value_name = "TIME", value_parser = super::duration, conflicts_with = "no_improve")]
    time: Option<Duration>,
    /// Best-known cost, to report the gap
    #[arg(long, value_name = "VALUE", value_parser = super::amount)]
    best: Option<f64>,
    /// Start the search from a solution (.tour, .sol, .csv or .json); the result is never worse
    #[arg(long, value_name = "FILE", conflicts_with = "no_improve")]
    warm_start: Option<PathBuf>,
    /// The cost alone, or fewer vehicles before the cost, for problems with time windows
    #[arg(long, default_value = Objective::NAMES[0], value_parser = objectives(), value_name = "OBJECTIVE")]
    objective: Objective,
    /// Write the solution to .tour (TSPLIB), .sol (CVRPLIB), .csv (a row for each stop), .geojson or
    /// .gpx (places with latitude and longitude), or .json; a folder if there are several files
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// JSON: add the solution after each stage
    #[arg(long)]
    stage_solutions: bool,
    /// Draw the solution; a folder if there are several files
    #[arg(long, value_name = "F.svg|F.png")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// The words of objectives.
fn objectives() -> impl TypedValueParser<Value = Objective> {
    PossibleValuesParser::new(Objective::NAMES).try_map(|word| word.parse::<Objective>())
}

/// `regard solve` with paths and options checked.
#[derive(Debug)]
pub(crate) struct SolveJob {
    /// One task per instance file, in the order given.
    pub(crate) tasks: Vec<SolveTask>,
    /// Model folder of the command line.
    pub(crate) model: Option<PathBuf>,
    /// Options for each instance.
    pub(crate) options: SolveOptions,
    /// Best-known cost of the command line; only with one file.
    pub(crate) best: Option<f64>,
    /// Solution to start from; only with one file.
    pub(crate) warm_start: Option<PathBuf>,
    /// If true, the solution after each stage is part of the result in JSON.
    pub(crate) stage_solutions: bool,
    pub(crate) shard: ShardArgs,
    /// The part of the files that the tasks are.
    pub(crate) places: Option<Places>,
}

/// One instance file and the files for its results.
#[derive(Debug, PartialEq)]
pub(crate) struct SolveTask {
    pub(crate) file: PathBuf,
    /// The reading of a table.
    pub(crate) options: TableOptions,
    /// File for the solution; if `ending_open`, its ending follows from the problem.
    pub(crate) out: Option<PathBuf>,
    pub(crate) ending_open: bool,
    pub(crate) plot: Option<PathBuf>,
}

impl SolveArgs {
    /// Checks what can be checked without opening an instance.
    pub(crate) fn check(self, seed: u64) -> anyhow::Result<SolveJob> {
        self.network.check()?;
        if self.best.is_some() && self.files.len() > 1 {
            return Err(Failure::new("--best is one value, but there are several files")
                .hint("solve one file at a time, or put a best_known.csv beside the files")
                .into());
        }
        if self.warm_start.is_some() && self.files.len() > 1 {
            return Err(Failure::new("--warm-start is one solution, but there are several files")
                .hint("solve one file at a time")
                .into());
        }
        let out = targets("--out", self.out.as_deref(), &self.files, &ENDINGS)?;
        let ending_open = self.out.as_deref().is_some_and(|out| self.files.len() > 1 || is_folder(out));
        let plot = targets("--plot", self.plot.as_deref(), &self.files, &["svg", "png"])?;
        let places = self.shard.places("solve", self.files.len(), "files")?;
        let tasks = self.files.into_iter().zip(out).zip(plot);
        let options = self.table.options();
        let tasks =
            tasks.map(|((file, out), plot)| SolveTask { file, options: options.clone(), out, ending_open, plot });
        let finish = match (self.no_improve && !self.improve, self.time) {
            (true, _) => Finish::Off,
            (false, None) => Finish::Bounded,
            (false, Some(time)) => Finish::Timed(time),
        };
        let options = SolveOptions {
            decode: self.network.decode,
            augment: self.network.augment,
            temperature: self.network.temperature,
            top_p: self.network.top_p,
            finish,
            seed,
            objective: self.objective,
            ..SolveOptions::default()
        };
        let (model, warm_start) = (self.network.model, self.warm_start);
        let mut tasks: Vec<SolveTask> = tasks.collect();
        if let Some(Places { range, .. }) = &places {
            tasks = tasks.drain(range.clone()).collect();
        }
        let (best, stage_solutions, shard) = (self.best, self.stage_solutions, self.shard);
        Ok(SolveJob { tasks, model, options, best, warm_start, stage_solutions, shard, places })
    }
}

/// The file for the result of each instance: `target` itself for one instance, `target/STEM.EXTENSION` in a
/// folder.
fn targets(
    flag: &str,
    target: Option<&Path>,
    files: &[PathBuf],
    extensions: &[&str],
) -> anyhow::Result<Vec<Option<PathBuf>>> {
    let Some(target) = target else {
        return Ok(vec![None; files.len()]);
    };
    let folder = is_folder(target);
    if files.len() == 1 && !folder {
        check_extension(flag, target, extensions)?;
        return Ok(vec![Some(target.to_owned())]);
    }
    if target.is_file() || (target.extension().is_some() && !folder) {
        return Err(Failure::new(format!(
            "{flag} {}: expected a folder, because there are several files",
            target.display()
        ))
        .hint(format!("give a folder, for example `{flag} tours`"))
        .into());
    }
    let mut paths: Vec<PathBuf> = Vec::with_capacity(files.len());
    for file in files {
        let mut name = file.file_stem().unwrap_or(file.as_os_str()).to_owned();
        // The problem decides between endings, and is not known yet.
        if flag != "--out" {
            name.push(".");
            name.push(extensions[0]);
        }
        let path = target.join(name);
        if paths.contains(&path) {
            let what = format!("{flag}: two solutions would be written to the same file {}", path.display());
            return Err(Failure::new(what).hint("solve files of the same name one at a time").into());
        }
        paths.push(path);
    }
    Ok(paths.into_iter().map(Some).collect())
}

fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(std::path::is_separator)
}

pub(super) fn check_extension(flag: &str, path: &Path, extensions: &[&str]) -> anyhow::Result<()> {
    let extension = path.extension().and_then(|text| text.to_str());
    let known = extension.is_some_and(|text| extensions.contains(&text.to_lowercase().as_str()));
    if known {
        return Ok(());
    }
    let wanted: Vec<String> = extensions.iter().map(|text| format!(".{text}")).collect();
    Err(Failure::new(format!("{flag} {}: expected a name that ends in {}", path.display(), wanted.join(" or "))).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn one_file_goes_to_the_named_file() {
        let one = targets("--out", Some(Path::new("x.tour")), &paths(&["a.tsp"]), &["tour"]);
        assert_eq!(one.unwrap(), vec![Some(PathBuf::from("x.tour"))]);
        let wrong = targets("--out", Some(Path::new("x.txt")), &paths(&["a.tsp"]), &["tour"]);
        assert!(wrong.unwrap_err().to_string().contains(".tour"));
    }

    #[test]
    fn several_files_go_to_a_folder() {
        let files = paths(&["in/a.tsp", "b.csv"]);
        let several = targets("--out", Some(Path::new("tours")), &files, &["tour"]).unwrap();
        let expected = paths(&["tours/a", "tours/b"]);
        assert_eq!(several, expected.into_iter().map(Some).collect::<Vec<_>>());
        let one = targets("--out", Some(Path::new("new.folder/")), &files[..1], &["tour"]).unwrap();
        assert_eq!(one, [Some(PathBuf::from("new.folder/a"))]);
        let file = targets("--out", Some(Path::new("x.tour")), &files, &["tour"]);
        assert!(file.unwrap_err().to_string().contains("folder"));
        let twice = targets("--out", Some(Path::new("t")), &paths(&["a/x.tsp", "b/x.tsp"]), &["tour"]);
        assert!(twice.unwrap_err().to_string().contains("same file"));
    }
}

//! `regard data`.

use std::path::Path;

use regard::data::file::write_atomic;
use regard::data::graphs::Graphs;
use regard::data::graphs::formats::{read as read_graphs, recognise};
use regard::routing::formats::csv::TableOptions;
use regard::routing::generate::{GeneratedSet, Points};
use regard::routing::paper::PaperSet;
use regard::routing::{Instance, formats, registry};

use super::{Outcome, make_folder, read_instance};
use crate::args::{CheckArgs, Generate, GenerateJob, GraphArgs, ShowArgs, TableArgs, VerifyArgs};
use crate::failure::{FailedFiles, Failure};
use crate::report::data::{CheckReport, GenerateReport, InstanceSummary, SolutionCheck, VerifyReport};
use crate::report::graph_data::GraphSummary;
use crate::report::progress::Progress;
use crate::report::{Printer, data};

/// Graphs that are printed node by node, where no number is given.
const GRAPHS: usize = 2;

/// Writes random instances, one in each file.
pub(super) fn generate(job: GenerateJob, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (stem, seed, instances) = match &job.what {
        Generate::PaperSet { name, limit } => {
            (name.clone(), None, GeneratedSet::paper(&PaperSet::parse(name)?, *limit)?)
        }
        Generate::Random { problem, seed, instances, n, config } => {
            let all = GeneratedSet::random(problem, config, *seed, *instances, *n)?;
            (stem(problem, config.points, *n), Some(*seed), all)
        }
    };
    if formats::sets::ENDINGS.contains(&job.format.as_str()) {
        make_folder(&job.out)?;
        let bytes = instances.render(&job.format)?;
        write_atomic(&job.out, |out| out.write_all(&bytes))?;
        return report_generated(&job, &instances, seed, printer);
    }
    let digits = instances.len().to_string().len().max(4);
    let progress = Progress::new(printer, instances.len(), "files");
    for i in 0..instances.len() {
        let name = if job.single { own_name(&job.out) } else { format!("{stem}-{:0digits$}", i + 1) };
        let path = if job.single { job.out.clone() } else { job.out.join(format!("{name}.{}", job.format)) };
        let enlarged = job.format != formats::csv::ENDING;
        write(&path, &instances.instance(i, &name, enlarged)?, &job.format)?;
        progress.set(i + 1);
    }
    drop(progress);
    report_generated(&job, &instances, seed, printer)
}

/// The beginning of the names of random instances: where their nodes are, or the problem if it is another one than
/// the travelling salesman's, or both.
fn stem(problem: &str, points: Points, n: usize) -> String {
    match (problem == registry::DEFAULT, points == Points::Uniform) {
        (true, _) => format!("{}{n}", points.name()),
        (false, true) => format!("{problem}{n}"),
        (false, false) => format!("{problem}-{}{n}", points.name()),
    }
}

fn report_generated(
    job: &GenerateJob,
    instances: &GeneratedSet,
    seed: Option<u64>,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let result = GenerateReport::new(&job.out, instances.len(), instances.nodes(), seed);
    if printer.json() {
        printer.object(&result)?;
    } else {
        printer.result(&result.plain())?;
    }
    Ok(Outcome::Done)
}

fn own_name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn write(path: &Path, instance: &Instance, format: &str) -> anyhow::Result<()> {
    make_folder(path)?;
    let text = instance.render(format)?;
    write_atomic(path, |out| out.write_all(text.as_bytes()))?;
    Ok(())
}

/// Reads every file, and checks the solution if one is given. A malformed file is an error, which keeps no other from being
/// checked; a solution that violates a constraint is a failed check.
pub(super) fn check(args: &CheckArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    if args.solution.is_some() && args.files.len() > 1 {
        return Err(Failure::new("--solution is one solution, but there are several instances")
            .hint("check one instance at a time")
            .into());
    }
    let (mut outcome, mut malformed) = (Outcome::Done, FailedFiles::among(args.files.len()));
    for file in &args.files {
        match malformed.pass(report_of(file, args, printer), is_of_data)? {
            None => {}
            Some(FileReport::Graphs(summary)) if printer.json() => printer.object(&summary)?,
            Some(FileReport::Graphs(summary)) => printer.result(&summary.line())?,
            Some(FileReport::Instance(report)) => {
                if !report.ok() {
                    outcome = Outcome::No;
                }
                if printer.json() {
                    printer.object(&report)?;
                } else {
                    printer.result(&report.plain())?;
                }
            }
        }
    }
    malformed.end(|files| format!("{files} cannot be read"))?;
    Ok(outcome)
}

/// If true, a file could not be read or is malformed; other errors are those of the arguments.
fn is_of_data(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<regard::Error>() || cause.is::<regard::data::Error>())
}

/// The report of a file.
enum FileReport {
    Graphs(GraphSummary),
    Instance(CheckReport),
}

fn report_of(file: &Path, args: &CheckArgs, printer: &Printer) -> anyhow::Result<FileReport> {
    if let Some(graphs) = graphs_of(file, &args.graphs, &args.table, printer)? {
        if args.solution.is_some() {
            return Err(
                Failure::new(format!("--solution does not apply to {}, a file of graphs", file.display())).into()
            );
        }
        return Ok(FileReport::Graphs(GraphSummary::new(file, &graphs, 0)));
    }
    let instance = read_instance(file, &args.table.options(), printer)?;
    let found = args.solution.as_deref().map(|path| check_solution(path, &instance)).transpose()?;
    Ok(FileReport::Instance(CheckReport::new(file, &instance, found)))
}

/// Checks a solution against its instance, by code that is independent of the solver.
pub(super) fn verify(args: &VerifyArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let instance = read_instance(&args.instance, &args.table.options(), printer)?;
    let found = check_solution(&args.solution, &instance)?;
    let verified = VerifyReport::new(&args.instance, &args.solution, &instance, found);
    if printer.json() {
        printer.object(&verified)?;
    } else {
        printer.result(&verified.plain())?;
    }
    Ok(if verified.ok() { Outcome::Done } else { Outcome::No })
}

/// Reads a solution and checks it against its instance.
fn check_solution(path: &Path, instance: &Instance) -> anyhow::Result<SolutionCheck> {
    let checked = formats::solution::read(path, instance).and_then(|found| {
        instance.check(&found.solution)?;
        let routes = instance.routes(&found.solution).len();
        Ok(SolutionCheck::Feasible { value: instance.value(&found.solution), stated: found.stated_cost, routes })
    });
    match checked {
        Ok(kept) => Ok(kept),
        Err(regard::data::Error::Infeasible { reason, .. }) => Ok(SolutionCheck::Violates(reason)),
        Err(error) => Err(error.into()),
    }
}

/// The graphs of a file that seems to hold some, or is said to; `None` for other files.
fn graphs_of(file: &Path, args: &GraphArgs, table: &TableArgs, printer: &Printer) -> anyhow::Result<Option<Graphs>> {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
    let of_routes = ending != formats::csv::ENDING && formats::is_instance_file(file);
    let recognised = if of_routes { None } else { recognise(file) };
    if recognised.is_none() && args.first_given().is_none() {
        return Ok(None);
    }
    let places = TableOptions { skip_bad: false, ..table.options() };
    if let Some(option) = places.first_given() {
        return Err(Failure::new(format!(
            "{option} applies to tables of places; {} is read as graphs",
            file.display()
        ))
        .hint("leave it out")
        .into());
    }
    let options = args.options(recognised, table.skips_bad());
    let graphs = read_graphs(file, &options)?;
    if let (Some(column), true) = (&options.smiles, args.first_given() != Some("--smiles")) {
        printer.note(&format!("{}: read as molecules, with SMILES in `{column}` (--smiles)", file.display()));
    }
    graphs.notes().iter().for_each(|note| printer.note(note));
    for row in graphs.skipped() {
        printer.note(&format!("{}:{}: left out: {}", file.display(), row.line, row.reason));
    }
    Ok(Some(graphs))
}

/// Describes an instance or graphs.
pub(super) fn show(args: &ShowArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    if let Some(graphs) = graphs_of(&args.file, &args.graphs, &args.table, printer)? {
        let summary = GraphSummary::new(&args.file, &graphs, args.first.unwrap_or(GRAPHS));
        if printer.json() {
            printer.object(&summary)?;
        } else {
            printer.result(&summary.plain())?;
        }
        return Ok(Outcome::Done);
    }
    if args.first.is_some() {
        return Err(Failure::new(format!("--first applies to files of graphs; {} is none", args.file.display()))
            .hint("--smiles COLUMN or --edges FILE has a table read as graphs")
            .into());
    }
    let instance = read_instance(&args.file, &args.table.options(), printer)?;
    let shown = InstanceSummary::new(&args.file, &instance);
    if printer.json() {
        printer.object(&shown)?;
    } else {
        printer.result(&data::show(&shown))?;
    }
    Ok(Outcome::Done)
}

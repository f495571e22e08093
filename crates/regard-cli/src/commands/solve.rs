//! `regard solve`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use regard::Device;
use regard::data::cancel::CancellationToken;
use regard::routes::model::AttentionModel;
use regard::routes::solve::{Finish, Solution, SolveOptions, StageKind, solve_instance_watched};
use regard::routing::formats::{self, Instance};
use regard::routing::local_search::BestCost;

use super::{Outcome, make_folder, read_instance, train};
use crate::args::{SolveJob, SolveTask};
use crate::failure::{FailedFiles, Failure};
use crate::models::Networks;
use crate::report::json::{self, SolveResult};
use crate::report::progress::Progress;
use crate::report::{Printer, plain, plot};

/// Solves every file, in the order given, and prints each result as soon as it is there.
pub(super) fn run(job: &SolveJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    job.shard.needs_json(printer.json())?;
    if job.stage_solutions && !printer.json() {
        return Err(Failure::new("--stage-solutions needs --json: it adds the solution after each stage to the JSON")
            .hint("add --json, or leave it out")
            .into());
    }
    // All files are read before the first is solved: a typing error should not cost an hour.
    let read = |task| read(task, job.best, printer);
    let instances = job.tasks.iter().map(read).collect::<anyhow::Result<Vec<Instance>>>()?;
    let stop = CancellationToken::default();
    train::interrupt_by(stop.flag(), "the best solution so far")?;
    let mut options = SolveOptions { stop: Some(stop.clone()), ..job.options.clone() };
    if let (Some(path), Some(instance)) = (&job.warm_start, instances.first()) {
        options.warm_start = Some(warm_start(path, instance)?);
    }
    let networks = Networks::of(instances.iter().map(Instance::problem), job.model.clone(), device)?;
    let (mut places, mut unsolved) = (job.places.as_ref(), FailedFiles::among(instances.len()));
    for (number, (task, instance)) in job.tasks.iter().zip(&instances).enumerate() {
        let network = networks.get(instance.problem());
        let found = searched(network.map(|(network, _)| network), &task.file, instance, &options, printer);
        let solution = unsolved.pass(found, is_unsolved)?;
        if let Some(solution) = &solution {
            let written = write(task, instance, solution)?;
            let model = network.map(|(_, info)| info.name.as_str());
            report(printer, job, task, instance, solution, model, &written)?;
        }
        if stop.is_cancelled() {
            let left = instances.len() - 1 - number;
            let others = if left == 0 { String::new() } else { format!("; {} not solved", others_of(left)) };
            let found = if solution.is_some() { "this is the best" } else { "no" };
            printer.note(&format!("interrupted: {found} solution found until then{others}"));
            // A part without its end is not merged.
            places = None;
            break;
        }
    }
    // Nor is one in which a file has no solution.
    printer.end_of_part(places.filter(|_| unsolved.is_empty()))?;
    if !printer.json() {
        printer.note(&plain::model_lines(&networks));
    }
    unsolved.end(unsolved_files)?;
    Ok(Outcome::Done)
}

/// If true, no solution was found for a file, which says nothing about others.
pub(super) fn is_unsolved(error: &anyhow::Error) -> bool {
    let root = error.downcast_ref::<regard::Error>().map(regard::Error::root);
    matches!(root, Some(regard::Error::Data(regard::data::Error::Infeasible { .. })))
}

/// The error of files without a solution.
pub(super) fn unsolved_files(files: &str) -> String {
    format!("no solution was found for {files}")
}

/// Solves the instance of a file; a terminal shows the stage, the best cost so far and the time.
pub(crate) fn searched(
    network: Option<&AttentionModel>,
    file: &Path,
    instance: &Instance,
    options: &SolveOptions,
    printer: &Printer,
) -> anyhow::Result<Solution> {
    let limit = match options.finish {
        Finish::Timed(time) => Some(time),
        Finish::Off | Finish::Bounded => None,
    };
    // Each instance has a best cost of its own.
    let options = SolveOptions { best: BestCost::default(), ..options.clone() };
    let (best, shown) = (options.best.clone(), instance.clone());
    let cost = move || best.get().map(|best| format!("best {}", plain::cost(&shown, best)));
    let progress = Progress::of_search(printer, limit, cost);
    let name = instance.sites().name();
    let describe = |stage: StageKind| progress.describe(format!("{name}: {}", stage.name()));
    let found = solve_instance_watched(network, instance, &options, &mut |stage| describe(stage));
    Ok(found.map_err(|error| match error.root() {
        regard::Error::Data(regard::data::Error::Infeasible { .. }) => error.in_file(file),
        _ => error,
    })?)
}

/// Reads a solution that the search starts from.
pub(crate) fn warm_start(path: &Path, instance: &Instance) -> anyhow::Result<Vec<usize>> {
    let solution = formats::solution::read(path, instance)?.solution;
    instance.check(&solution).with_context(|| format!("--warm-start {}", path.display()))?;
    Ok(solution)
}

/// Reads the instance of a task.
pub(crate) fn read(task: &SolveTask, best: Option<f64>, printer: &Printer) -> anyhow::Result<Instance> {
    for target in [&task.out, &task.plot].into_iter().flatten() {
        if same_file(target, &task.file) {
            return Err(Failure::new(format!("{}: would overwrite the instance", target.display())).into());
        }
    }
    let instance = read_instance(&task.file, &task.options, printer)?;
    if let Some(path) = task.out.as_deref().filter(|_| !task.ending_open) {
        formats::solution::check_ending(path, &instance)?;
    }
    Ok(match best {
        Some(best) => instance.with_best_known(Some(best)),
        None => instance,
    })
}

fn others_of(left: usize) -> String {
    if left == 1 { "one file was".to_owned() } else { format!("{left} files were") }
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Writes what the task asks for and gives the names of the files.
fn write(task: &SolveTask, instance: &Instance, solution: &Solution) -> anyhow::Result<Vec<String>> {
    let mut written = Vec::new();
    if let Some(path) = &task.out {
        let path = if task.ending_open { with_ending(path, instance) } else { path.clone() };
        make_folder(&path)?;
        if has_ending(&path, "json") {
            json::write_solution(&path, instance, solution)?;
        } else {
            formats::solution::write(&path, instance, &solution.tour)?;
            let is_map = ["geojson", "gpx"].iter().any(|map| has_ending(&path, map));
            if !is_map {
                read_back(&path, instance, solution)?;
            }
        }
        written.push(path.display().to_string());
    }
    if let Some(path) = &task.plot {
        make_folder(path)?;
        plot::solution(path, instance, &solution.tour)?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

/// The name with the ending of the problem's solutions.
fn with_ending(path: &Path, instance: &Instance) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(instance.solution_format().ending());
    name.into()
}

/// Reads the written tour again and checks that it is the one found.
fn read_back(path: &Path, instance: &Instance, solution: &Solution) -> anyhow::Result<()> {
    let found = formats::solution::read(path, instance)?.solution;
    instance.check(&found)?;
    if instance.routes(&found) == instance.routes(&solution.tour) {
        return Ok(());
    }
    Err(Failure::new(format!("{}: the solution read back is not the one written", path.display()))
        .hint("the disk may be failing; please report this if it happens again")
        .into())
}

fn report(
    printer: &mut Printer,
    job: &SolveJob,
    task: &SolveTask,
    instance: &Instance,
    solution: &Solution,
    model: Option<&str>,
    written: &[String],
) -> std::io::Result<()> {
    if printer.json() {
        let result = SolveResult::new(&task.file, instance, solution, model, written);
        return printer.object(&if job.stage_solutions { result.with_stage_solutions() } else { result });
    }
    printer.result(&plain::heading(&task.file, instance))?;
    if !solution.stages.is_empty() {
        printer.note(plain::stages(instance, solution).trim_end_matches('\n'));
    }
    let verdict = plain::verdict(instance, solution, written);
    // What is in a file need not be read from the screen.
    let routes = match task.out {
        None => plain::routes(instance, &solution.tour, printer.width(), printer.shortens()),
        Some(_) => String::new(),
    };
    printer.result(&format!("{verdict}\n{routes}"))
}

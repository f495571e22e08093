//! `regard data`.

mod drawn;

use std::path::{Path, PathBuf};

use anyhow::Context;
use regard::data::routes::formats::{self, Instance};

use self::drawn::Drawn;
use super::Outcome;
use crate::args::{CheckArgs, Generate, GenerateJob, InstanceFormat, ProblemName, ShowArgs, VerifyArgs};
use crate::failure::Failure;
use crate::report::data::{CheckReport, GenerateReport, InstanceSummary, SolutionCheck, VerifyReport};
use crate::report::progress::Progress;
use crate::report::{Printer, data};

/// Writes random instances, one in each file.
pub(super) fn generate(job: GenerateJob, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (stem, seed, instances) = match &job.what {
        Generate::PaperSet { name, limit } => (name.clone(), None, drawn::paper_set(name, *limit)?),
        Generate::Random { problem, seed, instances, n, drawing } => {
            let all = drawn::random(*problem, drawing, *seed, *instances, *n);
            let stem = if *problem == ProblemName::Tsp { "uniform" } else { problem.name() };
            (format!("{stem}{n}"), Some(*seed), all)
        }
    };
    let digits = instances.len().to_string().len().max(4);
    let progress = Progress::new(printer, instances.len(), "files");
    for (i, instance) in instances.iter().enumerate() {
        let name = if job.single { own_name(&job.out) } else { format!("{stem}-{:0digits$}", i + 1) };
        let path =
            if job.single { job.out.clone() } else { job.out.join(format!("{name}.{}", job.format.extension())) };
        write(&path, &name, instance, job.format)?;
        progress.set(i + 1);
    }
    drop(progress);
    let result = GenerateReport::new(&job.out, instances.len(), instances.first().map_or(0, Drawn::nodes), seed);
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

fn write(path: &PathBuf, name: &str, drawn: &Drawn, format: InstanceFormat) -> anyhow::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    match (format, drawn.instance(name, format != InstanceFormat::Csv)?) {
        (InstanceFormat::Csv, Instance::Tsp(tsp)) => formats::csv::write(path, &tsp)?,
        (InstanceFormat::Csv, other) => formats::csv::write_instance(path, &other)?,
        (InstanceFormat::Tsp, Instance::Tsp(tsp)) => formats::tsplib::write(path, &tsp)?,
        (InstanceFormat::Vrp, Instance::Cvrp(cvrp)) => formats::vrplib::write(path, &cvrp)?,
        (InstanceFormat::Oplib, Instance::Orienteering(op)) => formats::oplib::write(path, &op)?,
        (format, other) => {
            let what = format!("a .{} file cannot hold an instance of `{}`", format.extension(), other.problem());
            return Err(Failure::new(what).hint("csv holds every problem").into());
        }
    }
    Ok(())
}

/// Reads every file, and checks the solution if one is given. A malformed file is an error; a solution that violates
/// a constraint is a failed check.
pub(super) fn check(args: &CheckArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    if args.solution.is_some() && args.files.len() > 1 {
        return Err(Failure::new("--solution is one solution, but there are several instances")
            .hint("check one instance at a time")
            .into());
    }
    let mut outcome = Outcome::Done;
    for file in &args.files {
        let instance = formats::read_instance(file)?;
        let found = args.solution.as_deref().map(|path| check_solution(path, &instance)).transpose()?;
        let checked = CheckReport::new(file, &instance, found);
        if !checked.ok() {
            outcome = Outcome::No;
        }
        if printer.json() {
            printer.object(&checked)?;
        } else {
            printer.result(&checked.plain())?;
        }
    }
    Ok(outcome)
}

/// Checks a solution against its instance, by code that is independent of the solver.
pub(super) fn verify(args: &VerifyArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let instance = formats::read_instance(&args.instance)?;
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

/// Describes an instance.
pub(super) fn show(args: &ShowArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let instance = formats::read_instance(&args.file)?;
    let shown = InstanceSummary::new(&args.file, &instance);
    if printer.json() {
        printer.object(&shown)?;
    } else {
        printer.result(&data::show(&shown))?;
    }
    Ok(Outcome::Done)
}

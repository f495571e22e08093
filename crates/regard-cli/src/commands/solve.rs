//! `regard solve`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use regard::Device;
use regard::data::routes::formats;
use regard::data::routes::tsp::Tsp;
use regard::routes::model::AttentionModel;
use regard::routes::solve::{Solution, solve};

use super::Outcome;
use crate::args::{SolveJob, SolveTask};
use crate::failure::Failure;
use crate::models::{self, ModelInfo};
use crate::report::json::SolveResult;
use crate::report::progress::Progress;
use crate::report::{Printer, plain, plot};

/// Solves every file, in the order given, and prints each result as soon as it is there.
pub(super) fn run(job: &SolveJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    // All files are read before the first is solved: a typing error should not cost an hour.
    let instances = job.tasks.iter().map(|task| read(task, job.best)).collect::<anyhow::Result<Vec<Tsp>>>()?;
    let (network, info) = models::load(job.model.clone(), "tsp", device)?;
    let progress = Progress::new(printer, instances.len(), "files");
    for (i, (task, instance)) in job.tasks.iter().zip(&instances).enumerate() {
        let solution = solve_one(&network, instance, job)?;
        let written = write(task, instance, &solution)?;
        progress.suspend(|| report(printer, task, instance, &solution, &info, &written))?;
        progress.set(i + 1);
    }
    drop(progress);
    if !printer.json() {
        printer.result(&plain::model_line(&info))?;
    }
    Ok(Outcome::Done)
}

fn read(task: &SolveTask, best: Option<f64>) -> anyhow::Result<Tsp> {
    for target in [&task.out, &task.plot].into_iter().flatten() {
        if same_file(target, &task.file) {
            return Err(Failure::new(format!("{}: would overwrite the instance", target.display())).into());
        }
    }
    let instance = formats::read(&task.file)?;
    Ok(match best {
        Some(best) => instance.with_best_known(Some(best)),
        None => instance,
    })
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn solve_one(network: &AttentionModel, instance: &Tsp, job: &SolveJob) -> anyhow::Result<Solution> {
    Ok(solve(network, instance, &job.options)?)
}

/// Writes what the task asks for and gives the names of the files.
fn write(task: &SolveTask, instance: &Tsp, solution: &Solution) -> anyhow::Result<Vec<String>> {
    let mut written = Vec::new();
    if let Some(path) = &task.out {
        make_folder(path)?;
        formats::tour::write(path, instance, &solution.tour)?;
        read_back(path, instance, solution)?;
        written.push(path.display().to_string());
    }
    if let Some(path) = &task.plot {
        make_folder(path)?;
        plot::tour(path, instance, &solution.tour)?;
        written.push(path.display().to_string());
    }
    Ok(written)
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

/// Reads the written tour again and checks that it is the one found.
fn read_back(path: &PathBuf, instance: &Tsp, solution: &Solution) -> anyhow::Result<()> {
    let tour = formats::tour::read(path, instance)?;
    instance.check(&tour)?;
    if tour == solution.tour {
        return Ok(());
    }
    Err(Failure::new(format!("{}: the tour read back is not the tour written", path.display()))
        .hint("the disk may be failing; please report this if it happens again")
        .into())
}

fn report(
    printer: &mut Printer,
    task: &SolveTask,
    instance: &Tsp,
    solution: &Solution,
    info: &ModelInfo,
    written: &[String],
) -> std::io::Result<()> {
    if printer.json() {
        return printer.object(&SolveResult::new(&task.file, instance, solution, &info.name, written));
    }
    let heading = plain::heading(&task.file, instance);
    let stages = plain::stages(instance, solution);
    let verdict = plain::verdict(instance, solution, written);
    printer.result(&format!("{heading}\n{stages}{verdict}"))
}

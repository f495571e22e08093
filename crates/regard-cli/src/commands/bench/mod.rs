//! `regard bench`.

mod graph_transformer;
mod paper;
mod patchtst;
mod set_transformer;
mod trained;

use std::path::{Path, PathBuf};

use anyhow::Context;
use regard::Device;
use regard::routes::solve::solve_instance;
use regard::routing::formats::csv::TableOptions;
use regard::routing::formats::{self, Instance};

pub(super) use self::paper::paper;
pub(super) use self::trained::trained;
use super::solve::{is_unsolved, unsolved_files};
use super::{Outcome, read_instance};
use crate::args::BenchLibJob;
use crate::failure::{FailedFiles, Failure};
use crate::models::Networks;
use crate::report::Printer;
use crate::report::bench::{Library, Solved};
use crate::report::progress::Progress;

/// Solves every instance of a folder and reports optimality gaps.
pub(super) fn library(job: BenchLibJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    job.shard.needs_json(printer.json())?;
    let mut instances = instances(&job, printer)?;
    let places = job.shard.places("bench lib", instances.len(), "instances")?;
    if let Some(places) = &places {
        instances = instances.drain(places.range.clone()).collect();
    }
    let problems = instances.iter().map(|(_, instance)| instance.problem());
    let networks = Networks::of(problems, job.model.clone(), device)?;
    let progress = Progress::new(printer, instances.len(), "instances");
    let (mut solved, mut unsolved) = (Vec::with_capacity(instances.len()), FailedFiles::among(instances.len()));
    for (i, (path, instance)) in instances.iter().enumerate() {
        let network = networks.get(instance.problem()).map(|(network, _)| network);
        let found = solve_instance(network, instance, &job.options).with_context(|| path.display().to_string());
        let Some(solution) = unsolved.pass(found, is_unsolved)? else { continue };
        if let Some(folder) = &job.out {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
            let file = folder.join(format!("{stem}.{}", instance.solution_format().ending()));
            formats::solution::write(&file, instance, &solution.tour)?;
        }
        solved.push(Solved::new(path, instance, &solution));
        progress.set(i + 1);
    }
    drop(progress);
    let library = Library::new(&job.folder, solved);
    if printer.json() {
        printer.object(&library)?;
        printer.end_of_part(places.as_ref().filter(|_| unsolved.is_empty()))?;
    } else {
        printer.result(&library.plain())?;
    }
    unsolved.end(unsolved_files)?;
    Ok(Outcome::Done)
}

/// The instances of the folder and of those in it, by path.
fn instances(job: &BenchLibJob, printer: &Printer) -> anyhow::Result<Vec<(PathBuf, Instance)>> {
    let mut files = Vec::new();
    collect(&job.folder, &mut files)?;
    files.sort();
    if let Some(flag) = job.table.first_given().filter(|_| !files.iter().any(|file| formats::is_table(file))) {
        let what = format!("{flag} is for tables (CSV); {} has none", job.folder.display());
        return Err(Failure::new(what).hint("leave it out").into());
    }
    let mut instances = Vec::new();
    for file in files {
        let of_file = if formats::is_table(&file) { &job.table } else { &TableOptions::default() };
        let instance = read_instance(&file, of_file, printer)?;
        if instance.sites().len() <= job.largest {
            instances.push((file, instance));
        }
        if instances.len() == job.limit {
            break;
        }
    }
    if instances.is_empty() {
        let what = format!("{}: no instance files found", job.folder.display());
        let endings = formats::listed(formats::endings());
        return Err(Failure::new(what).hint(format!("instance files end in {endings}")).into());
    }
    Ok(instances)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if formats::is_instance_file(&path) {
            files.push(path);
        }
    }
    Ok(())
}

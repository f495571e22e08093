//! `regard eval EXPERIMENT`: networks trained several times and measured on what was held out.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use regard::Device;
use regard::data::graphs::formats::tu::read_folds;
use regard::graphs::GraphExperiment;
use regard::graphs::cross_validation::{CrossValidation, HeldOut};
use regard::series::SeriesExperiment;
use regard::series::classify::{cross_validate as cross_validate_series, read_whole};
use regard::sets::SetExperiment;
use regard::sets::cross_validation::{HeldOut as HeldOutSets, cross_validate};
use regard::sets::source::read_bags;
use regard::supervised::CrossValidationMetrics;
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::args::FoldOptions;
use crate::failure::Failure;
use crate::report::Printer;
use crate::report::measures::{numbers, table};
use crate::report::progress::Progress;

/// Folds where nothing is said of them.
const FOLDS: usize = 10;

/// Refuses the options of back-tests, and given folds, which only graphs have.
fn refuse_given(folds: &FoldOptions, examples: &str) -> anyhow::Result<()> {
    folds.check_cross_validation()?;
    match folds.given {
        None => Ok(()),
        Some(_) => Err(Failure::new("--folds-from is for graphs")
            .hint(format!("--folds K cuts the {examples} of the file at random, of each class alike"))
            .into()),
    }
}

/// The data of a cross-validation, for reports.
struct About<'a> {
    data: &'a str,
    /// `sets`, `graphs` or `series`.
    examples: &'a str,
    count: usize,
    folds: usize,
}

/// Measures an experiment on sets.
pub(super) fn sets(
    experiment: &SetExperiment,
    options: &FoldOptions,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let path = Path::new(&experiment.data.path);
    if experiment.data.path.is_empty() {
        return Err(Failure::new("the experiment draws its sets and has no file to cut into folds")
            .hint("name a file: --set data.path=FILE.csv; or train it and evaluate the model")
            .into());
    }
    refuse_given(options, "sets")?;
    let bags = read_bags(path, &experiment.data, experiment.task.kind, true)?;
    let test = match (experiment.data.test.as_str(), options.folds) {
        ("", _) => None,
        (_, Some(_)) => {
            return Err(Failure::new("--folds cuts one file, but data.test names another to measure on")
                .hint("leave out one of both")
                .into());
        }
        (test, None) => Some(read_bags(Path::new(test), &experiment.data, experiment.task.kind, true)?),
    };
    let folds = if test.is_some() { 1 } else { options.folds.unwrap_or(FOLDS) };
    let held_out = test.as_ref().map_or(HeldOutSets::Folds(folds), HeldOutSets::Sets);
    let found = counted(folds * options.repeats, printer, |done| {
        cross_validate(experiment, &bags, held_out, options.repeats, device, done)
    })?;
    let data = path.display().to_string();
    let count = bags.len() + test.map_or(0, |test| test.len());
    write(&found, &About { data: &data, examples: "sets", count, folds }, printer)
}

/// Measures an experiment on graphs: by given folds, by folds that are cut, or by the data's own split.
pub(super) fn graphs(
    experiment: &GraphExperiment,
    options: &FoldOptions,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    options.check_cross_validation()?;
    let validation = CrossValidation::new(experiment)?;
    validation.warnings().iter().for_each(|warning| printer.note(warning));
    let held_out = match (&options.given, options.folds) {
        (Some(folder), _) => HeldOut::Lists(read_folds(folder, validation.graphs()).map_err(regard::Error::from)?),
        (None, Some(folds)) => HeldOut::Folds(folds),
        (None, None) if validation.has_split() => HeldOut::Split,
        (None, None) => HeldOut::Folds(FOLDS),
    };
    let folds = match &held_out {
        HeldOut::Lists(lists) => lists.len(),
        HeldOut::Folds(folds) => *folds,
        HeldOut::Split => 1,
    };
    let found =
        counted(folds * options.repeats, printer, |done| validation.run(&held_out, options.repeats, device, done))?;
    let data = if experiment.data.path.is_empty() { "graphs of the experiment" } else { &experiment.data.path };
    write(&found, &About { data, examples: "graphs", count: validation.graphs(), folds }, printer)
}

/// Measures an experiment on whole series.
pub(super) fn series(
    experiment: &SeriesExperiment,
    options: &FoldOptions,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    refuse_given(options, "series")?;
    let path = Path::new(&experiment.data.path);
    let read = read_whole(path, &experiment.data, true)?;
    let folds = options.folds.unwrap_or(FOLDS);
    let found = counted(folds * options.repeats, printer, |done| {
        cross_validate_series(experiment, &read, folds, options.repeats, device, done)
    })?;
    let data = path.display().to_string();
    write(&found, &About { data: &data, examples: "series", count: read.panel.len(), folds }, printer)
}

/// Shows how many folds are done.
fn counted<T>(
    folds: usize,
    printer: &Printer,
    run: impl FnOnce(&(dyn Fn() + Sync)) -> regard::Result<T>,
) -> regard::Result<T> {
    let progress = Progress::new(printer, folds, "folds");
    let count = AtomicUsize::new(0);
    run(&|| progress.set(count.fetch_add(1, Ordering::Relaxed) + 1))
}

fn write(found: &CrossValidationMetrics, about: &About<'_>, printer: &mut Printer) -> anyhow::Result<Outcome> {
    if printer.json() {
        printer.object(&object(found, about))?;
        return Ok(Outcome::Done);
    }
    let About { data, examples, count, folds } = about;
    let how = if *folds == 1 { "its own split".to_owned() } else { format!("{folds} folds") };
    let spread = if found.deviation.0.is_empty() { String::new() } else { format!(" (± over {})", found.spread()) };
    let head = format!("{data}: {count} {examples}, {how}, {} x{spread}", found.repeats.len());
    let constant = found.constant.map(|share| format!("most frequent class  {share:.4}\n")).unwrap_or_default();
    printer.result(&format!("{head}\n{}{constant}", table(&found.mean, Some(&found.deviation))))?;
    Ok(Outcome::Done)
}

fn object(found: &CrossValidationMetrics, about: &About<'_>) -> Map<String, Value> {
    let mut object = numbers(&found.mean);
    let all = |measures: &[regard::train::Measures]| measures.iter().map(|one| Value::Object(numbers(one))).collect();
    object.insert("std".into(), Value::Object(numbers(&found.deviation)));
    object.insert("deviation_over".into(), json!(found.spread()));
    object.insert("repeats".into(), all(&found.repeats));
    object.insert("of_folds".into(), all(&found.folds));
    object.insert("seeds".into(), json!(found.seeds));
    object.insert("folds".into(), json!(about.folds));
    object.insert(about.examples.into(), json!(about.count));
    object.insert("data".into(), json!(about.data));
    object.extend(found.constant.map(|share| ("majority".to_owned(), json!(share))));
    object
}

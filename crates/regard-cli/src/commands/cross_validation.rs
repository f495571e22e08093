//! `regard eval EXPERIMENT`: networks trained several times and measured on what was held out.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use regard::Device;
use regard::data::graphs::formats::tu::read_folds;
use regard::data::metrics::ReliabilityBin;
use regard::graphs::GraphExperiment;
use regard::graphs::cross_validation::{CrossValidation, HeldOut};
use regard::series::SeriesExperiment;
use regard::series::classify::{HeldOut as HeldOutSeries, cross_validate as cross_validate_series, read_whole};
use regard::sets::SetExperiment;
use regard::sets::cross_validation::{HeldOut as HeldOutSets, cross_validate};
use regard::sets::source::{read_bags, read_encoded};
use regard::sets::task::TaskKind;
use regard::supervised::base::Only;
use regard::supervised::{BlendMetrics, ClassReport, CrossValidationMetrics, Done, FoldObserver, numbers_as_classes};
use serde_json::{Map, Value, json};

use super::Outcome;
use super::forecast::warnings;
use super::train::interrupt;
use crate::args::FoldOptions;
use crate::failure::Failure;
use crate::report::measures::{BALANCED, columns, members, numbers, parts, table};
use crate::report::progress::Progress;
use crate::report::{Printer, number, reliability_plot};

/// Folds where nothing is said of them.
const FOLDS: usize = 10;

/// The data of a cross-validation, for reports.
struct About<'a> {
    data: &'a str,
    /// `sets`, `graphs` or `series`.
    examples: &'a str,
    count: usize,
    folds: usize,
}

/// The error with the option `--folds` where the examples do not allow so many folds.
pub(super) fn with_option(error: anyhow::Error, options: &FoldOptions) -> anyhow::Error {
    let root = match error.downcast_ref::<regard::Error>().map(regard::Error::root) {
        Some(regard::Error::Data(root)) => Some(root),
        _ => error.downcast_ref::<regard::data::Error>(),
    };
    let Some(regard::data::Error::Invalid { what, reason }) = root else { return error };
    let Some(count) = what.strip_suffix(" folds") else { return error };
    let default = if options.folds.is_some() { "" } else { ", the default" };
    Failure::new(format!("--folds {count}{default}: {reason}")).into()
}

/// Refuses scaffolds of what are no molecules.
fn refuse_scaffolds(options: &FoldOptions) -> anyhow::Result<()> {
    match options.scaffolds {
        true => Err(Failure::new("--scaffold-folds applies only to molecules").hint("leave it out").into()),
        false => Ok(()),
    }
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
        return Err(Failure::new("the experiment generates its sets and has no file to split into folds")
            .hint("give a file with --set data.path=FILE.csv, or train the experiment and evaluate the model")
            .into());
    }
    options.check_cross_validation()?;
    refuse_scaffolds(options)?;
    check_plot(options, experiment.task.kind == TaskKind::Classification, experiment.eval.blend)?;
    let bags = read_bags(path, &experiment.data, experiment.task.kind, true)?;
    bags.notes().iter().for_each(|note| printer.note(note));
    if let (TaskKind::Classification, Some(labels)) = (experiment.task.kind, bags.labels())
        && let Some(warning) = numbers_as_classes(&labels.classes().names)
    {
        printer.note(&warning);
    }
    let given = options.given.as_ref().map(|folder| read_folds(folder, bags.len())).transpose();
    let given = given.map_err(regard::Error::from)?;
    let test = match (experiment.data.test.as_str(), options.folds.or(given.as_ref().map(Vec::len))) {
        ("", _) => None,
        (_, Some(_)) => {
            return Err(Failure::new("--folds splits one file, but data.test gives a separate test file")
                .hint("give only one of them")
                .into());
        }
        (test, None) => {
            let encoded: Vec<String> = (0..bags.width()).map(|at| bags.names().name(at)).collect();
            let (data, kind) = (&experiment.data, experiment.task.kind);
            let read = read_encoded(Path::new(test), data, kind, true, Some(&encoded), bags.decimal().into())?;
            read.notes().iter().for_each(|note| printer.note(&format!("{test}: {note}")));
            Some(read)
        }
    };
    let folds = match (&test, &given) {
        (Some(_), _) => 1,
        (None, Some(lists)) => lists.len(),
        (None, None) => options.folds.unwrap_or(FOLDS),
    };
    let held_out = match (&test, &given) {
        (Some(test), _) => HeldOutSets::Sets(test),
        (None, Some(lists)) => HeldOutSets::Lists(lists),
        (None, None) => HeldOutSets::Folds(folds),
    };
    let found = counted(folds * options.repeats(), printer, |done| {
        cross_validate(experiment, &bags, held_out, options.cross_validation(), device, done)
    })?;
    let data = path.display().to_string();
    let count = bags.len() + test.map_or(0, |test| test.len());
    let outcome = write(&found, &About { data: &data, examples: "sets", count, folds }, printer)?;
    draw(&found, options, printer)?;
    Ok(outcome)
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
    check_plot(options, validation.has_one_task_of_classes(), experiment.eval.blend)?;
    let held_out = match (&options.given, options.folds) {
        (Some(folder), _) => HeldOut::Lists(read_folds(folder, validation.graphs()).map_err(regard::Error::from)?),
        (None, folds) if options.scaffolds => HeldOut::Scaffolds(folds.unwrap_or(FOLDS)),
        (None, Some(folds)) => HeldOut::Folds(folds),
        (None, None) if validation.has_split() => HeldOut::Split,
        (None, None) => HeldOut::Folds(FOLDS),
    };
    validation.warnings(&held_out).iter().for_each(|warning| printer.note(warning));
    let folds = match &held_out {
        HeldOut::Lists(lists) => lists.len(),
        HeldOut::Folds(folds) | HeldOut::Scaffolds(folds) => *folds,
        HeldOut::Split => 1,
    };
    let found = counted(folds * options.repeats(), printer, |done| {
        validation.run(&held_out, options.cross_validation(), device, done)
    })?;
    let data = if experiment.data.path.is_empty() { "generated graphs" } else { &experiment.data.path };
    let outcome = write(&found, &About { data, examples: "graphs", count: validation.graphs(), folds }, printer)?;
    draw(&found, options, printer)?;
    Ok(outcome)
}

/// Measures an experiment on whole series.
pub(super) fn series(
    experiment: &SeriesExperiment,
    options: &FoldOptions,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    options.check_cross_validation()?;
    options.refuse_parts()?;
    refuse_scaffolds(options)?;
    let path = Path::new(&experiment.data.path);
    let read = read_whole(path, &experiment.data, true, None)?;
    warnings(&read.report, printer);
    let given = options.given.as_ref().map(|folder| read_folds(folder, read.panel.len())).transpose();
    let given = given.map_err(regard::Error::from)?;
    let folds = given.as_ref().map_or(options.folds.unwrap_or(FOLDS), Vec::len);
    let held_out = given.as_ref().map_or(HeldOutSeries::Folds(folds), |lists| HeldOutSeries::Lists(lists));
    let found = counted(folds * options.repeats(), printer, |done| {
        cross_validate_series(experiment, &read, held_out, options.repeats(), device, done)
    })?;
    let data = path.display().to_string();
    write(&found, &About { data: &data, examples: "series", count: read.panel.len(), folds }, printer)
}

/// The progress of a cross-validation: the folds that are done, and the step of the network that reported last.
struct FoldProgress {
    progress: Progress,
    folds: AtomicUsize,
    interrupted: Arc<AtomicBool>,
}

/// Steps from one report to the next.
const REPORTED_STEPS: u64 = 5;

impl FoldObserver for FoldProgress {
    fn step(&self, step: u64, of: u64) {
        if step.is_multiple_of(REPORTED_STEPS) {
            let (step, of) = (number::count(step as usize), number::count(of as usize));
            self.progress.describe(format!("folds  training, step {step} of {of}"));
        }
    }

    fn done(&self) -> bool {
        self.progress.set(self.folds.fetch_add(1, Ordering::Relaxed) + 1);
        !self.interrupted.load(Ordering::Relaxed)
    }
}

/// Shows how many folds are done, and ends after those that have begun when it is interrupted.
fn counted<T>(folds: usize, printer: &Printer, run: impl FnOnce(Done<'_>) -> regard::Result<T>) -> anyhow::Result<T> {
    let progress = Progress::of_long(printer, folds, "folds");
    let interrupted = interrupt("the folds that have begun")?;
    Ok(run(&FoldProgress { progress, folds: AtomicUsize::new(0), interrupted })?)
}

fn write(found: &CrossValidationMetrics, about: &About<'_>, printer: &mut Printer) -> anyhow::Result<Outcome> {
    if found.left_out > 0 {
        let all = found.left_out + found.folds.len();
        printer.note(&format!("stopped: the metrics are those of {} of {all} folds", found.folds.len()));
    }
    if printer.json() {
        printer.object(&object(found, about))?;
        return Ok(Outcome::Done);
    }
    let About { data, examples, count, folds } = about;
    let how = if *folds == 1 { "split of the data".to_owned() } else { format!("{folds} folds") };
    let spread = if found.deviation.0.is_empty() { String::new() } else { format!(" (± over {})", found.spread()) };
    let head = format!("{data}: {count} {examples}, {how}, repeats: {}", found.repeats.len());
    let constant = found.constant.map(|share| format!("most frequent class  {share:.4}\n")).unwrap_or_default();
    let Some(blend) = &found.blend else {
        printer.result(&format!("{head}{spread}\n{}{constant}", table(&found.mean, Some(&found.deviation))))?;
        return Ok(Outcome::Done);
    };
    let confusion = blend.classes.as_ref().map(confusion).unwrap_or_default();
    printer
        .result(&format!("{head}\n{}{constant}{confusion}", parts(&found.mean, &blend.intervals, &blend.members)))?;
    about_blend(blend, printer);
    Ok(Outcome::Done)
}

/// Refuses a reliability diagram that there will not be, before anything is trained.
fn check_plot(options: &FoldOptions, has_classes: bool, blends: bool) -> anyhow::Result<()> {
    if options.plot.is_none() {
        return Ok(());
    }
    let failure = match options.only {
        _ if !has_classes => {
            Failure::new("--plot: only one task of classes has a reliability diagram").hint("leave --plot out")
        }
        Some(Only::Network) => Failure::new("--plot: a network alone has no reliability diagram")
            .hint("leave --only network out, or --plot"),
        None if !blends => {
            Failure::new("--plot: a network alone has no reliability diagram, and `eval.blend` is false")
                .hint("`--set eval.blend=true` adds the base learners; or leave --plot out")
        }
        _ => return Ok(()),
    };
    Err(failure.into())
}

/// Draws the reliability diagram, where the options ask for it.
fn draw(found: &CrossValidationMetrics, options: &FoldOptions, printer: &Printer) -> anyhow::Result<()> {
    let Some(file) = &options.plot else { return Ok(()) };
    let classes = found.blend.as_ref().and_then(|blend| blend.classes.as_ref());
    let Some(classes) = classes else {
        // Graphs with too many nodes have none, which is known only now.
        return Err(Failure::new(
            "--plot: there are no base learners for these data, and a network alone has no diagram",
        )
        .hint("leave --plot out")
        .into());
    };
    let error = found.mean.get("calibration_error").unwrap_or_default();
    reliability_plot::draw(file, &classes.reliability, error)?;
    printer.note(&format!("wrote {}", file.display()));
    Ok(())
}

/// The most classes whose confusion matrix is printed.
const MOST_PRINTED: usize = 12;

/// The confusion matrix, a row for each true class.
fn confusion(classes: &ClassReport) -> String {
    let count = classes.names.len();
    if count > MOST_PRINTED || classes.confusion.len() != count * count {
        return String::new();
    }
    let mut rows = vec![std::iter::once("true \\ predicted".to_owned()).chain(classes.names.iter().cloned()).collect()];
    for (name, counts) in classes.names.iter().zip(classes.confusion.chunks(count)) {
        rows.push(std::iter::once(name.clone()).chain(counts.iter().map(usize::to_string)).collect::<Vec<_>>());
    }
    format!("\n{}", columns(&rows))
}

/// Prints the weights of the blend and of its base learners.
fn about_blend(blend: &BlendMetrics, printer: &mut Printer) {
    let [network, base] = blend.weights;
    if blend.members.len() == 2 {
        let percent = |weight: f64| format!("{:.0} %", 100.0 * weight);
        let [of_network, of_base] = blend.seconds;
        printer.note(&format!(
            "the blend takes {} of the network ({of_network:.0} s) and {} of the base learners ({of_base:.0} s)",
            percent(network),
            percent(base),
        ));
    }
    let used: Vec<String> = blend
        .base
        .iter()
        .filter(|(_, weight)| *weight >= 0.005)
        .map(|(name, weight)| format!("{name} {:.0} %", 100.0 * weight))
        .collect();
    if !used.is_empty() {
        printer.note(&format!("base learners: {}", used.join(", ")));
    }
    for (name, reason) in &blend.left_out {
        printer.note(&format!("left out: {name}: {reason}"));
    }
    if let Some((folds, reason)) = &blend.not_fitted {
        printer.note(&format!("in {folds} folds the better part has all weight: {reason}"));
    }
    if blend.balanced_decisions {
        printer.note(BALANCED);
    }
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
    if found.left_out > 0 {
        object.insert("folds_left_out".into(), json!(found.left_out));
    }
    object.insert(about.examples.into(), json!(about.count));
    object.insert("data".into(), json!(about.data));
    object.extend(found.constant.map(|share| ("majority".to_owned(), json!(share))));
    if let Some(blend) = &found.blend {
        object.insert("members".into(), members(&blend.members));
        object.insert("weights".into(), json!({ "network": blend.weights[0], "base": blend.weights[1] }));
        let base = |(name, weight): &(String, f64)| json!({ "name": name, "weight": weight });
        object.insert("base_learners".into(), blend.base.iter().map(base).collect());
        let left_out = |(name, reason): &(String, String)| json!({ "name": name, "reason": reason });
        object.insert("left_out".into(), blend.left_out.iter().map(left_out).collect());
        let intervals = blend.intervals.iter().map(|(name, ends)| ((*name).to_owned(), json!(ends)));
        object.insert("intervals".into(), Value::Object(intervals.collect()));
        if let Some(ClassReport { names, confusion, reliability }) = &blend.classes {
            let rows: Vec<&[usize]> = confusion.chunks(confusion.len().isqrt().max(1)).collect();
            object.insert("classes".into(), json!(names));
            object.insert("confusion".into(), json!(rows));
            let bin = |bin: &ReliabilityBin| json!({ "confidence": bin.confidence, "accuracy": bin.accuracy, "rows": bin.rows });
            object.insert("reliability".into(), reliability.iter().map(bin).collect());
        }
        object.insert("seconds".into(), json!({ "network": blend.seconds[0], "base": blend.seconds[1] }));
    }
    object
}

//! `regard eval` and `regard predict` for models on sets.

mod predict;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use regard::Device;
use regard::sets::SetExperiment;
use regard::sets::cross_validation::{CrossValidated, cross_validate as validate};
use regard::sets::experiment::SetData;
use regard::sets::predict::SetModel;
use regard::sets::source::read_bags;
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::failure::Failure;
use crate::report::Printer;
use crate::report::measures::{self, numbers, table};
use crate::report::progress::Progress;
pub(super) use predict::predict;

/// Measures a model, on a file or on the sets of its experiment.
pub(super) fn measure(
    folder: &Path,
    file: Option<&Path>,
    limit: Option<usize>,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let model = SetModel::open(folder, device)?;
    let (checked, on) = match file {
        Some(file) => (model.measure(&model.read(file, &columns(&model, None), true)?)?, file.display().to_string()),
        None => (model.measure_generated(limit)?, "sets of its experiment".to_owned()),
    };
    measures::write(folder, &on, &checked.measures, printer)?;
    Ok(Outcome::Done)
}

/// Measures an experiment by cross-validation.
pub(super) fn cross_validate(
    experiment: &SetExperiment,
    (folds, repeats): (usize, usize),
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let path = Path::new(&experiment.data.path);
    if experiment.data.path.is_empty() {
        return Err(Failure::new("the experiment draws its sets and has no file to cut into folds")
            .hint("name a file: --set data.path=FILE.csv; or train it and evaluate the model")
            .into());
    }
    let bags = read_bags(path, &experiment.data, experiment.task.kind, true)?;
    let progress = Progress::new(printer, folds * repeats, "folds");
    let count = AtomicUsize::new(0);
    let done = || progress.set(count.fetch_add(1, Ordering::Relaxed) + 1);
    let found = validate(experiment, &bags, (folds, repeats), device, &done)?;
    drop(progress);
    if printer.json() {
        printer.object(&validated(&found, path, bags.len(), folds))?;
    } else {
        let head = format!("{}: {} sets, {folds} folds, {repeats} x", path.display(), bags.len());
        let constant = found.constant.map(|share| format!("most frequent class  {share:.4}\n")).unwrap_or_default();
        printer.result(&format!("{head}\n{}{constant}", table(&found.mean, Some(&found.deviation))))?;
    }
    Ok(Outcome::Done)
}

fn validated(found: &CrossValidated, path: &Path, sets: usize, folds: usize) -> Map<String, Value> {
    let mut object = numbers(&found.mean);
    object.insert("deviation".into(), Value::Object(numbers(&found.deviation)));
    object.insert("repeats".into(), found.repeats.iter().map(|repeat| Value::Object(numbers(repeat))).collect());
    object.insert("seeds".into(), json!(found.seeds));
    object.insert("folds".into(), json!(folds));
    object.insert("sets".into(), json!(sets));
    object.insert("data".into(), json!(path.display().to_string()));
    object.extend(found.constant.map(|share| ("majority".to_owned(), json!(share))));
    object
}

/// The columns of a file for a model: those of its training.
fn columns(model: &SetModel, group_by: Option<String>) -> SetData {
    let mut data = model.experiment.as_ref().map(|experiment| experiment.data.clone()).unwrap_or_default();
    data.group_by = group_by.unwrap_or(data.group_by);
    data.features.clone_from(&model.config.data.features);
    data
}

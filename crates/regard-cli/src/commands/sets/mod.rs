//! `regard eval` and `regard predict` for models on sets.

mod predict;

use std::path::Path;

use regard::Device;
use regard::experiment::DecimalMark;
use regard::sets::experiment::SetData;
use regard::sets::predict::{SetModel, SetTestPredictions};

use super::parts::over_parts;
use super::{Outcome, open_model};
use crate::args::EvalJob;
use crate::failure::Failure;
use crate::report::{Printer, measures};
pub(super) use predict::predict;
#[cfg(feature = "serve")]
pub(crate) use predict::{SetAnswer, forward_pass, read};

/// Evaluates a model on a file, or on the sets that its experiment holds out or generates.
pub(super) fn evaluate(job: &EvalJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    job.refuse_routes("sets")?;
    job.refuse_skip_bad("sets")?;
    job.columns.only(&["--group-by", "--target"], "sets")?;
    if job.columns.target.len() > 1 {
        return Err(Failure::new("--target names several columns; a model on sets has one").hint("name one").into());
    }
    let folder = job.model.as_deref().unwrap_or(Path::new("."));
    let model: SetModel = open_model(folder, device, printer)?.with_only(job.only)?;
    let (found, on) = match job.file() {
        Some(file) => {
            job.refuse_limit()?;
            let mut data = columns(&model, job.columns.group_by.clone());
            data.decimal = job.table.decimal.map_or(data.decimal, Into::into);
            if let [target] = job.columns.target.as_slice() {
                let column = if model.config.task.of_items() { &mut data.item_target } else { &mut data.target };
                column.clone_from(target);
            }
            let tested = |printer: &Printer| -> anyhow::Result<SetTestPredictions> {
                let bags = model.read(file, &data, true)?;
                bags.notes().iter().for_each(|note| printer.note(note));
                Ok(model.test_predictions(&bags)?)
            };
            let found = over_parts(file, data.division(), printer, &tested, SetTestPredictions::append)?;
            let found = found.map(|found| model.metrics(found)).transpose()?;
            (found.unwrap_or_default(), file.display().to_string())
        }
        None => {
            let data = model.experiment.as_ref().map(|experiment| &experiment.data);
            job.check_paths(folder, &data.map_or(["", ""], |data| [data.path.as_str(), data.test.as_str()]))?;
            (model.measure_held_out(job.limit)?, "the held-out sets of its experiment".to_owned())
        }
    };
    measures::write(folder, &on, &found, printer)?;
    Ok(Outcome::Done)
}

/// The columns of a file for a model: those of its training.
pub(crate) fn columns(model: &SetModel, group_by: Option<String>) -> SetData {
    let mut data = model.experiment.as_ref().map(|experiment| experiment.data.clone()).unwrap_or_default();
    data.group_by = group_by.unwrap_or(data.group_by);
    data.features.clone_from(&model.config.data.features);
    // The decimal mark of training is that of numbers that do not tell theirs.
    data.decimal = DecimalMark::Auto;
    data
}

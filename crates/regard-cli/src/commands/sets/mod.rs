//! `regard eval` and `regard predict` for models on sets.

mod predict;

use std::path::Path;

use regard::Device;
use regard::sets::experiment::SetData;
use regard::sets::predict::SetModel;

use super::Outcome;
use crate::report::{Printer, measures};
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

/// The columns of a file for a model: those of its training.
fn columns(model: &SetModel, group_by: Option<String>) -> SetData {
    let mut data = model.experiment.as_ref().map(|experiment| experiment.data.clone()).unwrap_or_default();
    data.group_by = group_by.unwrap_or(data.group_by);
    data.features.clone_from(&model.config.data.features);
    data
}

//! `regard eval` for models on time series.

use std::path::Path;

use regard::Device;
use regard::series::evaluate::SeriesEvaluation;
use regard::series::measure::Errs;
use regard::series::predict::SeriesModel;
use serde::Serialize;

use super::Outcome;
use crate::failure::Failure;
use crate::report::{Align, Printer, Table};

/// The result for programs.
#[derive(Serialize)]
struct Measured<'a> {
    model: String,
    data: String,
    horizon: usize,
    look_back: usize,
    #[serde(flatten)]
    found: &'a SeriesEvaluation,
}

/// Measures a model on the test part of its experiment's data, or of another file with the same series.
pub(super) fn measure(
    folder: &Path,
    file: Option<&Path>,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let model = SeriesModel::open(folder, device)?;
    let Some(mut experiment) = model.experiment.clone() else {
        return Err(Failure::new(format!("{}: does not say what it was trained on", folder.display()))
            .hint("train it with `regard train`")
            .into());
    };
    if let Some(file) = file {
        experiment.data.path = file.display().to_string();
    }
    let found = model.measure(&experiment)?;
    if printer.json() {
        let (look_back, horizon) = (model.config.look_back, model.config.horizon);
        let (model, data) = (folder.display().to_string(), experiment.data.path.clone());
        printer.object(&Measured { model, data, horizon, look_back, found: &found })?;
    } else {
        printer.result(&text(folder, &experiment.data.path, &model, &found))?;
    }
    Ok(Outcome::Done)
}

fn text(folder: &Path, data: &str, model: &SeriesModel, found: &SeriesEvaluation) -> String {
    let mut rows = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right]);
    rows.row(["", "MSE", "MAE", "MASE", "sMAPE %", "MAE in own units"].map(str::to_owned));
    let own = |errs: &Errs| vec![errs.mse, errs.mae, errs.mase, errs.smape, errs.mae_own];
    let mut row = |name: &str, numbers: Vec<f64>| {
        let cells = numbers.iter().map(|&number| cell(number));
        rows.row(std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>());
    };
    row("model", own(&found.errs));
    row("naive", own(&found.naive));
    row(&format!("seasonal naive ({})", found.season), own(&found.seasonal_naive));
    row("mean of the look-back", own(&found.mean));
    let mut text = format!(
        "{} on {data}: {} windows of {} values, {} ahead\n{}",
        folder.display(),
        found.windows,
        model.config.look_back,
        model.config.horizon,
        rows.render(0, 2)
    );
    if found.paper_dropped > 0 {
        text += &format!(
            "\nas published, without the last {} windows: MSE {} MAE {}",
            found.paper_dropped,
            cell(found.paper_mse),
            cell(found.paper_mae)
        );
    }
    text
}

fn cell(number: f64) -> String {
    if number.abs() >= 100.0 { format!("{number:.1}") } else { format!("{number:.4}") }
}

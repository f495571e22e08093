//! `regard bench paper --table patchtst`: the forecasts of Nie et al. 2023 on the two files of hourly
//! transformer temperatures, trained and measured, and those of the benchmark TFB. `--data DIR` names the
//! folder of ETTh1.csv and ETTh2.csv.

use std::path::Path;

use regard::Device;
use regard::series::SeriesExperiment;
use regard::series::evaluate::SeriesEvaluation;
use regard::train::{Measure, Measures};

use super::trained::{Planned, RowResult, Run, row};

const HONEST: &[&str] = &["mse", "mae", "naive_mse", "seasonal_naive_mse"];
const MEASURES: &[&str] = &["mse", "mae", "mse_paper", "naive_mse", "seasonal_naive_mse"];

/// For the authors' settings: what their code gives when no window is left out of the test (logs kept by
/// the authors of FITS, Xu et al. 2024), and what their paper has, where windows are. For TFB: its table.
pub(super) const ROWS: [Planned; 24] = [
    row(
        "ETTh1 96: official",
        "series/etth1",
        &["task.horizon=96"],
        MEASURES,
        &[Some(0.385), Some(0.4059), Some(0.375)],
    ),
    row(
        "ETTh1 192: official",
        "series/etth1",
        &["task.horizon=192"],
        MEASURES,
        &[Some(0.4137), Some(0.4211), Some(0.414)],
    ),
    row(
        "ETTh1 336: official",
        "series/etth1",
        &["task.horizon=336"],
        MEASURES,
        &[Some(0.4407), Some(0.4404), Some(0.431)],
    ),
    row(
        "ETTh1 720: official",
        "series/etth1",
        &["task.horizon=720"],
        MEASURES,
        &[Some(0.4561), Some(0.4709), Some(0.449)],
    ),
    row(
        "ETTh2 96: official",
        "series/etth2",
        &["task.horizon=96"],
        MEASURES,
        &[Some(0.2748), Some(0.3373), Some(0.274)],
    ),
    row(
        "ETTh2 192: official",
        "series/etth2",
        &["task.horizon=192"],
        MEASURES,
        &[Some(0.3386), Some(0.379), Some(0.339)],
    ),
    row(
        "ETTh2 336: official",
        "series/etth2",
        &["task.horizon=336"],
        MEASURES,
        &[Some(0.3677), Some(0.3997), Some(0.331)],
    ),
    row(
        "ETTh2 720: official",
        "series/etth2",
        &["task.horizon=720"],
        MEASURES,
        &[Some(0.3915), Some(0.4292), Some(0.379)],
    ),
    row(
        "ETTh1 96: TFB",
        "series/etth1-tfb",
        &["task.horizon=96", "model.look_back=96", "model.layers=1", "model.width=512", "model.feedforward_width=2048"],
        HONEST,
        &[Some(0.377), Some(0.397)],
    ),
    row("ETTh1 192: TFB", "series/etth1-tfb", &["task.horizon=192"], HONEST, &[Some(0.409), Some(0.425)]),
    row(
        "ETTh1 336: TFB",
        "series/etth1-tfb",
        &["task.horizon=336", "train.batch_size=64"],
        HONEST,
        &[Some(0.431), Some(0.444)],
    ),
    row(
        "ETTh1 720: TFB",
        "series/etth1-tfb",
        &["task.horizon=720", "train.batch_size=64"],
        HONEST,
        &[Some(0.457), Some(0.477)],
    ),
    row("ETTh2 96: TFB", "series/etth2-tfb", &["task.horizon=96"], HONEST, &[Some(0.274), Some(0.337)]),
    row("ETTh2 192: TFB", "series/etth2-tfb", &["task.horizon=192"], HONEST, &[Some(0.348), Some(0.384)]),
    row("ETTh2 336: TFB", "series/etth2-tfb", &["task.horizon=336"], HONEST, &[Some(0.377), Some(0.416)]),
    row(
        "ETTh2 720: TFB",
        "series/etth2-tfb",
        &["task.horizon=720", "model.look_back=336"],
        HONEST,
        &[Some(0.406), Some(0.441)],
    ),
    row("ETTh1 96: regard-series", "series/etth1-ours", &["task.horizon=96"], HONEST, &[None, None]),
    row("ETTh1 192: regard-series", "series/etth1-ours", &["task.horizon=192"], HONEST, &[None, None]),
    row("ETTh1 336: regard-series", "series/etth1-ours", &["task.horizon=336"], HONEST, &[None, None]),
    row("ETTh1 720: regard-series", "series/etth1-ours", &["task.horizon=720"], HONEST, &[None, None]),
    row("ETTh2 96: regard-series", "series/etth2-ours", &["task.horizon=96"], HONEST, &[None, None]),
    row("ETTh2 192: regard-series", "series/etth2-ours", &["task.horizon=192"], HONEST, &[None, None]),
    row("ETTh2 336: regard-series", "series/etth2-ours", &["task.horizon=336"], HONEST, &[None, None]),
    row("ETTh2 720: regard-series", "series/etth2-ours", &["task.horizon=720"], HONEST, &[None, None]),
];

/// Trains and measures a row on the test part of its data.
pub(super) fn measure(row: &Planned, run: Run<'_>, device: &Device) -> anyhow::Result<RowResult> {
    let mut experiment = SeriesExperiment::load(row.experiment, &run.sets)?;
    if let Some(data) = run.data.as_ref().filter(|_| Path::new(&experiment.data.path).is_relative()) {
        experiment.data.path = data.join(&experiment.data.path).display().to_string();
    }
    let (model, trained) = run.train(experiment, device)?;
    Ok(RowResult { measures: measures(&model.measure_test()?), trained })
}

fn measures(found: &SeriesEvaluation) -> Measures {
    let all = [
        ("mse", found.errs.mse),
        ("mae", found.errs.mae),
        ("mse_paper", found.mse_paper),
        ("naive_mse", found.naive.mse),
        ("seasonal_naive_mse", found.seasonal_naive.mse),
    ];
    Measures(all.map(|(name, value)| Measure::Last(name, value)).to_vec())
}

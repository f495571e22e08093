//! `regard bench paper --table set-transformer`: the experiments of Lee et al. 2019 that can be drawn
//! anew, trained and measured, with the paper's numbers beside ours.

use regard::Device;
use regard::sets::SetExperiment;
use regard::sets::predict::SetModel;
use regard::sets::train::{Training, train};

use super::trained::{Planned, Run, Told, row};

const MAE: &[&str] = &["mae", "rmse"];
const LIKELIHOOD: &[&str] = &["ll0", "ll1"];

/// §5.1, table 1 (max regression), and §5.3, table 3 (amortised clustering).
pub(super) const ROWS: [Planned; 11] = [
    row(
        "max: rFF + mean",
        "sets/max",
        &["model.preset=deep-sets-2017", "model.pooling=mean", "model.decoder=1"],
        MAE,
        &[Some(2.133), None],
    ),
    row(
        "max: rFF + sum",
        "sets/max",
        &["model.preset=deep-sets-2017", "model.pooling=sum", "model.decoder=1"],
        MAE,
        &[Some(1.902), None],
    ),
    row(
        "max: rFF + max",
        "sets/max",
        &["model.preset=deep-sets-2017", "model.pooling=max", "model.decoder=1"],
        MAE,
        &[Some(0.1355), None],
    ),
    row("max: SAB + PMA", "sets/max", &[], MAE, &[Some(0.2085), None]),
    row(
        "clustering: rFF + mean",
        "sets/clustering-2019",
        &["model.preset=deep-sets-2017"],
        LIKELIHOOD,
        &[Some(-2.0006), Some(-1.6186)],
    ),
    row(
        "clustering: rFF + PMA",
        "sets/clustering-2019",
        &["model.encoder=rows", "model.layers=4"],
        LIKELIHOOD,
        &[Some(-1.6680), Some(-1.5409)],
    ),
    row(
        "clustering: ISAB16 + mean",
        "sets/clustering-2019",
        &["model.inducing=16", "model.pooling=mean", "model.decoder=3"],
        LIKELIHOOD,
        &[Some(-1.6955), Some(-1.4742)],
    ),
    row(
        "clustering: ISAB16 + PMA",
        "sets/clustering-2019",
        &["model.inducing=16"],
        LIKELIHOOD,
        &[Some(-1.5009), Some(-1.4530)],
    ),
    row("clustering: ISAB32 + PMA", "sets/clustering-2019", &[], LIKELIHOOD, &[Some(-1.4963), Some(-1.4524)]),
    row(
        "clustering: paper's text",
        "sets/clustering-2019",
        &["model.preset=set-transformer-paper"],
        LIKELIHOOD,
        &[None, None],
    ),
    row("clustering: regard-set", "sets/clustering", &[], LIKELIHOOD, &[None, None]),
];

/// Trains and measures a row.
pub(super) fn measure(row: &Planned, run: Run<'_>, device: &Device) -> anyhow::Result<Told> {
    let experiment = SetExperiment::load(row.experiment, &run.sets)?;
    let steps = experiment.steps();
    let Run { folder, limits, command, resume, .. } = run.clone();
    let trained = train(
        &Training { experiment, out: folder.clone(), resume, limits, command },
        device,
        &mut run.observer(steps),
    )?;
    let measures = SetModel::open(&folder, device)?.measure_generated(None)?.measures;
    Ok(Told { measures, trained })
}

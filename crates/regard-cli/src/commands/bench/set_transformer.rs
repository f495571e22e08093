//! `regard bench paper --table set-transformer`: the experiments of Lee et al. 2019 that can be drawn
//! anew, trained and measured, with the paper's numbers beside ours.

use regard::Device;
use regard::sets::SetExperiment;
use regard::sets::experiment::SourceKind;
use regard::sets::predict::SetModel;
use regard::sets::task::TaskKind;
use regard::train::{Measure, Measures};

use super::trained::{Planned, RowResult, Run, row};

const MAE: &[&str] = &["mae", "rmse"];
/// Of the paper's sets, to which its numbers belong, and of those of the authors' code.
const LIKELIHOOD: &[&str] = &["ll0", "ll1", "oracle", "code_ll0", "code_ll1", "code_oracle"];
/// Mean log-likelihood under the paper's own mixtures.
const ORACLE: Option<f64> = Some(-1.4726);

/// §5.1, table 1 (max regression), and §5.3, table 3 (amortised clustering).
pub(super) const ROWS: [Planned; 11] = [
    row(
        "max: rFF + mean",
        "sets/max",
        &["model.preset=deep-sets-2017", "model.pooling=mean", "model.decoder_layers=1"],
        MAE,
        &[Some(2.133), None],
    ),
    row(
        "max: rFF + sum",
        "sets/max",
        &["model.preset=deep-sets-2017", "model.pooling=sum", "model.decoder_layers=1"],
        MAE,
        &[Some(1.902), None],
    ),
    row(
        "max: rFF + max",
        "sets/max",
        &["model.preset=deep-sets-2017", "model.pooling=max", "model.decoder_layers=1"],
        MAE,
        &[Some(0.1355), None],
    ),
    row("max: SAB + PMA", "sets/max", &[], MAE, &[Some(0.2085), None]),
    row(
        "clustering: rFF + mean",
        "sets/clustering-2019",
        &["model.preset=deep-sets-2017"],
        LIKELIHOOD,
        &[Some(-2.0006), Some(-1.6186), ORACLE],
    ),
    row(
        "clustering: rFF + PMA",
        "sets/clustering-2019",
        &["model.encoder=rows", "model.layers=4"],
        LIKELIHOOD,
        &[Some(-1.6680), Some(-1.5409), ORACLE],
    ),
    row(
        "clustering: ISAB16 + mean",
        "sets/clustering-2019",
        &["model.inducing_points=16", "model.pooling=mean", "model.decoder_layers=3"],
        LIKELIHOOD,
        &[Some(-1.6955), Some(-1.4742), ORACLE],
    ),
    row(
        "clustering: ISAB16 + PMA",
        "sets/clustering-2019",
        &["model.inducing_points=16"],
        LIKELIHOOD,
        &[Some(-1.5009), Some(-1.4530), ORACLE],
    ),
    row("clustering: ISAB32 + PMA", "sets/clustering-2019", &[], LIKELIHOOD, &[Some(-1.4963), Some(-1.4524), ORACLE]),
    row("clustering: paper's text", "sets/clustering-2019", &["model.preset=set-transformer-paper"], LIKELIHOOD, &[]),
    row("clustering: regard-set", "sets/clustering", &[], LIKELIHOOD, &[]),
];

/// Trains and measures a row.
pub(super) fn measure(row: &Planned, run: Run<'_>, device: &Device) -> anyhow::Result<RowResult> {
    let experiment = SetExperiment::load(row.experiment, &run.sets)?;
    let (model, trained) = run.train(experiment, device)?;
    let measures = match model.config.task {
        TaskKind::Clustering => likelihoods(&model)?,
        _ => model.measure_held_out(None)?.measures,
    };
    Ok(RowResult { measures, trained })
}

/// The authors' code draws larger sets than their paper describes, in which one step of EM gains less.
fn likelihoods(model: &SetModel) -> regard::Result<Measures> {
    let paper = model.measure_on(SourceKind::Mixtures)?.measures;
    let code = model.measure_on(SourceKind::MixturesRepository)?.measures;
    let of_code = LIKELIHOOD[3..].iter().zip(&LIKELIHOOD[..3]);
    let of_code = of_code.filter_map(|(&name, of_paper)| Some(Measure::Last(name, code.get(of_paper)?)));
    Ok(Measures(paper.0.into_iter().chain(of_code).collect()))
}

//! `regard bench paper --table graph-transformer`: the experiments of Dwivedi & Bresson 2021, trained and
//! measured, with the paper's numbers beside ours. CLUSTER and PATTERN are drawn by their recipes; for
//! ZINC name its table by `--set data.path=FILE`.

use regard::Device;
use regard::graphs::GraphExperiment;

use super::trained::{Planned, RowResult, Run, row};

const MAE: &[&str] = &["mae_paper", "mae"];
const SHARE: &[&str] = &["accuracy_paper", "balanced_accuracy"];
const BARE: &[&str] = &["model.positions=none"];
const LAYER_NORM: &[&str] = &["model.positions=none", "model.batch_norm=false", "model.layer_norm=true"];

/// Table 1 of the paper: graphs with their own edges, and ZINC with an edge between every pair of atoms too.
pub(super) const ROWS: [Planned; 12] = [
    row("ZINC: LN", "graphs/zinc-2021", LAYER_NORM, MAE, &[Some(0.278), None]),
    row("ZINC: BN", "graphs/zinc-2021", BARE, MAE, &[Some(0.264), None]),
    row("ZINC: BN + Lap", "graphs/zinc-2021", &[], MAE, &[Some(0.226), None]),
    row(
        "ZINC: BN + WL",
        "graphs/zinc-2021",
        &["model.positions=weisfeiler-lehman", "model.position_size=37"],
        MAE,
        &[Some(0.267), None],
    ),
    row("ZINC: full graph, BN + Lap", "graphs/zinc-2021", &["data.complete_graph=true"], MAE, &[Some(0.598), None]),
    row("ZINC: regard-graph", "graphs/zinc", &[], MAE, &[None, None]),
    row("CLUSTER: LN", "graphs/cluster-2021", LAYER_NORM, SHARE, &[Some(0.70879), None]),
    row("CLUSTER: BN", "graphs/cluster-2021", BARE, SHARE, &[Some(0.72139), None]),
    row("CLUSTER: BN + Lap", "graphs/cluster-2021", &[], SHARE, &[Some(0.73169), None]),
    row("PATTERN: LN", "graphs/pattern-2021", LAYER_NORM, SHARE, &[Some(0.73140), None]),
    row("PATTERN: BN", "graphs/pattern-2021", BARE, SHARE, &[Some(0.83949), None]),
    row("PATTERN: BN + Lap", "graphs/pattern-2021", &[], SHARE, &[Some(0.84808), None]),
];

/// Trains and measures a row on the test part of its data.
pub(super) fn measure(row: &Planned, run: Run<'_>, device: &Device) -> anyhow::Result<RowResult> {
    let experiment = GraphExperiment::load(row.experiment, &run.sets)?;
    let (model, trained) = run.train(experiment, device)?;
    Ok(RowResult { measures: model.measure_test()?.measures, trained })
}

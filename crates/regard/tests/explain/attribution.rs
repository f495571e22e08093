//! Integrated gradients of models of all families explain the whole difference, and are those of central differences.

use std::path::{Path, PathBuf};

use burn::tensor::{Tensor, TensorData};
use regard::Device;
use regard::explain::attribution::{Attribution, AttributionMethod, AttributionOptions};
use regard::graphs::experiment::GraphData;
use regard::graphs::predict::GraphModel;
use regard::series::predict::SeriesModel;
use regard::sets::experiment::SetData;
use regard::sets::model::Answers;
use regard::sets::predict::SetModel;

fn shipped(model: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(model)
}

fn options() -> AttributionOptions {
    AttributionOptions::new(AttributionMethod::IntegratedGradients, 1)
}

fn complete(found: &Attribution, what: &str) {
    complete_within(0.01, found, what);
}

fn complete_within(bound: f64, found: &Attribution, what: &str) {
    let error = found.completeness_error().unwrap();
    assert!(error < bound, "{what}: the values miss the difference by {:.2} %", 100.0 * error);
    assert!(found.values.iter().any(|value| *value != 0.0), "{what}");
}

#[test]
fn the_values_of_rows_are_those_of_central_differences() {
    const SETS: [&[f32]; 3] = [&[3.0, 41.0, 17.0], &[5.0], &[80.0, 79.0, 12.0, 66.0]];
    let device = Device::flex();
    let model = SetModel::open(&shipped("regard-max"), &device).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let line = |(set, rows): (usize, &&[f32])| rows.iter().map(|x| format!("s{set},{x}\n")).collect::<String>();
    std::fs::write(&path, format!("bag,x\n{}", SETS.iter().enumerate().map(line).collect::<String>())).unwrap();
    let bags = model.read(&path, &SetData { group_by: "bag".into(), ..SetData::default() }, false).unwrap();
    let found = model.attribute(&bags, &options(), &|_, _| ()).unwrap();
    // The network takes the numbers as they are, or standardised.
    let (mean, std) = (&model.config.data.mean, &model.config.data.std);
    let seen = |x: f32| mean.first().map_or(x, |mean| ((f64::from(x) - mean) / std[0]) as f32);
    let scaled = f64::from(model.config.data.target_std as f32);
    let scale = if scaled == 0.0 { 1.0 } else { scaled };
    let answer = |rows: &[f32]| -> f64 {
        let tensor = Tensor::<2>::from_data(TensorData::new(rows.to_vec(), [rows.len(), 1]), &device);
        match model.network.forward(regard_nn::Ragged::new(tensor, vec![0, rows.len()])) {
            Answers::Sets(rows) => scale * f64::from(rows.into_data().iter::<f32>().next().unwrap()),
            Answers::Items(_) => unreachable!("one answer for a set"),
        }
    };
    const STEPS: usize = 512;
    for (set, (rows, found)) in SETS.iter().zip(&found).enumerate() {
        complete(found, &format!("set {set}"));
        let largest = found.values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for (row, value) in found.values.iter().enumerate() {
            let mut expected = 0.0;
            for step in 0..STEPS {
                let at = |share: f32, of_row: f32| {
                    let shares = (0..rows.len()).map(|other| if other == row { of_row } else { share });
                    answer(&rows.iter().zip(shares).map(|(x, share)| seen(*x) * share).collect::<Vec<_>>())
                };
                let (middle, half) = ((step as f32 + 0.5) / STEPS as f32, 0.5 / STEPS as f32);
                expected += at(middle, middle + half) - at(middle, middle - half);
            }
            assert!((value - expected).abs() < 0.01 * largest, "set {set}, row {row}: {value}, expected {expected}");
        }
    }
}

#[test]
fn the_values_of_atoms_and_bonds_explain_the_whole_difference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("molecules.csv");
    std::fs::write(&path, "smiles\nCC(=O)Oc1ccccc1C(=O)O\nCCO\nO=C(O)CN\n").unwrap();
    // Messages of edges that are multiplied in each of eight layers change abruptly on the way from nothing.
    for (name, bound) in [("regard-solubility", 0.01), ("regard-zinc", 0.05)] {
        let mut model = GraphModel::open(&shipped(name), &Device::flex()).unwrap();
        // The network alone.
        model.base = None;
        let data = model.experiment.as_ref().map(|found| found.data.clone()).unwrap_or_default();
        let none = String::new;
        let data = GraphData { split: none(), path: none(), edges: none(), cache: none(), ..data };
        let data = GraphData { smiles: "smiles".into(), ..data };
        let examples = model.read(&path, &data, false).unwrap();
        for (graph, found) in model.attribute(&examples, &options(), &|_, _| ()).unwrap().iter().enumerate() {
            complete_within(bound, &found.found, &format!("{name}, molecule {graph}"));
        }
    }
}

#[test]
fn the_values_of_lags_explain_the_whole_difference() {
    let model = SeriesModel::open(&shipped("regard-etth1"), &Device::flex()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let names = model.config.data.names.clone();
    let row = |hour: usize| {
        let value = |at: usize| (hour as f64 / 24.0 * std::f64::consts::TAU).sin() * 3.0 + (hour % 5 * at) as f64 * 0.2;
        let values: Vec<String> = (0..names.len()).map(|at| format!("{:.4}", value(at))).collect();
        format!("2021-{:02}-{:02} {:02}:00:00,{}\n", 1 + hour / 672, 1 + hour / 24 % 28, hour % 24, values.join(","))
    };
    let rows: String = (0..model.config.look_back + 10).map(row).collect();
    std::fs::write(&path, format!("date,{}\n{rows}", names.join(","))).unwrap();
    let series = model.read(&path, &model.columns()).unwrap();
    let found =
        model.attribute_forecast(&series, 12, &AttributionOptions { steps: 16, ..options() }, &|_, _| ()).unwrap();
    for one in found {
        complete(&one.of_lags.unwrap(), &one.name);
    }
}

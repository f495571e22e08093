//! Checkpoints written by the codes of the Set Transformer, the Graph Transformer and PatchTST are imported, and give what
//! these codes compute: `golden/checkpoints` and the networks of the golden cases.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::{Tensor, TensorData};
use regard::Device;
use regard::data::graphs::formats::predictions::Predicted;
use regard::graphs::experiment::GraphData;
use regard::graphs::import::graph_transformer;
use regard::graphs::model::PositionKind;
use regard::graphs::{GraphModel, GraphTransformer};
use regard::series::experiment::SeriesData;
use regard::series::import::{TrainingTable, patchtst};
use regard::series::{PatchTst, SeriesModel};
use regard::sets::import::set_transformer;
use regard::sets::model::NormName;
use regard::sets::task::TaskKind;
use regard::sets::{Answers, SetTransformer};
use regard::store::{Array, Weights, safetensors};
use regard_nn::Ragged;
use regard_testing::{Case, Golden};

fn checkpoint(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/checkpoints").join(name)
}

fn expected(of: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(checkpoint("expected.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()[of].clone()
}

/// The numbers of nested lists.
fn numbers(value: &serde_json::Value) -> Vec<f64> {
    match value {
        serde_json::Value::Array(all) => all.iter().flat_map(numbers).collect(),
        one => vec![one.as_f64().unwrap()],
    }
}

fn close(found: impl IntoIterator<Item = f64>, expected: &[f64], tolerance: f64) {
    let found: Vec<f64> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len());
    let allowed = tolerance * expected.iter().fold(1.0_f64, |largest, value| largest.max(value.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= allowed, "{found}, expected {expected}");
    }
}

fn given(sets: &[&str]) -> Vec<String> {
    sets.iter().map(|&set| set.to_owned()).collect()
}

#[test]
fn golden_checkpoint_of_the_set_transformer() {
    let found = set_transformer(&checkpoint("set_transformer.tar"), &[]).unwrap();
    let config = &found.config;
    assert_eq!((config.inputs, config.outputs, config.num_seeds, config.heads), (2, 4, 3, 4));
    assert_eq!((config.task, config.inducing_points, config.decoder_layers), (TaskKind::Clustering, 3, 2));
    assert_eq!(found.assumed, ["heads = 4", "task = clustering"]);
    let (device, expected) = (Device::flex(), expected("set_transformer"));
    let network = SetTransformer::from_weights(config, &found.weights, &device).unwrap();
    let points: Vec<f32> = numbers(&expected["points"]).into_iter().map(|x| x as f32).collect();
    let rows = points.len() / 2;
    let points = Tensor::from_data(TensorData::new(points, [rows, 2]), &device);
    let Answers::Sets(answer) = network.forward(Ragged::new(points, vec![0, rows])) else { panic!("sets") };
    close(answer.into_data().iter::<f64>(), &numbers(&expected["answer"]), 2e-6);
    // A number of heads that was given is not assumed, and changes the network.
    let other = set_transformer(&checkpoint("set_transformer.tar"), &given(&["heads=2"])).unwrap();
    assert_eq!((other.config.heads, other.assumed), (2, vec!["task = clustering".to_owned()]));
}

#[test]
fn golden_checkpoint_of_the_graph_transformer() {
    let sets = given(&["heads=4", "readout=sum"]);
    let found = graph_transformer(&checkpoint("graph_transformer.pkl"), &sets).unwrap();
    assert_eq!((found.config.layers, found.config.width, found.config.positions), (2, 8, PositionKind::None));
    assert_eq!(found.assumed, ["residual = true", "task = regression", "level = graph"]);
    let (device, expected) = (Device::flex(), expected("graph_transformer"));
    let network = GraphTransformer::from_weights(&found.config, &found.weights, &device).unwrap();
    let model = GraphModel::new(found.config, network, None, &device);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("molecules.csv");
    let smiles = expected["smiles"].as_array().unwrap().iter().map(|one| format!("{}\n", one.as_str().unwrap()));
    std::fs::write(&path, format!("smiles\n{}", smiles.collect::<String>())).unwrap();
    let data = GraphData { smiles: "smiles".into(), ..GraphData::default() };
    let examples = model.read(&path, &data, false).unwrap();
    let Predicted::Numbers { values, .. } = model.predict(&examples).unwrap() else { panic!("numbers") };
    close(values, &numbers(&expected["answers"]), 1e-5);
}

#[test]
fn golden_checkpoint_of_patchtst() {
    let expected = expected("patchtst");
    let data = checkpoint("patchtst.csv");
    let rows = expected["train_rows"].as_u64().map(|rows| rows as usize);
    let table = TrainingTable { path: &data, columns: SeriesData::default(), rows };
    let found = patchtst(&checkpoint("patchtst.pth"), &table, &[]).unwrap();
    let config = &found.config;
    assert_eq!((config.look_back, config.horizon, config.stride, config.heads), (24, 4, 4, 2));
    assert_eq!((config.patch_len, config.layers, config.feedforward_width, config.channels), (8, 2, 12, 0));
    assert_eq!(config.data.names, ["a", "b"]);
    assert_eq!(found.assumed.first().map(String::as_str), Some("look_back = 24"));
    let device = Device::flex();
    let network = PatchTst::from_weights(config, &found.weights, &device).unwrap();
    let model = SeriesModel::new(found.config, network, None, &device);
    let series = model.read(&data, &SeriesData::default()).unwrap();
    let forecasts = model.forecast(&series.panel, 4, &[]).unwrap();
    close(forecasts.rows().iter().map(|row| f64::from(row.forecast)), &numbers(&expected["forecast"]), 1e-4);
}

/// The weights of a golden case as a safetensors file in a folder.
fn saved(case: &Case, folder: &Path) -> PathBuf {
    let weights: Weights = case
        .with_prefix("weight.")
        .map(|(name, values)| {
            let name = name.strip_prefix("weight.").unwrap_or(name).to_owned();
            (name, Array { shape: values.shape.clone(), data: values.f32() })
        })
        .collect();
    let path = folder.join("weights.safetensors");
    safetensors::write(&path, &weights, &BTreeMap::new()).unwrap();
    path
}

#[test]
fn golden_networks_are_imported_with_their_settings() {
    let (golden, folder) = (Golden::open(), tempfile::tempdir().unwrap());
    let flag = |value: &serde_json::Value| value.as_bool().unwrap_or(false);
    let mut seen = [0; 3];
    for name in golden.names("set_transformer/net") {
        let case = golden.case(&name).unwrap();
        let found = set_transformer(&saved(&case, folder.path()), &[]).unwrap().config;
        let size = |key: &str| case.config[key].as_u64().unwrap() as usize;
        assert_eq!((found.width, found.inducing_points), (size("dim_hidden"), size("num_inds")), "{name}");
        assert_eq!((found.inputs, found.outputs, found.num_seeds), (2, size("dim_output"), size("num_outputs")));
        assert_eq!(found.norm == NormName::Post, flag(&case.config["ln"]), "{name}");
        seen[0] += 1;
    }
    for name in golden.names("graph_transformer/") {
        let case = golden.case(&name).unwrap();
        let Some(params) = case.config.get("net_params") else { continue };
        let sets = [format!("heads={}", params["n_heads"]), format!("readout={}", params["readout"].as_str().unwrap())];
        let found = graph_transformer(&saved(&case, folder.path()), &sets).unwrap().config;
        let size = |key: &str| params[key].as_u64().unwrap_or(0) as usize;
        assert_eq!((found.layers, found.width), (size("L"), size("hidden_dim")), "{name}");
        assert_eq!((found.layer_norm, found.batch_norm), (flag(&params["layer_norm"]), flag(&params["batch_norm"])));
        assert_eq!(found.positions == PositionKind::Laplacian, flag(&params["lap_pos_enc"]), "{name}");
        assert_eq!(found.positions == PositionKind::WeisfeilerLehman, flag(&params["wl_pos_enc"]), "{name}");
        let edge_types = if flag(&params["edge_feat"]) { size("num_bond_type") } else { 0 };
        assert_eq!((found.edge_stream, found.edge_types), (params.get("edge_feat").is_some(), edge_types), "{name}");
        assert_eq!(found.outputs, params["n_classes"].as_u64().unwrap_or(1) as usize, "{name}");
        seen[1] += 1;
    }
    let table = folder.path().join("table.csv");
    let rows = (0..60).map(|hour| format!("2024-01-0{} {:02}:00:00,{hour},1,{}\n", 1 + hour / 24, hour % 24, hour % 5));
    std::fs::write(&table, format!("date,a,b,c\n{}", rows.collect::<String>())).unwrap();
    for name in golden.names("patchtst/official") {
        let case = golden.case(&name).unwrap();
        let mut sets = vec![];
        let (said, config) = (|key: &str| case.config.get(key).cloned().unwrap_or_default(), &case.config);
        if config.get("padding_patch").is_some_and(serde_json::Value::is_null) {
            sets.push("end_padding=false".to_owned());
        }
        if said("kernel_size").is_u64() {
            sets.push(format!("decomposition_kernel={}", said("kernel_size")));
        }
        if said("subtract_last") == 1 {
            sets.push("window_norm=last".to_owned());
        }
        let columns = TrainingTable { path: &table, columns: SeriesData::default(), rows: None };
        let found = patchtst(&saved(&case, folder.path()), &columns, &sets).unwrap().config;
        let size = |key: &str| config[key].as_u64().unwrap() as usize;
        assert_eq!((found.look_back, found.horizon), (size("seq_len"), size("pred_len")), "{name}");
        assert_eq!((found.patch_len, found.stride, found.heads), (size("patch_len"), size("stride"), size("n_heads")));
        assert_eq!((found.width, found.layers), (size("d_model"), size("e_layers")), "{name}");
        assert_eq!((found.affine, found.individual), (said("affine") == 1, said("individual") == 1), "{name}");
        seen[2] += 1;
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn what_does_not_fit_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let graph = checkpoint("graph_transformer.pkl");
    let error = set_transformer(&graph, &[]).unwrap_err().to_string();
    assert!(error.contains("graph_transformer.pkl") && error.contains("enc.0.mab0.fc_q.weight"), "{error}");
    let error = graph_transformer(&checkpoint("set_transformer.tar"), &[]).unwrap_err().to_string();
    assert!(error.contains("`embedding_h.weight`") && error.contains("dec.0.S"), "{error}");
    let error = graph_transformer(&graph, &given(&["head=4"])).unwrap_err().to_string();
    assert!(error.contains("did you mean `heads`") || error.contains("heads"), "{error}");
    let error = graph_transformer(&graph, &given(&["heads=3"])).unwrap_err().to_string();
    assert!(error.contains("3 heads do not divide width 8"), "{error}");
    let error = graph_transformer(&graph, &given(&["layers=3"])).unwrap_err().to_string();
    assert!(error.contains("layers.2.attention.Q.weight [8, 8]"), "the missing tensor: {error}");
    let error = set_transformer(&checkpoint("set_transformer.tar"), &given(&["outputs=5"])).unwrap_err().to_string();
    assert!(error.contains("dec.3.weight: expected shape [5, 8], found [4, 8]"), "{error}");
    let table = folder.path().join("table.csv");
    std::fs::write(&table, "date,a\n2024-01-01,1\n2024-01-02,2\n").unwrap();
    let columns = TrainingTable { path: &table, columns: SeriesData::default(), rows: None };
    let error = patchtst(&graph, &columns, &[]).unwrap_err().to_string();
    assert!(error.contains("model.backbone.W_P.weight"), "{error}");
    let error = patchtst(&checkpoint("patchtst.pth"), &columns, &given(&["channels=2", "affine=true"])).unwrap_err();
    assert!(error.to_string().contains("revin_layer.affine_weight"), "{error}");
}

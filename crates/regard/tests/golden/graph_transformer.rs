//! The Graph Transformer on molecules and SBM graphs against the authors' code: answers, loss, every
//! gradient, running statistics, a step of Adam; and the sizes of the published networks.

use std::sync::Arc;

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::Device;
use regard::graphs::input::{GraphInput, Places};
use regard::graphs::model::{PositionKind, Readout};
use regard::graphs::task::{GraphTask, LevelName, Targets, loss};
use regard::graphs::{GraphTransformer, GraphTransformerConfig};
use regard::store::{Array, NetworkConfig, Weights};
use regard::train::{LossOptions, NumberLoss};
use regard_nn::ops::{EdgeList, with_kernels};
use regard_nn::trace::record;
use regard_testing::{Case, Checks, Golden};
use serde_json::Value;

#[test]
fn golden_graph_transformers_with_kernels() {
    with_kernels(true, || check_all("kernels"));
}

#[test]
fn golden_graph_transformers_composed() {
    with_kernels(false, || check_all("composed"));
}

#[test]
fn the_published_networks_have_their_sizes() {
    let zinc = GraphTransformerConfig::graph_transformer_2021();
    assert_eq!(zinc.trainable(), 588_929);
    let with = |positions, position_size| GraphTransformerConfig { positions, position_size, ..zinc.clone() };
    assert_eq!(with(PositionKind::None, 8).trainable(), 588_353);
    assert_eq!(with(PositionKind::WeisfeilerLehman, 37).trainable(), 590_721);
    let norm = GraphTransformerConfig { batch_norm: false, layer_norm: true, ..zinc.clone() };
    assert_eq!(norm.trainable(), 588_929);
    let sbm = |types, outputs, positions, position_size| GraphTransformerConfig {
        task: GraphTask::Classification,
        level: LevelName::Node,
        node_types: types,
        outputs,
        edge_stream: false,
        positions,
        position_size,
        width: 80,
        ..zinc.clone()
    };
    for (types, outputs, k, sizes) in [(7, 6, 10, [523_146, 524_026, 531_146]), (3, 2, 2, [522_742, 522_982, 530_742])]
    {
        let found = [(PositionKind::None, 1), (PositionKind::Laplacian, k), (PositionKind::WeisfeilerLehman, 100)]
            .map(|(positions, size)| sbm(types, outputs, positions, size).trainable());
        assert_eq!(found, sizes);
    }
}

fn check_all(label: &str) {
    let golden = Golden::open();
    let mut nets = 0;
    for name in golden.names("graph_transformer/") {
        let case = golden.case(&name).expect("named by the manifest");
        if case.config.get("net_params").is_some() {
            check(&case, label);
            nets += 1;
        }
    }
    assert!(nets > 0, "a case of a network");
}

fn config(case: &Case) -> GraphTransformerConfig {
    let of = &case.config["net_params"];
    let size = |key: &str| of[key].as_u64().unwrap_or(0) as usize;
    let switch = |key: &str| of[key].as_bool() == Some(true);
    let molecules = of.get("num_atom_type").is_some();
    // Nothing is said of the edges: every edge begins as the same row.
    let predicted = switch("edge_feat");
    let (positions, position_size) = match (switch("lap_pos_enc"), switch("wl_pos_enc")) {
        (true, _) => (PositionKind::Laplacian, size("pos_enc_dim")),
        (_, true) => (PositionKind::WeisfeilerLehman, case.get("weight.embedding_wl_pos_enc.weight").shape[0]),
        _ => (PositionKind::None, 1),
    };
    GraphTransformerConfig {
        task: if molecules { GraphTask::Regression } else { GraphTask::Classification },
        level: if molecules { LevelName::Graph } else { LevelName::Node },
        node_types: size(if molecules { "num_atom_type" } else { "in_dim" }),
        edge_types: if molecules && predicted { size("num_bond_type") } else { 0 },
        outputs: if molecules { 1 } else { size("n_classes") },
        edge_stream: molecules,
        positions,
        position_size,
        layers: size("L"),
        width: size("hidden_dim"),
        heads: size("n_heads"),
        layer_norm: switch("layer_norm"),
        batch_norm: switch("batch_norm"),
        residual: switch("residual"),
        readout: match of["readout"].as_str() {
            Some("sum") => Readout::Sum,
            Some("max") => Readout::Max,
            _ => Readout::Mean,
        },
        ..GraphTransformerConfig::graph_transformer_2021()
    }
}

fn weights(case: &Case) -> Weights {
    let array = |(name, values): (&str, &regard_testing::Values)| {
        (name.to_owned(), Array { shape: values.shape.clone(), data: values.f32() })
    };
    case.with_prefix("weight.").map(array).collect()
}

fn input(case: &Case, config: &GraphTransformerConfig) -> GraphInput {
    let whole = |name: &str| {
        let found = case.find(name).map(|values| values.data.iter().map(|&v| v as u32).collect::<Vec<_>>());
        found.unwrap_or_default()
    };
    let (sources, targets, nodes) = (whole("input.src"), whole("input.dst"), case.size("nodes"));
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_key(|&edge| targets[edge]);
    let offsets = (0..=nodes).map(|node| targets.iter().filter(|&&target| (target as usize) < node).count());
    let types = whole("input.edge_type");
    let mut borders = vec![0];
    whole("input.sizes").iter().for_each(|&size| borders.push(borders[borders.len() - 1] + size as usize));
    GraphInput {
        edges: Arc::new(EdgeList::new(offsets.collect(), order.iter().map(|&edge| sources[edge]).collect())),
        offsets: borders.into(),
        node_types: whole("input.node_type"),
        node_numbers: vec![],
        edge_types: if config.edge_types > 0 { order.iter().map(|&edge| types[edge]).collect() } else { vec![] },
        edge_numbers: vec![1.0; if config.edge_stream && config.edge_types == 0 { order.len() } else { 0 }],
        places: match (case.find("input.lap_pe"), case.find("input.wl_pe").or(case.find("input.wl_index"))) {
            (Some(values), _) if config.positions == PositionKind::Laplacian => Places::Numbers(values.f32()),
            (_, Some(values)) if config.positions == PositionKind::WeisfeilerLehman => {
                Places::Indices(values.data.iter().map(|&v| v as u32).collect())
            }
            _ => Places::None,
        },
    }
}

fn targets(case: &Case, config: &GraphTransformerConfig) -> Targets {
    let found = &case.get("input.target").data;
    match config.task {
        GraphTask::Classification => Targets::Classes(found.iter().map(|&class| Some(class as usize)).collect()),
        _ => Targets::Numbers(found.iter().map(|&number| Some(number as f32)).collect()),
    }
}

fn check(case: &Case, label: &str) {
    let evaluated = case.config["mode"] == "eval";
    let device = if evaluated { Device::flex() } else { Device::flex().autodiff() };
    let config = config(case);
    assert_eq!(config.trainable(), case.size("parameters"), "{}", case.name);
    let model = GraphTransformer::from_weights(&config, &weights(case), &device).unwrap();
    let mut checks = Checks::new(case, label);
    let answers = model.forward(&input(case, &config), &device);
    checks.tensor("output.y", &answers);
    let options = LossOptions { number: NumberLoss::Absolute, class_weights: true };
    let found = loss(answers, &targets(case, &config), config.task, options);
    checks.tensor("output.loss", &found);
    if evaluated {
        checks.finish();
        return check_trace(case, &model, &config);
    }
    let gradients = found.backward();
    let by_name = model.gradients(&config, &gradients);
    for (name, expected) in case.with_prefix("grad.weight.") {
        match by_name.get(name) {
            Some(array) => {
                let values: Vec<f64> = array.data.iter().map(|&v| f64::from(v)).collect();
                checks.values(&format!("grad.weight.{name}"), &array.shape, &values);
            }
            // The last layer's edge stream has no part in the answer.
            None => checks.holds(&format!("no gradient of {name}"), expected.data.iter().all(|&x| x == 0.0)),
        }
    }
    let rate = case.number("lr");
    let gradients = GradientsParams::from_grads(gradients, &model);
    let model = AdamConfig::new().with_epsilon(1e-8).init().step(rate, model, gradients);
    let after = model.to_weights(&config);
    checks.step_of_adam(rate, 1.0, |name| (&after[name].shape, &after[name].data));
    for (name, _) in case.with_prefix("after_step.buffer.") {
        let values: Vec<f64> = after[name].data.iter().map(|&v| f64::from(v)).collect();
        checks.values(&format!("after_step.buffer.{name}"), &after[name].shape, &values);
    }
    checks.finish();
}

/// The rows of the nodes and the answers in a trace are those of the original code.
fn check_trace(case: &Case, model: &GraphTransformer, config: &GraphTransformerConfig) {
    let device = Device::flex();
    let (_, recording) = record(|| model.forward(&input(case, config), &device));
    let mut checks = Checks::new(case, "trace");
    let mut compare = |golden: &str, is_meant: &dyn Fn(&str) -> bool| {
        let step = recording.steps.iter().rfind(|step| is_meant(&step.name)).expect("a step of that name");
        let values: Vec<f64> = step.values.iter().map(|&value| f64::from(value)).collect();
        checks.values(golden, &case.get(golden).shape, &values);
    };
    let layer = format!("layer.{}.", config.layers - 1);
    if case.find("output.node_h").is_some() {
        compare("output.node_h", &|name| name.starts_with(&layer) && !name.contains(".edges."));
    }
    compare("output.y", &|name| name == "answer");
    checks.finish();
}

#[test]
fn settings_go_through_their_file() {
    for preset in regard::graphs::model::PRESETS {
        let config = GraphTransformerConfig::preset(preset).unwrap();
        let value: Value = serde_json::to_value(&config).unwrap();
        assert_eq!(GraphTransformerConfig::from_json(&value).unwrap(), config);
    }
}

//! `config.json`: what is refused, and with which words.

use std::fs;

use crate::checkpoint::small;
use regard::data::ranges::ColumnRanges;
use regard::graphs::GraphTransformerConfig;
use regard::graphs::model::{GraphPreparation, PositionKind};
use regard::graphs::task::GraphTask;
use regard::routes::model::AttentionModelConfig;
use regard::series::PatchTstConfig;
use regard::series::model::SeriesPreparation;
use regard::sets::SetTransformerConfig;
use regard::sets::model::DataPreparation;
use regard::store::NetworkConfig;
use serde_json::{Value, json};

/// The message for a `config.json` of this text, without the path in front.
fn config_message(text: &str) -> String {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("config.json");
    fs::write(&path, text).unwrap();
    let message = AttentionModelConfig::read(&path).unwrap_err().to_string();
    message.strip_prefix(path.to_str().unwrap()).unwrap().to_owned()
}

#[test]
fn malformed_settings_are_refused_with_words() {
    let with = |key: &str, value: Value| {
        let mut config = serde_json::to_value(small()).unwrap();
        config[key] = value;
        config_message(&config.to_string())
    };
    let without = |key: &str| {
        let mut config = serde_json::to_value(small()).unwrap();
        config.as_object_mut().unwrap().remove(key);
        config_message(&config.to_string())
    };
    for (found, expected) in [
        (config_message(""), ":1: is empty; expected a JSON object"),
        (config_message("{\n\"kind\": }"), ":2: expected value"),
        (config_message("[]"), ": `config`: expected a JSON object"),
        (config_message("{}"), ": `kind`: is missing; this version reads `attention-model`"),
        (
            with("kind", json!("set-transformer")),
            ": `kind`: is `set-transformer`, a model for sets; expected `attention-model`, a model for routing problems",
        ),
        (with("kind", json!("perceptron")), ": `kind`: is `perceptron`; this version reads `attention-model`"),
        (with("format", json!(2)), ": `format`: is 2; this version reads format 1"),
        (with("widht", json!(8)), ": `widht`: is not a setting (did you mean `width`?); settings: "),
        (with("width", json!("wide")), ": `width`: invalid type: string \"wide\""),
        (with("width", json!(-8)), ": `width`: invalid value: integer `-8`"),
        (with("width", json!(0)), ": `width`: is 0; expected 1 to 8192"),
        (with("width", json!(1_000_000_000)), ": `width`: is 1000000000; expected 1 to 8192"),
        (with("layers", json!(1000)), ": `layers`: is 1000; expected 1 to 64"),
        (with("heads", json!(3)), ": `heads`: 3 heads do not divide width 8"),
        (with("heads", json!(9)), ": `heads`: is 9; expected 1 to 8"),
        (with("feedforward_width", json!(0)), ": `feedforward_width`: is 0; expected 1 to 65536"),
        (with("norm", json!("bath")), ": `norm`: unknown variant `bath`, expected one of `batch`, `instance`, `layer`"),
        (with("tanh_clipping", json!(0)), ": `tanh_clipping`: is 0; expected a number above 0"),
        (with("problem", json!("jssp")), ": `problem`: `jssp` is not supported; problems: `tsp`, `cvrp`"),
        (with("preset", json!("kool2019")), ": `preset`: `kool2019` is not a preset (did you mean `kool-2019`?)"),
        (without("heads"), ": `heads`: is missing"),
    ] {
        assert!(found.starts_with(expected), "expected `{expected}`, found `{found}`");
    }
    assert!(AttentionModelConfig::from_json(&json!({"kind": 1})).is_err());
}

#[test]
fn presets_are_valid_and_survive_the_file() {
    for name in regard::routes::model::PRESETS {
        let preset = AttentionModelConfig::preset(name).unwrap();
        preset.validate().unwrap();
        let value = serde_json::to_value(&preset).unwrap();
        assert_eq!(AttentionModelConfig::from_json(&value).unwrap(), preset);
        assert_eq!(preset.preset.as_deref(), Some(name));
    }
    assert_eq!(AttentionModelConfig::kool_2019().parameters(), 708_608);
    assert_eq!(AttentionModelConfig::regard_tsp().parameters(), 708_608);
}

/// The first complaint about settings after `change`; `None` where they are taken.
fn complaint<C: NetworkConfig>(config: &C, change: impl Fn(&mut Value)) -> Option<String> {
    let mut value = serde_json::to_value(config).unwrap();
    change(&mut value);
    C::from_json(&value).err().map(|error| error.to_string())
}

/// Ranges of so many columns.
fn ranges(columns: usize) -> ColumnRanges {
    ColumnRanges::of(columns, |_| [0.0, 1.0])
}

#[test]
fn statistics_of_graphs_are_checked() {
    let config = GraphTransformerConfig {
        node_types: 2,
        node_numbers: 1,
        outputs: 2,
        task: GraphTask::Regression,
        positions: PositionKind::RandomWalk,
        position_size: 3,
        data: GraphPreparation {
            node_types: vec!["C".into(), "O".into()],
            tasks: vec!["a".into(), "b".into()],
            target_mean: vec![1.0, 2.0],
            target_std: vec![0.5, 3.0],
            position_mean: vec![0.0, 0.5, 0.25],
            position_std: vec![1.0, 0.5, 0.25],
            node_ranges: ranges(1),
            ..GraphPreparation::default()
        },
        ..GraphTransformerConfig::graph_transformer_2021()
    };
    let complaint = |key: &str, wrong: Value| complaint(&config, |value| value["data"][key] = wrong.clone());
    assert_eq!(complaint("node_types", json!(["C", "O"])), None);
    for (key, wrong, expected) in [
        ("target_mean", json!([]), "`data.target_std`: has 2 values; expected 0"),
        ("target_mean", json!([1.0]), "`data.target_mean`: has 1 values; expected 2"),
        ("target_mean", json!([1e308, 0.0]), "expected a finite number of single precision"),
        ("target_std", json!([0.0, 1.0]), "`data.target_std`: is 0; expected a number above 0"),
        ("target_std", json!([1.0, -1.0]), "`data.target_std`: is -1; expected a number above 0"),
        ("target_std", json!([1.0, null]), "invalid type: null"),
        ("node_types", json!(["C", "C"]), "`data.node_types`: has `C` twice"),
        ("node_types", json!(["C"]), "`data.node_types`: has 1 values; expected 2"),
        ("other_node", json!("X"), "`data.other_node`: is not one of the node types of `config.json`"),
        ("tasks", json!(["a"]), "`data.tasks`: has 1 values; expected 2"),
        ("position_mean", json!([0.0, 0.5]), "`data.position_mean`: has 2 values; expected 3"),
        ("position_std", json!([1.0, 0.5]), "`data.position_std`: has 2 values; expected 3"),
        ("node_ranges", json!([null, null]), "`data.node_ranges`: has 2 values; expected 1"),
        ("edge_ranges", json!([[0.0, 1.0]]), "`data.edge_ranges`: has 1 values; expected 0"),
    ] {
        let found = complaint(key, wrong.clone()).unwrap_or_else(|| panic!("{key} {wrong} is taken"));
        assert!(found.contains(expected), "expected `{expected}`, found `{found}`");
    }
}

#[test]
fn statistics_of_series_are_checked() {
    let config = PatchTstConfig {
        horizon: 2,
        future_covariates: 1,
        data: SeriesPreparation {
            names: vec!["a".into(), "b".into()],
            mean: vec![1.0, 2.0],
            std: vec![0.5, 3.0],
            frequency: "hour".into(),
            season_length: 24,
            future_covariates: vec!["x".into()],
            future_covariate_mean: vec![0.0],
            future_covariate_std: vec![1.0],
            interval_levels: vec![50.0, 80.0],
            interval_widths: vec![vec![0.1, 0.2], vec![0.3, 0.4]],
            ..SeriesPreparation::default()
        },
        ..PatchTstConfig::patchtst_official()
    };
    let complaint = |key: &str, wrong: Value| complaint(&config, |value| value["data"][key] = wrong.clone());
    assert_eq!(complaint("names", json!(["a", "c"])), None);
    for (key, wrong, expected) in [
        ("mean", json!([]), "`data.std`: has 2 values; expected 0"),
        ("mean", json!([1e308, 1.0]), "expected a finite number of single precision"),
        ("std", json!([0.0, 1.0]), "`data.std`: is 0; expected a number above 0"),
        ("names", json!(["a", "a"]), "`data.names`: has `a` twice"),
        ("names", json!(["a"]), "`data.mean`: has 2 values; expected 1"),
        ("future_covariates", json!([]), "`data.future_covariate_mean`: has 1 values; expected 0"),
        ("future_covariate_ranges", json!([null, null]), "`data.future_covariate_ranges`: has 2 values; expected 1"),
        ("static_covariate_ranges", json!([null]), "`data.static_covariate_ranges`: has 1 values; expected 0"),
        ("future_covariate_std", json!([-1.0]), "`data.future_covariate_std`: is -1; expected a number above 0"),
        ("interval_levels", json!([80.0, 50.0]), "expected increasing levels"),
        ("interval_levels", json!([50.0]), "`data.interval_widths`: has 2 values; expected 1"),
        ("interval_widths", json!([[0.1], [0.3]]), "`data.interval_widths`: has 1 values; expected 2"),
        ("interval_widths", json!([[0.1, -0.2], [0.3, 0.4]]), "`data.interval_widths`: has a negative width"),
    ] {
        let found = complaint(key, wrong.clone()).unwrap_or_else(|| panic!("{key} {wrong} is taken"));
        assert!(found.contains(expected), "expected `{expected}`, found `{found}`");
    }
}

#[test]
fn statistics_of_sets_are_checked() {
    let data = DataPreparation {
        mean: vec![1.0],
        std: vec![2.0],
        ranges: ranges(1),
        target_std: 1.0,
        ..DataPreparation::default()
    };
    let config = SetTransformerConfig { inputs: 1, data, ..SetTransformerConfig::set_transformer_2019() };
    let complaint = |key: &str, wrong: Value| complaint(&config, |value| value["data"][key] = wrong.clone());
    assert_eq!(complaint("mean", json!([2.0])), None);
    // A feature that is the same in all training rows.
    assert_eq!(complaint("std", json!([0.0])), None);
    assert_eq!(complaint("ranges", json!([null])), None);
    for (key, wrong, expected) in [
        ("mean", json!([1.0, 2.0]), "`data.mean`: has 2 values; expected 1"),
        ("std", json!([-1.0]), "`data.std`: is -1; expected 0 or more"),
        ("ranges", json!([[0.0, 1.0], null]), "`data.ranges`: has 2 values; expected 1"),
        ("ranges", json!([[1.0, 0.0]]), "`data.ranges`: has a range that is none; expected finite numbers"),
        ("features", json!(["x", "y"]), "`data.features`: has 2 values; expected 1"),
        ("target_mean", json!(1e308), "expected a finite number of single precision"),
        ("target_std", json!(-1.0), "`data.target_std`: is -1; expected 0 or more"),
    ] {
        let found = complaint(key, wrong.clone()).unwrap_or_else(|| panic!("{key} {wrong} is taken"));
        assert!(found.contains(expected), "expected `{expected}`, found `{found}`");
    }
}

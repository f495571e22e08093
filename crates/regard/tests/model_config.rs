//! `config.json`: what is refused, and with which words.

mod checkpoint;

use std::fs;

use checkpoint::small;
use regard::routes::model::AttentionModelConfig;
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
            ": `kind`: is `set-transformer`; this version reads `attention-model`",
        ),
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

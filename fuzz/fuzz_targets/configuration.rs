//! Any JSON is the settings of a model or refused; settings that are taken are written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use regard::graphs::GraphTransformerConfig;
use regard::routes::model::AttentionModelConfig;
use regard::series::PatchTstConfig;
use regard::sets::SetTransformerConfig;
use regard::store::{Manifest, NetworkConfig};
use serde_json::Value;

fuzz_target!(|text: &str| {
    if let Ok(manifest) = serde_json::from_str::<Manifest>(text) {
        let written = serde_json::to_string(&manifest).expect("is written");
        serde_json::from_str::<Manifest>(&written).expect("reads what it writes");
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    check::<AttentionModelConfig>(&value);
    check::<SetTransformerConfig>(&value);
    check::<GraphTransformerConfig>(&value);
    check::<PatchTstConfig>(&value);
});

fn check<C: NetworkConfig>(value: &Value) {
    if let Ok(config) = C::from_json(value) {
        let written = serde_json::to_value(&config).expect("is written");
        assert_eq!(C::from_json(&written).expect("reads what it writes"), config);
    }
}

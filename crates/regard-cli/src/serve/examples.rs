//! Examples that are built into the program.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A file with the options of a request that takes it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Example {
    name: &'static str,
    /// `routes`, `sets`, `graphs` or `series`.
    family: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'static str>,
    options: Map<String, Value>,
    content: &'static str,
}

/// A file of the folder `examples`.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../examples/", $name)))
    };
}

/// All examples, those of each family from the simplest on.
pub(super) fn all() -> Vec<Example> {
    let example = |(name, content), family, model, options: Value| Example {
        name,
        family,
        model,
        options: options.as_object().cloned().unwrap_or_default(),
        content,
    };
    vec![
        example(file!("capitals.csv"), "routes", None, json!({})),
        example(file!("deliveries.csv"), "routes", None, json!({})),
        example(file!("harbours.csv"), "routes", None, json!({})),
        example(file!("lieferungen.csv"), "routes", None, json!({ "capacity": 300 })),
        example(file!("towns.csv"), "sets", Some("regard-clusters"), json!({ "group_by": "town", "rescale": true })),
        example(file!("clouds.csv"), "sets", Some("regard-clusters"), json!({ "group_by": "cloud" })),
        example(file!("bags.csv"), "sets", Some("regard-max"), json!({ "group_by": "bag" })),
        example(file!("molecules.csv"), "graphs", Some("regard-solubility"), json!({})),
        example(file!("loaves.csv"), "series", None, json!({ "horizon": 28 })),
        example(file!("station.csv"), "series", Some("regard-etth1"), json!({ "horizon": 96 })),
    ]
}

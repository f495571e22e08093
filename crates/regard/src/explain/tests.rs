//! The steps of an attention layer, and everything that can be wrong with an input.

use std::path::Path;

use super::{AttentionInput, Trace, attention};
use crate::{Device, Error};

fn trace(text: &str) -> Trace {
    let input = AttentionInput::parse(text, Path::new("in.json")).unwrap();
    attention("in.json", &input, &Device::flex()).unwrap()
}

fn values<'t>(trace: &'t Trace, name: &str) -> &'t [f32] {
    &trace.step(name).unwrap_or_else(|| panic!("no step {name}")).recorded.values
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.steps.iter().map(|step| step.recorded.name.as_str()).collect()
}

#[test]
fn the_example_worked_by_hand() {
    let trace = attention("by hand", &AttentionInput::hand_worked(), &Device::flex()).unwrap();
    let steps = ["x", "query", "key", "value", "raw_score", "score", "attention", "heads", "merged", "output"];
    assert_eq!(names(&trace), steps);
    assert_eq!(values(&trace, "raw_score")[..4], [1.0, 0.0, 0.0, 1.0]);
    let weights = trace.step("attention").unwrap();
    let axes: Vec<&str> = weights.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(axes, ["head", "query", "key"]);
    assert_eq!(weights.axes[2].labels, ["token 1", "token 2"]);
    let json = serde_json::to_value(&trace).unwrap();
    assert_eq!(json["schema"], "regard-trace/1");
    assert_eq!(json["steps"][6]["values"][1][0].as_array().unwrap().len(), 2);
    assert_eq!(json["steps"][7]["from"], serde_json::json!(["attention", "value"]));
}

#[test]
fn a_causal_mask_bars_later_tokens_and_a_pattern_those_it_says() {
    let trace = trace(r#"{"x": [[1, 0], [0, 1]], "mask": "causal"}"#);
    assert_eq!(values(&trace, "mask"), [1.0, 0.0, 1.0, 1.0]);
    assert_eq!(values(&trace, "attention")[..2], [1.0, 0.0]);
    let pattern = self::trace(r#"{"x": [[1, 0], [0, 1]], "mask": [[false, true], [1, 1]]}"#);
    assert_eq!(values(&pattern, "attention")[..2], [0.0, 1.0]);
}

#[test]
fn projections_are_input_by_output_with_biases() {
    let text = r#"{"x": [[1, 10]], "value_weights": [[2, 3], [0, 0]], "output_weights": [[0, 1], [1, 0]],
        "output_bias": [0.5, -1]}"#;
    let trace = trace(text);
    assert_eq!(values(&trace, "value"), [2.0, 3.0]);
    assert_eq!(values(&trace, "output"), [3.5, 1.0]);
}

#[test]
fn queries_keys_and_values_of_their_own_lengths_and_widths() {
    let text = r#"{"query": [[1, 2, 3]], "key": [[1, 0], [0, 1], [1, 1]], "value": [[5], [7], [9]],
        "query_weights": [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], "key_weights": [[1, 0, 0, 2], [0, 1, 3, 0]],
        "value_weights": [[1, 2]], "output_weights": [[1, 0, 1], [0, 1, 1]], "heads": 2, "scale": 1,
        "score_bias": [[[0, 0, 0]], [[0, 0, -100]]], "key_tokens": ["a", "b", "c"]}"#;
    let trace = trace(text);
    // Heads of the query: (1, 2) and (3, 1); of the keys: (1, 0), (0, 1), (1, 1) and (0, 2), (3, 0), (3, 2).
    assert_eq!(values(&trace, "raw_score"), [1.0, 2.0, 3.0, 2.0, 9.0, 11.0]);
    assert_eq!(values(&trace, "biased")[3..], [2.0, 9.0, -89.0]);
    assert_eq!(trace.step("attention").unwrap().recorded.shape, [2, 1, 3]);
    assert_eq!(trace.step("attention").unwrap().axes[2].labels, ["a", "b", "c"]);
    let output = values(&trace, "output");
    assert!(output.len() == 3 && (output[2] - output[0] - output[1]).abs() < 1e-5, "{output:?}");
}

#[test]
fn a_batch_is_its_inputs_one_by_one() {
    let one = r#"[[1, 0], [0.5, 2]]"#;
    let two = r#"[[3, -1], [9, 9]]"#;
    let rest = r#""heads": 2, "key_weights": [[1, 1], [0, 2]]"#;
    let both = trace(&format!(
        r#"{{"x": [{one}, {two}], "lengths": [2, 1], "tau": [2, 3], "delta": [[0, 1], [4, 5]], {rest}}}"#
    ));
    let first = trace(&format!(r#"{{"x": {one}, "tau": 2, "delta": [0, 1], {rest}}}"#));
    let second = trace(&format!(r#"{{"x": {two}, "lengths": [1], "tau": 3, "delta": [4, 5], {rest}}}"#));
    assert_eq!(both.step("attention").unwrap().axes[0].labels, ["input 1", "input 2"]);
    for name in ["stretched_query", "scaled_delta", "biased", "attention", "output"] {
        assert_eq!(values(&both, name), [values(&first, name), values(&second, name)].concat(), "{name}");
    }
    assert_eq!(values(&second, "attention"), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn parts_that_do_not_fit_are_errors() {
    let refused = |change: fn(&mut AttentionInput)| {
        let mut input = AttentionInput::hand_worked();
        change(&mut input);
        let found = attention("by hand", &input, &Device::flex());
        assert!(matches!(found, Err(Error::Config { .. })), "{found:?}");
    };
    refused(|input| input.heads = 3);
    refused(|input| input.heads = 0);
    refused(|input| input.key_projection.weight.shape = vec![4, 3]);
    refused(|input| input.query.data.truncate(3));
    refused(|input| input.key_tokens.truncate(1));
}

fn fault(text: &str) -> String {
    AttentionInput::parse(text, Path::new("in.json")).unwrap_err().to_string()
}

#[test]
fn faults_name_the_field_and_what_was_expected() {
    let many =
        format!(r#"{{"x": [{}], "heads": 20}}"#, vec!["[1,2,3,4,5,6,7,8,9,10,1,2,3,4,5,6,7,8,9,10]"; 500].join(","));
    for (text, expected) in [
        ("", "is not JSON"),
        ("{\n\"x\": [[1,}", "in.json:2: is not JSON"),
        ("[1]", "expected an object"),
        ("{}", "x: is missing"),
        (r#"{"x": 3}"#, "x: expected a list of rows, found a number"),
        (r#"{"x": []}"#, "x: expected rows, found an empty list"),
        (r#"{"x": [[]]}"#, "x[0]: expected numbers"),
        (r#"{"x": [[1, 2], [3]]}"#, "x[1]: expected 2 numbers as in the first row, found 1"),
        (r#"{"x": [[1, "a"]]}"#, "x[0][1]: expected a number, found \"a\""),
        (r#"{"x": [[1, 1e300]]}"#, "x[0][1]: expected a number"),
        (r#"{"x": [[[1, 2]], [[3]]]}"#, "x[1]: expected 1 x 2 numbers as in the first"),
        (r#"{"x": [[1, 2]], "heads": 0}"#, "heads: expected an integer"),
        (r#"{"x": [[1, 2, 3]], "heads": 2}"#, "heads: 2 heads do not divide the width 3"),
        (
            r#"{"x": [[1, 2]], "mask": "padded"}"#,
            "mask: expected \"none\", \"causal\", or 1 x 1 of 1 (may attend) and 0",
        ),
        (r#"{"x": [[1, 2]], "mask": [[1, 0]]}"#, "mask: expected 1 x 1 of true and false, found 2"),
        (r#"{"x": [[1, 2]], "mask": [[2]]}"#, "mask[0][0]: expected 1 (may attend) or 0, found 2"),
        (r#"{"x": [[1, 2]], "mask": "causal", "lengths": [1]}"#, "lengths: does not go with mask"),
        (r#"{"x": [[1, 2]], "lengths": [2]}"#, "lengths: expected 1 numbers of keys, none above 1"),
        (r#"{"x": [[1, 2]], "tokens": ["a", "b"]}"#, "tokens: expected 1 names"),
        (r#"{"x": [[1, 2]], "key_tokens": ["a"]}"#, "query_tokens: x has tokens that are both"),
        (r#"{"x": [[1, 2]], "key_weights": [[1]]}"#, "key_weights: expected 2 rows (the width), found 1 x 1"),
        (r#"{"x": [[1, 2]], "key_weights": [[1], [1]]}"#, "key_weights: queries have 2 channels and keys 1"),
        (r#"{"x": [[1, 2]], "key_bias": [1]}"#, "key_bias: expected 2 numbers, one for each output"),
        (r#"{"x": [[1, 2]], "score_bias": [[1, 2]]}"#, "score_bias: expected 1 x 1 numbers"),
        (r#"{"x": [[1, 2]], "delta": [1, 2]}"#, "delta: expected 1 x 1 numbers, one for each key"),
        (r#"{"x": [[1, 2]], "tau": [1, 2]}"#, "tau: expected 1 numbers"),
        (r#"{"x": [[1, 2]], "keys": 1}"#, "keys: is not known; expected x, query"),
        (r#"{"x": [[1, 2]], "key": [[1, 2]]}"#, "x: stands for query, key and value"),
        (r#"{"query": [[1, 2]]}"#, "key: is missing"),
        (
            r#"{"query": [[1, 2]], "key": [[1, 2]], "value": [[1], [2]]}"#,
            "value: expected 1 rows, one for each key, found 2",
        ),
        (&many, "x: batch, heads, queries and keys make 5000000 scores; at most 4194304 fit"),
    ] {
        let message = fault(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
}

//! Intermediates, shapes and masks, and everything that can be wrong with an input.

use std::path::Path;

use super::{AttentionInput, AttentionTrace, attention};
use crate::{Device, Error};

fn trace(text: &str) -> AttentionTrace {
    let input = AttentionInput::parse(text, Path::new("in.json")).unwrap();
    attention(&input, &Device::flex()).unwrap()
}

#[test]
fn every_step_fills_its_shape() {
    let trace = attention(&AttentionInput::hand_worked(), &Device::flex()).unwrap();
    let names: Vec<_> = trace.steps.iter().map(|step| step.name).collect();
    assert_eq!(names, ["x", "q", "k", "v", "scores", "weights", "heads", "output"]);
    for step in &trace.steps {
        assert_eq!(step.values.shape.iter().product::<usize>(), step.values.data.len(), "{}", step.name);
        assert_eq!(step.values.shape.len(), step.axes.len(), "{}", step.name);
    }
}

#[test]
fn a_causal_mask_bars_later_tokens() {
    let trace = trace(r#"{"x": [[1, 0], [0, 1]], "mask": "causal"}"#);
    let scores = &trace.step("scores").unwrap().values.data;
    assert_eq!(scores[1], f32::NEG_INFINITY);
    assert_eq!(trace.step("weights").unwrap().values.data[..2], [1.0, 0.0]);
    let json = serde_json::to_value(&trace).unwrap();
    assert!(json["steps"][4]["values"][0][0][1].is_null());
}

#[test]
fn projections_are_input_by_output() {
    let trace = trace(r#"{"x": [[1, 10]], "value_weights": [[2, 3], [0, 0]], "output_weights": [[0, 1], [1, 0]]}"#);
    assert_eq!(trace.step("v").unwrap().values.data, [2.0, 3.0]);
    assert_eq!(trace.step("output").unwrap().values.data, [3.0, 2.0]);
}

#[test]
fn values_nest_by_axis_in_json() {
    let trace = attention(&AttentionInput::hand_worked(), &Device::flex()).unwrap();
    let json = serde_json::to_value(&trace).unwrap();
    assert_eq!(json["steps"][1]["shape"], serde_json::json!([2, 2, 2]));
    assert_eq!(json["steps"][1]["values"][0][1], serde_json::json!([1.0, 0.0]));
}

#[test]
fn wrong_shapes_are_errors() {
    let mut input = AttentionInput::hand_worked();
    input.heads = 3;
    assert!(matches!(attention(&input, &Device::flex()), Err(Error::Config { .. })));
    let mut input = AttentionInput::hand_worked();
    input.key_weights.shape = vec![4, 3];
    assert!(matches!(attention(&input, &Device::flex()), Err(Error::Shape { .. })));
}

fn fault(text: &str) -> String {
    AttentionInput::parse(text, Path::new("in.json")).unwrap_err().to_string()
}

#[test]
fn defaults_fill_what_is_left_out() {
    let input = AttentionInput::parse(r#"{"x": [[1, 2.5], [3, -4]]}"#, Path::new("in.json")).unwrap();
    assert_eq!((input.len(), input.width(), input.heads, input.causal), (2, 2, 1, false));
    assert_eq!(input.query_weights.data, [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(input.tokens, ["token 1", "token 2"]);
}

#[test]
fn faults_name_the_field_and_what_was_expected() {
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
        (r#"{"x": [[1, 2]], "heads": 0}"#, "heads: expected an integer"),
        (r#"{"x": [[1, 2, 3]], "heads": 2}"#, "heads: 2 heads do not divide the width 3"),
        (r#"{"x": [[1, 2]], "mask": "padded"}"#, "mask: expected \"none\" or \"causal\""),
        (r#"{"x": [[1, 2]], "tokens": ["a", "b"]}"#, "tokens: expected 1 names"),
        (r#"{"x": [[1, 2]], "key_weights": [[1]]}"#, "key_weights: expected 2 x 2 numbers"),
        (r#"{"x": [[1, 2]], "keys": 1}"#, "keys: is not known; expected x, heads"),
    ] {
        let message = fault(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
}

//! `regard explain attention`.

use std::path::Path;

use crate::files::folder_with;
use crate::program::regard;

#[test]
fn the_first_page_is_the_example_worked_by_hand() {
    let said = regard(Path::new("."), &["explain", "attention"]).done();
    assert!(said.out.contains("0.66976") && said.out.contains("0.33023"), "{said:?}");
    insta::assert_snapshot!("explain_attention", said.out);
}

#[test]
fn an_input_of_ones_own() {
    let input = r#"{"x": [[1, 0], [0, 2], [1, 1]], "heads": 1, "value_weights": [[2, 0], [0, 2]],
        "mask": "causal", "tokens": ["we", "see", "you"]}"#;
    let folder = folder_with("in.json", input);
    let said = regard(folder.path(), &["explain", "attention", "--input", "in.json"]).done();
    insta::assert_snapshot!("explain_attention_causal", said.out);
}

#[test]
fn json_has_every_step_with_its_shape() {
    let json = regard(Path::new("."), &["explain", "attention", "--json"]).done().json();
    let steps = json["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(names, ["x", "q", "k", "v", "scores", "weights", "heads", "output"]);
    let weights = &steps[5];
    assert_eq!(weights["shape"], serde_json::json!([2, 2, 2]));
    let own = weights["values"][0][0][0].as_f64().unwrap();
    assert!((own - 0.669_761_55).abs() < 1e-6);
}

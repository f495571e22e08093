//! Any JSON is an input of `regard explain attention` or refused.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard::explain::AttentionInput;

fuzz_target!(|text: &str| {
    if let Ok(input) = AttentionInput::parse(text, Path::new("fuzz.json")) {
        assert!(input.batch() > 0 && input.query_projection.weight.shape[1] == input.heads * input.key_width());
    }
});

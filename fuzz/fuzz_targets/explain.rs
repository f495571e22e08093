//! Any JSON is an input of `regard explain attention` or refused.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard::explain::AttentionInput;

fuzz_target!(|text: &str| {
    if let Ok(input) = AttentionInput::parse(text, Path::new("fuzz.json")) {
        assert!(!input.is_empty() && input.width().is_multiple_of(input.heads));
    }
});

//! Any bytes are weights or refused; weights are written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard::store::safetensors;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzz.safetensors");
    let _ = safetensors::parse(bytes, path);
    // A header whose length is right keeps the fuzzer from the length alone.
    let length = bytes.iter().position(|byte| *byte == b'}').map_or(bytes.len(), |at| at + 1);
    let framed = [&(length as u64).to_le_bytes(), bytes].concat();
    if let Ok(weights) = safetensors::parse(&framed, path) {
        assert!(weights.values().all(|array| array.first_not_finite().is_none()));
    }
});

//! Archives of `torch.save`: any bytes, as an archive or as members of one, give weights or an error.
#![no_main]

mod archive;

use std::path::Path;

use archive::archive;
use libfuzzer_sys::fuzz_target;
use regard::store::legacy_torch;

const NAMES: [&str; 5] = ["m/data.pkl", "m/data/0", "m/data/1", "m/byteorder", "m/version"];

fuzz_target!(|input: (&[u8], Vec<(u8, &[u8])>)| {
    let (bytes, members) = input;
    let path = Path::new("fuzz.pt");
    let _ = legacy_torch::parse(bytes, path);
    if let Ok(weights) = legacy_torch::parse(&archive(&NAMES, &members), path) {
        assert!(weights.values().all(|array| array.first_not_finite().is_none()));
    }
});

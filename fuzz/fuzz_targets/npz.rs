//! Any bytes, as an archive or as arrays in one, are a set of instances or refused.
#![no_main]

mod archive;

use std::path::Path;

use archive::archive;
use libfuzzer_sys::fuzz_target;
use regard_routing::formats::sets;

const NAMES: [&str; 8] = [
    "locs.npy",
    "depot.npy",
    "demand.npy",
    "capacity.npy",
    "prize.npy",
    "max_length.npy",
    "penalty.npy",
    "deterministic_prize.npy",
];

fuzz_target!(|input: (&[u8], Vec<(u8, &[u8])>)| {
    let (bytes, arrays) = input;
    let path = Path::new("fuzz.npz");
    let _ = sets::parse(bytes, path);
    let _ = sets::parse(&archive(&NAMES, &arrays), path);
});

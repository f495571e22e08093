//! Any bytes, as an archive or as arrays in one, are bags or refused; so are archives of digits.
#![no_main]

mod archive;

use std::path::Path;

use archive::archive;
use libfuzzer_sys::fuzz_target;
use regard_data::sets::formats::npz;
use regard_data::sets::generate::Digits;

const NAMES: [&str; 7] =
    ["features.npy", "offsets.npy", "targets.npy", "row_targets.npy", "ids.npy", "images.npy", "labels.npy"];

fuzz_target!(|input: (&[u8], Vec<(u8, &[u8])>)| {
    let (bytes, arrays) = input;
    let path = Path::new("fuzz.npz");
    let _ = npz::parse(bytes, path);
    let archive = archive(&NAMES, &arrays);
    let _ = Digits::parse(&archive, path);
    if let Ok(bags) = npz::parse(&archive, path) {
        assert_eq!(bags.features().len(), bags.rows() * bags.width());
        assert!(bags.features().iter().all(|v| v.is_finite()));
    }
});

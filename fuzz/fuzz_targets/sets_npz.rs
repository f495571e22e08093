//! Any bytes, as an archive or as arrays in one, are bags or refused; so are archives of digits.
#![no_main]

use std::io::{Cursor, Write};
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_data::sets::formats::npz;
use regard_data::sets::generate::Digits;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fuzz_target!(|input: (&[u8], Vec<(u8, &[u8])>)| {
    let (bytes, arrays) = input;
    let path = Path::new("fuzz.npz");
    let _ = npz::parse(bytes, path);
    let archive = archive(&arrays);
    let _ = Digits::parse(&archive, path);
    if let Ok(bags) = npz::parse(&archive, path) {
        assert_eq!(bags.features().len(), bags.rows() * bags.width());
        assert!(bags.features().iter().all(|v| v.is_finite()));
    }
});

/// Checksums keep the fuzzer from the arrays of an archive, so it is given one that is right.
fn archive(arrays: &[(u8, &[u8])]) -> Vec<u8> {
    const NAMES: [&str; 7] =
        ["features", "offsets", "targets", "row_targets", "ids", "images", "labels"];
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (which, content) in arrays {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let name = NAMES[usize::from(*which) % NAMES.len()];
        // The same name twice is refused by the writer; the first one stands.
        if zip.start_file(format!("{name}.npy"), options).is_ok() {
            zip.write_all(content).expect("writes to memory");
        }
    }
    zip.finish().expect("writes to memory").into_inner()
}

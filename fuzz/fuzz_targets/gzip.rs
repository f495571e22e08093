//! Any bytes, compressed or not, are the text of a table or refused.
#![no_main]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use regard_data::file::read_text;
use regard_data::series::formats;

fuzz_target!(|input: (&[u8], bool)| {
    let (bytes, valid) = input;
    let packed = if valid {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(bytes).expect("writes to memory");
        packer.finish().expect("writes to memory")
    } else {
        [&[0x1f, 0x8b, 8], bytes].concat()
    };
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), &packed).expect("is written");
    let text = read_text(file.path());
    assert!(!valid || text.is_ok());
    let _ = formats::read(file.path(), &formats::ReadOptions::default());
});

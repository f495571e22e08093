//! Archives whose checksums are right: those keep the fuzzer from what is in an archive.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An archive of `members`, each the number of a name and a content; of the same name the first stands.
pub fn archive(names: &[&str], members: &[(u8, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (which, content) in members {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let name = names[usize::from(*which) % names.len()];
        // The writer refuses the same name twice.
        if zip.start_file(name, options).is_ok() {
            zip.write_all(content).expect("writes to memory");
        }
    }
    zip.finish().expect("writes to memory").into_inner()
}

//! Files of `torch.save`: any bytes give weights or an error.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard::store::legacy_torch;

/// The pickles in front of the object in every legacy file: magic number, protocol, byte order.
const HEAD: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\
    \x80\x02}X\x0d\x00\x00\x00little_endian\x88s.";

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzz.pt");
    let _ = legacy_torch::parse(bytes, path);
    let _ = legacy_torch::parse(&[HEAD, bytes].concat(), path);
});

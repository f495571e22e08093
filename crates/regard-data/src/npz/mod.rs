//! Archives of numpy arrays (`numpy.savez`): what all readers of them share.
//!
//! Numbers are `float32`, `float64`, `int32`, `int64` or `uint8`, in C order. Nothing that would have to be
//! run is understood.

mod archive;
mod array;
mod header;

pub use self::archive::arrays;
pub use self::array::{Array, tuple};

/// Whether the bytes begin as those of an archive do.
pub fn looks_like(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK")
}

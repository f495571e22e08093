//! Sets of random instances as archives of numpy arrays (`numpy.savez`), as RL4CO writes them.
//!
//! | array | shape | problem |
//! |---|---|---|
//! | `locs` (or `loc`) | `[instances, nodes, 2]` | all: places in the unit square |
//! | `depot` | `[instances, 2]` | all but the travelling salesman; without it the first of `locs` |
//! | `demand`, `capacity` | `[instances, customers]`, `[instances]` | vehicle routing |
//! | `prize`, `max_length` | `[instances, customers]`, `[instances]` | orienteering |
//! | `penalty`, `deterministic_prize`, `stochastic_prize` | `[instances, customers]` | prize collecting |
//!
//! Numbers are `float32`, `float64`, `int32`, `int64` or `uint8`. Numbers of instances may have a last
//! dimension of 1, and a single one serves all. `vehicle_capacity` stands for a missing `capacity`;
//! demands that are shares of the capacity are multiplied by it. Without `stochastic_prize` the
//! deterministic prizes are the real ones. Values of customers may have the depot's 0 in front
//! where `locs` has the depot.

mod set;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::kool::KoolSet;
use crate::{Error, Result, npz};

/// Whether the bytes begin as those of an archive do.
#[must_use]
pub fn looks_like(bytes: &[u8]) -> bool {
    npz::looks_like(bytes)
}

/// Reads a set from an archive of arrays.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, and [`Error::Parse`] as of [`parse`].
pub fn read(path: impl AsRef<Path>) -> Result<KoolSet> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    parse(&bytes, path)
}

/// Reads a set from the bytes of an archive; `path` names it in errors.
///
/// Memory is bounded: an archive that unpacks to more than 64 times its size and a mebibyte is
/// refused before it is unpacked.
///
/// # Errors
/// [`Error::Parse`] naming the array or the instance, e.g.
/// ``vrp.npz: field `demand`: has the shape (100, 21), expected (100, 20)``.
pub fn parse(bytes: &[u8], path: &Path) -> Result<KoolSet> {
    let read = || set::assemble(npz::arrays(bytes)?);
    read().map_err(|fault| fault.in_file(path))
}

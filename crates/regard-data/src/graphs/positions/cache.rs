//! A cache of positions on disk, by a digest of the graphs and the encoding.
//!
//! A file is the line `regard positions 1`, the sum that names it (32 bytes), six numbers of 64 bits
//! (width, values, indices, graphs, symmetrised and unconverged ones), values, indices and filled columns
//! (32 bits each), and the SHA-256 sum of all before; numbers are little-endian.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::{Encoding, Nulls, Positions};
use crate::Result;
use crate::file::write_atomic;
use crate::graphs::Graphs;

const MAGIC: &[u8] = b"regard positions 1\n";
/// Changes when what is computed changes.
const METHOD: u64 = 1;
const SUM: usize = 32;
const NUMBERS: usize = 6;

impl Positions {
    /// Positions out of a folder where they were computed before, or computed now and written there under
    /// a temporary name first. Files are named by a sum over the edges and the encoding; one that is
    /// damaged is computed again.
    ///
    /// # Errors
    /// [`crate::Error::Io`] when the folder cannot be made or the file cannot be written.
    pub fn cached(
        graphs: &Graphs,
        encoding: &Encoding,
        folder: impl AsRef<Path>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self> {
        let folder = folder.as_ref();
        let key = key(graphs, encoding);
        let name: String = key[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let path = folder.join(format!("{name}.positions"));
        let known = std::fs::read(&path).ok().and_then(|bytes| decode(&bytes, &key, graphs, encoding));
        if let Some(positions) = known {
            return Ok(positions);
        }
        let positions = Self::compute(graphs, encoding, progress);
        std::fs::create_dir_all(folder).map_err(|source| crate::Error::io(folder, source))?;
        let bytes = positions.encode(&key);
        write_atomic(&path, |w| w.write_all(&bytes))?;
        Ok(positions)
    }

    fn encode(&self, key: &[u8; SUM]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(key);
        let numbers =
            [self.width, self.values.len(), self.indices.len(), self.filled.len(), self.symmetrised, self.unconverged];
        numbers.iter().for_each(|number| bytes.extend_from_slice(&(*number as u64).to_le_bytes()));
        self.values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        self.indices.iter().chain(&self.filled).for_each(|index| bytes.extend_from_slice(&index.to_le_bytes()));
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }
}

/// A digest of all that positions depend on: edges, encoding and the method.
fn key(graphs: &Graphs, encoding: &Encoding) -> [u8; SUM] {
    let mut sum = Sha256::new();
    let (kind, parameter) = match encoding {
        Encoding::None => (0, 0),
        Encoding::Laplacian { k, nulls: Nulls::SkipFirst } => (1, *k),
        Encoding::Laplacian { k, nulls: Nulls::SkipAll } => (2, *k),
        Encoding::WeisfeilerLehman => (3, 0),
        Encoding::RandomWalk { steps } => (4, *steps),
    };
    let mut number = |number: u64| sum.update(number.to_le_bytes());
    [METHOD, kind, parameter as u64, graphs.len() as u64, graphs.nodes() as u64].into_iter().for_each(&mut number);
    graphs.node_offsets().iter().chain(graphs.in_offsets()).for_each(|offset| number(*offset as u64));
    graphs.sources().iter().for_each(|source| number(u64::from(*source)));
    sum.finalize().into()
}

/// `None` for a file that is cut, damaged or of something else.
fn decode(bytes: &[u8], key: &[u8; SUM], graphs: &Graphs, encoding: &Encoding) -> Option<Positions> {
    let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM)?)?;
    if Sha256::digest(content)[..] != *sum {
        return None;
    }
    let rest = content.strip_prefix(MAGIC)?.strip_prefix(key)?;
    let (head, rest) = rest.split_at_checked(8 * NUMBERS)?;
    let number = |at: usize| Some(u64::from_le_bytes(head.get(8 * at..8 * at + 8)?.try_into().ok()?) as usize);
    let (width, values, indices, filled) = (number(0)?, number(1)?, number(2)?, number(3)?);
    let fits = width == encoding.width()
        && Some(values) == graphs.nodes().checked_mul(width)
        && (indices == 0 || indices == graphs.nodes())
        && filled == graphs.len()
        && rest.len() == 4 * (values + indices + filled);
    if !fits {
        return None;
    }
    let words: Vec<[u8; 4]> = rest.chunks_exact(4).filter_map(|word| word.try_into().ok()).collect();
    let whole = |words: &[[u8; 4]]| words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    Some(Positions {
        width,
        values: words[..values].iter().map(|word| f32::from_le_bytes(*word)).collect(),
        indices: whole(&words[values..values + indices]),
        filled: whole(&words[values + indices..]),
        symmetrised: number(4)?,
        unconverged: number(5)?,
    })
}

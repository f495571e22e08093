//! The arrays in an archive.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::read::ZipFile;

use super::array::Array;
use crate::error::shown;
use crate::fault::Fault;

/// How far an archive may grow when it is unpacked: random numbers hardly shrink, and constant
/// columns are a small part of a set.
const UNPACKED_PER_BYTE: u64 = 64;
/// What any archive may grow to.
const UNPACKED_ALWAYS: u64 = 1 << 20;

/// All arrays by name.
pub fn arrays(bytes: &[u8]) -> Result<BTreeMap<String, Array>, Fault> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    let mut left = (bytes.len() as u64).saturating_mul(UNPACKED_PER_BYTE).saturating_add(UNPACKED_ALWAYS);
    let mut all = BTreeMap::new();
    for at in 0..zip.len() {
        let member = zip.by_index(at).map_err(|error| damaged(&error))?;
        let file = member.name().map_err(|error| damaged(&error))?.into_owned();
        let Some(name) = file.strip_suffix(".npy") else {
            return Err(Fault::whole(format!("holds `{}`, expected arrays (`.npy`) only", shown(&file))));
        };
        let size = member.size();
        left = left.checked_sub(size).ok_or_else(|| {
            Fault::whole("unpacks to more than 64 times its size, which no measured or random numbers do")
                .hint("save with `numpy.savez`, which does not compress")
                .within(shown(name))
        })?;
        let content = unpacked(member, size).map_err(|reason| Fault::whole(reason).within(shown(name)))?;
        let array = Array::parse(&content).map_err(|fault| fault.within(shown(name)))?;
        all.insert(name.to_owned(), array);
    }
    Ok(all)
}

/// The content of a member, which has to be as long as the archive says.
fn unpacked(member: ZipFile<'_, Cursor<&[u8]>>, size: u64) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    // One byte more than stated shows that there is more, and ends there.
    let read = member.take(size.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| format!("cannot be unpacked: {error}"))?;
    if content.len() as u64 == size {
        return Ok(content);
    }
    Err(format!("does not unpack to the {size} bytes the archive states"))
}

fn damaged(error: &dyn std::fmt::Display) -> Fault {
    Fault::whole(format!("is not a readable archive: {error}"))
}

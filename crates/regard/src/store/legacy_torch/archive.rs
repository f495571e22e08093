//! The new layout of PyTorch: a zip archive of stored members.

use std::io::Cursor;

use regard_data::pickle::{self, Fault, Heap};
use zip::{CompressionMethod, ZipArchive};

use super::objects::{Objects, clip};
use super::storage::Storages;
use crate::store::array::Weights;

/// If true, a file begins as a zip archive does.
pub(super) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// The weights in an archive.
pub(super) fn read(bytes: &[u8]) -> Result<Weights, Fault> {
    let mut archive = Archive::open(bytes)?;
    let big_endian = Fault::whole("was written on a big-endian machine, which is not supported");
    match archive.member("byteorder") {
        Ok(b"little") | Err(_) => {}
        Ok(_) => return Err(big_endian),
    }
    let program = archive.member("data.pkl")?;
    let (mut heap, mut objects) = (Heap::default(), Objects::default());
    let object = pickle::load(program, &mut 0, &mut heap, &mut objects)?;
    let mut storages = Storages::new();
    for storage in objects.storages() {
        storages.add(storage, archive.member(&format!("data/{}", storage.key))?)?;
    }
    super::File { heap, objects, storages }.weights(object, bytes.len())
}

struct Archive<'a> {
    bytes: &'a [u8],
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// The folder all members lie in, with its slash.
    folder: String,
}

impl<'a> Archive<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, Fault> {
        let zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| Fault::whole(format!("is a damaged zip archive: {error}")))?;
        let folder = zip.file_names().filter_map(Result::ok).find_map(|name| {
            let folder = name.strip_suffix("data.pkl")?;
            (folder.is_empty() || folder.ends_with('/')).then(|| folder.to_owned())
        });
        match folder {
            Some(folder) => Ok(Self { bytes, zip, folder }),
            None => Err(Fault::whole("is a zip archive, but not one of torch.save: it has no `data.pkl`")),
        }
    }

    /// The bytes of a member, which lie in the file as they are.
    fn member(&mut self, name: &str) -> Result<&'a [u8], Fault> {
        let member = self
            .zip
            .by_name(&format!("{}{name}", self.folder))
            .map_err(|error| Fault::whole(format!("member `{}` of the archive: {error}", clip(name))))?;
        if member.compression() != CompressionMethod::Stored {
            return Err(Fault::whole(format!("member `{name}` of the archive is compressed"))
                .hint("repack the archive without compression (`zip -0`), or save the weights again"));
        }
        let range = member.data_start().and_then(|start| {
            let start = usize::try_from(start).ok()?;
            Some(start..start.checked_add(usize::try_from(member.size()).ok()?)?)
        });
        range
            .and_then(|range| self.bytes.get(range))
            .ok_or_else(|| Fault::whole(format!("member `{name}` of the archive reaches beyond its end")))
    }
}

//! The examples of a table or of JSON lines that stay on disk: one pass finds where each begins, and any of them are read by
//! their numbers.
//!
//! A file that is larger than memory is trained on so: what is kept in memory is sixteen bytes for each example.

use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::stream::{Division, Opened, PART, Part, Records};
use crate::cancel;
use crate::file::{GZIP, Place};
use crate::{Error, Result};

/// The size of the first part, by which a reader learns the columns.
const FIRST: usize = 32 << 20;

/// The most examples that are noted: some hundred MiB with what a training keeps of each.
const MOST: usize = 1 << 23;

/// The first of every so many entries: as many as there are, until they are more than are kept; then every second one,
/// every fourth, and so on.
#[derive(Debug, Clone)]
pub struct Thinned<T> {
    kept: Vec<T>,
    every: usize,
    count: usize,
    most: usize,
}

impl<T> Default for Thinned<T> {
    /// As many entries as an [`IndexedFile`] has examples.
    fn default() -> Self {
        Self { kept: Vec::new(), every: 1, count: 0, most: MOST }
    }
}

impl<T> Thinned<T> {
    /// Adds the next entry.
    pub fn push(&mut self, entry: T) {
        if self.count.is_multiple_of(self.every) {
            if self.kept.len() == self.most {
                let mut at = 0;
                self.kept.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.every *= 2;
            }
            if self.count.is_multiple_of(self.every) {
                self.kept.push(entry);
            }
        }
        self.count += 1;
    }

    /// The entries that are kept.
    #[must_use]
    pub fn into_kept(self) -> Vec<T> {
        self.kept
    }
}

/// A file of examples on disk.
pub struct IndexedFile {
    path: PathBuf,
    file: Mutex<File>,
    stamp: Stamp,
    /// Everything above the first example.
    head: Vec<u8>,
    beginning: Option<Arc<[u8]>>,
    /// Where each example begins, and its bytes, `[examples]`.
    examples: Thinned<(u64, u32)>,
    /// A hash of the content.
    digest: u64,
}

/// Size and time of change of a file.
#[derive(Clone, Copy, PartialEq)]
struct Stamp {
    size: u64,
    changed: Option<SystemTime>,
}

impl Stamp {
    fn of(file: &File) -> io::Result<Self> {
        let meta = file.metadata()?;
        Ok(Self { size: meta.len(), changed: meta.modified().ok() })
    }
}

/// A file is described by its examples and its content, whatever its path.
impl fmt::Debug for IndexedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexedFile").field("examples", &self.len()).field("digest", &self.digest).finish()
    }
}

impl IndexedFile {
    /// Reads a file once, part by part, and notes where its examples are. `visit` is called with each part and the lines on
    /// which its examples begin; it returns the places of those to keep among them, or `None` for all.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read; [`Error::Parse`] for a file that is compressed or is neither a table
    /// with a header nor JSON lines, and where a group is there again; those of `visit`.
    pub fn open<E: From<Error>>(
        path: &Path,
        division: Division<'_>,
        mut visit: impl FnMut(&Part, &[usize]) -> Result<Option<Vec<usize>>, E>,
    ) -> Result<Self, E> {
        let unreadable = |source| Error::io(path, source);
        let mut file = File::open(path).map_err(unreadable)?;
        let stamp = Stamp::of(&file).map_err(unreadable)?;
        let mut begin = [0; GZIP.len()];
        let is_packed = file.read_exact(&mut begin).is_ok() && begin == GZIP;
        file.rewind().map_err(unreadable)?;
        let copy = file.try_clone().map_err(unreadable)?;
        let opened = Records::open(Box::new(copy), path, division, 0).map_err(unreadable)?;
        let Opened::Records(mut records) = opened else { return Err(undivided(path, "").into()) };
        if is_packed {
            return Err(undivided(path, "compressed, ").into());
        }
        records.note_starts();
        let (mut examples, mut digest) = (Thinned::default(), DefaultHasher::new());
        let mut most = FIRST;
        while let Some((bytes, place)) = records.part(path, most)? {
            cancel::check();
            digest.write(&bytes[records.head().len()..]);
            let part = Part::of(path, bytes, place);
            let (found, end) = records.starts_of_part();
            let lines: Vec<usize> = found.iter().map(|start| start.line).collect();
            let kept = visit(&part, &lines)?;
            let ends = found.iter().skip(1).map(|start| start.offset).chain([end]);
            // A part has at most a GiB.
            let ranges: Vec<(u64, u32)> =
                found.iter().zip(ends).map(|(start, end)| (start.offset, (end - start.offset) as u32)).collect();
            match kept {
                None => ranges.into_iter().for_each(|range| examples.push(range)),
                Some(places) => places.into_iter().for_each(|at| examples.push(ranges[at])),
            }
            most = PART;
        }
        let (head, beginning) = (records.head().to_vec(), records.beginning());
        let file = Mutex::new(file);
        Ok(Self { path: path.to_path_buf(), file, stamp, head, beginning, examples, digest: digest.finish() })
    }

    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.examples.kept.len()
    }

    /// The number of examples of the file, of which some, evenly spread, are noted if they are more than 8 million.
    #[must_use]
    pub fn all(&self) -> usize {
        self.examples.count
    }

    /// If true, there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.examples.kept.is_empty()
    }

    /// The path of the file, under which its readers find what was [read](Self::read).
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size of the file in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.stamp.size
    }

    /// The mean size of an example in bytes, at least 1.
    #[must_use]
    pub fn mean_size(&self) -> f64 {
        (self.stamp.size as f64 / self.all().max(1) as f64).max(1.0)
    }

    /// Reads some examples, which may be there more than once: a table of them in the order of the file, each once, and
    /// the place of each chosen one in it, `[chosen]`.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read or was changed.
    ///
    /// # Panics
    /// If there is no such example.
    pub fn read(&self, chosen: &[usize]) -> Result<(Part, Vec<usize>)> {
        let mut sorted = chosen.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let places = chosen.iter().map(|at| sorted.partition_point(|other| other < at)).collect();
        let bytes = self.bytes(&sorted).map_err(|source| Error::io(&self.path, source))?;
        let place = Place { beginning: self.beginning.clone(), ..Place::default() };
        Ok((Part::of(&self.path, bytes, place), places))
    }

    /// The head and some examples, which stand in the order of the file.
    fn bytes(&self, sorted: &[usize]) -> io::Result<Vec<u8>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if Stamp::of(&file)? != self.stamp {
            return Err(io::Error::other("was changed while it is read example by example"));
        }
        let total: usize = sorted.iter().map(|&at| self.examples.kept[at].1 as usize + 1).sum();
        let mut bytes = Vec::with_capacity(self.head.len() + total);
        bytes.extend_from_slice(&self.head);
        for &at in sorted {
            let (start, length) = self.examples.kept[at];
            file.seek(SeekFrom::Start(start))?;
            if (&mut *file).take(length.into()).read_to_end(&mut bytes)? as u64 != u64::from(length) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // The last line of a file may have no end.
            if !bytes.ends_with(b"\n") {
                bytes.push(b'\n');
            }
        }
        Ok(bytes)
    }
}

fn undivided(path: &Path, how: &str) -> Error {
    let reason =
        format!("is {how}not read example by example; expected a table with a header or JSON lines, as plain text");
    Error::parse(path, 0, reason).with_hint("`data.on_disk=never` reads it into memory; other formats can be converted")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::sets::Bags;
    use crate::sets::formats::{self as sets, ReadOptions};

    fn options() -> ReadOptions {
        ReadOptions { group_by: Some("id".into()), target: Some("y".into()), ..ReadOptions::default() }
    }

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn all(_: &Part, _: &[usize]) -> Result<Option<Vec<usize>>> {
        Ok(None)
    }

    fn bags(file: &IndexedFile, chosen: &[usize]) -> Bags {
        let (part, places) = file.read(chosen).unwrap();
        part.open(|| sets::read(file.path(), &options()).unwrap()).select(&places)
    }

    const TEXT: &str = "# made up\nid,y,x\na,1,1\na,1,2\n\nb,0,\"3\"\nc,1,4\nc,1,5";

    #[test]
    fn examples_are_those_of_the_file_in_any_order() {
        let (_folder, path) = file(TEXT);
        let whole = sets::read(&path, &options()).unwrap();
        let indexed = IndexedFile::open(&path, Division::Groups("id"), all).unwrap();
        assert_eq!(indexed.len(), 3);
        for chosen in [&[0, 1, 2][..], &[2], &[2, 0], &[1, 1, 0, 1], &[]] {
            let expected = whole.select(chosen);
            if chosen.is_empty() {
                assert!(indexed.read(chosen).unwrap().1.is_empty());
                continue;
            }
            let found = bags(&indexed, chosen);
            assert_eq!(
                (found.ids(), found.features(), found.labels()),
                (expected.ids(), expected.features(), expected.labels())
            );
        }
    }

    #[test]
    fn examples_that_are_left_out_are_not_counted() {
        let (_folder, path) = file(TEXT);
        let mut seen = vec![];
        let indexed = IndexedFile::open(&path, Division::Groups("id"), |_, lines| {
            seen.extend_from_slice(lines);
            Ok::<_, Error>(Some(vec![0, 2]))
        });
        let indexed = indexed.unwrap();
        assert_eq!((seen, indexed.len()), (vec![3, 6, 7], 2));
        assert_eq!(bags(&indexed, &[1]).features(), [4.0, 5.0]);
    }

    #[test]
    fn entries_are_thinned_evenly() {
        for count in [3, 4, 5, 9, 33] {
            let mut thinned = Thinned { most: 4, ..Thinned::default() };
            (0..count).for_each(|entry| thinned.push(entry));
            let every = thinned.every;
            assert!(thinned.count == count && (count <= 4) == (every == 1), "{count}");
            let kept = thinned.into_kept();
            assert!(kept.len() <= 4 && kept.iter().copied().eq((0..count).step_by(every)), "{count}: {kept:?}");
        }
    }

    #[test]
    fn content_decides_how_a_file_is_described() {
        let described = |text: &str| {
            let (_folder, path) = file(text);
            format!("{:?}", IndexedFile::open(&path, Division::Groups("id"), all).unwrap())
        };
        assert_eq!(described(TEXT), described(TEXT));
        assert_ne!(described(TEXT), described(&TEXT.replace("c,1,4", "c,1,6")));
    }

    #[test]
    fn files_that_change_or_cannot_be_divided_are_refused() {
        let (_folder, path) = file(TEXT);
        let indexed = IndexedFile::open(&path, Division::Groups("id"), all).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"\nd,1,1\n").unwrap();
        assert!(indexed.read(&[0]).err().unwrap().to_string().contains("was changed"));
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            IndexedFile::open(&path, Division::Groups("id"), all).unwrap_err().to_string()
        };
        assert!(refused(b"1,2,3\n4,5,6\n").contains("example by example"));
        assert!(refused(b"id,y,x\na,1,1\nb,1,2\na,1,3\n").contains("has `a` again"));
        let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        gzip.write_all(TEXT.as_bytes()).unwrap();
        assert!(refused(&gzip.finish().unwrap()).contains("is compressed, not read"));
    }
}

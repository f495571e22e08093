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

use super::stream::{Division, Opened, PART, Part, Records, Start, read_in_order};
use crate::file::{GZIP, Place};
use crate::progress::{self, Stage};
use crate::{Error, Result, cancel};

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
        if self.kept.len() == self.most && self.count.is_multiple_of(self.every) {
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
    /// Reads a file once, part by part, and notes where its examples are. `read` is called with each part, several at a
    /// time once the first is taken; `take` with what it read, in the order of the file, and the lines on which the examples
    /// begin: it returns the places of those to keep among them, or `None` for all.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read; [`Error::Parse`] for a file that is compressed or is neither a table
    /// with a header nor JSON lines, and where a group is there again; those of `read` and `take`.
    pub fn open<T: Send, E: From<Error> + Send>(
        path: &Path,
        division: Division<'_>,
        read: impl Fn(&Part) -> Result<T, E> + Sync,
        take: impl FnMut(T, &[usize]) -> Result<Option<Vec<usize>>, E>,
    ) -> Result<Self, E> {
        Self::open_in_parts(path, division, [FIRST, PART], read, take)
    }

    /// As [`Self::open`], with parts of other sizes: that of the first, and that of all others.
    fn open_in_parts<T: Send, E: From<Error> + Send>(
        path: &Path,
        division: Division<'_>,
        [first, part]: [usize; 2],
        read: impl Fn(&Part) -> Result<T, E> + Sync,
        mut take: impl FnMut(T, &[usize]) -> Result<Option<Vec<usize>>, E>,
    ) -> Result<Self, E> {
        let (file, mut records) = records(path, division)?;
        let stamp = Stamp::of(&file).map_err(|source| Error::io(path, source))?;
        records.note_starts();
        let (mut examples, mut digest) = (Thinned::default(), DefaultHasher::new());
        let mut most = first;
        let mut next = || {
            let Some((bytes, place)) = records.part(path, std::mem::replace(&mut most, part))? else { return Ok(None) };
            digest.write(&bytes[records.head().len()..]);
            Ok(Some((Part::of(path, bytes, place), records.starts_of_part())))
        };
        let mut note = |read: Result<T, E>, (starts, end): (Vec<Start>, u64)| -> Result<(), E> {
            let lines: Vec<usize> = starts.iter().map(|start| start.line).collect();
            let kept = take(read?, &lines)?;
            let ends = starts.iter().skip(1).map(|start| start.offset).chain([end]);
            // A part has at most a GiB.
            let range = |(start, end): (&Start, u64)| (start.offset, (end - start.offset) as u32);
            let ranges: Vec<(u64, u32)> = starts.iter().zip(ends).map(range).collect();
            match kept {
                None => ranges.into_iter().for_each(|range| examples.push(range)),
                Some(places) => places.into_iter().for_each(|at| examples.push(ranges[at])),
            }
            progress::report(Stage::Reading { path, done: end, size: stamp.size });
            Ok(())
        };
        if let Some((part, starts)) = next()? {
            note(read(&part), starts)?;
            read_in_order(next, read, note)?;
        }
        cancel::check();
        let (head, beginning) = (records.head().to_vec(), records.beginning());
        let file = Mutex::new(file);
        Ok(Self { path: path.to_path_buf(), file, stamp, head, beginning, examples, digest: digest.finish() })
    }

    /// If true, a file can be opened so: it is a table with a header and the column of the division, or JSON lines, as
    /// plain text. Whether the rows of each group stand together is known when it is read.
    #[must_use]
    pub fn is_possible(path: &Path, division: Division<'_>) -> bool {
        records(path, division).is_ok()
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

/// A plain file and its records, which move the place where it is read.
fn records(path: &Path, division: Division<'_>) -> Result<(File, Box<Records>)> {
    let undivided = |how: &str| {
        let reason =
            format!("is {how}not read example by example; expected a table with a header or JSON lines, as plain text");
        let error = Error::parse(path, 0, reason);
        error.with_hint("`data.on_disk=never` reads it into memory; other formats can be converted")
    };
    let open = || {
        let (mut file, mut begin) = (File::open(path)?, [0; GZIP.len()]);
        let is_packed = file.read_exact(&mut begin).is_ok() && begin == GZIP;
        file.rewind()?;
        let opened = Records::open(Box::new(file.try_clone()?), path, division, 0)?;
        Ok((is_packed, file, opened))
    };
    match open().map_err(|source| Error::io(path, source))? {
        (true, ..) => Err(undivided("compressed, ")),
        (false, file, Opened::Records(records)) => Ok((file, records)),
        (false, _, Opened::Other(_)) => Err(undivided("")),
    }
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

    /// All examples of a file.
    fn open(path: &Path) -> Result<IndexedFile> {
        IndexedFile::open(path, Division::Groups("id"), |_| Ok(()), |(), _| Ok(None))
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
        let indexed = open(&path).unwrap();
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
        let take = |(): (), lines: &[usize]| {
            seen.extend_from_slice(lines);
            Ok::<_, Error>(Some(vec![0, 2]))
        };
        let indexed = IndexedFile::open(&path, Division::Groups("id"), |_| Ok(()), take).unwrap();
        assert_eq!((seen, indexed.len()), (vec![3, 6, 7], 2));
        assert_eq!(bags(&indexed, &[1]).features(), [4.0, 5.0]);
    }

    #[test]
    fn parts_that_are_read_together_are_taken_in_their_order() {
        let text: String = (0..50).map(|id| format!("{id},1,{id}.5\n{id},1,0\n")).collect();
        let (_folder, path) = file(&format!("id,y,x\n{text}"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let opened = |path: &Path, sizes: [usize; 2]| {
            let (mut seen, mut lines) = (vec![], vec![]);
            let take = |bags: Bags, at: &[usize]| {
                seen.extend_from_slice(bags.ids());
                lines.extend_from_slice(at);
                Ok(None)
            };
            let read = |part: &Part| part.open(|| sets::read(path, &options()));
            let found = IndexedFile::open_in_parts(path, Division::Groups("id"), sizes, read, take);
            (
                found.map(|found| (format!("{found:?}"), found.examples.kept)).map_err(|error| error.to_string()),
                seen,
                lines,
            )
        };
        let (whole, ids, lines) = pool.install(|| opened(&path, [1 << 20, 1 << 20]));
        assert_eq!((ids.len(), lines[..3].to_vec()), (50, vec![2, 4, 6]));
        for sizes in [[1, 1], [100, 20], [20, 60]] {
            let parts = pool.install(|| opened(&path, sizes));
            assert_eq!(parts.0.as_ref().unwrap().1, whole.as_ref().unwrap().1, "{sizes:?}");
            assert_eq!((&parts.1, &parts.2), (&ids, &lines), "{sizes:?}");
        }
        // The first error of the file is said, whichever part is read first.
        let wrong =
            text.replace("\n31,1,31.5", "\n31,1,x").replace("\n40,1,40.5", "\n40,1,y").replace("\n45,1,0", "\n3,1,0");
        std::fs::write(&path, format!("id,y,x\n{wrong}")).unwrap();
        for sizes in [[1, 1], [100, 20], [1, 60]] {
            let error = pool.install(|| opened(&path, sizes)).0.unwrap_err();
            assert!(error.contains(":64: ") && error.contains('x'), "{sizes:?}: {error}");
        }
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
            format!("{:?}", open(&path).unwrap())
        };
        assert_eq!(described(TEXT), described(TEXT));
        assert_ne!(described(TEXT), described(&TEXT.replace("c,1,4", "c,1,6")));
    }

    #[test]
    fn files_that_change_or_cannot_be_divided_are_refused() {
        let (_folder, path) = file(TEXT);
        let indexed = open(&path).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"\nd,1,1\n").unwrap();
        assert!(indexed.read(&[0]).err().unwrap().to_string().contains("was changed"));
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            open(&path).unwrap_err().to_string()
        };
        assert!(refused(b"1,2,3\n4,5,6\n").contains("example by example"));
        assert!(refused(b"id,y,x\na,1,1\nb,1,2\na,1,3\n").contains("has `a` again"));
        let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        gzip.write_all(TEXT.as_bytes()).unwrap();
        assert!(refused(&gzip.finish().unwrap()).contains("is compressed, not read"));
    }
}

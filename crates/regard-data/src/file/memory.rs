//! Files in memory: what a program was sent is read by the readers of files, under the name it was sent with.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cancel::with_current;
use crate::error::shown;
use crate::{Error, Result};

/// The longest name, in letters.
const LONGEST_NAME: usize = 255;

/// A file in memory.
#[derive(Debug, Clone)]
pub struct MemoryFile {
    name: PathBuf,
    bytes: Arc<[u8]>,
    place: Place,
}

/// Where a part of a longer file stands in it; the default is a file from its start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// Lines between the header and the first row of the part.
    pub(crate) lines: usize,
    /// Rows before the part.
    pub(crate) rows: usize,
    /// The first rows of the whole file, by which marks and columns are known in every part.
    pub(crate) beginning: Option<Arc<[u8]>>,
    /// If true, the part of a Parquet file is text as CSV.
    pub(crate) is_csv: bool,
}

impl MemoryFile {
    /// A file of this name, which readers show in errors.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that is empty, too long, has a folder, or has control characters.
    pub fn new(name: &str, bytes: impl Into<Arc<[u8]>>) -> Result<Self> {
        let wrong = match name {
            "" => Some("is empty"),
            "." | ".." => Some("is that of a folder"),
            name if name.chars().count() > LONGEST_NAME => Some("is longer than 255 letters"),
            name if name.contains(['/', '\\', ':']) => Some("names a folder"),
            name if name.chars().any(char::is_control) => Some("has control characters"),
            _ => None,
        };
        match wrong {
            Some(wrong) => {
                let reason = format!("{wrong}, expected the name of a file alone, such as deliveries.csv");
                Err(Error::invalid(format!("the name `{}` of a file", shown(name)), reason))
            }
            None => Ok(Self { name: name.into(), bytes: bytes.into(), place: Place::default() }),
        }
    }

    /// A part of the file at a path, which is found under that path.
    pub(crate) fn part(path: &Path, bytes: Vec<u8>, place: Place) -> Self {
        Self { name: path.to_path_buf(), bytes: bytes.into(), place }
    }

    /// Its name, as a path.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Its content.
    #[must_use]
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }
}

/// Files in memory that lie beside each other.
///
/// While [`MemoryFiles::open`] runs, its thread finds these files under their names and no others: readers see nothing of
/// the disk, whatever a name says.
///
/// ```
/// use regard_data::file::{MemoryFile, MemoryFiles, read_text};
///
/// let files = MemoryFiles::new(vec![MemoryFile::new("a.csv", *b"id,x\n1,2\n")?]);
/// assert_eq!(files.open(|| read_text("a.csv"))?, "id,x\n1,2\n");
/// assert!(files.open(|| read_text("/etc/hostname")).is_err());
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemoryFiles {
    files: Vec<MemoryFile>,
    most_unpacked: Option<u64>,
    /// If true, other paths are those of the disk.
    on_disk: bool,
}

impl MemoryFiles {
    /// These files; of two with one name the first is found.
    #[must_use]
    pub fn new(files: Vec<MemoryFile>) -> Self {
        Self { files, most_unpacked: None, on_disk: false }
    }

    /// A part of a file that stands for all of it, beside the files of the disk.
    pub(crate) fn part_beside_disk(part: MemoryFile) -> Self {
        Self { files: vec![part], most_unpacked: None, on_disk: true }
    }

    /// The same files, of which compressed ones may unpack to so many bytes.
    #[must_use]
    pub fn unpacking_to(self, most: u64) -> Self {
        Self { most_unpacked: Some(most), ..self }
    }

    /// Calls `read` with these files for those of the disk. Threads that it starts see the disk.
    pub fn open<T>(&self, read: impl FnOnce() -> T) -> T {
        with_current(&OPEN, Some(self.clone()), read)
    }
}

thread_local! {
    /// The files that stand for those of the disk, innermost call alone.
    static OPEN: RefCell<Option<MemoryFiles>> = const { RefCell::new(None) };
}

/// The content of a path: the bytes of a file in memory, nothing where only memory is open, or the disk.
pub(super) enum Found {
    Memory(Arc<[u8]>),
    Nothing,
    Disk,
}

/// Looks a path up.
pub(super) fn find(path: &Path) -> Found {
    OPEN.with_borrow(|open| match open {
        None => Found::Disk,
        Some(open) => match open.files.iter().find(|file| file.name == path) {
            Some(file) => Found::Memory(Arc::clone(&file.bytes)),
            None if open.on_disk => Found::Disk,
            None => Found::Nothing,
        },
    })
}

/// Where the content of a path stands in a longer file.
pub(crate) fn place(path: &Path) -> Place {
    OPEN.with_borrow(|open| {
        let files = open.iter().flat_map(|open| &open.files);
        files.filter(|file| file.name == path).map(|file| file.place.clone()).next().unwrap_or_default()
    })
}

/// The most bytes to which a compressed file may unpack, where memory is open and says so.
pub(super) fn most_unpacked() -> Option<u64> {
    OPEN.with_borrow(|open| open.as_ref().and_then(|open| open.most_unpacked))
}

/// The error of a path that is not among the files in memory.
pub(super) fn nothing() -> io::Error {
    io::Error::new(ErrorKind::NotFound, "was not sent along")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{is_file, read_text};

    #[test]
    fn names_are_those_of_files_alone() {
        for name in ["a.csv", "M\u{fc}nchen 2.tsv.gz", "-x", "..csv"] {
            assert!(MemoryFile::new(name, *b"").is_ok(), "{name}");
        }
        let long = "x".repeat(256);
        for name in ["", ".", "..", "/etc/passwd", "a/b", "..\\a", "C:a", "a\nb", "a\0b", &long] {
            let error = MemoryFile::new(name, *b"").unwrap_err().to_string();
            assert!(error.contains("expected the name of a file alone"), "{error}");
        }
    }

    #[test]
    fn only_these_files_are_found_and_only_then() {
        let folder = tempfile::tempdir().unwrap();
        let on_disk = folder.path().join("b.csv");
        std::fs::write(&on_disk, "disk").unwrap();
        let of = |text: &'static str| MemoryFiles::new(vec![MemoryFile::new("a.csv", text.as_bytes()).unwrap()]);
        of("outer").open(|| {
            assert!(is_file(Path::new("a.csv")) && !is_file(&on_disk));
            let error = read_text(&on_disk).unwrap_err();
            assert!(error.to_string().ends_with("b.csv: was not sent along"), "{error}");
            of("inner").open(|| assert_eq!(read_text("a.csv").unwrap(), "inner"));
            assert_eq!(read_text("a.csv").unwrap(), "outer");
        });
        assert!(is_file(&on_disk) && !is_file(Path::new("a.csv")));
        let panicked = std::panic::catch_unwind(|| of("x").open(|| panic!("a reader fails")));
        assert!(panicked.is_err() && is_file(&on_disk));
    }

    #[test]
    fn compressed_files_unpack_to_no_more_than_is_said() {
        use std::io::Write;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(&b"date,x\n".repeat(10_000)).unwrap();
        let files = MemoryFiles::new(vec![MemoryFile::new("a.csv.gz", packed.finish().unwrap()).unwrap()]);
        let read = |files: &MemoryFiles| files.open(|| read_text("a.csv.gz"));
        assert_eq!(read(&files).unwrap().len(), 70_000);
        let error = read(&files.clone().unpacking_to(60_000)).unwrap_err().to_string();
        assert!(error.contains("unpacks to more than 60000 bytes"), "{error}");
        let rows = files.unpacking_to(60_000).open(|| crate::series::formats::read("a.csv.gz", &Default::default()));
        assert!(rows.unwrap_err().to_string().contains("unpacks to more than 60000 bytes"));
    }
}

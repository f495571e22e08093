//! Reading whole files, and writing them so that a reader never sees half of one.

mod memory;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::read::MultiGzDecoder;

use self::memory::{Found, find, nothing};
pub use self::memory::{MemoryFile, MemoryFiles};
pub(crate) use self::memory::{Place, place};
use crate::{Error, Result};

/// The first bytes of a file compressed by gzip.
pub(crate) const GZIP: &[u8] = &[0x1f, 0x8b];

/// The most bytes to which each byte of a compressed text may grow; tables grow to ten or twenty times their size.
const UNPACKED_PER_BYTE: u64 = 256;
/// The size to which any compressed text may grow.
const UNPACKED_ALWAYS: u64 = 1 << 26;

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with a byte order mark or without.
    Utf8,
    /// UTF-16 with a byte order mark, as Excel's "Unicode text".
    Utf16,
    /// UTF-16 without a byte order mark: every second byte is 0.
    UnmarkedUtf16,
    /// Windows-1252, which holds Latin-1: what is none of the others.
    Windows1252,
}

/// The bytes by which UTF-16 without a byte order mark is known.
const BEGINNING: usize = 512;

impl Encoding {
    /// A note on an encoding that was guessed; `None` for one that the text shows.
    #[must_use]
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::Utf8 | Self::Utf16 => None,
            Self::UnmarkedUtf16 => {
                Some("is read as UTF-16, since every second byte is 0; save it as UTF-8 if letters are wrong")
            }
            Self::Windows1252 => {
                Some("is not UTF-8 and is read as Windows-1252; save it as UTF-8 if letters are wrong")
            }
        }
    }

    /// If true, a text that begins so is UTF-16.
    pub(crate) fn is_utf16(begin: &[u8]) -> bool {
        Utf16::of(begin).is_some()
    }
}

/// The order of the bytes of UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Utf16 {
    little_endian: bool,
    marked: bool,
}

impl Utf16 {
    /// The order in a text that begins so; `None` for another encoding.
    fn of(begin: &[u8]) -> Option<Self> {
        match begin {
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(Self { little_endian: true, marked: true }),
            [0xfe, 0xff, ..] => Some(Self { little_endian: false, marked: true }),
            _ => Self::unmarked(&begin[..begin.len().min(BEGINNING)]),
        }
    }

    /// The order without a mark: a table is mostly of digits and Latin letters, whose high byte is 0, and no other text
    /// has zero bytes.
    fn unmarked(begin: &[u8]) -> Option<Self> {
        let pairs = begin.as_chunks::<2>().0;
        let zeros = |high: usize| pairs.iter().filter(|pair| pair[high] == 0 && pair[1 - high] != 0).count();
        let mostly = |high: usize| pairs.len() >= 2 && pairs[0][high] == 0 && zeros(high) * 10 >= pairs.len() * 9;
        let little_endian = mostly(1);
        (little_endian || mostly(0)).then_some(Self { little_endian, marked: false })
    }

    /// The text of bytes; half pairs become `U+FFFD`.
    fn decoded(self, bytes: &[u8]) -> String {
        let units = bytes.as_chunks::<2>().0.iter();
        let units =
            units.map(|pair| if self.little_endian { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) });
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }
}

/// The text of bytes in their [`Encoding`], without a byte order mark.
pub(crate) fn decoded(bytes: Vec<u8>) -> (String, Encoding) {
    let (mut text, encoding) = match Utf16::of(&bytes) {
        Some(order) if order.marked => (order.decoded(&bytes), Encoding::Utf16),
        Some(order) => (order.decoded(&bytes), Encoding::UnmarkedUtf16),
        None => match String::from_utf8(bytes) {
            Ok(text) => (text, Encoding::Utf8),
            Err(error) => {
                let bytes = error.as_bytes();
                // A mark of UTF-8 before text that is none.
                let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
                (windows_1252(bytes), Encoding::Windows1252)
            }
        },
    };
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    (text, encoding)
}

/// Windows-1252: Latin-1 with letters and signs in place of its second row of control characters.
pub(crate) fn windows_1252(bytes: &[u8]) -> String {
    const SECOND: [char; 32] = [
        '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž', '\u{fffd}',
        '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}', 'ž', 'Ÿ',
    ];
    let letter = |byte: &u8| match byte {
        0x80..=0x9f => SECOND[usize::from(byte - 0x80)],
        other => char::from(*other),
    };
    bytes.iter().map(letter).collect()
}

/// Reads a text file, compressed by gzip or not, in UTF-8, in UTF-16, or else in Windows-1252 (Latin-1); a byte order mark at the start is dropped.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, [`Error::Parse`] when it is compressed and damaged, or unpacks to more
/// than 256 times its size and 64 MiB.
pub fn read_text(path: impl AsRef<Path>) -> Result<String> {
    read_text_and_encoding(path).map(|(text, _)| text)
}

/// Reads a text file as [`read_text`] and says its encoding.
///
/// # Errors
/// As there.
pub fn read_text_and_encoding(path: impl AsRef<Path>) -> Result<(String, Encoding)> {
    let path = path.as_ref();
    decoded_file(read_bytes(path)?, path)
}

/// Reads a whole file of data.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read or is larger than files of data are: 8 GiB, 1 GiB for a pipe, or
/// 64 MiB for a device: their size is not known before they are read.
pub fn read_bytes(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let read = || {
        let mut bytes = Vec::new();
        Limited::open(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|source| Error::io(path, source))
}

/// The largest regular file that is read.
const LARGEST: u64 = 8 << 30;
/// The most that is read of a pipe, which may have no end.
const LARGEST_OF_PIPE: u64 = 1 << 30;
/// The most that is read of a device, which mostly has no end.
const LARGEST_OF_DEVICE: u64 = 64 << 20;

/// A reader that fails where there is more than a limit: memory is taken for no more.
pub(crate) struct Limited<R> {
    inner: R,
    left: u64,
    reason: String,
}

/// A file of data, on the disk or in memory.
pub(crate) enum DataFile {
    Disk(File),
    Memory(Cursor<Arc<[u8]>>),
}

impl Read for DataFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Disk(file) => file.read(buffer),
            Self::Memory(bytes) => bytes.read(buffer),
        }
    }
}

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// If true, the content of a path on the disk can be read only once: standard input, a pipe or a device.
pub(crate) fn is_read_once(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT) || path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// If true, readers do not find the disk under a path, but a file in memory or nothing.
pub(crate) fn is_in_memory(path: &Path) -> bool {
    !matches!(find(path), Found::Disk)
}

/// Opens a file of the disk, or standard input for `-`.
pub(crate) fn open_once(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if path == Path::new(STANDARD_INPUT) { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })
}

/// The content of what can be read once, for all who read it.
fn kept(path: &Path) -> io::Result<Arc<[u8]>> {
    type Kept = Result<Arc<[u8]>, (io::ErrorKind, String)>;
    static KEPT: Mutex<Option<HashMap<PathBuf, Kept>>> = Mutex::new(None);
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let read = || {
        let left = if is_device(path) { LARGEST_OF_DEVICE } else { LARGEST_OF_PIPE };
        let mut bytes = Vec::new();
        Limited { inner: open_once(path)?, left, reason: too_large(left) }.read_to_end(&mut bytes)?;
        Ok(bytes.into())
    };
    let said = |error: io::Error| (error.kind(), error.to_string());
    let found = all.get_or_insert_default().entry(path.to_path_buf()).or_insert_with(|| read().map_err(said));
    found.clone().map_err(|(kind, reason)| io::Error::new(kind, reason))
}

#[cfg(unix)]
fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|meta| meta.file_type().is_char_device())
}

#[cfg(not(unix))]
fn is_device(_: &Path) -> bool {
    false
}

fn too_large(limit: u64) -> String {
    let size = if limit < 1 << 30 { format!("{} MiB", limit >> 20) } else { format!("{} GiB", limit >> 30) };
    format!("is larger than {size}, the most that is read")
}

/// If true, there is a file at a path.
#[must_use]
pub fn is_file(path: &Path) -> bool {
    match find(path) {
        Found::Disk => path.is_file(),
        Found::Memory(_) => true,
        Found::Nothing => false,
    }
}

/// If true, there is a file or a folder at a path.
#[must_use]
pub fn exists(path: &Path) -> bool {
    match find(path) {
        Found::Disk => path == Path::new(STANDARD_INPUT) || path.exists(),
        Found::Memory(_) => true,
        Found::Nothing => false,
    }
}

/// If true, there is a folder at a path; never among files in memory.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    matches!(find(path), Found::Disk) && path.is_dir()
}

/// Opens a file of data; `-` is standard input. What can be read only once, such as a pipe, is kept, so that it can be
/// opened again.
///
/// # Errors
/// As those of the disk; [`io::ErrorKind::NotFound`] where only files in memory are open and it is none of them.
pub fn open(path: &Path) -> io::Result<impl Read + use<>> {
    Limited::open(path)
}

impl Limited<DataFile> {
    /// Opens a file of data.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let of_memory = |bytes: Arc<[u8]>| {
            let (left, inner) = (bytes.len() as u64, DataFile::Memory(Cursor::new(bytes)));
            Self { inner, left, reason: too_large(left) }
        };
        match find(path) {
            Found::Nothing => return Err(nothing()),
            Found::Memory(bytes) => return Ok(of_memory(bytes)),
            Found::Disk if is_read_once(path) => return kept(path).map(of_memory),
            Found::Disk => {}
        }
        let inner = File::open(path)?;
        let meta = inner.metadata()?;
        if meta.is_file() && meta.len() > LARGEST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, too_large(LARGEST)));
        }
        Ok(Self { inner: DataFile::Disk(inner), left: LARGEST, reason: too_large(LARGEST) })
    }

    /// The size of the file; 0 for one whose size is not known before it is read.
    pub(crate) fn size(&self) -> u64 {
        match &self.inner {
            DataFile::Disk(file) => file.metadata().map_or(0, |meta| meta.len()),
            DataFile::Memory(bytes) => bytes.get_ref().len() as u64,
        }
    }
}

impl<R: Read> Limited<R> {
    /// Text unpacked from a compressed file of `packed` bytes.
    pub(crate) fn unpacked(inner: R, packed: u64) -> Self {
        if let Some(most) = memory::most_unpacked() {
            let reason = format!("unpacks to more than {most} bytes, the most that is taken");
            return Self { inner, left: most, reason };
        }
        let reason = format!(
            "unpacks to more than {UNPACKED_PER_BYTE} times its size and {} MiB, which is not plausible for a table",
            UNPACKED_ALWAYS >> 20
        );
        Self { inner, left: most_unpacked(packed), reason }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::new(io::ErrorKind::FileTooLarge, self.reason.clone())),
        }
        Ok(read)
    }
}

/// The most bytes to which a compressed text of `packed` bytes may grow.
fn most_unpacked(packed: u64) -> u64 {
    packed.saturating_mul(UNPACKED_PER_BYTE).saturating_add(UNPACKED_ALWAYS)
}

/// The text of a file of these bytes, as [`read_text_and_encoding`] reads it.
pub(crate) fn decoded_file(mut bytes: Vec<u8>, path: &Path) -> Result<(String, Encoding)> {
    if bytes.starts_with(GZIP) {
        bytes = unpacked(&bytes).map_err(|reason| Error::parse(path, 0, reason))?;
    }
    Ok(decoded(bytes))
}

fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = Limited::unpacked(MultiGzDecoder::new(bytes), bytes.len() as u64).read_to_end(&mut text);
    match read {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(error.to_string()),
        Err(error) => Err(format!("cannot be unpacked: {error}")),
        Ok(_) => Ok(text),
    }
}

/// The extension of a file in lower case, that in front of `.gz` for a compressed one; empty where there is none.
pub(crate) fn extension(path: &Path) -> String {
    let of = |path: &Path| path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).unwrap_or_default();
    match of(path) {
        packed if packed == "gz" => of(Path::new(path.file_stem().unwrap_or_default())),
        plain => plain,
    }
}

/// Writes a file under a temporary name beside `path` and renames it when it is complete.
///
/// `fill` receives a buffered writer. When it fails, or the disk is full, what stood at `path`
/// before is untouched and the temporary file is removed. A path that exists and is not a regular
/// file (a pipe, `/dev/stdout`) is written directly, since renaming would replace it.
///
/// # Errors
/// [`Error::Io`] naming `path`.
pub fn write_atomic<F>(path: impl AsRef<Path>, fill: F) -> Result<()>
where
    F: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    let path = path.as_ref();
    let special = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    let written = if special { write_directly(path, fill) } else { write_and_rename(path, fill) };
    written.map_err(|source| Error::io(path, source))
}

/// Checks that [`write_atomic`] can write to `path`, so that an answer that takes long is not lost at its end.
///
/// # Errors
/// [`Error::Io`] naming `path`, where its folder does not exist or cannot be written to, or it is a folder itself.
pub fn check_writable(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let checked = match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, expected a file")),
        Ok(meta) if !meta.is_file() => Ok(()),
        _ => temporary_beside(path).map(drop),
    };
    checked.map_err(|source| Error::io(path, source))
}

fn write_directly<F>(path: &Path, fill: F) -> io::Result<()>
where
    F: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    let mut writer = BufWriter::new(File::options().write(true).open(path)?);
    fill(&mut writer)?;
    writer.flush()
}

fn write_and_rename<F>(path: &Path, fill: F) -> io::Result<()>
where
    F: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    let mut writer = BufWriter::new(temporary_beside(path)?);
    fill(&mut writer)?;
    let temporary = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A temporary file in the folder of a file.
fn temporary_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in a file name"))?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push("-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".partial");
    // A temporary file is private by default; the finished one should follow the user's umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    if !folder.is_dir() {
        let reason = format!("the folder {} does not exist", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_atomic(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write_atomic(&path, |w| {
            w.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("a.txt: no more"));
        assert_eq!(read_text(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none").join("a.txt");
        let error = write_atomic(&path, |w| w.write_all(b"x")).unwrap_err();
        assert!(error.to_string().contains("none does not exist"), "{error}");
        assert_eq!(check_writable(&path).unwrap_err().to_string(), error.to_string());
        assert!(check_writable(folder.path()).unwrap_err().to_string().ends_with("is a folder, expected a file"));
        assert!(check_writable(folder.path().join("a.txt")).is_ok());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn texts_have_the_encodings_of_office_programs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let utf16 =
            |order: fn(u16) -> [u8; 2]| "\u{feff}M\u{fc}nchen \u{1f600}".encode_utf16().flat_map(order).collect();
        let read = |bytes: Vec<u8>| {
            std::fs::write(&path, bytes).unwrap();
            read_text_and_encoding(&path).unwrap()
        };
        let munich = |text: &str| format!("M\u{fc}nchen{text}");
        assert_eq!(read(b"\xef\xbb\xbfM\xc3\xbcnchen".to_vec()), (munich(""), Encoding::Utf8));
        assert_eq!(read(b"M\xfcnchen \x80".to_vec()), (munich(" \u{20ac}"), Encoding::Windows1252));
        assert_eq!(read(utf16(u16::to_le_bytes)), (munich(" \u{1f600}"), Encoding::Utf16));
        assert_eq!(read(utf16(u16::to_be_bytes)), (munich(" \u{1f600}"), Encoding::Utf16));
        let unmarked =
            |order: fn(u16) -> [u8; 2]| "id;M\u{fc}nchen \u{20ac}\n1;2\n".encode_utf16().flat_map(order).collect();
        let expected = || ("id;M\u{fc}nchen \u{20ac}\n1;2\n".to_owned(), Encoding::UnmarkedUtf16);
        assert_eq!(read(unmarked(u16::to_le_bytes)), expected());
        assert_eq!(read(unmarked(u16::to_be_bytes)), expected());
        assert_eq!(read(b"a\0b,c".to_vec()).1, Encoding::Utf8);
        assert_eq!(read(b"\xef\xbb\xbfM\xfcnchen".to_vec()), (munich(""), Encoding::Windows1252));
        assert_eq!(read(vec![0xff, 0xfe, 0, 0xd8]), ("\u{fffd}".to_owned(), Encoding::Utf16));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_has_no_end_is_not_read_into_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("huge.csv");
        // A file with holes: it takes no space.
        File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
        let error = read_text(&path).unwrap_err().to_string();
        assert!(error.ends_with("huge.csv: is larger than 8 GiB, the most that is read"), "{error}");
        let mut zeros = Limited { inner: io::repeat(0), left: 1 << 20, reason: "is long".into() };
        let mut bytes = Vec::new();
        assert_eq!(zeros.read_to_end(&mut bytes).unwrap_err().to_string(), "is long");
        assert!(bytes.len() <= 1 << 20);
    }

    #[test]
    fn a_small_file_does_not_unpack_to_a_large_one() {
        use flate2::{Compression, write::GzEncoder};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.csv.gz");
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        let lines = b"1234567\n".repeat(1 << 17);
        packed.write_all(b"value\n").unwrap();
        (0..260).for_each(|_| packed.write_all(&lines).unwrap());
        let bytes = packed.finish().unwrap();
        assert!(bytes.len() < 500_000, "{}", bytes.len());
        std::fs::write(&path, bytes).unwrap();
        let text = read_text(&path).unwrap_err().to_string();
        assert!(text.contains("unpacks to more than 256 times its size and 64 MiB"), "{text}");
        let table = crate::series::formats::read(&path, &Default::default()).unwrap_err().to_string();
        assert!(table.contains("unpacks to more than 256 times its size and 64 MiB"), "{table}");
    }

    #[cfg(unix)]
    #[test]
    fn a_written_file_is_readable_by_others_as_the_umask_says() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("a"), folder.path().join("b"));
        write_atomic(&ours, |w| w.write_all(b"x")).unwrap();
        std::fs::write(&plain, b"x").unwrap();
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_not_replaced() {
        write_atomic("/dev/null", |w| w.write_all(b"x")).unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}

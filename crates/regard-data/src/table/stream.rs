//! Tables and JSON lines that are larger than memory, read part by part.
//!
//! A part is a table of its own: the header and neighbouring rows, cut where a group ends. While it is open, the readers of
//! the file find the part under the file's path, with the line numbers, decimal marks and columns of the whole file.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use csv_core::{ReadRecordResult, ReaderBuilder};
use flate2::bufread::MultiGzDecoder;
use rayon::prelude::*;

use super::header::Header;
use super::json_lines;
use super::rows::{BEGINNING, Rows, read_line};
use crate::error::shown;
use crate::file::{Encoding, GZIP, MemoryFile, MemoryFiles, Place, extension, is_read_once, open_once};
use crate::{Error, Result, cancel};

/// The bytes after which a part ends with its group.
pub const PART: usize = 16 << 20;
/// The most parts that are read at a time: each needs several times its size of memory.
const AT_ONCE: usize = 4;
/// A regular file of so many bytes at most is one part: its groups may be in any order.
const SMALL: u64 = 256 << 20;
/// The text of a Parquet file may be so many times as large.
const PARQUET_GROWS: u64 = 8;
/// The beginning of a file by which its kind and its header are known.
const WINDOW: usize = 1 << 18;
/// The most bytes of a part, all of one group.
const LARGEST: usize = 1 << 30;
/// Groups whose names are remembered; more have to be in order.
const MOST_REMEMBERED: usize = 1 << 22;

/// The meaning of the rows of a table to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division<'a> {
    /// Each row is an example; the table has this column.
    Rows(&'a str),
    /// Rows with the same value in this column are an example.
    Groups(&'a str),
    /// Any neighbouring rows are a table.
    Table,
    /// Tables are read whole, and JSON lines part by part: each line is an example.
    Lines,
}

/// A file, part by part. What cannot be divided is one part: files of other formats, tables without a header, and regular
/// files whose groups are scattered.
pub struct Stream<'p> {
    path: &'p Path,
    source: Source,
    part: usize,
    rows: usize,
}

/// The rest of a file.
enum Source {
    /// All of it, which its readers open themselves.
    Whole,
    /// All of it, as it came through a pipe.
    Piped(Vec<u8>),
    Records(Box<Records>),
    Ended,
}

/// A part of a [`Stream`].
pub struct Part {
    files: Option<MemoryFiles>,
    /// Bytes in memory.
    size: usize,
}

impl Part {
    /// A part of the file at a path.
    pub(super) fn of(path: &Path, bytes: Vec<u8>, place: Place) -> Self {
        let size = bytes.len();
        Self { files: Some(MemoryFiles::part_beside_disk(MemoryFile::part(path, bytes, place))), size }
    }

    /// Calls `read` with the part in the place of the file.
    pub fn open<T>(&self, read: impl FnOnce() -> T) -> T {
        match &self.files {
            Some(files) => files.open(read),
            None => read(),
        }
    }
}

impl<'p> Stream<'p> {
    /// Opens a file, or standard input for `-`, in parts of about so many bytes. Regular files below 256 MiB are one part.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read.
    pub fn open(path: &'p Path, division: Division<'_>, part: usize) -> Result<Self> {
        Self::of_large(path, division, part, SMALL)
    }

    /// As [`Self::open`], where regular files of so many bytes at most are one part.
    pub(crate) fn of_large(path: &'p Path, division: Division<'_>, part: usize, small: u64) -> Result<Self> {
        let source = Self::source(path, division, part, small).map_err(|source| Error::io(path, source))?;
        Ok(Self { path, source, part, rows: 0 })
    }

    fn source(path: &Path, division: Division<'_>, part: usize, small: u64) -> io::Result<Source> {
        let read_once = is_read_once(path);
        let is_parquet = !read_once && is_parquet(path);
        let small = if is_parquet { small / PARQUET_GROWS } else { small };
        if !read_once && !path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > small) {
            return Ok(Source::Whole);
        }
        let open = || match is_parquet.then(|| csv_of_parquet(path)).flatten() {
            Some(text) => Ok(match Records::open(text, path, division, 0)? {
                Opened::Records(records) => Opened::Records(Box::new(Records { is_csv: true, ..*records })),
                other => other,
            }),
            None if !read_once => Records::open(open_once(path)?, path, division, 0),
            // Parts of a table whose rows belong together may turn out to be none.
            None if division == Division::Table => Records::open(open_once(path)?, path, division, small as usize),
            None => Records::open(open_once(path)?, path, division, part),
        };
        match open()? {
            Opened::Records(mut records) => {
                // A file that can be read again need not be in order.
                if !read_once && records.head.groups.is_some() {
                    if records.skip(path).is_err() {
                        return Ok(Source::Whole);
                    }
                    let Opened::Records(again) = open()? else { return Ok(Source::Whole) };
                    records = again;
                }
                Ok(Source::Records(records))
            }
            Opened::Other(bytes) if read_once => Ok(Source::Piped(bytes)),
            Opened::Other(_) => Ok(Source::Whole),
        }
    }

    /// If true, the file is read in several parts.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        matches!(self.source, Source::Records(_))
    }

    /// Bytes of the file that were read so far; `None` where the file is no text itself.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        match &self.source {
            Source::Records(records) if !records.is_csv && !records.is_packed => Some(records.offset),
            _ => None,
        }
    }

    /// Rows below the header that were read so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<Part>;

    /// Reads the next part.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read, [`Error::Parse`] with the line where a group is there again or is larger
    /// than memory should be. Nothing follows an error.
    fn next(&mut self) -> Option<Self::Item> {
        let (bytes, place) = match std::mem::replace(&mut self.source, Source::Ended) {
            Source::Ended => return None,
            Source::Whole => return Some(Ok(Part { files: None, size: 0 })),
            Source::Piped(bytes) => (bytes, Place::default()),
            Source::Records(mut records) => {
                let part = records.part(self.path, self.part);
                self.rows = records.rows;
                match part.transpose()? {
                    Ok(part) => {
                        self.source = Source::Records(records);
                        part
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
        };
        Some(Ok(Part::of(self.path, bytes, place)))
    }
}

/// Reads parts, several at a time, and takes what was read in the order of the file: `take` is called with what `read` made of
/// a part and with what `next` noted of it.
///
/// # Errors
/// Those of `next` and `take`: of several, that of the earliest part.
pub(crate) fn read_in_order<N: Send, T: Send, E: From<Error>>(
    mut next: impl FnMut() -> Result<Option<(Part, N)>>,
    read: impl Fn(&Part) -> T + Sync,
    mut take: impl FnMut(T, N) -> Result<(), E>,
) -> Result<(), E> {
    let at_once = rayon::current_num_threads().min(AT_ONCE);
    loop {
        cancel::check();
        let (mut parts, mut size, mut end) = (vec![], 0, None);
        // A part is larger than others where one example is.
        while end.is_none() && parts.len() < at_once && size < AT_ONCE * PART {
            match next() {
                Ok(Some((part, note))) => {
                    size += part.size;
                    parts.push((part, note));
                }
                Ok(None) => end = Some(Ok(())),
                Err(error) => end = Some(Err(error)),
            }
        }
        let read: Vec<_> = parts.into_par_iter().map(|(part, note)| (read(&part), note)).collect();
        for (read, note) in read {
            take(read, note)?;
        }
        if let Some(end) = end {
            return Ok(end?);
        }
    }
}

/// If true, a path is that of a Parquet file.
fn is_parquet(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = open_once(path).and_then(|file| file.take(8).read_to_end(&mut begin));
    read.is_ok() && super::rows::is_parquet(&begin, path)
}

/// The text of a Parquet file; `None` for one that its reader refuses, and says why.
#[cfg(feature = "parquet")]
fn csv_of_parquet(path: &Path) -> Option<Box<dyn Read>> {
    super::parquet::csv_of(path).ok()
}

/// Parquet files are no text in this build.
#[cfg(not(feature = "parquet"))]
fn csv_of_parquet(_: &Path) -> Option<Box<dyn Read>> {
    None
}

/// Everything above the first record of a file.
struct Head {
    bytes: Vec<u8>,
    lines: usize,
    /// The separator; `None` for JSON lines.
    separator: Option<u8>,
    groups: Option<Groups>,
}

impl Head {
    /// The head of a file that begins so; `None` for what is read at once.
    fn of(begin: &[u8], path: &Path, division: Division<'_>) -> Option<Self> {
        let begin = &begin[..begin.len().min(WINDOW)];
        if begin.contains(&0) || Encoding::is_utf16(begin) {
            return None;
        }
        let text = String::from_utf8_lossy(begin);
        let lines = || begin.split_inclusive(|byte| *byte == b'\n');
        if matches!(extension(path).as_str(), "jsonl" | "ndjson") || json_lines::looks_like(&text) {
            let first = lines().next().filter(|line| json_lines::is_header(line));
            let bytes = first.unwrap_or_default().to_vec();
            return Some(Self { lines: usize::from(first.is_some()), bytes, separator: None, groups: None });
        }
        let column = match division {
            Division::Rows(column) | Division::Groups(column) => Some(column),
            Division::Table => None,
            Division::Lines => return None,
        };
        let mut rows = Rows::of_text(&text, path, None).ok()?;
        let separator = rows.separator();
        let header = Header::read(&mut rows).ok()??;
        let column = match column {
            Some(name) => Some(header.find(name)?),
            None => None,
        };
        let count = rows.next_line() - 1;
        let bytes = lines().take(count).flatten().copied().collect::<Vec<u8>>();
        let column = column.filter(|_| matches!(division, Division::Groups(_)));
        let groups = column.map(|column| Groups { column: column.at, name: column.name, ..Groups::default() });
        bytes.ends_with(b"\n").then_some(Self { bytes, lines: count, separator: Some(separator), groups })
    }
}

/// A source of records, or the bytes of one that is read at once.
pub(super) enum Opened {
    Records(Box<Records>),
    Other(Vec<u8>),
}

/// The beginning of an example.
pub(super) struct Start {
    /// Bytes of the file before it.
    pub(super) offset: u64,
    /// Its first line.
    pub(super) line: usize,
}

/// A place in a record. A quote has a meaning at the beginning of a field alone, and in a field that began with one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InRecord {
    /// At the beginning of a field.
    Begin,
    Plain,
    Quoted,
    /// After a quote in a quoted field: it ends there, or another quote follows.
    Closed,
}

impl InRecord {
    /// The place after a line.
    fn after(self, line: &[u8], separator: u8) -> Self {
        if !line.contains(&b'"') {
            // Only in a quoted field does a line end in the middle of a record.
            return if self == Self::Quoted { self } else { Self::Begin };
        }
        line.iter().fold(self, |place, &byte| match (place, byte) {
            (Self::Begin, b'"') | (Self::Closed, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::Closed,
            (Self::Quoted, _) => Self::Quoted,
            (_, byte) if byte == separator || byte == b'\n' || byte == b'\r' => Self::Begin,
            (Self::Begin | Self::Plain | Self::Closed, _) => Self::Plain,
        })
    }
}

/// Records of a table below its header, or lines of JSON.
pub(super) struct Records {
    source: Box<dyn BufRead>,
    head: Head,
    /// If true, the first part was read.
    begun: bool,
    /// The record that was read last and is in no part, with its lines.
    pending: Vec<u8>,
    pending_lines: usize,
    /// Lines and rows that were read, without those of the pending record.
    lines: usize,
    rows: usize,
    beginning: Option<Arc<[u8]>>,
    /// Bytes that were read, without those of the pending record.
    offset: u64,
    /// The examples that began since the last part, where they are asked for.
    starts: Option<Vec<Start>>,
    /// If true, the file is no text itself.
    is_csv: bool,
    /// If true, the file is compressed.
    is_packed: bool,
}

impl Records {
    /// The records of a source. One that ends within `whole_to` bytes, if that is not 0, is read at once.
    pub(super) fn open(
        source: Box<dyn Read>,
        path: &Path,
        division: Division<'_>,
        whole_to: usize,
    ) -> io::Result<Opened> {
        let mut source: Box<dyn BufRead> = Box::new(BufReader::with_capacity(1 << 16, source));
        let is_packed = source.fill_buf()?.starts_with(GZIP);
        if is_packed {
            source = Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(source)));
        }
        let mut begin = Vec::new();
        (&mut source).take(whole_to.max(WINDOW) as u64).read_to_end(&mut begin)?;
        let is_whole = whole_to > 0 && source.fill_buf()?.is_empty();
        if let Some(head) = Head::of(&begin, path, division).filter(|_| !is_whole) {
            let mut rest = Cursor::new(begin);
            rest.set_position(head.bytes.len() as u64);
            return Ok(Opened::Records(Box::new(Self {
                source: Box::new(rest.chain(source)),
                lines: head.lines,
                offset: head.bytes.len() as u64,
                starts: None,
                is_csv: false,
                is_packed,
                head,
                begun: false,
                pending: vec![],
                pending_lines: 0,
                rows: 0,
                beginning: None,
            })));
        }
        if whole_to > 0 {
            (&mut source).take(LARGEST.saturating_sub(begin.len()) as u64).read_to_end(&mut begin)?;
            if !source.fill_buf()?.is_empty() {
                let reason =
                    "is larger than 1 GiB, the most that is read at once of a pipe that is no table with a header";
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
            }
        }
        Ok(Opened::Other(begin))
    }

    /// Reads the next record, which is pending then; `false` at the end.
    fn read(&mut self, path: &Path) -> Result<bool> {
        self.pending.clear();
        self.pending_lines = 0;
        let mut place = InRecord::Begin;
        loop {
            let before = self.pending.len();
            if !read_line(&mut self.source, &mut self.pending, path, self.lines + 1)? {
                return Ok(!self.pending.is_empty());
            }
            self.pending_lines += 1;
            let Some(separator) = self.head.separator else { return Ok(true) };
            place = place.after(&self.pending[before..], separator);
            if place != InRecord::Quoted {
                return Ok(true);
            }
        }
    }

    /// If true, the pending record begins another group than the last one.
    fn begins_group(&mut self, path: &Path) -> Result<bool> {
        let Head { groups: Some(groups), separator: Some(separator), .. } = &mut self.head else { return Ok(true) };
        let line = self.lines + 1;
        let any_order = match self.starts {
            Some(_) => "read the file into memory (`data.on_disk=never`)",
            None => "give the name of a file below 8 GiB: one that can be read again may have any order",
        };
        groups.next(&self.pending, *separator).map_err(|reason| {
            let name = shown(&groups.name).to_string();
            let error = Error::parse(path, line, reason).in_field(&groups.name);
            error.with_hint(format!("sort the rows by `{name}`, or {any_order}"))
        })
    }

    /// Reads all records without keeping them.
    fn skip(&mut self, path: &Path) -> Result<()> {
        while self.read(path)? {
            self.begins_group(path)?;
            self.lines += self.pending_lines;
        }
        Ok(())
    }

    /// Everything above the first record.
    pub(super) fn head(&self) -> &[u8] {
        &self.head.bytes
    }

    /// The first rows, once the first part was read.
    pub(super) fn beginning(&self) -> Option<Arc<[u8]>> {
        self.beginning.clone()
    }

    /// Examples are noted where they begin from now on.
    pub(super) fn note_starts(&mut self) {
        self.starts = Some(vec![]);
    }

    /// The examples of the part that was read last, and the bytes before its end.
    pub(super) fn starts_of_part(&mut self) -> (Vec<Start>, u64) {
        let Some(starts) = &mut self.starts else { return (vec![], self.offset) };
        // A record that waits begins the next part.
        let of_next = if self.pending.is_empty() { starts.len() } else { starts.len().saturating_sub(1) };
        let next = starts.split_off(of_next);
        (std::mem::replace(starts, next), self.offset)
    }

    /// The next part with its place; `None` at the end.
    pub(super) fn part(&mut self, path: &Path, most: usize) -> Result<Option<(Vec<u8>, Place)>> {
        let (lines, beginning) = (self.lines - self.head.lines, self.beginning.clone());
        let place = Place { lines, rows: self.rows, beginning, is_csv: self.is_csv };
        let is_first = !std::mem::replace(&mut self.begun, true);
        let (mut bytes, above) = (self.head.bytes.clone(), self.head.bytes.len());
        let separator = self.head.separator.unwrap_or(b' ');
        let is_blank = |record: &[u8]| record.iter().all(|byte| byte.is_ascii_whitespace() || *byte == separator);
        loop {
            if self.pending.is_empty() {
                if !self.read(path)? {
                    break;
                }
                // Empty lines belong to the rows above them.
                if self.begins_group(path)? && !is_blank(&self.pending) {
                    if let Some(starts) = &mut self.starts {
                        starts.push(Start { offset: self.offset, line: self.lines + 1 });
                    }
                    if bytes.len() > above && bytes.len() >= most {
                        break;
                    }
                }
            }
            if bytes.len() + self.pending.len() > LARGEST {
                let reason = format!("belongs to an example with more than {} GiB of rows", LARGEST >> 30);
                return Err(Error::parse(path, self.lines + 1, reason));
            }
            self.rows += usize::from(!is_blank(&self.pending));
            self.lines += self.pending_lines;
            self.offset += self.pending.len() as u64;
            bytes.append(&mut self.pending);
        }
        if self.beginning.is_none() && self.head.separator.is_some() {
            self.beginning = Some(bytes[above..bytes.len().min(above + BEGINNING)].into());
        }
        // A table without rows is a part too, whose reader says what is wrong.
        Ok((is_first || bytes.len() > above).then_some((bytes, place)))
    }
}

/// The groups of a table so far.
#[derive(Default)]
struct Groups {
    /// The column of their names.
    column: usize,
    name: String,
    last: Option<Vec<u8>>,
    /// Names of one direction are never there again.
    texts: Run,
    numbers: Run,
    seen: HashSet<u64>,
    forgotten: bool,
}

/// A sequence that rises or falls all the time.
#[derive(Default, Clone, Copy, PartialEq)]
enum Run {
    #[default]
    Open,
    To(Ordering),
    Broken,
}

impl Run {
    fn add(&mut self, step: Option<Ordering>) {
        *self = match (*self, step) {
            (Self::Open, Some(step @ (Ordering::Less | Ordering::Greater))) => Self::To(step),
            (Self::To(to), Some(step)) if to == step => Self::To(to),
            _ => Self::Broken,
        };
    }
}

impl Groups {
    /// If true, a record begins another group than the last one. An error says that the group was there before.
    fn next(&mut self, record: &[u8], separator: u8) -> std::result::Result<bool, String> {
        let field = field(record, separator, self.column);
        let name = field.trim_ascii();
        if name.is_empty() || self.last.as_deref() == Some(name) {
            return Ok(false);
        }
        if let Some(last) = &self.last {
            let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<f64>().ok();
            self.texts.add(Some(last.as_slice().cmp(name)));
            if self.numbers != Run::Broken {
                self.numbers.add(number(last).zip(number(name)).and_then(|(a, b)| a.partial_cmp(&b)));
            }
        }
        let ordered = self.texts != Run::Broken || self.numbers != Run::Broken;
        if self.forgotten && !ordered {
            return Err(format!(
                "the rows have more than {MOST_REMEMBERED} different values in no order, so that a set may be there twice"
            ));
        }
        if !self.forgotten
            && !self.seen.insert(BuildHasherDefault::<DefaultHasher>::default().hash_one(name))
            && !ordered
        {
            let name = String::from_utf8_lossy(name);
            return Err(format!("has `{}` again, apart from its other rows", shown(&name)));
        }
        if self.seen.len() > MOST_REMEMBERED {
            (self.seen, self.forgotten) = (HashSet::new(), true);
        }
        self.last = Some(name.to_vec());
        Ok(true)
    }
}

/// A field of a record, without its quotes.
fn field(record: &[u8], separator: u8, at: usize) -> std::borrow::Cow<'_, [u8]> {
    if !record.contains(&b'"') {
        return record.split(|byte| *byte == separator).nth(at).unwrap_or_default().into();
    }
    let (mut fields, mut ends) = (vec![0; record.len() + 1], vec![0; record.len() + 1]);
    let mut parser = ReaderBuilder::new().delimiter(separator).build();
    let (result, _, _, count) = parser.read_record(record, &mut fields, &mut ends);
    let count = if matches!(result, ReadRecordResult::End) { 0 } else { count };
    match ends[..count].get(at) {
        Some(&end) => fields[if at == 0 { 0 } else { ends[at - 1] }..end].to_vec().into(),
        None => Vec::new().into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::graphs::formats::{self as graphs};
    use crate::sets::Bags;
    use crate::sets::formats::{self as sets, ReadOptions};

    /// A file in a folder that goes away.
    fn file(name: &str, text: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    /// The results of a reader for each part of a file.
    fn parts<T>(path: &Path, division: Division<'_>, part: usize, mut read: impl FnMut() -> T) -> Result<Vec<T>> {
        Stream::of_large(path, division, part, 0)?.map(|part| Ok(part?.open(&mut read))).collect()
    }

    #[test]
    fn records_end_where_the_parser_of_tables_ends_them() {
        /// The rows of a text that end, each with its fields.
        fn rows(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
            let (mut reader, mut at, mut rows) = (csv_core::Reader::new(), 0, vec![]);
            let text = [text, b"\n"].concat();
            loop {
                let (mut fields, mut ends) = ([0; 64], [0; 64]);
                let (found, read, _, count) = reader.read_record(&text[at..], &mut fields, &mut ends);
                at += read;
                if found != csv_core::ReadRecordResult::Record {
                    return rows;
                }
                let begins = std::iter::once(0).chain(ends);
                rows.push(begins.zip(ends).take(count).map(|(from, to)| fields[from..to].to_vec()).collect());
            }
        }
        for mut number in 0..4_usize.pow(8) {
            let mut text: Vec<u8> = vec![];
            while number > 0 {
                text.push(b"a\",\n"[number % 4]);
                number /= 4;
            }
            let (mut records, mut place) = (vec![vec![]], InRecord::Begin);
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                records.last_mut().unwrap().extend_from_slice(line);
                place = place.after(line, b',');
                if place != InRecord::Quoted {
                    (place, records) = (InRecord::Begin, [records, vec![vec![]]].concat());
                }
            }
            let apart: Vec<_> = records.iter().flat_map(|record| rows(record)).collect();
            assert_eq!(apart, rows(&text), "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn a_lone_inch_mark_is_no_beginning_of_a_quoted_field() {
        let mut text = "day,part,sold\n".to_owned();
        (0..200).for_each(|day| writeln!(text, "{day},{}\" pipe,{}", day % 7, day * day).unwrap());
        let (_folder, path) = file("inches.csv", text.as_bytes());
        let counts = parts(&path, Division::Table, 500, || fs::metadata(&path).map(|_| ()).is_ok()).unwrap();
        assert!(counts.len() > 5, "{counts:?}");
    }

    fn visits() -> String {
        let mut text = "# a comment\n\ncustomer,town,amount\n".to_owned();
        for customer in 0..40 {
            for visit in 0..1 + customer % 4 {
                let town = if customer == 3 { "\"Bad\n Town, the \"\"old\"\"\"" } else { "Ulm" };
                writeln!(text, "{customer},{town},{}", visit * customer).unwrap();
            }
        }
        text
    }

    fn options() -> ReadOptions {
        let names = ["amount".to_owned(), "town=Ulm".to_owned()];
        let encoded = Some(names.to_vec());
        ReadOptions { group_by: Some("customer".into()), encoded, ..ReadOptions::default() }
    }

    fn lines(bags: &Bags) -> (Vec<String>, Vec<f32>) {
        (bags.ids().to_vec(), bags.features().to_vec())
    }

    #[test]
    fn parts_of_a_table_are_the_table_whatever_their_size() {
        for packed in [false, true] {
            let text = visits();
            let mut bytes = text.clone().into_bytes();
            if packed {
                use std::io::Write;
                let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
                gzip.write_all(&bytes).unwrap();
                bytes = gzip.finish().unwrap();
            }
            let (_folder, path) = file(if packed { "visits.csv.gz" } else { "visits.csv" }, &bytes);
            let whole = lines(&sets::read(&path, &options()).unwrap());
            for size in [1, 40, 200, 1 << 20] {
                let read = || sets::read(&path, &options()).unwrap();
                let all = parts(&path, Division::Groups("customer"), size, read).unwrap();
                assert_eq!(all.len() > 1, size < text.len(), "{size}");
                let joined = all.iter().map(lines).fold((vec![], vec![]), |(mut ids, mut numbers), part| {
                    ids.extend(part.0);
                    numbers.extend(part.1);
                    (ids, numbers)
                });
                assert_eq!(joined, whole, "{size}");
            }
        }
    }

    #[test]
    fn errors_in_parts_name_the_lines_of_the_file() {
        let text = visits().replace("\n30,Ulm,60\n", "\n30,Ulm,sixty\n");
        let (_folder, path) = file("visits.csv", text.as_bytes());
        let whole = sets::read(&path, &options()).unwrap_err().to_string();
        assert!(whole.contains("sixty"), "{whole}");
        let read = || sets::read(&path, &options()).err().map(|error| error.to_string());
        let found: Vec<String> =
            parts(&path, Division::Groups("customer"), 30, read).unwrap().into_iter().flatten().collect();
        assert_eq!(found, [whole]);
        let json = "{\"features\": [\"a\"]}\n{\"items\": [[1]]}\n\n{\"id\": \"b\", \"items\": [[2]]}\n{\"items\": 3}\n";
        let (_folder, path) = file("bags.jsonl", json.as_bytes());
        let whole = sets::read(&path, &options()).unwrap_err().to_string();
        let read = || sets::read(&path, &options()).map(|bags| bags.ids().to_vec()).map_err(|error| error.to_string());
        let found = parts(&path, Division::Lines, 1, read).unwrap();
        assert_eq!(found, [Ok(vec!["1".to_owned()]), Ok(vec!["b".to_owned()]), Err(whole)]);
    }

    #[test]
    fn decimal_marks_of_the_beginning_are_those_of_all_parts() {
        let mut text = "id;x\n1;0,5\n".to_owned();
        (2..20).for_each(|id| writeln!(text, "{id};1.250").unwrap());
        let (_folder, path) = file("a.csv", text.as_bytes());
        let options = ReadOptions { group_by: Some("id".into()), ..ReadOptions::default() };
        let read = || sets::read(&path, &options).unwrap().features().to_vec();
        let found = parts(&path, Division::Groups("id"), 1, read).unwrap();
        assert_eq!(found[0], [0.5]);
        assert!(found.len() == 19 && found[1..].iter().all(|part| part == &[1250.0]), "{found:?}");
    }

    #[test]
    fn molecules_are_numbered_through_all_parts() {
        let text = "smiles\nCC\nCO\n\nC\nN\n";
        let (_folder, path) = file("a.csv", text.as_bytes());
        let options = graphs::ReadOptions { smiles: Some("smiles".into()), ..Default::default() };
        let ids = || graphs::read(&path, &options).unwrap().ids().to_vec();
        let found = parts(&path, Division::Rows("smiles"), 1, ids).unwrap();
        assert_eq!(found.concat(), graphs::read(&path, &options).unwrap().ids());
        assert_eq!(found.len(), 4);
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parts_of_a_parquet_file_are_the_table() {
        use crate::table::write::{Cell, TableSource};

        struct Visits;
        impl TableSource for Visits {
            fn columns(&self) -> Vec<String> {
                ["customer", "amount"].map(str::to_owned).to_vec()
            }

            fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
                (0..60).try_for_each(|row| {
                    let customer = format!("c, {}", row / 3);
                    visit(&[Cell::Text(&customer), Cell::Number(f64::from(row) / 7.0)])
                })
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("visits.parquet");
        crate::table::write::write(&path, &Visits).unwrap();
        let options = ReadOptions { group_by: Some("customer".into()), ..ReadOptions::default() };
        let whole = lines(&sets::read(&path, &options).unwrap());
        let read = || lines(&sets::read(&path, &options).unwrap());
        let found = parts(&path, Division::Groups("customer"), 100, read).unwrap();
        assert!(found.len() > 5, "{}", found.len());
        let joined = found.into_iter().fold((vec![], vec![]), |(mut ids, mut numbers), part| {
            ids.extend(part.0);
            numbers.extend(part.1);
            (ids, numbers)
        });
        assert_eq!(joined, whole);
        // What is no table is read at once, and its reader says why.
        std::fs::write(&path, b"PAR1 and nothing else").unwrap();
        let found = parts(&path, Division::Groups("customer"), 100, || sets::read(&path, &options).is_err());
        assert_eq!(found.unwrap(), [true]);
    }

    #[test]
    fn groups_that_are_there_again_are_found_in_any_number() {
        let (mut rising, mut scattered) = (Groups::default(), Groups::default());
        let next = |groups: &mut Groups, name: &str| groups.next(format!("{name},1\n").as_bytes(), b',');
        for name in ["2", "2", "10", "10.5", "", "11"] {
            next(&mut rising, name).unwrap();
        }
        assert!(next(&mut rising, "10").unwrap_err().contains("has `10` again"));
        for name in ["b", "a", "\"c\"", "d"] {
            assert!(next(&mut scattered, name).unwrap());
        }
        assert_eq!(next(&mut scattered, "d"), Ok(false));
        assert!(next(&mut scattered, "c").unwrap_err().contains("has `c` again"));
        // Names in order are remembered by their order alone.
        let mut many = Groups::default();
        (0..MOST_REMEMBERED + 10).for_each(|at| assert!(next(&mut many, &at.to_string()).unwrap()));
        assert!(many.forgotten && many.seen.is_empty());
        assert!(next(&mut many, "5").unwrap_err().contains("in no order"));
    }

    #[test]
    fn scattered_groups_of_a_file_make_one_part() {
        let (_folder, path) = file("a.csv", b"id,x\na,1\nb,2\na,3\n");
        let options = ReadOptions { group_by: Some("id".into()), ..ReadOptions::default() };
        let found = parts(&path, Division::Groups("id"), 1, || sets::read(&path, &options).unwrap().len()).unwrap();
        assert_eq!(found, [2]);
        // Neither are tables without the column, and other formats, divided.
        for (name, text) in [("b.csv", "x,y\n1,2\n3,4\n"), ("c.csv", "0,a,1\n0,b,2\n"), ("d.csv", "")] {
            let (_folder, path) = file(name, text.as_bytes());
            assert_eq!(parts(&path, Division::Groups("id"), 1, || ()).unwrap().len(), 1, "{name}");
        }
    }
}

//! The rows of a table, read one after the other: a file may be larger than what is kept of it.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use flate2::bufread::MultiGzDecoder;

use super::header::Column;
use super::numbers::{Decimal, Reading};
use super::values;
use crate::error::{Error, Fault, Result, shown};
use crate::file::{Encoding, Limited, Place, decoded, windows_1252};

/// The longest row that is read: a quote that is never closed, or a file without lines, would fill the memory.
const LONGEST: usize = 1 << 26;
/// The largest table in UTF-16, which is read at once.
const LARGEST_UTF16: u64 = 1 << 30;

/// The way out for a workbook.
pub(crate) const AS_CSV: &str = "save the sheet as CSV: `File`, `Save as`, `CSV UTF-8`";

/// The bytes by which decimal marks are known.
pub(super) const BEGINNING: usize = 1 << 16;

/// The most lines of a title above a header.
const LONGEST_TITLE: usize = 8;

/// The most rows of a table: each takes some memory, however short it is.
const MOST_ROWS: usize = 1 << 26;

/// Text of a table that was a file.
pub(crate) struct Text {
    pub(crate) text: String,
    /// The separator, where the file's format decides it.
    pub(crate) delimiter: Option<u8>,
    pub(crate) encoding: Encoding,
}

impl Text {
    /// Reads a whole file: text, text compressed by gzip, or a Parquet file as CSV. Its first bytes decide.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        // A pipe can be read once.
        let bytes = crate::file::read_bytes(path)?;
        if crate::file::place(path).is_csv {
            let (text, encoding) = decoded(bytes);
            return Ok(Self { text, delimiter: Some(b','), encoding });
        }
        match is_parquet(&bytes, path) {
            true => Ok(Self { text: from_parquet(path)?, delimiter: Some(b','), encoding: Encoding::Utf8 }),
            false => {
                let (text, encoding) = crate::file::decoded_file(bytes, path)?;
                Ok(Self { text, delimiter: None, encoding })
            }
        }
    }
}

/// Reads the line of this number behind a text; `false` at the end of the source.
pub(super) fn read_line(source: &mut impl BufRead, text: &mut Vec<u8>, path: &Path, line: usize) -> Result<bool> {
    let read = source.take(LONGEST as u64).read_until(b'\n', text).map_err(|source| Error::io(path, source))?;
    if read == LONGEST || text.len() > LONGEST {
        let reason = format!("begins a row of more than {} MB, expected lines of a table", LONGEST >> 20);
        return Err(Error::parse(path, line, reason));
    }
    Ok(read > 0)
}

/// If true, a file that begins so is a Parquet file.
pub(super) fn is_parquet(begin: &[u8], path: &Path) -> bool {
    begin.starts_with(b"PAR1") || crate::file::extension(path) == "parquet"
}

#[cfg(feature = "parquet")]
fn from_parquet(path: &Path) -> Result<String> {
    super::parquet::as_csv(path)
}

#[cfg(not(feature = "parquet"))]
fn from_parquet(path: &Path) -> Result<String> {
    let error = Error::parse(path, 0, "is a Parquet file, which this build does not read");
    Err(error.with_hint("build with `--features parquet`, or write the table as CSV"))
}

/// A table whose rows are read once.
pub(crate) struct Rows<'p> {
    source: Box<dyn BufRead + 'p>,
    pub(crate) path: &'p Path,
    parser: Reader,
    separator: u8,
    /// Lines above the header that begin with `#`, without the sign, or belong to a title, with their numbers.
    comments: Vec<(usize, String)>,
    /// The line that was read last.
    line: usize,
    /// UTF-8 that was read and is not parsed from `at` on.
    text: Vec<u8>,
    at: usize,
    /// The line on which the row begins.
    begins: usize,
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// If true, the record begins with a quote.
    quoted: bool,
    /// If true, the row that was read last is the next one.
    again: bool,
    /// Lines of rows that have separators and no value, the first of them, and how many there are.
    empty: EmptyRows,
    /// If true, the table was a Parquet file, whose numbers are written with points.
    is_parquet: bool,
    /// The decimal mark of all columns, where it is given.
    given: Option<Decimal>,
    /// The decimal mark of columns whose numbers have commas.
    marks: Vec<Option<Decimal>>,
    /// Columns whose mark is that of other columns: the beginning shows none.
    assumed: Vec<bool>,
    /// The decimal mark that the numbers show, where it is the same in all columns.
    shown: Option<Decimal>,
    /// A sentence about the title and the decimal mark.
    note: Option<String>,
    /// Rows that were read.
    count: usize,
    /// The encoding of the lines that were read; shared, so that it can be asked for after the rows.
    encoding: Rc<Cell<Encoding>>,
    /// Where the rows stand in a longer table.
    place: Place,
}

/// The fields in the beginning of a table, column by column: numbers as rows have them, all others as they are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beginning {
    columns: Vec<Vec<String>>,
}

impl Beginning {
    /// The fields of a column.
    pub(crate) fn column(&self, at: usize) -> &[String] {
        self.columns.get(at).map_or(&[], Vec::as_slice)
    }

    /// If true, a column holds text: it has values, and no number is among them.
    pub(crate) fn is_text(&self, at: usize) -> bool {
        let mut there = self.column(at).iter().filter(|field| !values::is_missing(field)).peekable();
        there.peek().is_some() && there.all(|field| !values::looks_like_number(field))
    }
}

/// Rows of separators without any value, which are skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmptyRows {
    /// Number of them.
    pub count: usize,
    /// The line of the first one.
    pub first: usize,
}

impl<'p> Rows<'p> {
    /// Opens a file: text, text compressed by gzip, or a Parquet file. Its first bytes decide.
    pub(crate) fn open(path: &'p Path, separator: Option<u8>) -> Result<Self> {
        let file = Limited::open(path).map_err(|source| Error::io(path, source))?;
        let packed = file.size();
        let mut source = BufReader::with_capacity(1 << 16, file);
        let begin = source.fill_buf().map_err(|source| Error::io(path, source))?;
        if is_parquet(begin, path) {
            let rows = Self::of(Box::new(Cursor::new(from_parquet(path)?)), path, Some(b','))?;
            return Ok(Self { is_parquet: true, ..rows });
        }
        if begin.starts_with(crate::file::GZIP) {
            let unpacked = Limited::unpacked(MultiGzDecoder::new(source), packed);
            return Self::of_source(BufReader::with_capacity(1 << 16, unpacked), path, separator);
        }
        Self::of_source(source, path, separator)
    }

    /// The table of a source, which is UTF-16 where it begins so.
    fn of_source(mut source: impl BufRead + 'p, path: &'p Path, separator: Option<u8>) -> Result<Self> {
        let io = |source| Error::io(path, source);
        let begin = source.fill_buf().map_err(io)?;
        if !Encoding::is_utf16(begin) {
            return Self::of(Box::new(source), path, separator);
        }
        let mut bytes = Vec::new();
        // Text of that size would not fit in memory as a table either.
        source.take(LARGEST_UTF16).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 == LARGEST_UTF16 {
            let reason = format!("is UTF-16 of more than {} MB", LARGEST_UTF16 >> 20);
            return Err(Error::parse(path, 0, reason).with_hint("save the table as UTF-8"));
        }
        let (text, encoding) = decoded(bytes);
        let rows = Self::of(Box::new(Cursor::new(text)), path, separator)?;
        rows.encoding.set(encoding);
        Ok(rows)
    }

    /// The table of a text; `path` names it in errors.
    pub(crate) fn of_text(text: &'p str, path: &'p Path, separator: Option<u8>) -> Result<Self> {
        Self::of(Box::new(text.as_bytes()), path, separator)
    }

    fn of(source: Box<dyn BufRead + 'p>, path: &'p Path, separator: Option<u8>) -> Result<Self> {
        let mut rows = Self {
            source,
            path,
            parser: Reader::new(),
            separator: separator.unwrap_or(b','),
            comments: Vec::new(),
            line: 0,
            text: Vec::new(),
            at: 0,
            begins: 0,
            fields: Vec::new(),
            ends: Vec::new(),
            quoted: false,
            again: false,
            empty: EmptyRows::default(),
            is_parquet: crate::file::extension(path) == "parquet" || crate::file::place(path).is_csv,
            given: None,
            marks: Vec::new(),
            assumed: Vec::new(),
            shown: None,
            note: None,
            count: 0,
            encoding: Rc::new(Cell::new(Encoding::Utf8)),
            place: crate::file::place(path),
        };
        let mut separator = separator;
        let mut title: Vec<(usize, String)> = Vec::new();
        while rows.read_line()? {
            if rows.text.contains(&0) {
                let (reason, hint) = match rows.text.starts_with(b"PK\x03\x04") {
                    true => ("is an Excel workbook or another archive, expected a table as text", AS_CSV),
                    false => ("is not text, expected a table of comma-separated values", "save the table as UTF-8"),
                };
                return Err(Error::parse(path, rows.line, reason).with_hint(hint));
            }
            let first = String::from_utf8_lossy(&rows.text).into_owned();
            let line = first.trim_start_matches('\u{feff}');
            if let Some(named) = named_separator(line).filter(|_| rows.line == 1) {
                separator = separator.or(Some(named));
                rows.at = rows.text.len();
                continue;
            }
            match line.trim().strip_prefix('#') {
                Some(words) if words.trim().is_empty() => {}
                Some(words) => rows.comments.push((rows.line, words.trim().to_owned())),
                None if line.trim().is_empty() => {}
                None if title.len() < LONGEST_TITLE && is_title(line, separator, rows.ahead()?) => {
                    let words = line.trim().trim_matches([',', ';', '\t', '"', ' ']);
                    title.push((rows.line, words.to_owned()));
                }
                None => {
                    rows.set_title(title);
                    rows.at = first.len() - line.len();
                    rows.separator = separator.unwrap_or_else(|| delimiter(line));
                    rows.parser = ReaderBuilder::new().delimiter(rows.separator).build();
                    return Ok(rows);
                }
            }
            rows.at = rows.text.len();
        }
        Ok(rows)
    }

    /// Takes the lines of a title for comments, and says so.
    fn set_title(&mut self, title: Vec<(usize, String)>) {
        let (Some((first, _)), Some((last, _))) = (title.first(), title.last()) else { return };
        let lines = if first == last { format!("line {first} is") } else { format!("lines {first} to {last} are") };
        let words = title.iter().map(|(_, words)| words.as_str()).filter(|words| !words.is_empty());
        let words = words.collect::<Vec<_>>().join(" ");
        self.note = (!words.is_empty()).then(|| format!("{lines} taken for a title: `{}`", shown(&words)));
        self.comments.extend(title);
    }

    /// The first bytes of what is not yet read; in a part of a longer table, those of all its rows.
    fn first_rows(&mut self) -> Result<&[u8]> {
        if self.place.beginning.is_none() {
            return self.ahead();
        }
        Ok(self.place.beginning.as_deref().unwrap_or_default())
    }

    /// The first bytes of what is not yet read.
    fn ahead(&mut self) -> Result<&[u8]> {
        let io = |source| Error::io(self.path, source);
        if self.source.fill_buf().map_err(io)?.len() < BEGINNING {
            // A header may have taken most of the buffer.
            let mut ahead = Vec::new();
            (&mut self.source).take(BEGINNING as u64).read_to_end(&mut ahead).map_err(io)?;
            let rest = std::mem::replace(&mut self.source, Box::new(std::io::empty()));
            self.source = Box::new(Cursor::new(ahead).chain(rest));
        }
        let begin = self.source.fill_buf().map_err(io)?;
        Ok(&begin[..begin.len().min(BEGINNING)])
    }

    /// The columns of the beginning of what is not yet read; at the start of a table, the rows below its header.
    pub(crate) fn beginning(&mut self) -> Result<Beginning> {
        let begin = self.first_rows()?;
        let whole = begin.iter().rposition(|byte| *byte == b'\n').map_or(begin.len(), |end| end + 1);
        // At the end of the table a last line may have no end.
        let whole = if begin.len() < BEGINNING { begin.len() } else { whole };
        let begin = String::from_utf8_lossy(&begin[..whole]).into_owned();
        let mut found = Beginning::default();
        let Ok(mut rows) = Rows::of_text(&begin, self.path, Some(self.separator)) else { return Ok(found) };
        (rows.given, rows.marks) = (self.given, self.marks.clone());
        // What is wrong in a row is said when it is read.
        while let Ok(Some(row)) = rows.next() {
            let columns = &mut found.columns;
            columns.resize_with(columns.len().max(row.len()), Vec::new);
            (0..row.len()).for_each(|at| columns[at].push(row.plain(at).into_owned()));
        }
        Ok(found)
    }

    /// Knows the marks of numbers with a decimal comma or with marks between thousands ([`Row::plain`]): with the given decimal mark in
    /// all columns, else in the columns of which the beginning of the table shows it. `12,5` can have no other meaning,
    /// and then `1.250` of the column is a thousand and more; where no number tells, it has the `likely` mark. A given mark
    /// is not that of a Parquet file.
    pub(crate) fn with_marks(mut self, given: Option<Decimal>, likely: Option<Decimal>) -> Result<Self> {
        if self.is_parquet && given == Some(Decimal::Comma) {
            let unused = "a Parquet file has decimal points: `--decimal comma` (`data.decimal`) is not used";
            self.note = Some(self.note.map_or_else(|| unused.to_owned(), |note| format!("{note}; {unused}")));
        }
        let [given, likely] = [given, likely].map(|mark| mark.filter(|_| !self.is_parquet));
        self.given = given;
        let separator = self.separator;
        let begin = self.first_rows()?;
        // Without quotes a comma that separates fields stands in none of them. Where semicolons do, a point may stand
        // between thousands, as where a decimal comma is likely.
        let has_comma = begin.contains(&b',') && (separator != b',' || begin.contains(&b'"'));
        let may_have_points = separator == b';' || likely == Some(Decimal::Comma) && separator != b',';
        if given.is_some() || !(has_comma || may_have_points) {
            return Ok(self);
        }
        let beginning = self.beginning()?;
        let fields = |column: &Vec<String>| Reading::of(column.iter().map(String::as_str));
        let readings: Vec<Reading> = beginning.columns.iter().map(fields).collect();
        let sure = |mark| readings.iter().any(|reading| matches!(reading, Reading::Sure(found, _) if *found == mark));
        let (commas, points) = (sure(Decimal::Comma), sure(Decimal::Point));
        // Columns of a Parquet file are numbers or texts, and points that a comma divides are decimal points.
        let is_likely = likely == Some(Decimal::Comma) && separator != b',';
        let has_commas = (commas || is_likely) && !self.is_parquet;
        let mark = |reading: &Reading| match reading {
            Reading::Sure(mark, _) => Some(*mark),
            Reading::Either(field) if self.is_parquet && !field.contains(',') => None,
            Reading::Either(_) if commas != points => Some(if commas { Decimal::Comma } else { Decimal::Point }),
            Reading::Either(field) if likely.is_some() && (separator != b',' || field.contains(',')) => likely,
            Reading::Either(field) if field.contains(',') && self.separator == b';' => Some(Decimal::Comma),
            Reading::Either(field) => field.contains(',').then_some(Decimal::Point),
            // Further below there may be thousands.
            Reading::Plain if !points && has_commas => Some(Decimal::Comma),
            Reading::Plain | Reading::Mixed => None,
        };
        self.marks = readings.iter().map(mark).collect();
        self.assumed = readings.iter().map(|reading| *reading == Reading::Plain).collect();
        self.shown = match (commas, points) {
            _ if self.is_parquet => None,
            (true, false) => Some(Decimal::Comma),
            (false, true) => Some(Decimal::Point),
            _ => None,
        };
        let read = |mark: Decimal, field: &str| Some(format!("`{}` is read as {}", shown(field), mark.number(field)?));
        let example = readings.iter().zip(&self.marks).find_map(|(reading, mark)| match reading {
            Reading::Either(field) if field.contains(',') || *mark == Some(Decimal::Comma) => {
                (*mark).and_then(|mark| Some((mark, read(mark, field)?)))
            }
            Reading::Either(field) if separator == b';' && (commas || !points) => {
                Some((Decimal::Point, read(Decimal::Point, field)?))
            }
            _ => None,
        });
        // Among decimal commas `1.250` is a thousand and more.
        let thousands = beginning.columns.iter().zip(&self.marks).filter(|(_, mark)| **mark == Some(Decimal::Comma));
        let thousands = thousands
            .flat_map(|(column, _)| column)
            .find(|field| field.contains('.') && matches!(Reading::of([field.as_str()]), Reading::Either(_)));
        let thousands = thousands.and_then(|field| read(Decimal::Comma, field));
        let change = |mark: Decimal| format!("(`--decimal {}` or `data.decimal` changes it)", mark.other().name());
        let note = match (example, thousands) {
            (_, Some(thousands)) if commas => {
                Some(format!("numbers have a decimal comma, and {thousands} {}", change(Decimal::Comma)))
            }
            (Some((Decimal::Point, example)), _) if commas => {
                let change = change(Decimal::Point);
                Some(format!("columns have a decimal comma or a decimal point, and {example} {change}"))
            }
            _ if commas => Some(format!("numbers have a decimal comma {}", change(Decimal::Comma))),
            (Some((mark, example)), _) => Some(format!("{example} {}", change(mark))),
            (None, _) => None,
        };
        let notes: Vec<String> = self.note.take().into_iter().chain(note).collect();
        self.note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(self)
    }

    /// A sentence about a title above the header, and about the decimal mark where numbers have a comma.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The decimal mark of the numbers: as given, else the one that they show.
    pub(crate) fn decimal(&self) -> Option<Decimal> {
        self.given.or(self.shown)
    }

    /// The decimal mark of the numbers of a column, where it is known.
    pub(crate) fn mark(&self, at: usize) -> Option<Decimal> {
        self.given.or(self.marks.get(at).copied().flatten())
    }

    /// Comments and titles above the header, with their lines.
    pub(crate) fn comments(&self) -> &[(usize, String)] {
        &self.comments
    }

    /// Rows of separators alone that were skipped so far.
    pub(crate) fn empty(&self) -> &EmptyRows {
        &self.empty
    }

    /// The encoding of the lines that were read so far.
    pub(crate) fn encoding(&self) -> Rc<Cell<Encoding>> {
        self.encoding.clone()
    }

    /// The separator of the fields.
    pub(crate) fn separator(&self) -> u8 {
        self.separator
    }

    /// Rows of a longer table above these.
    pub(crate) fn rows_before(&self) -> usize {
        self.place.rows
    }

    /// The line below those that were read.
    pub(crate) fn next_line(&self) -> usize {
        self.line + 1
    }

    /// Reads a line behind what is left; `false` at the end of the file.
    fn read_line(&mut self) -> Result<bool> {
        self.text.drain(..self.at);
        self.at = 0;
        let before = self.text.len();
        if !read_line(&mut self.source, &mut self.text, self.path, self.line + 1)? {
            return Ok(false);
        }
        self.line += 1;
        if std::str::from_utf8(&self.text[before..]).is_err() {
            let line = windows_1252(&self.text[before..]);
            self.encoding.set(Encoding::Windows1252);
            self.text.truncate(before);
            self.text.extend_from_slice(line.as_bytes());
        }
        if !self.text.ends_with(b"\n") {
            self.text.push(b'\n');
        }
        Ok(true)
    }

    /// The next row that has any value, or `None` at the end. Of a table with one column, `""` is a row with an empty
    /// field, and an empty line is none.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>> {
        if !std::mem::take(&mut self.again) {
            loop {
                if !self.record()? {
                    return Ok(None);
                }
                let is_empty_field = self.quoted && self.ends.len() == 1 && self.count > 0;
                if is_empty_field || self.row()?.fields().any(|field| !field.is_empty()) {
                    break;
                }
                if self.ends.len() > 1 {
                    self.empty.count += 1;
                    self.empty.first = if self.empty.first == 0 { self.begins } else { self.empty.first };
                }
            }
            self.count += 1;
            if self.count == 1 {
                // The rows of a part stand further below their header.
                self.line += self.place.lines;
            }
            if self.count > MOST_ROWS {
                let reason = format!("is row {} of the table; at most {MOST_ROWS} are read", self.count);
                return Err(Error::parse(self.path, self.begins, reason));
            }
        }
        self.row().map(Some)
    }

    /// Gives the row that was read last once more.
    pub(crate) fn unread(&mut self) {
        self.again = true;
    }

    fn row(&self) -> Result<Row<'_>> {
        let written = self.ends.last().copied().unwrap_or(0);
        match std::str::from_utf8(&self.fields[..written]) {
            Ok(fields) => {
                let Self { path, begins: line, given, .. } = *self;
                Ok(Row { path, line, fields, ends: &self.ends, given, marks: &self.marks, assumed: &self.assumed })
            }
            Err(_) => Err(Error::parse(self.path, self.begins, "is cut within a character by the separator")
                .with_hint("separators are single bytes of ASCII")),
        }
    }

    /// Reads one record into `fields`.
    fn record(&mut self) -> Result<bool> {
        while self.text[self.at..].iter().all(|b| matches!(b, b'\n' | b'\r')) {
            self.at = self.text.len();
            if !self.read_line()? {
                return Ok(false);
            }
        }
        self.begins = self.line;
        self.quoted = self.text[self.at] == b'"';
        let (mut written, mut ended) = (0, 0);
        loop {
            self.fields.resize(self.fields.len().max(written + self.text.len() - self.at + 16), 0);
            self.ends.resize(self.ends.len().max(ended + 16), 0);
            let (result, read, out, ends) =
                self.parser.read_record(&self.text[self.at..], &mut self.fields[written..], &mut self.ends[ended..]);
            (self.at, written, ended) = (self.at + read, written + out, ended + ends);
            match result {
                ReadRecordResult::Record => {
                    self.ends.truncate(ended);
                    return Ok(true);
                }
                ReadRecordResult::OutputFull => self.fields.resize(self.fields.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                // The line ends within quotes.
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {
                    if written > LONGEST || !self.read_line()? {
                        return Err(Error::parse(self.path, self.begins, "has a quote that is never closed"));
                    }
                }
            }
        }
    }
}

/// The separator that a line `sep=;` names. Spreadsheet programs write such a line above the header.
fn named_separator(line: &str) -> Option<u8> {
    // A tab at the end of the line is the separator.
    let line = line.trim_end_matches(['\r', '\n']);
    let line = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).unwrap_or(line);
    match line.split_at_checked(4)? {
        (name, value) if name.eq_ignore_ascii_case("sep=") => match value.as_bytes() {
            [separator] if *separator == b'\t' || separator.is_ascii_punctuation() => Some(*separator),
            _ => None,
        },
        _ => None,
    }
}

/// If true, a line stands above the header of a table: it has one field at most where the header has several, none of
/// which is a number or empty, and the row below that as many. Between them are at most some lines like it.
fn is_title(line: &str, separator: Option<u8>, below: &[u8]) -> bool {
    fn fields(line: &str, separator: char) -> Vec<&str> {
        line.split(separator).map(|field| field.trim().trim_matches('"')).collect()
    }
    let below = String::from_utf8_lossy(below);
    let mut lines = below.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).peekable();
    for _ in 0..LONGEST_TITLE {
        let (Some(header), Some(row)) = (lines.next(), lines.peek()) else { return false };
        let separator = char::from(separator.unwrap_or_else(|| delimiter(header)));
        if fields(line, separator).iter().filter(|field| !field.is_empty()).count() > 1 {
            return false;
        }
        let names = fields(header, separator);
        if names.iter().filter(|name| !name.is_empty()).count() > 1 {
            let are_names = names.iter().all(|name| !name.is_empty() && !values::looks_like_number(name));
            return are_names && fields(row, separator).len() == names.len();
        }
    }
    false
}

/// Comma, semicolon or tab, whichever the first line has most of; semicolon or tab where numbers with a decimal comma stand
/// between them.
fn delimiter(table: &str) -> u8 {
    let line = table.lines().next().unwrap_or("");
    let is_number = |field: &str| field.trim().is_empty() || Decimal::Comma.number(field.trim()).is_some();
    let between_numbers = |d: &char| line.contains(*d) && line.split(*d).all(is_number);
    if let Some(found) = [';', '\t'].into_iter().find(between_numbers) {
        return found as u8;
    }
    let header = line.as_bytes();
    let count = |d: u8| header.iter().filter(|b| **b == d).count();
    [b';', b'\t'].into_iter().fold(b',', |best, d| if count(d) > count(best) { d } else { best })
}

/// One row with its place in the file.
#[derive(Clone, Copy)]
pub(crate) struct Row<'r> {
    path: &'r Path,
    pub(crate) line: usize,
    fields: &'r str,
    ends: &'r [usize],
    /// The decimal mark of all columns, where it is given.
    given: Option<Decimal>,
    /// The decimal mark of columns whose numbers have marks.
    marks: &'r [Option<Decimal>],
    /// Columns whose mark is that of other columns.
    assumed: &'r [bool],
}

impl<'r> Row<'r> {
    /// The number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All fields, as of [`Row::text`].
    pub(crate) fn fields(self) -> impl Iterator<Item = &'r str> {
        (0..self.len()).map(move |at| self.text(at))
    }

    /// A field without white space around it; empty where there is none.
    pub(crate) fn text(&self, at: usize) -> &'r str {
        let Some(end) = self.ends.get(at) else {
            return "";
        };
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        self.fields[begin..*end].trim()
    }

    /// The decimal mark of the numbers of a column, where it is known.
    fn mark(&self, at: usize) -> Option<Decimal> {
        self.given.or(self.marks.get(at).copied().flatten())
    }

    /// A field as of [`Row::text`]; a number with a decimal comma or with marks between thousands has a decimal point alone.
    pub(crate) fn plain(&self, at: usize) -> Cow<'r, str> {
        let text = self.text(at);
        let number = |mark: Decimal| {
            let is_plain = text.parse::<f64>().is_ok() && (mark == Decimal::Point || !text.contains('.'));
            mark.number(text).filter(|_| !is_plain)
        };
        match self.mark(at).and_then(number) {
            Some(number) => number.to_string().into(),
            None => text.into(),
        }
    }

    /// A field as of [`Row::plain`] that is a number or a word. In a column of decimal commas, `12.25` is neither.
    pub(crate) fn value(&self, column: &Column) -> Result<Cow<'r, str>> {
        let plain = self.plain(column.at);
        let is_other = self.mark(column.at) == Some(Decimal::Comma)
            && !(self.given.is_none() && self.assumed.get(column.at).is_some_and(|assumed| *assumed))
            && plain.contains('.')
            && plain.parse::<f64>().is_ok()
            && *plain == *self.text(column.at);
        if !is_other {
            return Ok(plain);
        }
        let reason = format!("found `{}`, expected a number with a decimal comma as in other rows", shown(&plain));
        let hint = "write all numbers of the column with the same mark; `--decimal point` (`data.decimal`) reads decimal points";
        Err(self.error(&column.name, reason).with_hint(hint))
    }

    /// The field of a column.
    pub(crate) fn get(&self, column: &Column) -> &'r str {
        self.text(column.at)
    }

    /// The field of a column, which may not be empty.
    pub(crate) fn filled(&self, column: &Column, what: &str) -> Result<&'r str> {
        match self.get(column) {
            "" => Err(self.error(&column.name, format!("is empty, expected {what}"))),
            text => Ok(text),
        }
    }

    /// The number in a column, which has to be there.
    pub(crate) fn number(&self, column: &Column) -> Result<f32> {
        values::number(&self.value(column)?).map_err(|fault| self.fault(&column.name, fault))
    }

    /// The number in a column, NaN where it is missing.
    pub(crate) fn number_or_nan(&self, column: &Column) -> Result<f32> {
        values::number_or_nan(&self.value(column)?).map_err(|fault| self.fault(&column.name, fault))
    }

    /// As [`Self::number_or_nan`], with all digits.
    pub(crate) fn exact_or_nan(&self, column: &Column) -> Result<f64> {
        values::exact_or_nan(&self.value(column)?).map_err(|fault| self.fault(&column.name, fault))
    }

    /// Refuses a row that is longer or shorter than the first one. `whose` begins the end of the message: "the header
    /// has".
    pub(crate) fn check_fields(&self, expected: usize, whose: &str) -> Result<()> {
        if self.len() == expected {
            return Ok(());
        }
        let error = Error::parse(self.path, self.line, format!("has {} fields, {whose} {expected}", self.len()));
        Err(error.with_hint("put text that contains the separator in double quotes"))
    }

    pub(crate) fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason).in_field(field)
    }

    pub(crate) fn fault(&self, field: &str, fault: Fault) -> Error {
        fault.in_line(self.path, self.line, field)
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::Header;
    use super::*;

    fn all(text: &str) -> Vec<(usize, Vec<String>)> {
        let mut rows = Rows::of_text(text, Path::new("a.csv"), None).unwrap();
        let mut found = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            found.push((row.line, row.fields().map(str::to_owned).collect()));
        }
        found
    }

    #[test]
    fn a_title_above_the_header_is_no_row() {
        let read = |text: &str| {
            let mut rows = Rows::of_text(text, Path::new("a.csv"), None).unwrap();
            let first = rows.next().unwrap().unwrap().fields().map(str::to_owned).collect::<Vec<_>>();
            (first, rows.note().map(str::to_owned))
        };
        for (text, said) in [
            ("Sales, 2023;;\n;;\nmonth;a;b\n2020-01;1;2\n", "lines 1 to 2 are taken for a title: `Sales, 2023`"),
            ("\u{feff}Sales of 2023\n\nmonth,a,b\n2020-01,1,2\n", "line 1 is taken for a title: `Sales of 2023`"),
            (
                "\"Sales\"\t\t\nby month\t\t\nmonth\ta\tb\nJan\t1\t2",
                "lines 1 to 2 are taken for a title: `Sales by month`",
            ),
        ] {
            let (header, note) = read(text);
            assert_eq!((header.join(" ").as_str(), note.as_deref()), ("month a b", Some(said)), "{text:?}");
        }
        for text in ["a\n1\n2\n", "a,,\n1,2,3\n4,5,6\n", "name\nParis\nRome, Italy\n", "a\nb,c\n", "1,2\na,b\nc,d\n"] {
            let (header, note) = read(text);
            assert_eq!((header[0].as_str(), note), (text.split([',', '\n']).next().unwrap(), None), "{text:?}");
        }
    }

    #[test]
    fn a_first_line_may_name_the_separator() {
        let rows = |fields: [[&str; 2]; 2]| {
            (2..).zip(fields.map(|row| row.map(str::to_owned).to_vec())).collect::<Vec<(usize, Vec<String>)>>()
        };
        for text in [
            "sep=;\na;b\n1,5;2\n",
            "\u{feff}sep=;\r\na;b\r\n1,5;2\r\n",
            "SEP=;\na;b\n1,5;2\n",
            "\"sep=;\"\na;b\n1,5;2\n",
            "sep=\t\na\tb\n1,5\t2\n",
            "sep=|\na|b\n1,5|2\n",
            "sep=,\na,b\n\"1,5\",2\n",
        ] {
            assert_eq!(all(text), rows([["a", "b"], ["1,5", "2"]]), "{text:?}");
        }
        // Only the first line is one, and a header may begin alike.
        assert_eq!(all("a\nsep=;\n").len(), 2);
        assert_eq!(all("sep=x,y\n1,2\n")[0], (1, vec!["sep=x".to_owned(), "y".to_owned()]));
        // Also where the caller knows the separator.
        let known =
            Rows::of_text("sep=;\na;b\n", Path::new("a.csv"), Some(b';')).unwrap().next().unwrap().unwrap().len();
        assert_eq!(known, 2);
    }

    #[test]
    fn only_numbers_are_read_by_their_marks() {
        let text = "id;value\n007;1,5\n1.001;12.25\n9007199254740993;1.250\n";
        let mut rows =
            Rows::of_text(text, Path::new("a.csv"), None).unwrap().with_marks(Some(Decimal::Comma), None).unwrap();
        let header = Header::of(&mut rows, "rows").unwrap();
        let value = header.column("value").unwrap();
        let (mut ids, mut found) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next().unwrap() {
            ids.push(row.text(0).to_owned());
            found.push(row.number(&value).map_err(|error| error.to_string()));
        }
        assert_eq!(ids, ["007", "1.001", "9007199254740993"]);
        let refused = "a.csv:3: field `value`: found `12.25`, expected a number with a decimal comma as in other rows";
        assert_eq!(found, [Ok(1.5), Err(refused.to_owned()), Ok(1250.0)]);
    }

    #[test]
    fn marks_of_numbers_are_read_where_the_table_tells_them() {
        let with = |text: &str, given| {
            let mut rows = Rows::of_text(text, Path::new("a.csv"), None).unwrap().with_marks(given, None).unwrap();
            let mut found = Vec::new();
            while let Some(row) = rows.next().unwrap() {
                found.push((0..row.len()).map(|at| row.plain(at)).collect::<Vec<_>>().join("|"));
            }
            (found[1..].to_vec(), rows.note().unwrap_or_default().to_owned())
        };
        let read = |text: &str| with(text, None);
        let commas = "numbers have a decimal comma (`--decimal point` or `data.decimal` changes it)";
        let german = "Datum;Menge;Preis;Ort\n01.02.2021;1.250;12,5;A,B\n02.02.2021;7;1.012,25;C\n";
        assert_eq!(
            read(german),
            (
                vec!["01.02.2021|1250|12.5|A,B".into(), "02.02.2021|7|1012.25|C".into()],
                commas.replace(" (", ", and `1.250` is read as 1250 (")
            )
        );
        let quoted = "date,price\n2021-01-01,\"12,5\"\n2021-01-02,\"3\"\n";
        assert_eq!(read(quoted), (vec!["2021-01-01|12.5".into(), "2021-01-02|3".into()], commas.into()));
        let thousands = "date,sold\n2021-01-01,\"1,000\"\n2021-01-02,\"1,234,567\"\n2021-01-03,7\n";
        assert_eq!(
            read(thousands),
            (vec!["2021-01-01|1000".into(), "2021-01-02|1234567".into(), "2021-01-03|7".into()], "".into())
        );
        // It may be a thousand, or one and a quarter.
        let either = "`1,250` is read as";
        let (rows, note) = read("date,price\n2021-01-01,\"1,250\"\n");
        assert_eq!(
            (rows, note),
            (vec!["2021-01-01|1250".into()], format!("{either} 1250 (`--decimal comma` or `data.decimal` changes it)"))
        );
        let (rows, note) = read("date;price\n2021-01-01;1,250\n");
        assert_eq!(
            (rows, note),
            (vec!["2021-01-01|1.25".into()], format!("{either} 1.25 (`--decimal point` or `data.decimal` changes it)"))
        );
        let (rows, note) = read("date;price\n2021-01-01;1.250\n");
        assert_eq!(
            (rows, note.as_str()),
            (
                vec!["2021-01-01|1.250".into()],
                "`1.250` is read as 1.25 (`--decimal comma` or `data.decimal` changes it)"
            )
        );
        // Other columns of the table show a decimal point.
        assert_eq!(read("date;price;sold\n2021-01-01;1.250;3.5\n").1, "");
        // One of both is a thousand and more, and the table does not show which.
        assert_eq!(
            read("date;price\n2021-01-01;1,250\n2021-01-02;1.300\n"),
            (vec!["2021-01-01|1,250".into(), "2021-01-02|1.300".into()], String::new())
        );
        assert_eq!(with("date;price\n2021-01-01;1,250\n", Some(Decimal::Point)).0, ["2021-01-01|1250"]);
        assert_eq!(with("date,price\n2021-01-01,1.250\n", Some(Decimal::Comma)).0, ["2021-01-01|1250"]);
        assert_eq!(read("date,price\n2021-01-01,1.250\n").0, ["2021-01-01|1.250"]);
    }

    #[test]
    fn a_likely_mark_is_that_of_numbers_that_do_not_tell_theirs() {
        let with = |text: &str, likely| {
            let mut rows = Rows::of_text(text, Path::new("a.csv"), None).unwrap().with_marks(None, likely).unwrap();
            rows.next().unwrap();
            let row = rows.next().unwrap().unwrap();
            let found = (0..row.len()).map(|at| row.plain(at)).collect::<Vec<_>>().join("|");
            (found, rows.note().unwrap_or_default().to_owned())
        };
        let comma = Some(Decimal::Comma);
        let read = "`1.250` is read as 1250 (`--decimal point` or `data.decimal` changes it)";
        assert_eq!(with("a;b\n1.250;3\n", comma), ("1250|3".into(), read.into()));
        assert_eq!(with("a\tb\n1.250\t3\n", comma), ("1250|3".into(), read.into()));
        assert_eq!(with("a;b\n1.250;3,5\n", Some(Decimal::Point)).0, "1250|3.5");
        // What the numbers show is theirs.
        for text in ["a;b\n1.250;3.5\n", "a,b\n1.250,3\n", "a,b,c\n1.250,3,\"x, y\"\n"] {
            assert!(with(text, comma).0.starts_with("1.250|3"), "{text}");
            assert_eq!(with(text, comma).1, "");
        }
        assert_eq!(with("a,b\n\"1,250\",3\n", comma).0, "1.25|3");
        // Thousands may stand below the beginning, and so may points.
        let long = format!("a;b\n{}1.250;4.5\n", "7;3\n".repeat(20_000));
        let mut rows = Rows::of_text(&long, Path::new("a.csv"), None).unwrap().with_marks(None, comma).unwrap();
        let mut last = [String::new(), String::new()];
        while let Some(row) = rows.next().unwrap() {
            last = [0, 1].map(|at| row.value(&Column::new(at, "a")).unwrap().into_owned());
        }
        assert_eq!(last, ["1250", "4.5"]);
    }

    #[test]
    fn rows_have_their_lines_whatever_ends_them() {
        let expected = |end: &str| {
            vec![
                (3, vec!["a".to_owned(), "b".to_owned()]),
                (4, vec!["1".to_owned(), format!("x{end}y")]),
                (7, vec!["2".to_owned(), "\u{e9}".to_owned()]),
            ]
        };
        for end in ["\n", "\r\n"] {
            let text = ["# one", "", "a;b", " 1 ;\"x", "y\"", "", "2;\u{e9}"].join(end);
            assert_eq!(all(&text), expected(end));
        }
    }

    #[test]
    fn files_may_be_compressed_and_have_another_encoding() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv.gz");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, b"\xef\xbb\xbfcity,n\nM\xfcnchen,1\n").unwrap();
        std::fs::write(&path, packed.finish().unwrap()).unwrap();
        let mut rows = Rows::open(&path, None).unwrap();
        assert_eq!(rows.next().unwrap().unwrap().fields().collect::<Vec<_>>(), ["city", "n"]);
        assert_eq!(rows.next().unwrap().unwrap().text(0), "M\u{fc}nchen");
        assert_eq!(Text::read(&path).unwrap().text, "city,n\nM\u{fc}nchen,1\n");
        let text = "\u{feff}city;n\nM\u{fc}nchen;1\n";
        std::fs::write(&path, text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()).unwrap();
        let mut rows = Rows::open(&path, None).unwrap();
        rows.next().unwrap();
        assert_eq!(rows.next().unwrap().unwrap().fields().collect::<Vec<_>>(), ["M\u{fc}nchen", "1"]);
    }

    #[test]
    fn utf16_without_a_mark_is_read_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let write = |text: &str| {
            std::fs::write(&path, text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()).unwrap();
        };
        write("date,M\u{fc}nchen\n2020-01-01,1\n2020-01-02,2\n");
        let read = crate::series::formats::read(&path, &Default::default()).unwrap();
        assert_eq!(read.panel.series()[0].name(), "M\u{fc}nchen");
        assert!(read.report.to_string().contains("the file is read as UTF-16"), "{}", read.report);
        std::fs::write(&path, b"date,M\xfcnchen\n2020-01-01,1\n2020-01-02,2\n").unwrap();
        let read = crate::series::formats::read(&path, &Default::default()).unwrap();
        assert!(read.report.to_string().contains("the file is not UTF-8 and is read as Windows-1252"));
        write("stadt,n\nM\u{fc}nchen,1\nUlm,2\n");
        let options = crate::sets::formats::ReadOptions { group_by: Some("stadt".into()), ..Default::default() };
        let bags = crate::sets::formats::read(&path, &options).unwrap();
        assert_eq!(bags.ids(), ["M\u{fc}nchen", "Ulm"]);
        assert!(bags.notes()[0].starts_with("the file is read as UTF-16"), "{:?}", bags.notes());
        write("name,smiles,y\na,CCO,1\n");
        let options = crate::graphs::formats::ReadOptions { smiles: Some("smiles".into()), ..Default::default() };
        let graphs = crate::graphs::formats::read(&path, &options).unwrap();
        assert!(graphs.notes()[0].starts_with("the file is read as UTF-16"), "{:?}", graphs.notes());
    }

    #[test]
    fn open_quotes_and_binary_files_are_refused() {
        let said = |text: &str| {
            let rows = Rows::of_text(text, Path::new("a.csv"), None);
            rows.and_then(|mut rows| rows.next().map(|_| ())).unwrap_err().to_string()
        };
        assert_eq!(said("\"a,b\n1,2\n"), "a.csv:1: has a quote that is never closed");
        assert_eq!(said("a\0,\0b\n"), "a.csv:1: is not text, expected a table of comma-separated values");
    }
}

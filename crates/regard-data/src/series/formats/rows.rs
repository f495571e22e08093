//! The rows of a table, read one after the other: a file may be larger than what is kept of it.

use std::io::{BufRead, Read};
use std::path::Path;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::error::shown;
use crate::table::delimiter;
use crate::{Error, Result};

/// The longest row that is taken for one: a broken quote or a file of no lines would fill the memory.
const LONGEST: usize = 1 << 26;

/// A table whose rows are read once.
pub(super) struct Rows<'p> {
    source: Box<dyn BufRead + 'p>,
    pub(super) path: &'p Path,
    parser: Reader,
    /// The line that was read last.
    line: usize,
    /// What is left of the text that was read.
    text: Vec<u8>,
    at: usize,
    /// The line on which the row begins.
    begins: usize,
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// A row that is to be given again.
    again: bool,
}

impl<'p> Rows<'p> {
    /// The table of a text, without comments above its header.
    pub(super) fn of(source: Box<dyn BufRead + 'p>, path: &'p Path, separator: Option<u8>) -> Result<Self> {
        let mut rows = Self {
            source,
            path,
            parser: Reader::new(),
            line: 0,
            text: Vec::new(),
            at: 0,
            begins: 0,
            fields: Vec::new(),
            ends: Vec::new(),
            again: false,
        };
        loop {
            if !rows.read_line()? {
                break;
            }
            if rows.text.contains(&0) {
                let reason = "is no text, expected a table of comma-separated values";
                return Err(Error::parse(path, rows.line, reason));
            }
            let first = String::from_utf8_lossy(&rows.text);
            let line = first.trim_start_matches('\u{feff}');
            if !line.trim().is_empty() && !line.starts_with('#') {
                rows.at = first.len() - line.len();
                rows.parser = ReaderBuilder::new().delimiter(separator.unwrap_or_else(|| delimiter(line))).build();
                break;
            }
            rows.at = rows.text.len();
        }
        Ok(rows)
    }

    /// Reads a line behind what is left; `false` at the end of the file.
    fn read_line(&mut self) -> Result<bool> {
        self.text.drain(..self.at);
        self.at = 0;
        let before = self.text.len();
        let mut source = (&mut self.source).take(LONGEST as u64);
        let read = source.read_until(b'\n', &mut self.text).map_err(|source| Error::io(self.path, source))?;
        if read == LONGEST || self.text.len() > LONGEST {
            let reason = format!("begins a row of more than {} MB, expected lines of a table", LONGEST >> 20);
            return Err(Error::parse(self.path, self.line + 1, reason));
        }
        if read == 0 {
            return Ok(false);
        }
        self.line += 1;
        let carriage = self.text[before..].ends_with(b"\r\n");
        if carriage || !self.text.ends_with(b"\n") {
            self.text.truncate(self.text.len() - 2 * usize::from(carriage));
            self.text.push(b'\n');
        }
        Ok(true)
    }

    /// The next row that has any value, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>> {
        if !std::mem::take(&mut self.again) && !self.advance()? {
            return Ok(None);
        }
        Ok(Some(Row { path: self.path, line: self.begins, fields: &self.fields, ends: &self.ends }))
    }

    /// Gives the row that was read last once more.
    pub(super) fn unread(&mut self) {
        self.again = true;
    }

    fn advance(&mut self) -> Result<bool> {
        loop {
            if !self.record()? {
                return Ok(false);
            }
            let row = Row { path: self.path, line: self.begins, fields: &self.fields, ends: &self.ends };
            if (0..row.len()).any(|at| !row.bytes(at).is_empty()) {
                return Ok(true);
            }
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

/// One row with its place in the file.
#[derive(Clone, Copy)]
pub(super) struct Row<'r> {
    path: &'r Path,
    pub(super) line: usize,
    fields: &'r [u8],
    ends: &'r [usize],
}

impl<'r> Row<'r> {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field without white space around it; empty where there is none.
    fn bytes(&self, at: usize) -> &'r [u8] {
        let Some(end) = self.ends.get(at) else {
            return &[];
        };
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        self.fields[begin..*end].trim_ascii()
    }

    /// A field as text, with U+FFFD for what is not UTF-8.
    pub(super) fn text(&self, at: usize) -> std::borrow::Cow<'r, str> {
        String::from_utf8_lossy(self.bytes(at))
    }

    /// A number in the column of this name, NaN where it is missing.
    pub(super) fn number(&self, at: usize, name: &str) -> Result<f32> {
        let bytes = self.bytes(at);
        if is_missing(bytes) {
            return Ok(f32::NAN);
        }
        let value = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<f64>().ok());
        match value {
            Some(value) if (value as f32).is_finite() => Ok(value as f32),
            _ => Err(self.no_number(at, name)),
        }
    }

    fn no_number(&self, at: usize, name: &str) -> Error {
        let text = self.text(at);
        let found = |expected: &str| self.error(name, format!("found `{}`, expected {expected}", shown(&text)));
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => found("a number below 3.4e38"),
            Ok(_) => found("a finite number").with_hint("leave the field empty where a value is missing"),
            Err(_) if text.contains(',') => found("a number").with_hint("write the decimal point as `.`"),
            Err(_) => found("a number")
                .with_hint("missing values are empty, NaN, NA, null, none, `?` or `-`; name the columns to read if this is none of numbers"),
        }
    }

    /// Refuses a row that is longer or shorter than the header.
    pub(super) fn has_fields(&self, expected: usize) -> Result<()> {
        if self.len() == expected {
            return Ok(());
        }
        let error = Error::parse(self.path, self.line, format!("has {} fields, the header has {expected}", self.len()));
        Err(error.with_hint("put text that contains the separator in double quotes"))
    }

    pub(super) fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.line, reason).in_field(field)
    }
}

/// Whether a field says that there is no value.
pub(super) fn is_missing(field: &[u8]) -> bool {
    const WORDS: [&[u8]; 10] = [b"nan", b"na", b"n/a", b"null", b"none", b"?", b"-", b"#n/a", b"<na>", b"."];
    field.is_empty() || field.len() <= 4 && WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
}

//! Tables as text: which character separates the fields, which line a row stands on.

use std::path::Path;

use csv::StringRecord;

use crate::{Error, Result};

/// The comments above the header, how many lines stand there, and the rest.
pub fn split_comments(text: &str) -> (Vec<(usize, &str)>, usize, &str) {
    let (mut comments, mut skipped, mut rest) = (Vec::new(), 0, text);
    while let Some(line) = rest.split_inclusive('\n').next() {
        match line.trim().strip_prefix('#') {
            Some(words) => comments.push((skipped + 1, words.trim())),
            None if line.trim().is_empty() => {}
            None => break,
        }
        skipped += 1;
        rest = &rest[line.len()..];
    }
    comments.retain(|(_, words)| !words.is_empty());
    (comments, skipped, rest)
}

/// Comma, semicolon or tab, whichever the first line has most of.
pub fn delimiter(table: &str) -> u8 {
    let header = table.lines().next().unwrap_or("").as_bytes();
    let count = |d: u8| header.iter().filter(|b| **b == d).count();
    [b';', b'\t'].into_iter().fold(b',', |best, d| if count(d) > count(best) { d } else { best })
}

/// The line of `table` on which a record starts. The reader gives the end of the record before
/// it, which lies above any empty lines and, in files of DOS, before the last line feed.
pub fn line_of(record: &StringRecord, table: &str) -> usize {
    let Some(position) = record.position() else {
        return 0;
    };
    let before = table.as_bytes().get(position.byte() as usize..).unwrap_or_default();
    let breaks = before.iter().take_while(|b| matches!(b, b'\r' | b'\n'));
    position.line() as usize + breaks.filter(|b| **b == b'\n').count()
}

/// The result of the CSV reader with the file and the line in its error.
///
/// # Errors
/// [`Error::Parse`] where the reader failed.
pub fn broken<T>(result: std::result::Result<T, impl std::borrow::Borrow<csv::Error>>, path: &Path) -> Result<T> {
    result.map_err(|error| {
        let error = error.borrow();
        let line = error.position().map_or(0, |p| p.line() as usize);
        Error::parse(path, line, error.to_string())
    })
}

/// A field as CSV wants it: in quotes where it holds a separator, a quote or a line break.
pub fn quoted(field: &str) -> String {
    if field.contains([',', ';', '\t', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

//! The lines of a TSPLIB file, sorted into keywords with values and sections with rows.

use std::path::Path;

use super::super::{number, shown};
use crate::{Error, Result};

/// Keywords of TSPLIB95 that carry a value; others are accepted with a colon and ignored.
const KEYWORDS: [&str; 11] = [
    "NAME",
    "TYPE",
    "COMMENT",
    "DIMENSION",
    "CAPACITY",
    "COST_LIMIT",
    "EDGE_WEIGHT_TYPE",
    "EDGE_WEIGHT_FORMAT",
    "EDGE_DATA_FORMAT",
    "NODE_COORD_TYPE",
    "DISPLAY_DATA_TYPE",
];

/// `KEYWORD : value`.
pub(crate) struct Entry<'a> {
    pub(crate) line: usize,
    pub(crate) keyword: String,
    pub(crate) value: &'a str,
}

/// `KEYWORD_SECTION` and the rows below it, without empty ones.
pub(crate) struct Section<'a> {
    pub(crate) line: usize,
    pub(crate) keyword: String,
    pub(crate) rows: Vec<(usize, &'a str)>,
}

/// A file sorted into keywords and sections.
pub(crate) struct Layout<'a> {
    pub(crate) path: &'a Path,
    pub(crate) entries: Vec<Entry<'a>>,
    pub(crate) sections: Vec<Section<'a>>,
}

impl<'a> Layout<'a> {
    /// Sorts the lines of `text` up to `EOF` or the end.
    pub(crate) fn of(text: &'a str, path: &'a Path) -> Result<Self> {
        let mut layout = Self { path, entries: Vec::new(), sections: Vec::new() };
        // Rows belong to the last section until a keyword ends it.
        let mut in_section = false;
        for (at, raw) in text.lines().enumerate() {
            let (line, content) = (at + 1, trimmed(raw));
            if content.is_empty() {
                continue;
            }
            let (keyword, value) = split(content);
            if keyword == "EOF" {
                break;
            } else if keyword.ends_with("_SECTION") {
                layout.open(line, keyword, value)?;
                in_section = true;
            } else if is_entry(&keyword, content) {
                layout.entries.push(Entry { line, keyword, value });
                in_section = false;
            } else if let (true, Some(section)) = (in_section, layout.sections.last_mut()) {
                section.rows.push((line, content));
            } else {
                return Err(layout.stray(line, content));
            }
        }
        Ok(layout)
    }

    /// Notes on keywords that the problem, whose own ones are given, does not read.
    pub(crate) fn unused(&self, own: &[&str]) -> impl Iterator<Item = String> {
        // What every file may say of itself.
        const OTHERS: [&str; 3] = ["EDGE_WEIGHT_UNIT_OF_MEASUREMENT", "AUTHOR", "DATE"];
        // Keywords of TSPLIB95 that only some problems read.
        const LIMITS: [&str; 2] = ["CAPACITY", "COST_LIMIT"];
        let unknown = move |entry: &&Entry<'_>| {
            let keyword = entry.keyword.as_str();
            let is_common = KEYWORDS.contains(&keyword) && !LIMITS.contains(&keyword);
            !is_common && !OTHERS.contains(&keyword) && !own.contains(&keyword)
        };
        self.entries.iter().filter(unknown).map(|Entry { line, keyword, value }| {
            let fleet =
                ["VEHICLES", "NUM_VEHICLES", "NUMBER_OF_VEHICLES", "SALESMEN", "TRUCKS"].contains(&keyword.as_str());
            let reason = if fleet { ": the number of vehicles is not limited" } else { "" };
            format!("line {line}: `{}: {}` is not used{reason}", shown(keyword), shown(value))
        })
    }

    fn open(&mut self, line: usize, keyword: String, value: &'a str) -> Result<()> {
        if let Some(first) = self.section(&keyword) {
            let reason = format!("occurs a second time, first on line {}", first.line);
            return Err(self.error(line, reason).in_field(keyword));
        }
        let rows = if value.is_empty() { Vec::new() } else { vec![(line, value)] };
        self.sections.push(Section { line, keyword, rows });
        Ok(())
    }

    fn stray(&self, line: usize, content: &str) -> Error {
        let reason = format!("found `{}`, expected `KEYWORD : value` or a section", shown(content));
        self.error(line, reason).with_hint("a TSPLIB file starts with NAME, TYPE, DIMENSION, EDGE_WEIGHT_TYPE")
    }

    /// The section of that name.
    pub(crate) fn section(&self, keyword: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|s| s.keyword == keyword)
    }

    /// The only entry of that name.
    pub(crate) fn entry(&self, keyword: &str) -> Result<Option<&Entry<'a>>> {
        let mut all = self.entries.iter().filter(|e| e.keyword == keyword);
        let first = all.next();
        if let (Some(first), Some(second)) = (first, all.next()) {
            let reason = format!("is given a second time, first on line {}", first.line);
            return Err(self.error(second.line, reason).in_field(keyword));
        }
        Ok(first)
    }

    /// The section of that name, which `what` cannot do without.
    pub(crate) fn required(&self, keyword: &str, what: &str) -> Result<&Section<'a>> {
        self.section(keyword).ok_or_else(|| self.error(0, format!("has no {keyword}, which {what} needs")))
    }

    /// The number of the only entry of that name: above 0, or also 0 where `zero` is allowed.
    pub(crate) fn amount(&self, keyword: &str, zero: bool) -> Result<Option<f64>> {
        let Some(entry) = self.entry(keyword)? else {
            return Ok(None);
        };
        match number(entry.value).filter(|v| *v > 0.0 || (zero && *v == 0.0)) {
            Some(value) => Ok(Some(value)),
            None => {
                let expected = if zero { "a number, 0 or more" } else { "a number above 0" };
                let reason = format!("found `{}`, expected {expected}", shown(entry.value));
                Err(self.error(entry.line, reason).in_field(keyword))
            }
        }
    }

    /// An error of this file; line 0 for the file as a whole.
    pub(crate) fn error(&self, line: usize, reason: impl Into<String>) -> Error {
        Error::parse(self.path, line, reason)
    }
}

/// If true, a line starts as TSPLIB lines do.
pub(crate) fn is_keyword_line(content: &str) -> bool {
    let (keyword, _) = split(trimmed(content));
    keyword.ends_with("_SECTION") || KEYWORDS.contains(&keyword.as_str())
}

/// Without surrounding white space and the end-of-file mark of DOS.
fn trimmed(raw: &str) -> &str {
    raw.trim_matches(|c: char| c.is_whitespace() || c == '\u{1a}')
}

/// The first word in capitals and what follows it and a colon or equals sign.
fn split(content: &str) -> (String, &str) {
    let end = content.find(|c: char| c.is_whitespace() || c == ':' || c == '=').unwrap_or(content.len());
    let (word, rest) = content.split_at(end);
    let rest = rest.trim_start();
    let value = rest.strip_prefix([':', '=']).unwrap_or(rest);
    (word.to_ascii_uppercase(), value.trim())
}

/// Known keywords need no colon; unknown ones do, and start with a letter, which no row does.
fn is_entry(keyword: &str, content: &str) -> bool {
    KEYWORDS.contains(&keyword) || (content.contains(':') && keyword.starts_with(|c: char| c.is_ascii_alphabetic()))
}

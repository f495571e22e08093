//! Lines of numbers, read word by word.

use std::path::Path;
use std::str::{FromStr, SplitWhitespace};

use crate::error::shown;
use crate::{Error, Result};

/// One line.
pub(super) struct Line<'t> {
    pub(super) path: &'t Path,
    pub(super) number: usize,
    words: SplitWhitespace<'t>,
}

impl<'t> Line<'t> {
    /// The lines that say anything; those that begin with `#` are comments.
    pub(super) fn all(text: &'t str, path: &'t Path) -> impl Iterator<Item = Self> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        lines.map(move |(number, line)| Self { path, number, words: line.split_whitespace() })
    }

    /// The next word.
    pub(super) fn word(&mut self, what: &str) -> Result<&'t str> {
        self.words.next().ok_or_else(|| self.error(what, format!("is missing, expected {what}")))
    }

    /// The next word as a number.
    pub(super) fn number<T: FromStr>(&mut self, what: &str, expected: &str) -> Result<T> {
        let word = self.word(what)?;
        word.parse().map_err(|_| self.error(what, format!("found `{}`, expected {expected}", shown(word))))
    }

    /// The next word, if there is one.
    pub(super) fn next(&mut self) -> Option<&'t str> {
        self.words.next()
    }

    pub(super) fn end(&mut self) -> Result<()> {
        match self.words.next() {
            Some(word) => Err(self.error("", format!("has `{}` where nothing more is expected", shown(word)))),
            None => Ok(()),
        }
    }

    pub(super) fn error(&self, field: &str, reason: impl Into<String>) -> Error {
        Error::parse(self.path, self.number, reason).in_field(field)
    }
}

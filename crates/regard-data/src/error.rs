//! Errors: the place, the finding, the expectation, and what to do about them.

use std::path::{Path, PathBuf};

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
///
/// The text of an error names the place and the expectation in one line; [`Error::hint`] says
/// what to do about it, where something can be said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file was read but does not say what its format asks for.
    #[error("{}{}: {}{reason}{}", path.display(), at_line(*line), of_field(field), on_line(*other_line))]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 where the error is not on one line.
        line: usize,
        /// The field (a column, a keyword); empty where there is none.
        field: String,
        /// The finding and the expectation.
        reason: String,
        /// Another line of the file, which ends the reason.
        other_line: Option<usize>,
        /// The hint that helps to correct the file.
        hint: Option<String>,
    },
    /// A solution breaks a constraint of its instance.
    #[error("not a solution: {reason}")]
    Infeasible {
        /// The first constraint that is violated, with the nodes concerned.
        reason: String,
    },
    /// A value given by the caller is outside what is possible.
    #[error("{what}: {reason}")]
    Invalid {
        /// The value, by its name.
        what: String,
        /// Why it cannot be taken, and what can.
        reason: String,
    },
}

impl Error {
    /// The hint that helps to correct the error, in one line, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Parse { hint, .. } => hint.as_deref(),
            Self::Io { source, .. } => match source.kind() {
                // What is not among files in memory has no path.
                std::io::ErrorKind::NotFound if source.get_ref().is_none() => {
                    Some("check the path; it is relative to the current folder")
                }
                std::io::ErrorKind::IsADirectory => Some("name a file inside the folder"),
                _ => None,
            },
            _ => None,
        }
    }

    /// A file that could not be read or written.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }

    /// A malformed file; `line` 0 means the file as a whole.
    pub fn parse(path: &Path, line: usize, reason: impl Into<String>) -> Self {
        let (path, field, reason) = (path.to_path_buf(), String::new(), reason.into());
        Self::Parse { path, line, field, reason, other_line: None, hint: None }
    }

    /// A value that cannot be taken.
    pub fn invalid(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { what: what.into(), reason: reason.into() }
    }

    /// The same error, naming the field it is about.
    pub fn in_field(mut self, name: impl Into<String>) -> Self {
        if let Self::Parse { field, .. } = &mut self {
            *field = name.into();
        }
        self
    }

    /// The same error, whose reason ends with another line of the file.
    pub fn on_line(mut self, line: usize) -> Self {
        if let Self::Parse { other_line, .. } = &mut self {
            *other_line = Some(line);
        }
        self
    }

    /// The same error with a hint.
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Parse { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }
}

fn at_line(line: usize) -> String {
    if line == 0 { String::new() } else { format!(":{line}") }
}

fn on_line(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(" on line {line}"))
}

fn of_field(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("field `{field}`: ") }
}

/// Text of a file as it can stand in a one-line message: cut, without control characters.
pub fn shown(token: &str) -> String {
    const LONGEST: usize = 40;
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut text: String = token.chars().take(LONGEST).map(clean).collect();
    if token.chars().nth(LONGEST).is_some() {
        text.push_str("...");
    }
    text
}

/// A fault of a file whose name is not known where it is found.
#[derive(Debug)]
pub struct Fault {
    /// The byte, the instance or the array; empty for the file as a whole.
    place: String,
    reason: String,
    hint: Option<&'static str>,
}

impl Fault {
    /// A fault of the file as a whole: what was found and what was expected.
    pub fn whole(reason: impl Into<String>) -> Self {
        Self { place: String::new(), reason: reason.into(), hint: None }
    }

    /// A fault at a byte of the file.
    pub fn at_byte(at: usize, reason: impl Into<String>) -> Self {
        Self::whole(reason).within(format!("byte {at}"))
    }

    /// A fault of an instance, counted from 0.
    pub fn of_instance(at: usize, reason: impl Into<String>) -> Self {
        Self::whole(reason).within(format!("instance {}", at + 1))
    }

    /// The same fault with its place.
    #[must_use]
    pub fn within(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// The same fault with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The hint that helps to correct the file, where there is one.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        self.hint
    }

    /// The place, empty for the file as a whole.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The finding and the expectation.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The error of the file at `path`.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Error {
        let place = self.place.clone();
        self.in_line(path, 0, &place)
    }

    /// The error of a field on a line of the file at `path`.
    pub fn in_line(self, path: &Path, line: usize, field: &str) -> Error {
        let error = Error::parse(path, line, self.reason).in_field(field);
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_file_line_and_field() {
        let error = Error::parse(Path::new("cities.csv"), 7, "found `abc`, expected a number")
            .in_field("x")
            .with_hint("use a decimal point");
        assert_eq!(error.to_string(), "cities.csv:7: field `x`: found `abc`, expected a number");
        assert_eq!(error.hint(), Some("use a decimal point"));
    }

    #[test]
    fn text_without_line_or_field_leaves_them_out() {
        let error = Error::parse(Path::new("a.tsp"), 0, "has no DIMENSION");
        assert_eq!(error.to_string(), "a.tsp: has no DIMENSION");
        assert_eq!(error.hint(), None);
    }

    #[test]
    fn a_missing_file_has_a_hint() {
        let error = Error::io(Path::new("none.tsp"), std::io::ErrorKind::NotFound.into());
        assert!(error.to_string().starts_with("none.tsp: "));
        assert!(error.hint().is_some());
    }

    #[test]
    fn long_or_binary_tokens_are_tamed_in_messages() {
        assert_eq!(shown("a\u{7}b"), "a\u{fffd}b");
        assert!(shown(&"x".repeat(100)).ends_with("x..."));
    }
}

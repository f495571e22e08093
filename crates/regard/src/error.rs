//! The error of this crate: what went wrong, where, what was expected, and a hint when there is
//! one.

use std::fmt;
use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong between a file and an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An instance, a tour or another data file is at fault.
    #[error(transparent)]
    Data(#[from] regard_data::Error),

    /// A file or folder cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },

    /// A file does not hold what its format promises.
    #[error("{}", place(.path, *.line, .field, .reason))]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1; 0 where lines mean nothing (binary files).
        line: usize,
        /// Field, or position in a binary file; may be empty.
        field: String,
        /// The fault: what was found and what was expected.
        reason: String,
    },

    /// A setting of a model or of an experiment is unknown, missing or out of range.
    #[error("`{key}`: {reason}")]
    Config {
        /// Name of the setting.
        key: String,
        /// The fault: what was found and what was expected.
        reason: String,
    },

    /// A tensor has another shape than the one needed.
    #[error("{what}: expected shape {expected:?}, found {found:?}")]
    Shape {
        /// The tensor.
        what: String,
        /// Shape needed.
        expected: Vec<usize>,
        /// Shape found.
        found: Vec<usize>,
    },

    /// Weights do not fit the network they are meant for.
    #[error("weights do not fit the network{}", Mismatch(.missing, .extra, .wrong))]
    Weights {
        /// Tensors the network needs and the file lacks, with their shapes.
        missing: Vec<String>,
        /// Tensors of the file the network has no place for, with their shapes.
        extra: Vec<String>,
        /// Tensors with another shape (or with values that are not finite), and why.
        wrong: Vec<String>,
    },

    /// Something known that this version cannot do.
    #[error("{what}: {reason}")]
    Unsupported {
        /// The request.
        what: String,
        /// Why it cannot be done, and what can.
        reason: String,
    },

    /// A network computed a number that is not finite.
    #[error("{place}: {what} is not a number: the network overflows")]
    NotFinite {
        /// Instance, set, graph or series, and step where there are steps.
        place: String,
        /// The number.
        what: String,
    },

    /// A training left the numbers that can be learned from.
    #[error("step {step}: {reason}")]
    Diverged {
        /// Steps done when it was seen.
        step: u64,
        /// The number that diverged.
        reason: String,
    },

    /// The saved state of a training cannot be written or used.
    #[error("{what}: {reason}")]
    State {
        /// The part at fault.
        what: String,
        /// The fault.
        reason: String,
    },

    /// The code of a program that uses this crate failed, such as the rules of a problem of its own.
    #[error("{0}")]
    Foreign(Box<dyn std::error::Error + Send + Sync>),

    /// A compute device is missing or failed.
    #[error("device: {0}")]
    Device(String),

    /// An error with the file it belongs to, or with a hint; made by [`Error::in_file`] and
    /// [`Error::with_hint`].
    #[error("{}{error}", prefix(.path.as_deref()))]
    Context {
        /// The file or folder, unless the inner error names it already.
        path: Option<PathBuf>,
        /// The hint.
        hint: Option<String>,
        /// The error itself.
        error: Box<Error>,
    },
}

impl Error {
    /// An input or output error of `path`.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Error::Io { path: path.into(), source }
    }

    /// The setting `key` is at fault.
    pub fn config(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Config { key: key.into(), reason: reason.into() }
    }

    /// An answer that is not finite, for the set, graph or series of this name.
    pub(crate) fn not_finite(kind: &str, name: &str, what: &str) -> Self {
        Error::NotFinite { place: format!("{kind} `{name}`"), what: what.into() }
    }

    /// The part `what` of a training's saved state is at fault.
    pub(crate) fn state(what: impl Into<String>, reason: impl fmt::Display) -> Self {
        Error::State { what: what.into(), reason: reason.to_string() }
    }

    /// Names the file in which the error was found, unless the error names one itself.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        if self.names_a_file() {
            return self;
        }
        Error::Context { path: Some(path.to_owned()), hint: None, error: Box::new(self) }
    }

    /// Adds a hint for the user.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Error::Context { path: None, hint: Some(hint.into()), error: Box::new(self) }
    }

    /// The error without the file names and hints around it.
    pub fn root(&self) -> &Error {
        match self {
            Error::Context { error, .. } => error.root(),
            other => other,
        }
    }

    /// A hint for the user, where there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Context { hint: Some(hint), .. } => Some(hint),
            Error::Context { error, .. } => error.hint(),
            Error::Data(error) => error.hint(),
            Error::NotFinite { .. } => Some(
                "look for a number in the data far outside those of the training; if there is none, train the model \
                     again with a lower `train.learning_rate`, or use another one",
            ),
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Some("check the path; it is relative to the current folder")
            }
            _ => None,
        }
    }

    fn names_a_file(&self) -> bool {
        match self {
            Error::Io { .. } | Error::Parse { .. } => true,
            Error::Data(regard_data::Error::Io { .. } | regard_data::Error::Parse { .. }) => true,
            Error::Context { path, error, .. } => path.is_some() || error.names_a_file(),
            _ => false,
        }
    }
}

/// `path:line: field: reason`, leaving out what is unknown.
fn place(path: &Path, line: usize, field: &str, reason: &str) -> String {
    let mut text = path.display().to_string();
    if line > 0 {
        text += &format!(":{line}");
    }
    if !field.is_empty() {
        text += &format!(": {field}");
    }
    format!("{text}: {reason}")
}

/// `path: `, or nothing.
fn prefix(path: Option<&Path>) -> String {
    path.map(|path| format!("{}: ", path.display())).unwrap_or_default()
}

/// The three lists of [`Error::Weights`], one tensor a line; long lists are cut.
struct Mismatch<'a>(&'a [String], &'a [String], &'a [String]);

impl fmt::Display for Mismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        for (title, names) in [("missing", self.0), ("not expected", self.1), ("wrong", self.2)] {
            for name in names.iter().take(SHOWN) {
                write!(f, "\n  {title}: {name}")?;
            }
            if names.len() > SHOWN {
                write!(f, "\n  {title}: and {} more", names.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_leaves_out_what_is_unknown() {
        let at = |line, field: &str| {
            Error::Parse { path: "a.json".into(), line, field: field.into(), reason: "is empty".into() }.to_string()
        };
        assert_eq!(at(3, "width"), "a.json:3: width: is empty");
        assert_eq!(at(0, ""), "a.json: is empty");
    }

    #[test]
    fn context_adds_file_and_hint_and_keeps_the_root() {
        let error = Error::config("width", "is missing").in_file(Path::new("m/config.json")).with_hint("add it");
        assert_eq!(error.to_string(), "m/config.json: `width`: is missing");
        assert_eq!(error.hint(), Some("add it"));
        let error = error.in_file(Path::new("another"));
        assert_eq!(error.to_string(), "m/config.json: `width`: is missing");
        assert!(matches!(error.root(), Error::Config { .. }));
    }

    #[test]
    fn long_lists_of_tensors_are_cut() {
        let extra = (0..20).map(|i| format!("t{i}")).collect();
        let text = Error::Weights { missing: vec!["a [2]".into()], extra, wrong: vec![] }.to_string();
        assert!(text.starts_with("weights do not fit the network\n  missing: a [2]\n  not expected: t0\n"));
        assert!(text.ends_with("not expected: and 8 more"));
    }
}

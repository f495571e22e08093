//! What is wrong with a `.pt` file, and where.

use std::path::Path;

use crate::Error;

/// A fault at a byte of the file (or of its member), before the file's name is known.
#[derive(Debug)]
pub(super) struct Fault {
    at: Option<usize>,
    reason: String,
    hint: Option<String>,
}

impl Fault {
    pub(super) fn new(at: usize, reason: impl Into<String>) -> Self {
        Self { at: Some(at), reason: reason.into(), hint: None }
    }

    /// A fault of the file as a whole.
    pub(super) fn whole(reason: impl Into<String>) -> Self {
        Self { at: None, reason: reason.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn in_file(self, path: &Path) -> Error {
        let field = self.at.map(|at| format!("byte {at}")).unwrap_or_default();
        let error = Error::Parse { path: path.to_owned(), line: 0, field, reason: self.reason };
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

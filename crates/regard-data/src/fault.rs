//! What is wrong with a file of numbers, and where.

use std::path::Path;

use crate::Error;

/// A fault before the file's name is known.
#[derive(Debug)]
pub struct Fault {
    /// The byte, the instance or the array; empty for the file as a whole.
    place: String,
    reason: String,
    hint: Option<&'static str>,
}

impl Fault {
    /// A fault of the file as a whole.
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
    pub fn within(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// The same fault with what to do about it.
    pub fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The fault as an error of the file at `path`.
    pub fn in_file(self, path: &Path) -> Error {
        let error = Error::parse(path, 0, self.reason).in_field(self.place);
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

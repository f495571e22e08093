//! Errors of the command line, and their printing: what happened, where, and a hint.

use std::io::{self, Write};

use crate::report::printable;

/// An error of the command line, with an optional hint.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    hint: Option<String>,
}

impl Failure {
    /// An error with the message `what`.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// The same error with a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

/// If true, the reader of standard output closed it, which is no error (`regard … | head`).
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}

/// Writes the error to standard error: `error: …` with its causes on one line, then `hint: …`.
pub(crate) fn print(error: &anyhow::Error) {
    let mut text = format!("{} {}\n", label("error:"), printable(&message(error)));
    if let Some(hint) = hint(error) {
        text.push_str(&format!("  hint: {}\n", printable(&hint)));
    }
    // If standard error is closed, there is nobody to inform.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn label(word: &str) -> String {
    if crate::report::colour_on_stderr() { format!("\x1b[1;31m{word}\x1b[0m") } else { word.to_owned() }
}

/// The chain of causes on one line, without causes that are in the message of their parent.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let part = cause.to_string();
        if text.is_empty() {
            text = part;
        } else if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
    }
    text
}

/// The first hint in the chain of causes.
fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.hint.clone();
        }
        if let Some(error) = cause.downcast_ref::<regard::Error>() {
            return error.hint().map(|hint| hint.to_string());
        }
        let error = cause.downcast_ref::<regard::data::Error>()?;
        error.hint().map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_stand_on_one_line_once() {
        let inner = Failure::new("node 9 has 1 coordinate").hint("write `id x y`");
        let error = anyhow::Error::new(inner).context("broken.tsp");
        assert_eq!(message(&error), "broken.tsp: node 9 has 1 coordinate");
        assert_eq!(hint(&error).as_deref(), Some("write `id x y`"));
    }

    #[test]
    fn broken_pipe_is_found_in_the_chain() {
        let error = anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(is_broken_pipe(&error.context("writing the result")));
        assert!(!is_broken_pipe(&anyhow::anyhow!("another")));
    }
}

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

/// Files that failed, of several: each is reported when it is met, and the command goes on with the others.
pub(crate) struct FailedFiles {
    count: usize,
    of: usize,
}

impl FailedFiles {
    /// None yet of so many files.
    pub(crate) fn among(files: usize) -> Self {
        Self { count: 0, of: files }
    }

    /// The result for a file, or `None` where its error is reported. Errors that are not `of_file` alone, and that of
    /// a single file, end the command.
    pub(crate) fn pass<T>(
        &mut self,
        found: anyhow::Result<T>,
        of_file: impl FnOnce(&anyhow::Error) -> bool,
    ) -> anyhow::Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if self.of > 1 && of_file(&error) => {
                print(&error);
                self.count += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// If true, no file failed.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// An error where files failed: a sentence on `2 of 3 files`.
    pub(crate) fn end(&self, sentence: impl FnOnce(&str) -> String) -> anyhow::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        Err(Failure::new(sentence(&format!("{} of {} files", self.count, self.of))).into())
    }
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

/// The parts of an error: what happened, where, what was expected, and a hint.
#[cfg(feature = "serve")]
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Report {
    /// The error.
    pub(crate) what: String,
    /// File, line and field, or the option.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<String>,
    /// The values or forms that are expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<String>,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// The parts of an error.
#[cfg(feature = "serve")]
pub(crate) fn report(error: &anyhow::Error) -> Report {
    let place = error.chain().find_map(place);
    let message = printable(&message(error)).into_owned();
    // The text of an error begins with its place.
    let what = match &place {
        Some((text, _)) => message.replacen(&format!("{text}: "), "", 1),
        None => message,
    };
    let place = place.map(|(_, place)| printable(&place).into_owned());
    let hint = hint(error).map(|hint| printable(&hint).into_owned());
    match split_expected(&what) {
        Some((what, expected)) => Report { what, place, expected: Some(expected), hint },
        None => Report { what, place, expected: None, hint },
    }
}

/// The place of a cause: as it stands in its text, and in words.
#[cfg(feature = "serve")]
fn place(cause: &(dyn std::error::Error + 'static)) -> Option<(String, String)> {
    if let Some(error) = cause.downcast_ref::<regard::Error>() {
        return match error.root() {
            regard::Error::Data(error) => place_of_data(error),
            regard::Error::Io { path, .. } => Some((path.display().to_string(), path.display().to_string())),
            regard::Error::Parse { path, line, field, .. } => {
                let file = path.display().to_string();
                let at_line = if *line > 0 { format!(":{line}") } else { String::new() };
                let at_field = if field.is_empty() { String::new() } else { format!(": {field}") };
                Some((format!("{file}{at_line}{at_field}"), words(&file, *line, field)))
            }
            regard::Error::Config { key, .. } => Some((format!("`{key}`"), key.clone())),
            _ => None,
        };
    }
    place_of_data(cause.downcast_ref::<regard::data::Error>()?)
}

#[cfg(feature = "serve")]
fn place_of_data(error: &regard::data::Error) -> Option<(String, String)> {
    match error {
        regard::data::Error::Io { path, .. } => Some((path.display().to_string(), path.display().to_string())),
        regard::data::Error::Parse { path, line, field, .. } => {
            let file = path.display().to_string();
            let at_line = if *line > 0 { format!(":{line}") } else { String::new() };
            let at_field = if field.is_empty() { String::new() } else { format!(": field `{field}`") };
            Some((format!("{file}{at_line}{at_field}"), words(&file, *line, field)))
        }
        _ => None,
    }
}

/// `cities.csv, line 7, field x`.
#[cfg(feature = "serve")]
fn words(file: &str, line: usize, field: &str) -> String {
    let line = if line > 0 { format!(", line {line}") } else { String::new() };
    let field = if field.is_empty() { String::new() } else { format!(", field {field}") };
    format!("{file}{line}{field}")
}

/// The finding and the expectation of a text that has both.
#[cfg(feature = "serve")]
pub(crate) fn split_expected(text: &str) -> Option<(String, String)> {
    let separators = [", expected ", "; expected ", ": expected "];
    let at = |separator: &&str| Some((text.find(*separator)?, separator.len()));
    let (at, length) = separators.iter().filter_map(at).min()?;
    Some((text[..at].to_owned(), text[at + length..].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "serve")]
    #[test]
    fn an_error_has_its_parts() {
        let error = regard::data::Error::parse("cities.csv".as_ref(), 7, "found `abc`, expected a number")
            .in_field("x")
            .with_hint("use a decimal point");
        let expected = Report {
            what: "found `abc`".into(),
            place: Some("cities.csv, line 7, field x".into()),
            expected: Some("a number".into()),
            hint: Some("use a decimal point".into()),
        };
        assert_eq!(report(&error.into()), expected);
        let error = regard::Error::config("--horizon", "is 9; the model predicts 1 to 4 values").with_hint("train");
        let found = report(&error.into());
        assert_eq!(
            (found.what.as_str(), found.place.as_deref()),
            ("is 9; the model predicts 1 to 4 values", Some("--horizon"))
        );
        let plain = report(&Failure::new("--levels has 0; expected percentages above 0").hint("80,95").into());
        assert_eq!((plain.what.as_str(), plain.expected.as_deref()), ("--levels has 0", Some("percentages above 0")));
        let inner = regard::data::Error::parse("a.csv".as_ref(), 0, "has no rows");
        let found = report(&anyhow::Error::new(inner).context("m is a model on sets"));
        assert_eq!((found.what.as_str(), found.place.as_deref()), ("m is a model on sets: has no rows", Some("a.csv")));
    }

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

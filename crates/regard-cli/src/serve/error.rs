//! Errors of the service: a status, and the same parts as an error of the command line.

use axum::http::StatusCode;
use clap::error::ErrorKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::{self, Report};

/// An error that is answered.
#[derive(Debug, Clone)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    pub(super) report: Report,
    /// Seconds after which a request is worth repeating.
    pub(super) retry_after: Option<u64>,
}

/// The body of an answer that is an error.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorBody {
    pub(super) error: Report,
}

impl ApiError {
    /// An error of this status: what went wrong.
    pub(super) fn new(status: StatusCode, what: impl Into<String>) -> Self {
        Self { status, report: Report { what: what.into(), ..Report::default() }, retry_after: None }
    }

    /// A request that is malformed.
    pub(super) fn bad_request(what: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, what)
    }

    /// The same error at a place of the request.
    pub(super) fn at(mut self, place: impl Into<String>) -> Self {
        self.report.place = Some(place.into());
        self
    }

    /// The same error with what was expected.
    pub(super) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.report.expected = Some(expected.into());
        self
    }

    /// The same error with a hint.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.report.hint = Some(hint.into());
        self
    }

    /// The same error, worth repeating after so many seconds.
    pub(super) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The answer's body.
    pub(super) fn body(&self) -> Vec<u8> {
        let body = ErrorBody { error: self.report.clone() };
        // A structure of texts is always written.
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

/// An error of a command: the file or the model does not fit.
impl From<anyhow::Error> for ApiError {
    fn from(error: anyhow::Error) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, report: failure::report(&error), retry_after: None }
    }
}

/// An error of the arguments of a command: an option has a wrong value, or options do not go together.
impl From<clap::Error> for ApiError {
    fn from(error: clap::Error) -> Self {
        let status = match error.kind() {
            ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::BAD_REQUEST,
        };
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        let what = first.strip_prefix("error: ").unwrap_or(first);
        let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
        let mut found = Self::new(status, what);
        if let Some((what, expected)) = failure::split_expected(what) {
            found.report.what = what;
            found.report.expected = Some(expected);
        }
        found.report.hint = tip.map(str::to_owned);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_an_option_says_what_was_expected() {
        let command = clap::Command::new("solve").arg(clap::Arg::new("n").long("n").value_parser(|text: &str| {
            text.parse::<u8>().map_err(|_| "found words, expected a number".to_owned())
        }));
        let error = ApiError::from(command.try_get_matches_from(["solve", "--n=x"]).unwrap_err());
        assert_eq!(error.status, StatusCode::BAD_REQUEST);
        assert_eq!(error.report.what, "invalid value 'x' for '--n <n>': found words");
        assert_eq!(error.report.expected.as_deref(), Some("a number"));
        let body: serde_json::Value = serde_json::from_slice(&error.at("option n").body()).unwrap();
        assert_eq!(body["error"]["where"], "option n");
    }
}

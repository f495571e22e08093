//! Everything that is printed goes through here.

pub(crate) mod bench;
pub(crate) mod curves;
pub(crate) mod data;
pub(crate) mod graph_data;
pub(crate) mod graph_plot;
pub(crate) mod json;
mod learning;
pub(crate) mod measures;
pub(crate) mod model;
pub(crate) mod number;
mod picture;
pub(crate) mod plain;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod reliability_plot;
pub(crate) mod series_plot;
pub(crate) mod sets_plot;
pub(crate) mod sparkline;
mod table;
pub(crate) mod tensorboard;
pub(crate) mod trace;
pub(crate) mod trace_plot;
pub(crate) mod train;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

pub(crate) use self::table::{Align, Table, wrap};
use crate::args::GlobalArgs;

/// Writes results to standard output and notes to standard error.
pub(crate) struct Printer {
    out: io::StdoutLock<'static>,
    json: bool,
    quiet: bool,
    verbose: bool,
    progress: bool,
}

impl Printer {
    /// A printer with the global options.
    pub(crate) fn new(global: &GlobalArgs) -> Self {
        Self {
            out: io::stdout().lock(),
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose,
            progress: !global.no_progress && !global.quiet && io::stderr().is_terminal(),
        }
    }

    /// If true, the result is printed as JSON.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// If true, more detail is printed.
    pub(crate) fn verbose(&self) -> bool {
        self.verbose
    }

    /// If true, notes are not printed.
    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    /// If true, a progress bar may be shown.
    pub(crate) fn progress(&self) -> bool {
        self.progress
    }

    /// Width of the text in characters: that of the terminal (`COLUMNS` overrules it), 40 to 120; 100 without one.
    pub(crate) fn width(&self) -> usize {
        let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        given.or_else(terminal).unwrap_or(100).clamp(40, 120)
    }

    /// If true, people read the result on a terminal, where long lists are shortened.
    pub(crate) fn shortens(&self) -> bool {
        self.out.is_terminal() && !self.verbose
    }

    /// Writes a part of the result; a line break is added when it has none at its end.
    pub(crate) fn result(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(printable(text).as_bytes())?;
        if !text.ends_with('\n') {
            self.out.write_all(b"\n")?;
        }
        self.out.flush()
    }

    /// Writes one object as one line of JSON.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(object).map_err(io::Error::other)?;
        self.result(&text)
    }

    /// Writes a note to standard error unless `--quiet`.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            // A closed standard error is no reason to stop.
            let _ = writeln!(io::stderr(), "{}", printable(text));
        }
    }
}

/// Text without control characters but tabs and line breaks: names and values of a file must not steer the terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    if text.contains(steers) { Cow::Owned(text.replace(steers, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// If true, standard error shows colours: it is a terminal, and `NO_COLOR` is not set
/// (<https://no-color.org>).
pub(crate) fn colour_on_stderr() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !forbidden && io::stderr().is_terminal()
}

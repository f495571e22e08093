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
use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

pub(crate) use self::table::{Align, Table, wrap};
use crate::args::GlobalArgs;
use crate::shard::Places;

/// Writes results to standard output and notes to standard error, or keeps both.
pub(crate) struct Printer {
    target: Target,
    json: bool,
    quiet: bool,
    verbose: bool,
    progress: bool,
    /// CRC-32C of the results so far, and if they begin as JSON does.
    written: (u32, bool),
    /// Notes that were said, where none is said twice.
    said: Option<RefCell<HashSet<String>>>,
}

/// Where a printer writes.
enum Target {
    /// Results to standard output, notes to standard error.
    Streams(io::StdoutLock<'static>),
    Nowhere,
    /// Notes are kept for an answer, which is no text.
    #[cfg(feature = "serve")]
    Kept(RefCell<Vec<String>>),
}

impl Printer {
    /// A printer with the global options.
    pub(crate) fn new(global: &GlobalArgs) -> Self {
        Self {
            target: Target::Streams(io::stdout().lock()),
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose,
            progress: !global.no_progress && !global.quiet && io::stderr().is_terminal(),
            written: (0, false),
            said: None,
        }
    }

    /// A printer of one rank among several, for which another one speaks.
    pub(crate) fn silent() -> Self {
        Self {
            target: Target::Nowhere,
            json: false,
            quiet: true,
            verbose: false,
            progress: false,
            written: (0, false),
            said: None,
        }
    }

    /// A printer that keeps notes and shows no progress, for an answer in JSON.
    #[cfg(feature = "serve")]
    pub(crate) fn keeping() -> Self {
        let target = Target::Kept(Default::default());
        Self { target, json: true, quiet: true, verbose: false, progress: false, written: (0, false), said: None }
    }

    /// The notes that were kept.
    #[cfg(feature = "serve")]
    pub(crate) fn into_notes(self) -> Vec<String> {
        match self.target {
            Target::Streams(_) | Target::Nowhere => vec![],
            Target::Kept(notes) => notes.into_inner(),
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

    /// If true, nothing but the result is printed.
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
        match &self.target {
            Target::Streams(out) => out.is_terminal() && !self.verbose,
            Target::Nowhere => false,
            #[cfg(feature = "serve")]
            Target::Kept(_) => false,
        }
    }

    /// Writes a part of the result; a line break is added when it has none at its end.
    pub(crate) fn result(&mut self, text: &str) -> io::Result<()> {
        if text.ends_with('\n') { self.write(text) } else { self.write(&format!("{text}\n")) }
    }

    /// Writes a part of the result as it is.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        let out = match &mut self.target {
            Target::Streams(out) => out,
            Target::Nowhere => return Ok(()),
            #[cfg(feature = "serve")]
            Target::Kept(notes) => {
                notes.get_mut().push(printable(text.trim_end_matches('\n')).into_owned());
                return Ok(());
            }
        };
        let text = printable(text);
        out.write_all(text.as_bytes())?;
        let (sum, json) = self.written;
        self.written = (crc32c::crc32c_append(sum, text.as_bytes()), json || sum == 0 && text.starts_with(['{', '[']));
        out.flush()
    }

    /// Ends the results of a part of a list with the line by which `regard merge` knows it; without a part, does nothing.
    pub(crate) fn end_of_part(&mut self, places: Option<&Places>) -> io::Result<()> {
        let Some(places) = places else { return Ok(()) };
        let (sum, json) = self.written;
        self.result(&places.footer(sum, json))
    }

    /// Writes one object as one line of JSON.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(object).map_err(io::Error::other)?;
        self.result(&text)
    }

    /// From here on says no note twice.
    pub(crate) fn note_once(&mut self) {
        self.said.get_or_insert_default();
    }

    /// If true, a note that was said is not said again: the answers are those of parts.
    pub(crate) fn says_once(&self) -> bool {
        self.said.is_some()
    }

    /// Writes a note to standard error unless `--quiet`, or keeps it.
    pub(crate) fn note(&self, text: &str) {
        if self.said.as_ref().is_some_and(|said| !said.borrow_mut().insert(text.to_owned())) {
            return;
        }
        match &self.target {
            Target::Streams(_) if self.quiet => {}
            Target::Nowhere => {}
            Target::Streams(_) => {
                // A closed standard error is no reason to stop.
                let _ = writeln!(io::stderr(), "{}", printable(text));
            }
            #[cfg(feature = "serve")]
            Target::Kept(notes) => notes.borrow_mut().push(printable(text).into_owned()),
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

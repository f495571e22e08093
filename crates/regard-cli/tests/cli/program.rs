//! Runs the program and keeps what it says.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use regex_lite::Regex;

/// Output and exit code of one run.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The result as JSON; one document.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The same, after checking that the command was carried out.
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// Exit code and both streams in one text, times and the names of temporary folders replaced.
impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        writeln!(f, "exit code {code}\n--- stdout\n{}--- stderr\n{}", steady(&self.out), steady(&self.err))
    }
}

/// Replaces what changes from run to run.
pub(crate) fn steady(text: &str) -> String {
    let times = Regex::new(r" *\b[0-9]+(\.[0-9]+)? (ms|s)\b").unwrap();
    let rates = Regex::new(r"[0-9,]+ instances/s").unwrap();
    let text = times.replace_all(text, " [time]");
    rates.replace_all(&text, "[rate] instances/s").into_owned()
}

/// The program, run in `folder`, with nothing in the environment that changes what it does.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_regard"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("NO_COLOR", "1").env("COLUMNS", "100");
    for name in ["REGARD_MODEL", "REGARD_KERNELS", "REGARD_SIMD", "RAYON_NUM_THREADS"] {
        command.env_remove(name);
    }
    command
}

/// Runs the program to its end.
pub(crate) fn regard(folder: &Path, arguments: &[&str]) -> Said {
    said(command(folder, arguments).output().unwrap())
}

pub(crate) fn said(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let said = Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
    assert!(!said.err.contains("panicked"), "{said:?}");
    said
}

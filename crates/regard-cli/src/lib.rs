//! The program `regard` as a library: the binary and the Python package run the same commands, and both find the models
//! that are built in.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 success, 1 a check failed, 2 usage or
//! input error.

mod args;
mod commands;
mod device;
mod failure;
mod models;
mod report;
#[cfg(feature = "serve")]
mod serve;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::commands::Outcome;

/// Runs the command line `arguments`, of which the first is the name of the program.
///
/// A command line that cannot be parsed, `--help` and `--version` end the process, as clap does.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = Cli::parse_from(arguments);
    #[cfg(feature = "serve")]
    let done = commands::run(cli, serve::run);
    #[cfg(not(feature = "serve"))]
    let done = commands::run(cli);
    match done {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Err(error) if failure::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            failure::print(&error);
            ExitCode::from(2)
        }
    }
}

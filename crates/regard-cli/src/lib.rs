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
mod ranks;
mod report;
#[cfg(feature = "serve")]
mod serve;
mod shard;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::FromArgMatches;
use regard::routing::Instance;

use crate::args::Cli;
use crate::commands::Outcome;

/// Runs the command line `arguments`, of which the first is the name of the program.
///
/// A command line that cannot be parsed, `--help` and `--version` end the process, as clap does.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(status(arguments))
}

/// As [`run`], and gives the exit code as a number.
pub fn status(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = Cli::from_arg_matches(&args::command().get_matches_from(arguments));
    let cli = cli.unwrap_or_else(|error| error.format(&mut args::command()).exit());
    #[cfg(feature = "serve")]
    let done = commands::run(cli, serve::run);
    #[cfg(not(feature = "serve"))]
    let done = commands::run(cli);
    match done {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::No) => 1,
        Err(error) if failure::is_broken_pipe(&error) => 0,
        Err(error) => {
            failure::print(&error);
            2
        }
    }
}

/// Draws a solution of an instance into a file, as `regard solve --plot` does: `.svg` or `.png`.
///
/// # Errors
/// A file that cannot be written, or has another ending.
pub fn draw_solution(path: &Path, instance: &Instance, solution: &[usize]) -> Result<(), String> {
    report::plot::solution(path, instance, solution).map_err(|error| format!("{error:#}"))
}

//! `regard`: attention models on structured data, from the command line.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 success, 1 a check failed, 2 usage or
//! input error.

mod allocator;
mod args;
mod commands;
mod device;
mod failure;
mod models;
mod report;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::commands::Outcome;

fn main() -> ExitCode {
    allocator::configure();
    let cli = Cli::parse();
    match commands::run(cli) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Err(error) if failure::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            failure::print(&error);
            ExitCode::from(2)
        }
    }
}

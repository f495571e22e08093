//! `regard`: attention models on structured data, from the command line.

mod allocator;

use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::configure();
    regard_cli::run(std::env::args_os())
}

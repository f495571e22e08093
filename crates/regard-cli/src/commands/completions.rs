//! `regard completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Outcome;
use crate::args::Cli;
use crate::report::Printer;

/// Prints the completion script of a shell.
pub(super) fn run(shell: Shell, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "regard", &mut script);
    printer.result(&String::from_utf8(script)?)?;
    Ok(Outcome::Done)
}

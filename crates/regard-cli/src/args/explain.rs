//! `regard explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Computations that can be explained.
#[derive(Debug, Subcommand)]
pub(crate) enum ExplainCommand {
    /// Print every intermediate number of multi-head attention on a small input
    Attention(AttentionArgs),
}

/// Arguments of `regard explain attention`.
#[derive(Debug, Args)]
#[command(after_help = "\
The input is a JSON object; only x is required:
  x               tokens, one row of numbers each: [[1, 0, 1, 0], [0, 1, 0, 1]]
  heads           number of heads, divides the width [default: 1]
  query_weights   width x width numbers, rows are inputs [default: identity];
                  also key_weights, value_weights, output_weights
  mask            \"none\", or \"causal\": a token sees itself and earlier ones
  tokens          names to print: [\"first\", \"second\"]")]
pub(crate) struct AttentionArgs {
    /// Input as JSON [default: the two-token example worked by hand]
    #[arg(long, value_name = "FILE.json")]
    pub(crate) input: Option<PathBuf>,
}

//! `regard explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{LearningArgs, TableArgs};
use crate::failure::Failure;

/// Arguments of `regard explain`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Without an option the steps are listed; with --step, --layer or --filter their numbers are printed too. \
--json prints all of them: a list of steps, each with its name, formula, source, axes with the names of their indices, \
shape, values (null is minus infinity) and the steps it is computed from. Steps, layers and heads count from 0.

Examples:
  regard explain examples/capitals.csv             each decision, and what another would have cost
  regard explain examples/capitals.csv --step 3    every number of one decoding step
  regard explain examples/capitals.csv --filter encoder.0.attention --head 2
  regard explain molecules.csv --model runs/solubility --example 4 --layer 0
  regard explain customers.csv --model runs/customers --filter pooling.attention
  regard explain sales.csv --model runs/sales --json > trace.json
  regard explain examples/capitals.csv --html tour.html     look at all of it in a browser
  regard explain examples/capitals.csv --filter decode.3.probability --plot step.svg
  regard explain attention                         one attention layer, worked by hand
  regard explain learning routes/tsp20-kool        one training step of a policy")]
pub(crate) struct ExplainArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ExplainCommand>,
    #[command(flatten)]
    pub(crate) file: ExplainFileArgs,
}

/// Arguments for a trained model on a file.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainFileArgs {
    /// Instance, or file of sets, graphs or series
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Model folder, or name of a built-in model [default: $REGARD_MODEL for routes, else the built-in
    /// model for the file]
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// The set, graph or series to look at, by its identifier [default: the first]
    #[arg(long, value_name = "ID")]
    pub(crate) example: Option<String>,
    /// Routes: this decoding step alone
    #[arg(long, value_name = "N", value_parser = super::integer, conflicts_with = "layer")]
    pub(crate) step: Option<usize>,
    /// This layer of the encoder alone
    #[arg(long, value_name = "N", value_parser = super::integer)]
    pub(crate) layer: Option<usize>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// Column of the set identifiers [default: as in training]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) group_by: Option<String>,
    /// Column of SMILES [default: as in training]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) smiles: Option<String>,
    /// Series: table of the future values of the covariates, as for `regard forecast`
    /// [default: rows of the file whose values are empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) future: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// The part of a trace that is shown, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct ViewArgs {
    /// This head alone, where a step has heads
    #[arg(long, value_name = "N", value_parser = super::integer)]
    pub(crate) head: Option<usize>,
    /// The step of this name alone, or else those whose names contain it
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Print all rows and columns of a step, not only the first
    #[arg(long)]
    pub(crate) full: bool,
    /// JSON: add the values of the parameters that the steps name
    #[arg(long)]
    pub(crate) parameters: bool,
    /// Write a page with all of it, to look at in a browser without a network
    #[arg(long, value_name = "FILE.html", value_parser = super::html_file)]
    pub(crate) html: Option<PathBuf>,
    /// Draw the shown step as a heat map, or the shown weights on the input: FILE.svg or FILE.png
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

/// Computations that are no model's.
#[derive(Debug, Subcommand)]
pub(crate) enum ExplainCommand {
    /// Print every intermediate number of multi-head attention on a small input
    Attention(AttentionArgs),
    /// Show one training step of a policy: sampled tours, baseline, advantages, loss, gradients, t-test
    Learning(LearningArgs),
}

/// Arguments of `regard explain attention`.
#[derive(Debug, Args)]
#[command(after_help = "\
The input is a JSON object; x, or query and key, must be there:
  x               tokens, one row of numbers for each: [[1, 0, 1, 0], [0, 1, 0, 1]]; a list of
                  such for a batch
  query, key      instead of x: what attends, and what is attended to; value is the key if it is not
                  given
  heads           number of heads [default: 1]
  query_weights   [inputs, heads x width of a key] [default: identity]; also key_weights,
                  value_weights [inputs, heads x width of a value] and output_weights
  query_bias      one number for each output [default: none]; also key_bias, value_bias, output_bias
  mask            \"none\", \"causal\" (a token attends to itself and to earlier tokens), or for each
                  query a row of 1 (may attend) and 0: [[1, 0], [1, 1]]
  lengths         instead of mask: the number of keys of each input of the batch, the others are
                  padding
  score_bias      added to the scaled scores, queries x keys, or such for each head
  scale           factor of the dot products [default: 1 / sqrt(width of a key in a head)]
  tau, delta      de-stationary attention: scores become (q k tau + delta) scale; one number, and
                  one for each key
  tokens          names of the tokens: [\"first\", \"second\"]; with query and key: query_tokens,
                  key_tokens")]
pub(crate) struct AttentionArgs {
    /// Input as JSON [default: the two-token example worked by hand]
    #[arg(long, value_name = "FILE.json")]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

impl ViewArgs {
    /// If true, a part of the steps is asked for.
    pub(crate) fn is_part(&self) -> bool {
        self.head.is_some() || self.filter.is_some()
    }
}

impl ExplainFileArgs {
    /// Refuses options that belong to models of other families.
    pub(crate) fn refuse(&self, kind: &str, options: &[&str]) -> anyhow::Result<()> {
        let given = [
            ("--step", self.step.is_some()),
            ("--example", self.example.is_some()),
            ("--group-by", self.group_by.is_some()),
            ("--smiles", self.smiles.is_some()),
            ("--future", self.future.is_some()),
        ];
        let given =
            given.iter().find(|(name, given)| *given && options.contains(name)).map(|(name, _)| (*name).to_owned());
        // A model on routes alone reads tables of places.
        let of_table = || (kind != "routes").then(|| self.table.options().first_given()).flatten();
        match given.or_else(of_table) {
            None => Ok(()),
            Some(name) => Err(Failure::new(format!("{name} does not apply to a model on {kind}")).into()),
        }
    }
}

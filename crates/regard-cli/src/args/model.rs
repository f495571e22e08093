//! `regard model`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands on models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Convert weights of another project to a model folder
    #[command(subcommand)]
    Import(ImportCommand),
    /// Describe a model folder
    Show(ModelShowArgs),
}

/// Projects whose weights can be imported.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Attention, Learn to Solve Routing Problems! (Kool et al. 2019)
    Kool(KoolArgs),
}

/// Arguments of `regard model import kool`.
#[derive(Debug, Args)]
pub(crate) struct KoolArgs {
    /// Weights: a checkpoint (.pt, legacy torch format) or .safetensors with the original names
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Problem: tsp, cvrp, sdvrp, op, pctsp or spctsp [default: from args.json or the names of the weights]
    #[arg(long, value_name = "NAME")]
    pub(crate) problem: Option<String>,
    /// Model folder to write
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// Arguments of `regard model show`.
#[derive(Debug, Args)]
pub(crate) struct ModelShowArgs {
    /// Model folder [default: $REGARD_MODEL, else the built-in model]
    #[arg(value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
}

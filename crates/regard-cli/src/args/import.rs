//! `regard model import` for sets, graphs and series.

use std::path::PathBuf;

use clap::Args;

/// Arguments of every import of such a checkpoint.
#[derive(Debug, Args)]
pub(crate) struct CheckpointArgs {
    /// Weights: a checkpoint as torch.save writes it, or .safetensors with the original names
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Model folder to write
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Set a setting of config.json that the file does not tell, such as heads=8
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Arguments of `regard model import set-transformer`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads the weights that run.py and main_pointcloud.py of juho-lee/set_transformer save. The file does not tell the number \
of heads and the task; what is assumed is printed, and --set changes it.

Examples:
  regard model import set-transformer results/set_transformer/trial/model.tar --out models/clusters
  regard model import set-transformer weights.pt --out mine --set heads=8 --set task=regression")]
pub(crate) struct SetTransformerArgs {
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
}

/// Arguments of `regard model import graph-transformer`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads epoch_N.pkl of graphdeeplearning/graphtransformer: the network for molecules and the one for nodes. The file does \
not tell the number of heads, the read-out, the residual sums and the names of types; what is assumed is printed, and \
--set changes it.

Examples:
  regard model import graph-transformer checkpoints/RUN_0/epoch_300.pkl --out models/zinc
  regard model import graph-transformer epoch_300.pkl --out zinc --set heads=4 --set readout=sum")]
pub(crate) struct GraphTransformerArgs {
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
}

/// Arguments of `regard model import patchtst`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads checkpoint.pth of PatchTST_supervised of yuqinie98/PatchTST. The file tells nothing of the series: their names, \
their time step, and the mean and deviation by which they were scaled come from the table of the training. It does not \
tell the stride and the padding either; what is assumed is printed, and --set changes it.

Examples:
  regard model import patchtst checkpoint.pth --data ETTh1.csv --train-rows 8640 --out models/etth1
  regard model import patchtst checkpoint.pth --data illness.csv --set stride=2 --out models/illness")]
pub(crate) struct PatchtstArgs {
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
    /// Table that the network was trained on
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,
    /// Column of time stamps in the table [default: found by its values]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) date: Option<String>,
    /// Rows from the first on that give mean and deviation: those of the training [default: all]
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    pub(crate) train_rows: Option<usize>,
}

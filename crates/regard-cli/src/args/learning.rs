//! `regard explain learning`.

use clap::Args;

use super::ViewArgs;

/// Arguments of `regard explain learning`.
#[derive(Debug, Args)]
#[command(after_help = "\
For an experiment the network has its first weights; for the folder of a run, the weights, the optimiser and the \
baseline of its last checkpoint. Nothing is written. The t-test compares the policy after the step with the one of the \
rollout baseline on `train.baseline_instances` instances.

Examples:
  regard explain learning routes/tsp20
  regard explain learning routes/tsp20-kool --set train.baseline_instances=1000 --instances 8
  regard explain learning runs/tsp20 --filter gradient
  regard explain learning runs/tsp20 --json > step.json")]
pub(crate) struct LearningArgs {
    /// Experiment: a file, or the name of a built-in one; or the folder of a run
    #[arg(value_name = "EXPERIMENT|RUN")]
    pub(crate) experiment: String,
    /// Change a setting of the experiment
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Number of instances of the step [default: 4, or `train.batch_size` if that is less]
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    pub(crate) instances: Option<usize>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

//! `regard train`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;

/// Arguments of `regard train`.
#[derive(Debug, Args)]
#[command(after_help = "\
An experiment is a TOML file, or a built-in one (--list; `regard settings` prints its settings). The \
folder of the run holds the latest model, experiment.toml with every setting, metrics.jsonl, and a \
checkpoint to resume from. Ctrl-C stops cleanly after the current step.

Examples:
  regard train routes/tsp20 --out runs/tsp20 --time 2h
  regard train routes/tsp20 --set train.learning_rate=1e-4 --set data.nodes=30 --out runs/tsp30
  regard train sets/bags --set data.path=sales.csv --set data.group_by=shop --set data.target=sold
  regard train graphs/molecules --set data.path=esol.csv --set data.targets='[\"solubility\"]'
  regard train --out runs/tsp20 --resume")]
pub(crate) struct TrainArgs {
    /// Experiment: a file, or the name of a built-in one; optional with --resume
    #[arg(value_name = "EXPERIMENT", required_unless_present_any = ["list", "resume"])]
    experiment: Option<String>,
    /// Folder of the run [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Change a setting of the experiment
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Skip molecules that cannot be read, and list them; same as --set data.skip_bad=true
    #[arg(long)]
    skip_bad: bool,
    /// Resume the run in the folder
    #[arg(long)]
    resume: bool,
    /// Stop after N steps, counted from the start of the run
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    steps: Option<usize>,
    /// Stop after this time, for example 10m or 2h. A schedule of the learning rate is shortened to the
    /// steps that fit, so the result depends on the speed of the machine; a resumed run keeps its end
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    time: Option<Duration>,
    /// Write event files for TensorBoard into DIR/tensorboard
    #[arg(long)]
    tensorboard: bool,
    /// List the built-in experiments
    #[arg(long, conflicts_with_all = ["experiment", "resume"])]
    pub(crate) list: bool,
}

/// Arguments of `regard settings`.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints every setting of the experiment: key, value, type and range, then its meaning and its allowed \
values. Values marked with * are given by the experiment, the others are defaults.

Examples:
  regard settings routes/tsp50
  regard settings graphs/molecules --section data
  regard settings series/forecast --set model.preset=patchtst-tslib --json")]
pub(crate) struct SettingsArgs {
    /// Experiment: a file, or the name of a built-in one (`regard train --list`)
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: String,
    /// Print one section only: task, data, model, train or eval
    #[arg(long, value_name = "NAME")]
    pub(crate) section: Option<String>,
    /// Change a setting of the experiment
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// A checked `regard train`.
#[derive(Debug)]
pub(crate) struct TrainJob {
    /// Name to show.
    pub(crate) name: String,
    /// A file, or the name of a built-in experiment.
    pub(crate) experiment: String,
    /// Assignments that override its settings.
    pub(crate) sets: Vec<String>,
    pub(crate) out: PathBuf,
    pub(crate) resume: bool,
    pub(crate) steps: Option<u64>,
    pub(crate) time: Option<Duration>,
    pub(crate) tensorboard: bool,
}

impl TrainArgs {
    /// Checks the arguments; `seed` is that of the command line, if one was given.
    pub(crate) fn check(self, seed: Option<u64>) -> anyhow::Result<TrainJob> {
        let mut sets = self.set;
        sets.extend(self.skip_bad.then(|| "data.skip_bad=true".to_owned()));
        sets.extend(seed.map(|seed| format!("train.seed={seed}")));
        let out = match (&self.out, &self.experiment) {
            (Some(out), _) => out.clone(),
            (None, Some(name)) => Path::new("runs").join(stem(name)),
            (None, None) => {
                return Err(Failure::new("--resume needs the folder of a run").hint("give it with --out").into());
            }
        };
        let source = match &self.experiment {
            Some(name) => name.clone(),
            None => experiment_of(&out)?,
        };
        Ok(TrainJob {
            name: self.experiment.unwrap_or_else(|| stem(&out.display().to_string())),
            experiment: source,
            sets,
            out,
            resume: self.resume,
            steps: self.steps.map(|steps| steps as u64),
            time: self.time,
            tensorboard: self.tensorboard,
        })
    }
}

/// The file with the settings of the run in a folder.
fn experiment_of(out: &Path) -> anyhow::Result<String> {
    let file = out.join("experiment.toml");
    if file.is_file() {
        return Ok(file.display().to_string());
    }
    Err(Failure::new(format!("{} holds no run: experiment.toml is missing", out.display()))
        .hint("give the folder that `regard train --out DIR` wrote, or an experiment without --resume to start a run")
        .into())
}

/// The name of an experiment without folder and ending.
fn stem(name: &str) -> String {
    Path::new(name).file_stem().map_or_else(|| "run".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(experiment: Option<&str>) -> TrainArgs {
        let (experiment, set) = (experiment.map(str::to_owned), vec!["train.epochs=7".to_owned()]);
        TrainArgs {
            experiment,
            out: None,
            set,
            skip_bad: false,
            resume: false,
            steps: Some(3),
            time: None,
            tensorboard: false,
            list: false,
        }
    }

    #[test]
    fn settings_and_seed_of_the_command_line_overrule() {
        let job = args(Some("routes/tsp20.toml")).check(Some(77)).unwrap();
        assert_eq!(job.sets, ["train.epochs=7", "train.seed=77"]);
        assert_eq!((job.experiment.as_str(), job.steps), ("routes/tsp20.toml", Some(3)));
        assert_eq!(job.out, PathBuf::from("runs/tsp20"));
        assert_eq!(args(Some("sets/max")).check(None).unwrap().sets, ["train.epochs=7"]);
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(args(None).check(None).unwrap_err().to_string().contains("folder of a run"));
    }
}

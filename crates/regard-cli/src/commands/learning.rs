//! `regard explain learning`.

use std::path::Path;

use regard::Device;

use super::{Outcome, explain, families};
use crate::args::LearningArgs;
use crate::failure::Failure;
use crate::report::Printer;

/// Instances of the step where no number is given.
const INSTANCES: usize = 4;

/// Shows one step of a training.
pub(super) fn run(
    args: &LearningArgs,
    seed: Option<u64>,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let path = Path::new(&args.experiment);
    let run = path.is_dir().then_some(path);
    let source = match run {
        Some(folder) => experiment_of(folder)?,
        None => args.experiment.clone(),
    };
    let mut sets = args.set.clone();
    sets.extend(seed.map(|seed| format!("train.seed={seed}")));
    let experiment = families::load(&source, &sets)?;
    let instances = args.instances.unwrap_or_else(|| INSTANCES.min(experiment.batch_size()));
    let trace = experiment.explain_step(&args.experiment, run, instances, device)?;
    explain::show(trace, &args.view, args.view.is_part(), printer)?;
    Ok(Outcome::Done)
}

/// The file with the settings of a run.
fn experiment_of(folder: &Path) -> anyhow::Result<String> {
    let file = folder.join("experiment.toml");
    if file.is_file() {
        return Ok(file.display().to_string());
    }
    let is_model = folder.join("config.json").is_file();
    let folder = folder.display();
    let failure = if is_model {
        Failure::new(format!(
            "{folder} is a model without the run that trained it: optimiser and baseline are not in it"
        ))
        .hint(format!("give an experiment of its sizes, with --set train.init_from={folder}"))
    } else {
        Failure::new(format!("{folder} holds no run: experiment.toml is missing"))
            .hint("give the folder that `regard train --out DIR` wrote, or the name of an experiment")
    };
    Err(failure.into())
}

//! Sets of instances in one file: Kool's pickles, and npz files.

use std::path::Path;

use regard::Device;
use regard::routes::evaluate::evaluate_problems;
use regard::routing::formats::sets::{self, InstanceSet};
use regard::routing::registry::{ProblemVisitor, with_problem};
use regard::routing::{Problem, SolverInstance};

use super::{OnPart, options};
use crate::args::EvalJob;
use crate::failure::Failure;
use crate::models;
use crate::report::Printer;
use crate::report::progress::Progress;

/// If true, a file holds a set, by its name.
pub(super) fn is_set(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    sets::ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// The model of the job, or the one built in, on the instances of `path`.
pub(super) fn evaluate(path: &Path, job: &EvalJob, device: &Device, printer: &Printer) -> anyhow::Result<OnPart> {
    let set = sets::read(path)?;
    // The same file may serve several problems: the model decides which one is meant.
    let problems = set.problems();
    let of_model = models::problem_of(job.model.clone())?;
    let problem = of_model.as_deref().unwrap_or(problems[0]);
    let refused =
        || Failure::new(format!("{}: instances of `{}`; the model solves `{problem}`", path.display(), problems[0]));
    if !problems.contains(&problem) {
        return Err(refused().into());
    }
    let task = OnSet { set: &set, job, problem, device, printer };
    with_problem(problem, task).unwrap_or_else(|| Err(refused().into()))
}

/// A model on the instances of a set.
struct OnSet<'a> {
    set: &'a InstanceSet,
    job: &'a EvalJob,
    problem: &'a str,
    device: &'a Device,
    printer: &'a Printer,
}

impl ProblemVisitor for OnSet<'_> {
    type Output = anyhow::Result<OnPart>;

    fn run<I: SolverInstance>(self) -> Self::Output {
        let (network, info) = models::load(self.job.model.clone(), self.problem, self.device)?;
        let single = info.config.in_single_precision();
        let problems = self.set.instances::<I::Problem>()?.into_iter().take(self.job.limit.unwrap_or(usize::MAX));
        let problems = problems.map(|problem| if single { problem.in_single_precision() } else { problem });
        let mut problems: Vec<I::Problem> = problems.collect();
        let places = self.job.shard.places("eval", problems.len(), "instances")?;
        if let Some(places) = &places {
            problems = problems.drain(places.range.clone()).collect();
        }
        let progress = Progress::new(self.printer, problems.len(), "instances");
        let found = evaluate_problems(&network, &problems, &options(self.job, places.as_ref()), &mut |done| {
            progress.set(done)
        })?;
        Ok((found, info, places))
    }
}

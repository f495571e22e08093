//! Sets of instances in one file: Kool's pickles, and npz files.

use std::path::Path;

use regard::Device;
use regard::data::routes::formats::kool::{self, KoolSet};
use regard::routes::cvrp::VehicleRouting;
use regard::routes::evaluate::{Evaluation, evaluate_problems};
use regard::routes::op::Orienteering;
use regard::routes::pctsp::{PrizeCollecting, StochasticPrizeCollecting};
use regard::routes::problem::Problem;
use regard::routes::sdvrp::SplitDelivery;
use regard::routes::tsp::TravellingSalesman;

use crate::args::EvalJob;
use crate::failure::Failure;
use crate::models::{self, ModelInfo};
use crate::report::Printer;
use crate::report::progress::Progress;

/// Whether a file holds a set, by its name.
pub(super) fn is_set(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["pkl", "pickle", "npz"].iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// The model of the job, or the one built in, on the instances of `path`.
pub(super) fn evaluate(
    path: &Path,
    job: &EvalJob,
    device: &Device,
    printer: &Printer,
) -> anyhow::Result<(Evaluation, ModelInfo)> {
    let set = kool::read(path)?;
    // The same file serves two problems: the model says which one is meant.
    let problems: &[&str] = match set {
        KoolSet::Tsp(_) => &["tsp"],
        KoolSet::Cvrp(_) => &["cvrp", "sdvrp"],
        KoolSet::Orienteering(_) => &["op"],
        KoolSet::PrizeCollecting(_) => &["pctsp", "spctsp"],
    };
    let asked = models::problem_of(job.model.clone())?;
    let problem = asked.as_deref().unwrap_or(problems[0]);
    if !problems.contains(&problem) {
        let what = format!("{}: instances of `{}`; the model solves `{problem}`", path.display(), problems[0]);
        return Err(Failure::new(what).into());
    }
    let on = On { job, problem, device, printer };
    match set {
        KoolSet::Tsp(all) => on.run(all.into_iter().map(TravellingSalesman::new)),
        KoolSet::Cvrp(all) if problem == "sdvrp" => on.run(all.into_iter().map(SplitDelivery::from)),
        KoolSet::Cvrp(all) => on.run(all.into_iter().map(VehicleRouting::from)),
        KoolSet::Orienteering(all) => on.run(all.into_iter().map(Orienteering::from)),
        KoolSet::PrizeCollecting(all) if problem == "spctsp" => {
            on.run(all.into_iter().map(StochasticPrizeCollecting::from))
        }
        KoolSet::PrizeCollecting(all) => on.run(all.into_iter().map(<PrizeCollecting>::from)),
    }
}

struct On<'a> {
    job: &'a EvalJob,
    problem: &'a str,
    device: &'a Device,
    printer: &'a Printer,
}

impl On<'_> {
    fn run<P: Problem>(&self, problems: impl Iterator<Item = P>) -> anyhow::Result<(Evaluation, ModelInfo)> {
        let (network, info) = models::load(self.job.model.clone(), self.problem, self.device)?;
        let single = info.config.in_single_precision();
        let problems = problems.take(self.job.limit.unwrap_or(usize::MAX));
        let problems = problems.map(|problem| if single { problem.in_single_precision() } else { problem });
        let problems: Vec<P> = problems.collect();
        let progress = Progress::new(self.printer, problems.len(), "instances");
        let found = evaluate_problems(&network, &problems, &self.job.options, &mut |done| progress.set(done))?;
        Ok((found, info))
    }
}

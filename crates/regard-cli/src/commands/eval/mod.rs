//! `regard eval`.

mod sets;

use regard::Device;
use regard::data::stats;
use regard::routes::evaluate::{EvaluateOptions, Evaluation, evaluate_files, evaluate_problems};
use regard::routes::model::AttentionModel;
use regard::routing::Instance;
use regard::routing::paper::{INSTANCES, PaperSet};
use regard::routing::registry::{self, ProblemVisitor, with_problem};
use regard::routing::{Problem, SolverInstance};

use super::{Outcome, read_instance};
use crate::args::{EvalJob, Source};
use crate::failure::Failure;
use crate::models::{self, Model, ModelInfo};
use crate::report::json::{self, EvalResult};
use crate::report::progress::Progress;
use crate::report::{Printer, bench, plain};

/// Evaluates a model and prints what was found.
pub(super) fn run(job: &EvalJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    job.refuse_only()?;
    job.columns.only(&[], "routes")?;
    if job.training_data {
        return Err(Failure::new("--training-data is for models on sets, graphs and series")
            .hint("models for routes are evaluated on --paper-set NAME or --data FILE")
            .into());
    }
    let mut reference = job.options.reference.map(|reference| (reference, String::new()));
    let (data, found, info) = match &job.source {
        Source::PaperSet(name) => {
            refuse_table(job, name)?;
            let whole = job.limit.is_none_or(|limit| limit >= INSTANCES);
            if reference.is_none() && whole {
                let best = bench::best_of_paper(&PaperSet::parse(name)?);
                reference = best.map(|best| (best, ", the best of the paper's methods".to_owned()));
            } else if reference.is_none() {
                printer.note("the gap to the paper's methods is printed for the whole set, without --limit");
            }
            paper_set(name, job, device, printer)?
        }
        Source::Files(files) if files.is_empty() => {
            return Err(Failure::new("there is no test data")
                .hint("give a test set with --paper-set, or files with --data")
                .into());
        }
        Source::Files(files) if files.len() == 1 && sets::is_set(&files[0]) => {
            refuse_table(job, &files[0].display().to_string())?;
            let (found, info) = sets::evaluate(&files[0], job, device, printer)?;
            (files[0].display().to_string(), found, info)
        }
        Source::Files(files) => {
            let limit = job.limit.unwrap_or(usize::MAX);
            let instances = files.iter().take(limit).map(|file| read_instance(file, &job.table, printer));
            let instances = instances.collect::<anyhow::Result<Vec<Instance>>>()?;
            let (found, info) = on_files(&instances, job, device, printer)?;
            let name = match &files[..] {
                [file] => file.display().to_string(),
                _ => "files".to_owned(),
            };
            (name, found, info)
        }
    };
    if let Some(path) = &job.out {
        json::write_solutions(path, &found)?;
        printer.note(&format!("wrote {}", path.display()));
    }
    let mut found = found;
    if let Some((reference, _)) = &reference {
        found.gap = stats::gap(found.mean_cost, *reference);
    }
    if printer.json() {
        let reference = reference.map(|(reference, _)| reference);
        printer.object(&EvalResult::new(job, &found, reference, &data, &info.name))?;
    } else {
        printer.result(&plain::evaluation(job, &found, reference, &data, &info))?;
    }
    Ok(Outcome::Done)
}

/// Refuses options of tables for instances that are not read from one.
fn refuse_table(job: &EvalJob, on: &str) -> anyhow::Result<()> {
    match job.table.first_given() {
        Some(flag) => {
            Err(Failure::new(format!("{flag} is for tables (CSV); `{on}` is none")).hint("leave it out").into())
        }
        None => Ok(()),
    }
}

/// Instances of one problem.
fn on_files(
    instances: &[Instance],
    job: &EvalJob,
    device: &Device,
    printer: &Printer,
) -> anyhow::Result<(Evaluation, ModelInfo)> {
    let problem = instances.first().map_or(registry::DEFAULT, Instance::problem);
    if let Some(other) = instances.iter().find(|instance| instance.problem() != problem) {
        let what = format!("the files are of different problems: `{problem}` and `{}`", other.problem());
        return Err(Failure::new(what).hint("evaluate one problem at a time").into());
    }
    let (network, info) = models::load(job.model.clone(), problem, device)?;
    let progress = Progress::new(printer, instances.len(), "instances");
    let found = evaluate_files(&network, instances, &job.options, &mut |done| progress.set(done))?;
    Ok((found, info))
}

/// A test set of the paper, by a model of its problem.
fn paper_set(
    name: &str,
    job: &EvalJob,
    device: &Device,
    printer: &Printer,
) -> anyhow::Result<(String, Evaluation, ModelInfo)> {
    let set = PaperSet::parse(name)?;
    let (network, info) = models::load(job.model.clone(), set.problem(), device)?;
    // The set is drawn when it is evaluated; its size is told by the limit or is that of the paper.
    let count = job.limit.unwrap_or(INSTANCES).min(INSTANCES);
    let progress = Progress::new(printer, count, "instances");
    let task = OnPaperSet {
        set,
        limit: job.limit,
        single: info.config.in_single_precision(),
        network: &network,
        options: &job.options,
        seen: &mut |done| progress.set(done),
    };
    let unknown = || Failure::new(format!("{name}: no problem `{}`", set.problem())).into();
    let found = with_problem(set.problem(), task).unwrap_or_else(|| Err(unknown()))?;
    Ok((set.to_string(), found, info))
}

/// A model on a test set of its problem.
pub(super) fn on_set(
    model: &Model,
    set: &PaperSet,
    limit: Option<usize>,
    options: &EvaluateOptions,
    device: &Device,
) -> anyhow::Result<Evaluation> {
    let network = AttentionModel::from_weights(&model.info.config, &model.weights, device)?;
    let single = model.info.config.in_single_precision();
    let task = OnPaperSet { set: *set, limit, single, network: &network, options, seen: &mut |_| {} };
    let unknown = || Failure::new(format!("{set}: no problem `{}`", set.problem())).into();
    with_problem(set.problem(), task).unwrap_or_else(|| Err(unknown()))
}

struct OnPaperSet<'a> {
    set: PaperSet,
    limit: Option<usize>,
    single: bool,
    network: &'a AttentionModel,
    options: &'a EvaluateOptions,
    seen: &'a mut dyn FnMut(usize),
}

impl ProblemVisitor for OnPaperSet<'_> {
    type Output = anyhow::Result<Evaluation>;

    fn run<I: SolverInstance>(self) -> anyhow::Result<Evaluation> {
        let mut problems = I::Problem::paper_set(&self.set, self.limit)?;
        if self.single {
            problems = problems.into_iter().map(I::Problem::in_single_precision).collect();
        }
        Ok(evaluate_problems(self.network, &problems, self.options, self.seen)?)
    }
}

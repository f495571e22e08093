//! `regard eval`.

mod sets;

use std::ops::Range;

use regard::Device;
use regard::data::stats;
use regard::routes::evaluate::{EvaluateOptions, Evaluation, evaluate_files, evaluate_problems};
use regard::routes::model::{AttentionModel, ModelDir};
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
use crate::shard::Places;

/// Evaluates a model and prints what was found.
pub(super) fn run(job: &EvalJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    // What is no model is of this family too, and says so before its options do.
    job.model.as_deref().map(ModelDir::open).transpose()?;
    job.refuse_only()?;
    job.columns.only(&[], "routes")?;
    if job.training_data {
        return Err(Failure::new("--training-data is for models on sets, graphs and series")
            .hint("models for routes are evaluated on --paper-set NAME or --data FILE")
            .into());
    }
    job.shard.needs_json(printer.json())?;
    job.shard.refuse(&[("--out", job.out.is_some())])?;
    let given = job.options.reference;
    let mut reference = None;
    let (data, found, info, places) = match &job.source {
        Source::PaperSet(name) => {
            refuse_table(job, name)?;
            let whole = job.limit.is_none_or(|limit| limit >= INSTANCES);
            if given.is_none() && whole {
                let best = bench::best_of_paper(&PaperSet::parse(name)?);
                reference = best.map(|best| (best, ", the best of the paper's methods".to_owned()));
            } else if given.is_none() {
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
            let (found, info, places) = sets::evaluate(&files[0], job, device, printer)?;
            (files[0].display().to_string(), found, info, places)
        }
        Source::Files(files) => {
            let limit = job.limit.unwrap_or(usize::MAX);
            let files = &files[..files.len().min(limit)];
            let places = job.shard.places("eval", files.len(), "files")?;
            let own = places.as_ref().map_or(files, |places| &files[places.range.clone()]);
            let instances = own.iter().map(|file| read_instance(file, &job.table, printer));
            let instances = instances.collect::<anyhow::Result<Vec<Instance>>>()?;
            let (found, info) = on_files(&instances, places.as_ref(), job, device, printer)?;
            let name = match files {
                [file] => file.display().to_string(),
                _ => "files".to_owned(),
            };
            (name, found, info, places)
        }
    };
    if let Some(path) = &job.out {
        json::write_solutions(path, &found)?;
        printer.note(&format!("wrote {}", path.display()));
    }
    if let Some(given) = given {
        // Prizes are maximised as negative costs; a reference is given as best-known values are, as the prize.
        let maximises = registry::spec(&info.config.problem).is_some_and(|spec| spec.maximises);
        reference = Some((if maximises { -given } else { given }, String::new()));
    }
    let mut found = found;
    if let Some((reference, _)) = &reference {
        found.gap = stats::gap(found.mean_cost, *reference);
    }
    if printer.json() {
        let reference = reference.map(|(reference, _)| reference);
        printer.object(&EvalResult::new(job, &found, reference, &data, &info.name))?;
        printer.end_of_part(places.as_ref())?;
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
    places: Option<&Places>,
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
    let found = evaluate_files(&network, instances, &options(job, places), &mut |done| progress.set(done))?;
    Ok((found, info))
}

/// The options for a part of the instances: samples are those of batches that follow the instances before it.
fn options(job: &EvalJob, places: Option<&Places>) -> EvaluateOptions {
    let seed = job.options.seed.wrapping_add(places.map_or(0, |places| places.range.start as u64));
    EvaluateOptions { seed, ..job.options.clone() }
}

/// The evaluation of a set, its model, and the part of the set.
type OnPart = (Evaluation, ModelInfo, Option<Places>);

/// A test set of the paper, by a model of its problem.
fn paper_set(
    name: &str,
    job: &EvalJob,
    device: &Device,
    printer: &Printer,
) -> anyhow::Result<(String, Evaluation, ModelInfo, Option<Places>)> {
    let set = PaperSet::parse(name)?;
    let (network, info) = models::load(job.model.clone(), set.problem(), device)?;
    // The set is drawn when it is evaluated; its size is told by the limit or is that of the paper.
    let count = job.limit.unwrap_or(INSTANCES).min(INSTANCES);
    let places = job.shard.places("eval", count, "instances")?;
    let progress = Progress::new(printer, places.as_ref().map_or(count, |places| places.range.len()), "instances");
    let task = OnPaperSet {
        set,
        limit: job.limit,
        part: places.as_ref().map(|places| places.range.clone()),
        single: info.config.in_single_precision(),
        network: &network,
        options: &options(job, places.as_ref()),
        seen: &mut |done| progress.set(done),
    };
    let unknown = || Failure::new(format!("{name}: no problem `{}`", set.problem())).into();
    let found = with_problem(set.problem(), task).unwrap_or_else(|| Err(unknown()))?;
    Ok((set.to_string(), found, info, places))
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
    let task = OnPaperSet { set: *set, limit, part: None, single, network: &network, options, seen: &mut |_| {} };
    let unknown = || Failure::new(format!("{set}: no problem `{}`", set.problem())).into();
    with_problem(set.problem(), task).unwrap_or_else(|| Err(unknown()))
}

struct OnPaperSet<'a> {
    set: PaperSet,
    limit: Option<usize>,
    /// The instances that count; `None` for all.
    part: Option<Range<usize>>,
    single: bool,
    network: &'a AttentionModel,
    options: &'a EvaluateOptions,
    seen: &'a mut dyn FnMut(usize),
}

impl ProblemVisitor for OnPaperSet<'_> {
    type Output = anyhow::Result<Evaluation>;

    fn run<I: SolverInstance>(self) -> anyhow::Result<Evaluation> {
        let mut problems = I::Problem::paper_set(&self.set, self.limit)?;
        if let Some(part) = self.part {
            problems = problems.drain(part).collect();
        }
        if self.single {
            problems = problems.into_iter().map(I::Problem::in_single_precision).collect();
        }
        Ok(evaluate_problems(self.network, &problems, self.options, self.seen)?)
    }
}

//! `regard eval`.

use regard::Device;
use regard::data::routes::tsp::Tsp;
use regard::data::routes::{formats, paper};
use regard::routes::evaluate::{Evaluation, evaluate_instances, evaluate_points};
use regard::routes::model::AttentionModel;

use super::Outcome;
use crate::args::{EvalJob, Source};
use crate::models;
use crate::report::json::EvalResult;
use crate::report::progress::Progress;
use crate::report::{Printer, plain};

/// Instances in memory.
enum Instances {
    UnitSquare(Vec<Vec<[f32; 2]>>),
    Files(Vec<Tsp>),
}

impl Instances {
    fn len(&self) -> usize {
        match self {
            Instances::UnitSquare(points) => points.len(),
            Instances::Files(instances) => instances.len(),
        }
    }
}

/// Evaluates a model and prints what was found.
pub(super) fn run(job: EvalJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (data, instances) = read(&job)?;
    let (network, info) = models::load(job.model.clone(), "tsp", device)?;
    let found = evaluate(&network, &instances, &job, printer)?;
    if printer.json() {
        printer.object(&EvalResult::new(&job, &found, &data, &info.name))?;
    } else {
        printer.result(&plain::evaluation(&job, &found, &data, &info))?;
    }
    Ok(Outcome::Done)
}

/// The instances and a name for them.
fn read(job: &EvalJob) -> anyhow::Result<(String, Instances)> {
    match &job.source {
        Source::PaperSet(name) => Ok((name.clone(), Instances::UnitSquare(paper::test_set(name, job.limit)?))),
        Source::Files(files) => {
            let limit = job.limit.unwrap_or(usize::MAX);
            let instances = files.iter().take(limit).map(formats::read).collect::<Result<Vec<Tsp>, _>>()?;
            let name = match &files[..] {
                [file] => file.display().to_string(),
                _ => "files".to_owned(),
            };
            Ok((name, Instances::Files(instances)))
        }
    }
}

fn evaluate(
    network: &AttentionModel,
    instances: &Instances,
    job: &EvalJob,
    printer: &Printer,
) -> anyhow::Result<Evaluation> {
    let progress = Progress::new(printer, instances.len(), "instances");
    let mut seen = |done: usize| progress.set(done);
    Ok(match instances {
        Instances::UnitSquare(points) => evaluate_points(network, points, &job.options, &mut seen)?,
        Instances::Files(instances) => evaluate_instances(network, instances, &job.options, &mut seen)?,
    })
}

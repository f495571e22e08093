//! `regard data`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use regard::data::routes::metric::Metric;
use regard::data::routes::tsp::Tsp;
use regard::data::routes::{formats, generate as generator, paper};

use super::Outcome;
use crate::args::{CheckArgs, Generate, GenerateJob, InstanceFormat, ShowArgs};
use crate::failure::Failure;
use crate::report::data::{Checked, Generated, Shown};
use crate::report::progress::Progress;
use crate::report::{Printer, data};

/// Factor of the coordinates in TSPLIB files.
const ENLARGED: f64 = 1_000_000.0;

/// Writes random instances, one a file.
pub(super) fn generate(job: GenerateJob, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (stem, seed, points) = match &job.what {
        Generate::PaperSet { name, limit } => (name.clone(), None, paper::test_set(name, *limit)?),
        Generate::Uniform { seed, instances, n } => {
            (format!("uniform{n}"), Some(*seed), generator::uniform(*seed, *instances, *n))
        }
    };
    let digits = points.len().to_string().len().max(4);
    let progress = Progress::new(printer, points.len(), "files");
    for (i, points) in points.iter().enumerate() {
        let name = if job.single { own_name(&job.out) } else { format!("{stem}-{:0digits$}", i + 1) };
        let path =
            if job.single { job.out.clone() } else { job.out.join(format!("{name}.{}", job.format.extension())) };
        write(&path, &name, points, job.format)?;
        progress.set(i + 1);
    }
    drop(progress);
    let result = Generated::new(&job.out, points.len(), points.first().map_or(0, Vec::len), seed);
    if printer.json() {
        printer.object(&result)?;
    } else {
        printer.result(&result.plain())?;
    }
    Ok(Outcome::Done)
}

fn own_name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn write(path: &PathBuf, name: &str, points: &[[f32; 2]], format: InstanceFormat) -> anyhow::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    match format {
        InstanceFormat::Csv => {
            let points = points.iter().map(|point| point.map(shortest)).collect();
            formats::csv::write(path, &Tsp::euclidean(name, points)?)?;
        }
        InstanceFormat::Tsp => formats::tsplib::write(path, &enlarged(name, points)?)?,
    }
    Ok(())
}

/// The number with the fewest digits that is this `f32` when read as one: 0.1, not 0.10000000149.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// The instance with its coordinates times [`ENLARGED`]: TSPLIB knows whole distances only, which
/// in the unit square would all be 0 or 1.
fn enlarged(name: &str, points: &[[f32; 2]]) -> anyhow::Result<Tsp> {
    let whole = |value: f32| (f64::from(value) * ENLARGED).round();
    let points = points.iter().map(|&[x, y]| [whole(x), whole(y), 0.0]).collect();
    let instance = Tsp::new(name, Metric::Euc2d, points)?;
    Ok(instance.with_comment(format!("uniform in the unit square, coordinates times {ENLARGED}")))
}

/// Reads every file, and checks the tour if one is given. A malformed file is an error; a tour that
/// breaks a constraint is the answer "no".
pub(super) fn check(args: &CheckArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    if args.tour.is_some() && args.files.len() > 1 {
        return Err(Failure::new("--tour is one tour, but there are several instances")
            .hint("check one instance at a time")
            .into());
    }
    let mut outcome = Outcome::Done;
    for file in &args.files {
        let instance = formats::read(file)?;
        let tour = args.tour.as_deref().map(|path| check_tour(path, &instance)).transpose()?;
        let checked = Checked::new(file, &instance, tour);
        if !checked.ok() {
            outcome = Outcome::No;
        }
        if printer.json() {
            printer.object(&checked)?;
        } else {
            printer.result(&checked.plain())?;
        }
    }
    Ok(outcome)
}

/// The cost of the tour, or the constraint it violates.
fn check_tour(path: &Path, instance: &Tsp) -> anyhow::Result<Result<f64, String>> {
    let checked = formats::tour::read(path, instance).and_then(|tour| {
        instance.check(&tour)?;
        Ok(instance.cost(&tour))
    });
    match checked {
        Ok(cost) => Ok(Ok(cost)),
        Err(regard::data::Error::Infeasible { reason, .. }) => Ok(Err(reason)),
        Err(error) => Err(error.into()),
    }
}

/// Describes an instance.
pub(super) fn show(args: &ShowArgs, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let instance = formats::read(&args.file)?;
    let shown = Shown::new(&args.file, &instance);
    if printer.json() {
        printer.object(&shown)?;
    } else {
        printer.result(&data::show(&shown))?;
    }
    Ok(Outcome::Done)
}

//! `regard bench paper`: Table 1 of Kool et al. 2019 with our numbers beside it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use regard::Device;
use regard::routes::decode::Decode;
use regard::routes::evaluate::EvaluateOptions;
use regard::routes::model::KIND;
use regard::routing::paper::PaperSet;
use regard::store::kind_of;
use serde_json::Value;

use crate::args::BenchPaperArgs;
use crate::commands::{Outcome, eval};
use crate::failure::Failure;
use crate::models::{self, Model, Place};
use crate::report::Printer;
use crate::report::bench::{PaperTable, Row};
use crate::report::progress::Progress;

/// Sizes of the paper's sets.
const SIZES: [usize; 3] = [20, 50, 100];
/// Samples of the paper's second way of decoding.
const SAMPLES: usize = 1280;

/// Prints the paper's table beside ours.
pub(in crate::commands) fn paper(
    args: &BenchPaperArgs,
    seed: u64,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    let models = models(args.models.as_deref())?;
    if models.is_empty() {
        return Err(Failure::new("there is no model to evaluate")
            .hint("give a folder of model folders with --models")
            .into());
    }
    let jobs = |model| {
        let ways = ways(model, args.greedy_only);
        sets(model, &args.sizes).into_iter().flat_map(move |set| ways.iter().map(move |&way| (model, set, way)))
    };
    let jobs: Vec<(&Model, PaperSet, Way)> = models.iter().flat_map(jobs).collect();
    let progress = Progress::new(printer, jobs.len(), "rows");
    let mut rows = Vec::new();
    for (model, set, way) in jobs {
        let (decode, augment) = way;
        let options = EvaluateOptions { decode, augment, seed, ..EvaluateOptions::default() };
        let found = eval::on_set(model, &set, args.limit, &options, device)?;
        rows.push(Row::new(&set, way, &model.info.name, &found));
        progress.set(rows.len());
    }
    drop(progress);
    rows.sort_by(|a, b| a.order().cmp(&b.order()));
    let table = PaperTable::new(&args.table, rows);
    if printer.json() {
        printer.object(&table)?;
    } else {
        printer.result(&table.plain())?;
    }
    Ok(Outcome::Done)
}

/// A way of decoding, and how many views of an instance it sees.
type Way = (Decode, usize);

/// The paper's ways of decoding a model, and beside them, where it is ours, the one it is trained for (POMO,
/// Kwon et al. 2020).
fn ways(model: &Model, greedy_only: bool) -> &'static [Way] {
    const ALL: [Way; 3] = [(Decode::Greedy, 1), (Decode::Sample(SAMPLES), 1), (Decode::MultiStart(None), 8)];
    let imported = model.info.manifest.as_ref().is_some_and(|manifest| manifest.provenance.is_some());
    match (greedy_only, imported) {
        (true, _) => &ALL[..1],
        (false, true) => &ALL[..2],
        (false, false) => &ALL,
    }
}

/// The models built in and those of a folder, as far as they are for routes.
fn models(folder: Option<&Path>) -> anyhow::Result<Vec<Model>> {
    let mut all = models::built_in_problems().map(Place::BuiltIn).map(models::open).collect::<Result<Vec<_>, _>>()?;
    let Some(folder) = folder else { return Ok(all) };
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.retain(|path| kind_of(path).is_ok_and(|kind| kind == KIND));
    folders.sort();
    for path in folders {
        let model = models::open(Place::Folder(path))?;
        all.retain(|other| other.info.name != model.info.name);
        all.push(model);
    }
    Ok(all)
}

/// The sets of a model's problem: of the sizes asked for, else of the size it was trained for where
/// that is known, else of all.
fn sets(model: &Model, asked: &[usize]) -> Vec<PaperSet> {
    let manifest = model.info.manifest.as_ref();
    let experiment = manifest.and_then(|manifest| manifest.experiment.as_ref());
    let training = manifest.and_then(|manifest| manifest.provenance.as_ref()).map(|found| &found.training);
    let own = experiment.and_then(|found| found["data"]["nodes"].as_u64());
    let own = own.or(training.and_then(|found| found.get("graph_size")?.as_u64()));
    let prizes = training.and_then(|found| found.get("data_distribution")?.as_str());
    let prizes = prizes.or(experiment.and_then(|found| found["data"].get("prizes").and_then(Value::as_str)));
    let fits = |n: &&usize| !asked.is_empty() || own.is_none_or(|own| own == **n as u64);
    let sizes = if asked.is_empty() { &SIZES } else { asked };
    let set = |&n: &usize| PaperSet::of_problem(&model.info.config.problem, prizes, n);
    sizes.iter().filter(fits).filter_map(set).collect()
}

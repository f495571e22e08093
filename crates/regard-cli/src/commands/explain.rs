//! `regard explain`.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use regard::Device;
use regard::data::file::{exists, open, write_atomic};
use regard::data::graphs::formats::{Recognised, recognise};
use regard::explain::{self, AttentionInput, Trace};
use regard::graphs::predict::GraphModel;
use regard::routing::formats::Instance;
use regard::series::predict::SeriesModel;
use regard::sets::predict::SetModel;

use super::{Outcome, families, graphs, learning, read_instance, sets};
use crate::args::{AttentionArgs, ExplainArgs, ExplainCommand, ExplainFileArgs, ViewArgs, example};
use crate::failure::Failure;
use crate::models::Networks;
use crate::report::{self, Printer};

/// A page above so many bytes opens slowly.
const LARGE_PAGE: usize = 50 << 20;
/// Largest input file that is read.
const MOST_BYTES: u64 = 64 << 20;

/// Explains a model on a file, or an attention layer.
pub(super) fn run(
    args: &ExplainArgs,
    seed: Option<u64>,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Outcome> {
    match (&args.command, &args.file.file) {
        (Some(ExplainCommand::Attention(args)), _) => attention(args, device, printer),
        (Some(ExplainCommand::Learning(args)), _) => learning::run(args, seed, device, printer),
        (None, Some(file)) => {
            let family = families::of_model(args.file.model.as_deref());
            let trace = (family.explain)(file, &args.file, device, printer)?.part(args.file.step, args.file.layer)?;
            let with_numbers = args.file.step.is_some() || args.file.layer.is_some() || args.file.view.is_part();
            show(trace, &args.file.view, with_numbers, printer)?;
            Ok(Outcome::Done)
        }
        (None, None) => Err(Failure::new("FILE is missing")
            .hint("give an instance or a table, or use: regard explain attention")
            .into()),
    }
}

/// Explains a policy on an instance.
pub(super) fn routes(
    file: &Path,
    args: &ExplainFileArgs,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Trace> {
    if let Some(folder) = &args.model {
        regard::store::kind_of(folder)?;
    }
    let instance = instance(file, args, printer)?;
    let networks = Networks::of([instance.problem()].into_iter(), args.model.clone(), device)?;
    let Some((network, info)) = networks.get(instance.problem()) else {
        let what = format!("no model for `{}` is built into this binary", instance.problem());
        return Err(Failure::new(what).hint("give a model folder with --model DIR").into());
    };
    Ok(network.explain(&info.name, &instance)?)
}

/// Reads the instance that a policy is explained on.
pub(crate) fn instance(file: &Path, args: &ExplainFileArgs, printer: &Printer) -> anyhow::Result<Instance> {
    args.refuse("routes", &["--example", "--group-by", "--smiles"])?;
    let read = read_instance(file, &args.table.options(), printer);
    match &args.model {
        Some(folder) => read.with_context(|| other_kind(folder, "routes", file)),
        None if !exists(file) => read,
        None => read.map_err(|error| without_model(file, &error)),
    }
}

/// The error for a file that is no instance and has no model: only models on routes are in the binary.
fn without_model(file: &Path, error: &anyhow::Error) -> anyhow::Error {
    let (shown, in_binary) = (file.display(), "only models on routes are built into the binary");
    let failure = match recognise(file) {
        Some(Recognised::Molecules(column)) => Failure::new(format!(
            "{shown} has molecules in `{column}`, and no model is given: {in_binary}"
        ))
        .hint(format!(
            "the repository has one: regard explain {shown} --model models/regard-solubility --smiles {column}"
        )),
        Some(Recognised::Graphs) => Failure::new(format!("{shown} has graphs, and no model is given: {in_binary}"))
            .hint("train a model on graphs (`regard train --list`), and give its folder with --model"),
        None => Failure::new(format!("{error:#}, and no model is given: {in_binary}")).hint(
            "--model DIR names another; the repository has models/regard-max (sets of one number), \
             models/regard-clusters (points in the plane) and models/regard-etth1 (the series of ETTh1)",
        ),
    };
    failure.into()
}

/// Explains a model on a set.
pub(super) fn set(
    file: &Path,
    args: &ExplainFileArgs,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Trace> {
    let (folder, name) = folder(args);
    set_with(file, args, &name, &SetModel::open(folder, device)?, printer)
}

/// As [`set`], with a model that is open.
pub(crate) fn set_with(
    file: &Path,
    args: &ExplainFileArgs,
    name: &str,
    model: &SetModel,
    printer: &Printer,
) -> anyhow::Result<Trace> {
    args.refuse("sets", &["--step", "--smiles"])?;
    let bags = model
        .read(file, &sets::columns(model, args.group_by.clone()), false)
        .with_context(|| other_kind(folder(args).0, "sets", file))?;
    bags.notes().iter().for_each(|note| printer.note(note));
    let chosen = example(args.example.as_deref(), bags.ids(), file, "set")?;
    Ok(model.explain(name, &bags, chosen)?)
}

/// Explains a model on a graph.
pub(super) fn graph(
    file: &Path,
    args: &ExplainFileArgs,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Trace> {
    let (folder, name) = folder(args);
    graph_with(file, args, &name, &GraphModel::open(folder, device)?, printer)
}

/// As [`graph`], with a model that is open.
pub(crate) fn graph_with(
    file: &Path,
    args: &ExplainFileArgs,
    name: &str,
    model: &GraphModel,
    printer: &Printer,
) -> anyhow::Result<Trace> {
    args.refuse("graphs", &["--step", "--group-by"])?;
    let mut data = graphs::columns(model);
    data.smiles = args.smiles.clone().unwrap_or(data.smiles);
    let examples =
        model.read(file, &data, false).with_context(|| other_kind(folder(args).0, "graphs", file))?;
    examples.warnings().iter().for_each(|warning| printer.note(warning));
    let chosen = example(args.example.as_deref(), examples.graphs.ids(), file, "graph")?;
    Ok(model.explain(name, &examples, chosen)?)
}

/// Explains a model on the end of a series.
pub(super) fn series(
    file: &Path,
    args: &ExplainFileArgs,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Trace> {
    let (folder, name) = folder(args);
    series_with(file, args, &name, &SeriesModel::open(folder, device)?, printer)
}

/// As [`series`], with a model that is open.
pub(crate) fn series_with(
    file: &Path,
    args: &ExplainFileArgs,
    name: &str,
    model: &SeriesModel,
    printer: &Printer,
) -> anyhow::Result<Trace> {
    args.refuse("time series", &["--step", "--group-by", "--smiles"])?;
    let series =
        model.read(file, &model.columns()).with_context(|| other_kind(folder(args).0, "time series", file))?;
    let names: Vec<String> = series.panel.names().map(str::to_owned).collect();
    let chosen = example(args.example.as_deref(), &names, file, "series")?;
    if model.config.channels > 1 && args.example.is_some() {
        printer.note("the model takes all series together: all are shown");
    }
    Ok(model.explain(name, &series.panel, chosen)?)
}

/// The kind of a model, and that of a file which it could not read, as far as its name or its first line tells it.
fn other_kind(folder: &Path, kind: &str, file: &Path) -> String {
    let model = format!("{} is a model on {kind}", folder.display());
    match kind_of_file(file).filter(|found| *found != kind) {
        Some(found) => format!("{model}, and {} looks like a file of {found}", file.display()),
        None => model,
    }
}

/// The family that a file seems to be of.
pub(crate) fn kind_of_file(file: &Path) -> Option<&'static str> {
    let first = BufReader::new(open(file).ok()?).take(1 << 16).lines().next()?.ok()?.to_lowercase();
    let columns: Vec<&str> = first.split([',', ';', '\t']).map(|name| name.trim().trim_matches('"')).collect();
    // TSPLIB and VRPLIB begin with `NAME : …`.
    if first.split_once(':').is_some_and(|(key, _)| ["name", "type", "comment"].contains(&key.trim())) {
        return Some("routes");
    }
    let has = |names: &[&str]| names.iter().any(|name| columns.contains(name));
    let kinds = [
        ("graphs", has(&["smiles", "graph", "source"])),
        (
            "routes",
            has(&["x"]) && has(&["y"]) && has(&["id", "place"])
                || has(&["lat", "latitude"]) && has(&["lon", "lng", "longitude"]),
        ),
        ("time series", has(&["date", "ds", "time", "timestamp", "datetime", "unique_id"])),
        ("sets", has(&["bag", "set", "group", "cloud"])),
    ];
    kinds.into_iter().find(|(_, seems)| *seems).map(|(kind, _)| kind)
}

/// The folder of the model, and its name.
fn folder(args: &ExplainFileArgs) -> (&Path, String) {
    let folder = args.model.as_deref().unwrap_or(Path::new("."));
    let name =
        folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
    (folder, name)
}

/// The steps and heads of a trace that are asked for, in JSON also the parameters.
pub(crate) fn viewed(trace: Trace, view: &ViewArgs, json: bool) -> anyhow::Result<Trace> {
    let trace = trace.named(view.filter.as_deref())?.head(view.head)?;
    Ok(if view.parameters && json { trace.with_own_parameters() } else { trace.without_parameters() })
}

/// The part of a trace that is asked for, printed, drawn and written.
pub(super) fn show(trace: Trace, view: &ViewArgs, with_numbers: bool, printer: &mut Printer) -> anyhow::Result<()> {
    let trace = viewed(trace, view, printer.json())?;
    if view.parameters && !printer.json() {
        return Err(Failure::new("--parameters applies to --json alone").hint("add --json").into());
    }
    if let Some(path) = &view.plot {
        report::trace_plot::draw(path, &trace)?;
    }
    if let Some(path) = &view.html {
        let page = explain::page(&trace);
        write_atomic(path, |file| file.write_all(page.as_bytes()))?;
        if page.len() > LARGE_PAGE {
            let size = page.len() >> 20;
            printer.note(&format!("the page is {size} MiB; --step, --layer, --head or --filter make it smaller"));
        }
    }
    if printer.json() {
        printer.object(&trace)?;
    } else {
        printer.result(&report::trace::page(&trace, with_numbers, view.full))?;
    }
    for path in [&view.plot, &view.html].into_iter().flatten() {
        printer.note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// Every intermediate of one attention layer.
fn attention(args: &AttentionArgs, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let (name, input) = match &args.input {
        Some(path) => (path.display().to_string(), AttentionInput::parse(&read(path)?, path)?),
        None => ("the example worked by hand".to_owned(), AttentionInput::hand_worked()),
    };
    let trace = explain::attention(&name, &input, device)?;
    show(trace, &args.view, true, printer)?;
    if args.input.is_none() && !printer.json() {
        printer.result(&report::trace::rounded_by_hand())?;
    }
    Ok(Outcome::Done)
}

fn read(path: &Path) -> anyhow::Result<String> {
    let size = std::fs::metadata(path).map_err(|source| regard::Error::io(path, source))?.len();
    if size > MOST_BYTES {
        return Err(
            Failure::new(format!("{}: is {size} bytes long; at most {MOST_BYTES} are read", path.display())).into()
        );
    }
    Ok(regard::data::file::read_text(path)?)
}

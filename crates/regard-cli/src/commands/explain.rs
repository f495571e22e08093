//! `regard explain`.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use regard::Device;
use regard::data::file::{exists, open, write_atomic};
use regard::data::graphs::formats::{Recognised, recognise};
use regard::explain::{self, AttentionInput, Trace};
use regard::graphs::examples::Examples;
use regard::graphs::predict::GraphModel;
use regard::routing::formats::{self, Instance};
use regard::series::predict::SeriesModel;
use regard::series::task::SeriesTask;
use regard::sets::predict::SetModel;
use regard::store::built_in;
use regard::supervised::{Family, Model};

use super::forecast::{notes, without_future};
use super::{Outcome, families, graphs, learning, open_model, read_instance, sets};
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
    let explain = |instance: &Instance| {
        let networks = Networks::of([instance.problem()].into_iter(), args.model.clone(), device)?;
        let Some((network, info)) = networks.get(instance.problem()) else {
            let what = format!("no model for `{}` is built into this binary", instance.problem());
            return Err(Failure::new(what).hint("give a model folder with --model DIR").into());
        };
        Ok(network.explain(&info.name, instance)?)
    };
    routes_with(file, args, &explain, device, printer)
}

/// As [`routes`], with what explains an instance. Without a model, a file that is no instance is explained by the built-in
/// model that fits it.
pub(crate) fn routes_with(
    file: &Path,
    args: &ExplainFileArgs,
    explain: &dyn Fn(&Instance) -> anyhow::Result<Trace>,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Trace> {
    // The points of sets are places too.
    if args.model.is_none() && kind_of_file(file) == Some("sets") {
        let error = anyhow::anyhow!("{} is no instance of a routing problem", file.display());
        match by_built_in(file, args, &error, device, printer) {
            Err(error) if formats::read_instance_with(file, &args.table.options()).is_err() => return Err(error),
            Err(_) => {}
            found => return found,
        }
    }
    let read = read_instance(file, &args.table.options(), printer);
    let instance = match (&args.model, read) {
        (None, Err(error)) if exists(file) => return by_built_in(file, args, &error, device, printer),
        (None, read) => read?,
        (Some(folder), read) => read.with_context(|| other_kind(folder, "routes", file))?,
    };
    args.refuse("routes", &["--example", "--group-by", "--smiles", "--future"])?;
    explain(&instance)
}

/// Explains the built-in model that fits a file which is no instance; `error` says why it is none.
fn by_built_in(
    file: &Path,
    args: &ExplainFileArgs,
    error: &anyhow::Error,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Trace> {
    let shown = file.display();
    let (mut args, mut guess) = (args.clone(), String::new());
    let (kind, models): (&str, &[&str]) = match (recognise(file), kind_of_file(file)) {
        (Some(Recognised::Molecules(column)), _) => {
            args.smiles.get_or_insert(column);
            ("molecules", &["regard-solubility"])
        }
        (Some(Recognised::Graphs), _) => {
            return Err(Failure::new(format!("{shown} has graphs that are no molecules, and no model is given"))
                .hint("train a model on graphs (`regard train --list`), and give its folder with --model")
                .into());
        }
        (None, Some("sets")) => {
            if let (None, Some(column)) = (&args.group_by, first_column(file)) {
                guess = format!("each value of `{column}` is a set; --group-by COLUMN names another\n");
                args.group_by = Some(column);
            }
            ("sets", &["regard-max", "regard-clusters"])
        }
        (None, Some("time series")) => ("time series", &["regard-etth1"]),
        (None, _) => (args.group_by.as_ref().map_or("", |_| "sets"), &["regard-max", "regard-clusters"]),
    };
    let mut reasons = vec![];
    // A table of an unknown kind is one of sets only if somebody says so.
    for model in models.iter().filter(|_| !kind.is_empty()) {
        args.model = built_in::path(model);
        match (families::of_model(args.model.as_deref()).explain)(file, &args, device, printer) {
            Ok(trace) => {
                printer.note(&format!("{guess}{model} is the built-in model for {kind}; --model DIR names another"));
                return Ok(trace);
            }
            Err(error) => reasons.push(format!("{model}: {}", error.root_cause())),
        }
    }
    let known: Vec<&str> = built_in::names().collect();
    let hint = format!("--model takes the folder of a model, or one that is built in: {}", known.join(", "));
    let what = match reasons.is_empty() {
        true => format!("{error}, and no model is given"),
        false => format!("{shown} seems to hold {kind}, and no built-in model fits it: {}", reasons.join("; ")),
    };
    Err(Failure::new(what).hint(hint).into())
}

/// Name of the first column of a table.
fn first_column(file: &Path) -> Option<String> {
    let first = BufReader::new(open(file).ok()?).take(1 << 16).lines().next()?.ok()?;
    let name = first.split([',', ';', '\t']).next()?.trim_start_matches('\u{feff}').trim().trim_matches('"');
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

/// Explains a model on a set.
pub(super) fn set(
    file: &Path,
    args: &ExplainFileArgs,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Trace> {
    let (folder, name) = folder(args);
    set_with(file, args, &name, &open_model(folder, device, printer)?, printer)
}

/// As [`set`], with a model that is open.
pub(crate) fn set_with(
    file: &Path,
    args: &ExplainFileArgs,
    name: &str,
    model: &SetModel,
    printer: &Printer,
) -> anyhow::Result<Trace> {
    args.refuse("sets", &["--step", "--smiles", "--future"])?;
    let bags = model
        .read(file, &sets::columns(model, args.group_by.clone()), false)
        .with_context(|| other_kind(folder(args).0, "sets", file))?;
    bags.notes().iter().for_each(|note| printer.note(note));
    note_weight(model, printer);
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
    let model: GraphModel = open_model(folder, device, printer)?;
    let examples = graphs_of(file, args, &model, printer)?;
    graph_with(file, args, &name, &model, &examples)
}

/// Reads the graphs of which one is explained.
pub(crate) fn graphs_of(
    file: &Path,
    args: &ExplainFileArgs,
    model: &GraphModel,
    printer: &Printer,
) -> anyhow::Result<Examples> {
    args.refuse("graphs", &["--step", "--group-by", "--future"])?;
    let mut data = graphs::columns(model);
    data.smiles = args.smiles.clone().unwrap_or(data.smiles);
    let examples = model.read(file, &data, false).with_context(|| other_kind(folder(args).0, "graphs", file))?;
    examples.warnings().iter().for_each(|warning| printer.note(warning));
    note_weight(model, printer);
    Ok(examples)
}

/// As [`graph`], with a model that is open and graphs that were read.
pub(crate) fn graph_with(
    file: &Path,
    args: &ExplainFileArgs,
    name: &str,
    model: &GraphModel,
    examples: &Examples,
) -> anyhow::Result<Trace> {
    let chosen = example(args.example.as_deref(), examples.graphs.ids(), file, "graph")?;
    Ok(model.explain(name, examples, chosen)?)
}

/// Explains a model on the end of a series.
pub(super) fn series(
    file: &Path,
    args: &ExplainFileArgs,
    device: &Device,
    printer: &mut Printer,
) -> anyhow::Result<Trace> {
    let (folder, name) = folder(args);
    series_with(file, args, &name, &open_model(folder, device, printer)?, printer)
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
    let (columns, future) = (model.columns(), args.future.as_deref());
    let series = match future {
        Some(_) => model.read_to_forecast(file, future, &columns, model.config.horizon),
        None => model.read(file, &columns),
    };
    let series = series.with_context(|| other_kind(folder(args).0, "time series", file))?;
    notes(&series.report, &series.unknown, printer);
    note_weight(model, printer);
    let names: Vec<String> = series.panel.names().map(str::to_owned).collect();
    let chosen = example(args.example.as_deref(), &names, file, "series")?;
    if model.config.channels > 1 && args.example.is_some() {
        printer.note("the model takes all series together: all are shown");
    }
    let shown = if model.config.channels > 1 { series.panel.series() } else { &series.panel.series()[chosen..=chosen] };
    let horizon = model.config.horizon;
    let needs_future = model.config.task == SeriesTask::Forecast && !series.panel.covariates().is_empty();
    if let Some(one) = shown.iter().find(|one| needs_future && one.known_steps() < horizon) {
        let (what, way_out) = without_future(file, future, one, horizon);
        return Err(what.hint(way_out).into());
    }
    Ok(model.explain(name, &series.panel, chosen)?)
}

/// Says how much of the answer is the network's, of which the trace is, where base learners take part.
fn note_weight<F: Family>(model: &Model<F>, printer: &Printer) {
    let weight = 100.0 * model.network_weight();
    if weight < 100.0 {
        printer.note(&format!(
            "the trace is of the network, which has {weight:.0} % of the weight in the answer; base learners have the rest"
        ));
    }
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
    if let Some(name) = built_in::name(folder) {
        return (folder, name.to_owned());
    }
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

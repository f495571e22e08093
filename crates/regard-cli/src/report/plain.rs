//! Results as text: short, aligned, numbers with units.

use std::path::Path;

use regard::data::stats;
use regard::routes::evaluate::Evaluation;
use regard::routes::solve::{Solution, StageKind, describe};
use regard::routing::formats::solution::SolutionFormat;
use regard::routing::{Instance, Itinerary, Metric, Sites, Stop, registry};

use super::{Align, Table, number, wrap};
use crate::args::EvalJob;
use crate::models::{ModelInfo, Networks};

/// `capitals.csv   47 nodes   great-circle km`.
pub(crate) fn heading(file: &Path, instance: &Instance) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let sites = instance.sites();
    let nodes = if sites.len() == 1 { "node" } else { "nodes" };
    let problem = match instance.problem() {
        registry::DEFAULT => String::new(),
        other => format!("   {other}"),
    };
    let text = format!("{name}   {} {nodes}   {}{problem}", number::count(sites.len()), measure(sites));
    match scaled(sites) {
        true => text + "   coordinates by multidimensional scaling",
        false => text,
    }
}

/// If true, the network gets coordinates computed from a matrix of distances.
pub(crate) fn scaled(sites: &Sites) -> bool {
    matches!(sites.metric(), Metric::Explicit(_)) && sites.display().is_none()
}

/// The metric and its unit; the name alone if it ends in the unit.
fn measure(instance: &Sites) -> String {
    let (metric, unit) = (instance.metric_name(), instance.unit());
    if unit.is_empty() || metric.ends_with(unit) { metric.to_owned() } else { format!("{metric} {unit}") }
}

/// The cost of a solution as people read it: its prize, where that is sought.
pub(crate) fn cost(instance: &Instance, cost: f64) -> String {
    let sign = if instance.maximises() { -1.0 } else { 1.0 };
    number::quantity(sign * cost, unit(instance))
}

/// One line for each stage: cost, time and gain.
pub(crate) fn stages(instance: &Instance, solution: &Solution) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Right, Align::Right]);
    let mut last: Option<StageKind> = None;
    // Costs of a problem that seeks a prize are negative prizes.
    let sign = if instance.maximises() { -1.0 } else { 1.0 };
    for stage in &solution.stages {
        let kind = if last == Some(stage.kind) { "" } else { stage.kind.name() };
        last = Some(stage.kind);
        table.row([
            kind.to_owned(),
            stage.name.clone(),
            cost(instance, stage.cost),
            number::seconds(stage.seconds),
            stage.gain.map(|gain| number::change(sign * gain)).unwrap_or_default(),
        ]);
    }
    table.render(2, 2)
}

/// The unit of values; prizes have none.
fn unit(instance: &Instance) -> &'static str {
    if instance.maximises() { "" } else { instance.sites().unit() }
}

/// `tour 24,871 km, feasible; best known 24,871 km, gap 0.00 %; wrote capitals.tour`.
pub(crate) fn verdict(instance: &Instance, solution: &Solution, written: &[String]) -> String {
    let value = instance.value(&solution.tour);
    let amount = number::quantity(value, unit(instance));
    let routes = instance.routes(&solution.tour);
    let mut text = match instance.solution_format() {
        SolutionFormat::Tour => format!("tour {amount}, feasible"),
        SolutionFormat::Routes => format!("{} {amount}, feasible", number::of(routes.len(), "route")),
        SolutionFormat::Visits => {
            let what = if instance.maximises() { "prize" } else { "cost" };
            let visited = routes.iter().map(Vec::len).sum::<usize>();
            format!("{what} {amount} with {}, feasible", number::of(visited, "node"))
        }
    };
    if let Some(best) = instance.best_known() {
        text += &format!("; best known {}", number::quantity(best, unit(instance)));
        if let Some(gap) = instance.gap(value) {
            text += &format!(", gap {}", number::gap(gap));
        }
    }
    if !written.is_empty() {
        text += &format!("; wrote {}", written.join(", "));
    }
    text
}

/// The routes with their stops in order, their loads and lengths. If `shorten`, the middle of long routes is left out.
pub(crate) fn routes(instance: &Instance, solution: &[usize], width: usize, shorten: bool) -> String {
    let itinerary = Itinerary::of(instance, solution);
    let sites = instance.sites();
    let mut text = String::new();
    for (number, route) in itinerary.routes.iter().enumerate() {
        let stops = route.visits();
        let plural = if stops == 1 { "stop" } else { "stops" };
        if instance.solution_format() == SolutionFormat::Routes {
            let bound = instance.route_bound().map(|bound| format!(" of {}", number::quantity(bound, "")));
            let load =
                route.load.map(|load| format!("   load {}{}", number::quantity(load, ""), bound.unwrap_or_default()));
            let length = number::quantity(route.length, sites.unit());
            text += &format!("route {}   {stops} {plural}{}   length {length}\n", number + 1, load.unwrap_or_default());
        } else if let Some(load) = route.load {
            let length = number::quantity(route.length, sites.unit());
            text += &format!("{stops} {plural}   prize {}   length {length}\n", number::quantity(load, ""));
        }
        let name = |stop: &Stop| {
            let name = sites.label(stop.node).unwrap_or(&sites.ids()[stop.node]).replace(char::is_control, " ");
            name + &part(instance, stop) + &when(instance, stop)
        };
        let names: Vec<String> = route.stops.iter().map(name).collect();
        // Names hold spaces, at which no line ends.
        let order = shortened(names, shorten).join(" \u{2192}\u{1}").replace(' ', "\u{2}").replace('\u{1}', " ");
        for line in wrap(&order, width.saturating_sub(2)) {
            text += &format!("  {}\n", line.replace('\u{2}', " "));
        }
    }
    text
}

/// The part of what a stop wants that a vehicle brings; empty where it brings all.
fn part(instance: &Instance, stop: &Stop) -> String {
    let demand = instance.amounts().and_then(|(_, amounts)| amounts.get(stop.node));
    match stop.amount.zip(demand) {
        Some((part, &demand)) if part > 0.0 && part < demand * (1.0 - 1e-9) => {
            format!(" ({} of {})", number::quantity(part, ""), number::quantity(demand, ""))
        }
        _ => String::new(),
    }
}

/// When a vehicle arrives at a stop and how long it waits there; empty where time plays no part.
fn when(instance: &Instance, stop: &Stop) -> String {
    let Some((times, waiting)) = instance.times().zip(stop.waiting) else { return String::new() };
    let arrival = times.of_day(stop.arrival).unwrap_or_else(|| number::quantity(stop.arrival, ""));
    let waits = if waiting > 1e-6 { format!(", waits {}", number::quantity(waiting, "")) } else { String::new() };
    format!(" ({arrival}{waits})")
}

/// The names of stops, of many only those at both ends.
fn shortened(mut names: Vec<String>, shorten: bool) -> Vec<String> {
    const MOST: usize = 60;
    const END: usize = 10;
    if shorten && names.len() > MOST {
        let left_out = names.len() - MOST;
        let more = format!("... {} more (--out FILE has all) ...", number::count(left_out));
        let from = MOST - END;
        names.splice(from..from + left_out, [more]);
    }
    names
}

/// One line for each model.
pub(crate) fn model_lines(networks: &Networks) -> String {
    let lines: Vec<String> = networks.infos().map(model_line).collect();
    if lines.is_empty() {
        "no model for this problem: construction and local search only".to_owned()
    } else {
        lines.join("\n")
    }
}

/// `model regard-tsp (tsp, trained …)`.
pub(crate) fn model_line(info: &ModelInfo) -> String {
    match &info.note {
        Some(note) => format!("model {} ({note})", info.name),
        None => format!("model {}", info.name),
    }
}

/// The result of `regard eval`.
pub(crate) fn evaluation(
    job: &EvalJob,
    found: &Evaluation,
    reference: Option<(f64, String)>,
    data: &str,
    info: &ModelInfo,
) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let error = found.std_error.map(|error| format!(" ± {:.5} (2 standard errors)", 2.0 * error));
    table.row(["mean cost".to_owned(), format!("{:.5}{}", found.mean_cost, error.unwrap_or_default())]);
    if let Some(network) = found.mean_cost_network {
        let gain = stats::gap(found.mean_cost, network).map(number::change).unwrap_or_default();
        table.row(["network".to_owned(), format!("{network:.5} before local search ({gain})")]);
    }
    if let Some(gap) = found.gap {
        let against = match reference {
            Some((reference, of)) => format!("to {}{of}", number::quantity(reference, "")),
            None => "to the best-known costs, mean over the instances".to_owned(),
        };
        table.row(["gap".to_owned(), format!("{} {against}", number::gap(gap))]);
    }
    let (time, rate) = (number::seconds(found.seconds), number::quantity(found.instances_per_second().round(), ""));
    table.row(["time".to_owned(), format!("{time}, {rate} instances/s")]);
    let finish = if job.options.improve { ", then local search" } else { "" };
    let how = describe(job.options.decode, job.options.augment);
    format!(
        "{data}   {} instances   {how}{finish}\n{}{}\n",
        number::count(found.instances),
        table.render(2, 2),
        model_line(info)
    )
}

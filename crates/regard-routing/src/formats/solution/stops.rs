//! Solutions as tables of stops (CSV), with the order, the length up to each stop and the load and length of each route.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use super::SolutionFormat;
use crate::formats::shown;
use crate::instance::Instance;
use crate::itinerary::Itinerary;
use crate::table::Cells;
use crate::table::write::{Cell, TableSource, csv};
use crate::{Error, Metric, Result};

/// The CSV text of a solution, a row for each stop. A route begins and ends at its depot or its first stop.
pub(super) fn render(instance: &Instance, solution: &[usize]) -> String {
    csv(&Stops { instance, itinerary: Itinerary::of(instance, solution) })
}

struct Stops<'a> {
    instance: &'a Instance,
    itinerary: Itinerary,
}

impl Stops<'_> {
    fn axes(&self) -> &'static [&'static str] {
        let sites = self.instance.sites();
        match sites.metric() {
            _ if sites.degrees(0).is_some() => &["lat", "lon"],
            Metric::Explicit(_) => &[],
            metric if metric.dimensions() == 3 => &["x", "y", "z"],
            _ => &["x", "y"],
        }
    }
}

impl TableSource for Stops<'_> {
    fn columns(&self) -> Vec<String> {
        let mut columns = vec!["route", "order", "id"];
        columns.extend(self.instance.sites().has_labels().then_some("name"));
        columns.extend(self.axes());
        let amount = self.instance.amounts().map(|(name, _)| name);
        columns.extend(amount);
        columns.push("arrival");
        columns.extend(self.instance.times().map(|_| "waiting"));
        columns.extend(amount.map(|_| "load"));
        columns.push("length");
        columns.into_iter().map(str::to_owned).collect()
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        let sites = self.instance.sites();
        let times = self.instance.times();
        for (number, route) in self.itinerary.routes.iter().enumerate() {
            for (order, stop) in route.stops.iter().enumerate() {
                let mut cells = vec![Cell::Whole(number + 1), Cell::Whole(order), Cell::Text(&sites.ids()[stop.node])];
                if sites.has_labels() {
                    cells.push(Cell::Text(sites.label(stop.node).unwrap_or("")));
                }
                let degrees = sites.degrees(stop.node);
                let point = degrees.as_ref().map(|degrees| &degrees[..]);
                let point = point.or_else(|| Some(&sites.coordinates().get(stop.node)?[..]));
                cells.extend((0..self.axes().len()).filter_map(|axis| Some(Cell::Number(point?[axis]))));
                cells.extend(stop.amount.map(|amount| Cell::Number(rounded(amount))));
                let of_day = times.and_then(|times| times.of_day(stop.arrival));
                cells.push(of_day.as_deref().map_or(Cell::Number(rounded(stop.arrival)), Cell::Text));
                cells.extend(stop.waiting.map(|waiting| Cell::Number(rounded(waiting))));
                cells.extend(route.load.map(|load| Cell::Number(rounded(load))));
                cells.push(Cell::Number(rounded(route.length)));
                visit(&cells)?;
            }
        }
        Ok(())
    }
}

/// A sum without the digits that rounding added to it.
pub(crate) fn rounded(value: f64) -> f64 {
    let scale = 1e6;
    let whole = (value * scale).round();
    if whole.abs() < 1e15 { whole / scale } else { value }
}

/// Reads the table of stops: `route`, `order` and `id`; other columns are for people.
pub(super) fn parse(text: &str, path: &Path, instance: &Instance) -> Result<Vec<usize>> {
    let cells = Cells::of(text, path)?;
    let lower: Vec<String> = cells.header.iter().map(|name| name.to_lowercase()).collect();
    let column = |name: &str| {
        lower.iter().position(|known| known == name).ok_or_else(|| {
            let error = Error::parse(path, cells.top, format!("has no column `{name}`"));
            error.with_hint(
                "a table of stops has the columns `route`, `order` and `id`, as `regard solve --out` writes it",
            )
        })
    };
    let (route, order, id) = (column("route")?, column("order")?, column("id")?);
    let ids = instance.sites().ids();
    let nodes: HashMap<&str, usize> = ids.iter().enumerate().map(|(node, id)| (id.as_str(), node)).collect();
    let mut routes: BTreeMap<u64, Vec<(u64, usize, usize)>> = BTreeMap::new();
    for (line, fields) in &cells.rows {
        let field = |at: usize| fields.get(at).map_or("", String::as_str);
        let number = |at: usize| {
            let reason = || format!("found `{}`, expected a whole number", shown(field(at)));
            field(at).parse::<u64>().map_err(|_| Error::parse(path, *line, reason()).in_field(&*cells.header[at]))
        };
        let Some(&node) = nodes.get(field(id)) else {
            let reason = format!("node `{}` is not in the instance", shown(field(id)));
            return Err(Error::parse(path, *line, reason).in_field("id"));
        };
        let stops = routes.entry(number(route)?).or_default();
        stops.push((number(order)?, stops.len(), node));
    }
    let has_depot = instance.solution_format() != SolutionFormat::Tour;
    let mut solution: Vec<usize> = Vec::new();
    for stops in routes.values_mut() {
        stops.sort_unstable();
        let mut walk: Vec<usize> = stops.iter().map(|(.., node)| *node).collect();
        if has_depot {
            walk.retain(|node| *node != 0);
            if !solution.is_empty() {
                solution.push(0);
            }
        } else if walk.len() > 1 && walk.first() == walk.last() {
            walk.pop();
        }
        solution.extend(walk);
    }
    Ok(solution)
}

//! Results of `regard data`: generated, checked, verified and summarised instances.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use regard::routing::formats::solution::SolutionFormat;
use regard::routing::{Instance, Sites, registry};
use serde::Serialize;

use super::{Align, Table, number};

/// Largest number of nodes for which all distances are computed.
const MOST_FOR_DISTANCES: usize = 3000;

/// The result of `regard data generate`.
#[derive(Debug, Serialize)]
pub(crate) struct GenerateReport {
    out: String,
    instances: usize,
    n: usize,
    seed: Option<u64>,
}

impl GenerateReport {
    pub(crate) fn new(out: &Path, instances: usize, n: usize, seed: Option<u64>) -> Self {
        Self { out: out.display().to_string(), instances, n, seed }
    }

    pub(crate) fn plain(&self) -> String {
        let Self { out, instances, n, .. } = self;
        let seed = self.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
        let plural = if *instances == 1 { "instance" } else { "instances" };
        format!("wrote {out}: {} {plural} of {} nodes{seed}", number::count(*instances), number::count(*n))
    }
}

/// Number of nodes at the position of an earlier one.
fn duplicates(instance: &Sites) -> usize {
    let mut seen = HashSet::with_capacity(instance.len());
    // Adding 0 makes 0 of -0.
    let bits = |point: &[f64; 3]| point.map(|value| (value + 0.0).to_bits());
    instance.coordinates().iter().filter(|point| !seen.insert(bits(point))).count()
}

/// The result of `regard data show`.
#[derive(Debug, Serialize)]
pub(crate) struct InstanceSummary<'a> {
    name: &'a str,
    file: String,
    comment: &'a str,
    n: usize,
    problem: &'static str,
    /// Values of the problem besides the nodes, by name.
    facts: BTreeMap<&'static str, f64>,
    metric: &'static str,
    unit: &'static str,
    best_known: Option<f64>,
    /// Smallest and largest first and second coordinate, as in the file.
    extent: Option<[[f64; 2]; 2]>,
    duplicates: usize,
    /// Shortest, mean and longest distance between two nodes; `None` for large instances.
    distances: Option<Distances>,
    /// Cost of visiting the nodes in the order of the file.
    file_order_cost: f64,
}

/// Distances between all pairs of nodes.
#[derive(Debug, Serialize)]
struct Distances {
    shortest: f64,
    mean: f64,
    longest: f64,
}

impl<'a> InstanceSummary<'a> {
    pub(crate) fn new(file: &Path, described: &'a Instance) -> Self {
        let instance = described.sites();
        let order: Vec<usize> = (0..instance.len()).collect();
        Self {
            problem: described.problem(),
            facts: described.facts().into_iter().collect(),
            name: instance.name(),
            file: file.display().to_string(),
            comment: instance.comment(),
            n: instance.len(),
            metric: instance.metric_name(),
            unit: instance.unit(),
            best_known: instance.best_known(),
            extent: extent(instance),
            duplicates: duplicates(instance),
            distances: distances(instance),
            file_order_cost: instance.tour_length(&order),
        }
    }
}

fn extent(instance: &Sites) -> Option<[[f64; 2]; 2]> {
    let points = instance.coordinates();
    let first = points.first()?;
    let mut extent = [[first[0], first[0]], [first[1], first[1]]];
    for point in points {
        for (axis, [low, high]) in extent.iter_mut().enumerate() {
            *low = low.min(point[axis]);
            *high = high.max(point[axis]);
        }
    }
    Some(extent)
}

fn distances(instance: &Sites) -> Option<Distances> {
    let n = instance.len();
    if !(2..=MOST_FOR_DISTANCES).contains(&n) {
        return None;
    }
    let (mut shortest, mut longest, mut sum) = (f64::INFINITY, 0.0_f64, 0.0);
    for i in 0..n {
        for j in 0..i {
            let distance = instance.distance(i, j);
            shortest = shortest.min(distance);
            longest = longest.max(distance);
            sum += distance;
        }
    }
    Some(Distances { shortest, mean: sum / (n * (n - 1) / 2) as f64, longest })
}

/// The description of an instance as text.
pub(crate) fn show(shown: &InstanceSummary<'_>) -> String {
    let quantity = |value: f64| number::quantity(value, shown.unit);
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut line = |key: &str, value: String| table.row([key.to_owned(), value]);
    if !shown.comment.is_empty() {
        line("comment", shown.comment.to_owned());
    }
    if shown.problem != registry::DEFAULT {
        line("problem", shown.problem.to_owned());
    }
    line("nodes", number::count(shown.n));
    for (name, value) in &shown.facts {
        line(name, number::quantity(*value, ""));
    }
    line("metric", [shown.metric, shown.unit].join(" ").trim_end().to_owned());
    if let Some([[left, right], [low, high]]) = shown.extent {
        line("extent", format!("{left} to {right}, {low} to {high}"));
    }
    if shown.duplicates > 0 {
        line("duplicates", format!("{} at the position of another node", number::count(shown.duplicates)));
    }
    if let Some(Distances { shortest, mean, longest }) = &shown.distances {
        let [shortest, mean, longest] = [*shortest, *mean, *longest].map(quantity);
        line("distances", format!("{shortest} to {longest}, mean {mean}"));
    }
    line("cost in file order", quantity(shown.file_order_cost));
    line("best known", shown.best_known.map_or("unknown".to_owned(), quantity));
    format!("{}   {}\n{}", shown.name, shown.file, table.render(2, 2))
}

/// Result of checking a solution.
#[derive(Debug)]
pub(crate) enum SolutionCheck {
    /// It is feasible.
    Feasible {
        /// Its cost, or prize.
        value: f64,
        /// The cost that its file states.
        stated: Option<f64>,
        /// Number of routes.
        routes: usize,
    },
    /// The constraint that it violates.
    Violates(String),
}

/// The result of `regard data check` for one file.
#[derive(Debug, Serialize)]
pub(crate) struct CheckReport {
    file: String,
    problem: &'static str,
    n: usize,
    metric: &'static str,
    unit: &'static str,
    ok: bool,
    /// Cost (or prize) of the solution, when one was given and is right.
    cost: Option<f64>,
    best_known: Option<f64>,
    gap: Option<f64>,
    /// The constraint that the solution violates.
    violated: Option<String>,
    /// Nodes at the position of another one.
    duplicates: usize,
    #[serde(skip)]
    format: SolutionFormat,
}

impl CheckReport {
    pub(crate) fn new(file: &Path, instance: &Instance, found: Option<SolutionCheck>) -> Self {
        let sites = instance.sites();
        let (cost, violated) = match found {
            Some(SolutionCheck::Feasible { value, .. }) => (Some(value), None),
            Some(SolutionCheck::Violates(rule)) => (None, Some(rule)),
            None => (None, None),
        };
        Self {
            file: file.display().to_string(),
            problem: instance.problem(),
            n: sites.len(),
            metric: sites.metric_name(),
            unit: sites.unit(),
            ok: violated.is_none(),
            cost,
            best_known: instance.best_known(),
            gap: cost.and_then(|cost| instance.gap(cost)),
            violated,
            duplicates: duplicates(sites),
            format: instance.solution_format(),
        }
    }

    /// If true, no constraint is violated.
    pub(crate) fn ok(&self) -> bool {
        self.ok
    }

    pub(crate) fn plain(&self) -> String {
        let Self { file, metric, .. } = self;
        let mut text = format!("{file}   {}   {metric}", number::of(self.n, "node"));
        if self.problem != registry::DEFAULT {
            text += &format!("   {}", self.problem);
        }
        if self.duplicates > 0 {
            text += &format!("   {} at the position of another node", number::count(self.duplicates));
        }
        let what = if self.format == SolutionFormat::Tour { "tour" } else { "solution" };
        match (&self.violated, self.cost) {
            (Some(violated), _) => text += &format!("   not a valid {what}: {violated}"),
            (None, Some(cost)) => text += &format!("   {what} {}, ok", number::quantity(cost, self.unit)),
            (None, None) => text += "   ok",
        }
        if let Some(gap) = self.gap {
            text += &format!(", gap {}", number::gap(gap));
        }
        text
    }
}

/// The result of `regard data verify`.
#[derive(Debug, Serialize)]
pub(crate) struct VerifyReport {
    instance: String,
    solution: String,
    problem: &'static str,
    ok: bool,
    /// Cost in the file's own metric, or the prize.
    cost: Option<f64>,
    /// The cost that the solution file states.
    stated_cost: Option<f64>,
    routes: Option<usize>,
    best_known: Option<f64>,
    gap: Option<f64>,
    /// The constraint that is violated.
    violated: Option<String>,
    #[serde(skip)]
    unit: &'static str,
    #[serde(skip)]
    format: SolutionFormat,
}

impl VerifyReport {
    pub(crate) fn new(file: &Path, solution: &Path, instance: &Instance, found: SolutionCheck) -> Self {
        let (cost, stated_cost, routes, violated) = match found {
            SolutionCheck::Feasible { value, stated, routes } => (Some(value), stated, Some(routes), None),
            SolutionCheck::Violates(rule) => (None, None, None, Some(rule)),
        };
        Self {
            instance: file.display().to_string(),
            solution: solution.display().to_string(),
            problem: instance.problem(),
            ok: violated.is_none(),
            cost,
            stated_cost,
            routes,
            best_known: instance.best_known(),
            gap: cost.and_then(|cost| instance.gap(cost)),
            violated,
            unit: if instance.maximises() { "" } else { instance.sites().unit() },
            format: instance.solution_format(),
        }
    }

    /// If true, no constraint is violated.
    pub(crate) fn ok(&self) -> bool {
        self.ok
    }

    pub(crate) fn plain(&self) -> String {
        let Some(cost) = self.cost else {
            return format!("{}   violated: {}", self.solution, self.violated.as_deref().unwrap_or_default());
        };
        let mut text = format!("{}   {} {}", self.solution, self.problem, number::quantity(cost, self.unit));
        if let Some(routes) = self.routes.filter(|_| self.format == SolutionFormat::Routes) {
            text += &format!(" in {}", number::of(routes, "route"));
        }
        text += ", feasible";
        if let Some(stated) = self.stated_cost.filter(|stated| (stated - cost).abs() > 1e-6 * cost.abs()) {
            text += &format!("; the file states {}", number::quantity(stated, self.unit));
        }
        if let Some((best, gap)) = self.best_known.zip(self.gap) {
            text += &format!("; best known {}, gap {}", number::quantity(best, self.unit), number::gap(gap));
        }
        text
    }
}

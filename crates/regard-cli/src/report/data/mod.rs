//! Instances: what was generated, checked or asked about.

mod checked;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use regard::routing::{Instance, Sites, registry};
use serde::Serialize;

pub(crate) use self::checked::{Checked, CheckedSolution, Verified};
use super::{Align, Table, number};

/// Largest instance of which every distance is looked at.
const MOST_FOR_DISTANCES: usize = 3000;

/// The result of `regard data generate`.
#[derive(Debug, Serialize)]
pub(crate) struct Generated {
    out: String,
    instances: usize,
    n: usize,
    seed: Option<u64>,
}

impl Generated {
    pub(crate) fn new(out: &Path, instances: usize, n: usize, seed: Option<u64>) -> Self {
        Self { out: out.display().to_string(), instances, n, seed }
    }

    pub(crate) fn plain(&self) -> String {
        let Self { out, instances, n, .. } = self;
        let seed = self.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
        let plural = if *instances == 1 { "instance" } else { "instances" };
        format!("written {out}: {} {plural} of {} places{seed}", number::count(*instances), number::count(*n))
    }
}

/// Number of places that lie where an earlier one lies.
fn duplicates(instance: &Sites) -> usize {
    let mut seen = HashSet::with_capacity(instance.len());
    // Adding 0 makes 0 of -0.
    let bits = |point: &[f64; 3]| point.map(|value| (value + 0.0).to_bits());
    instance.coordinates().iter().filter(|point| !seen.insert(bits(point))).count()
}

/// The result of `regard data show`.
#[derive(Debug, Serialize)]
pub(crate) struct Shown<'a> {
    name: &'a str,
    file: String,
    comment: &'a str,
    n: usize,
    problem: &'static str,
    /// What the problem adds to the places, by name.
    facts: BTreeMap<&'static str, f64>,
    metric: &'static str,
    unit: &'static str,
    best_known: Option<f64>,
    /// Smallest and largest first and second coordinate, as in the file.
    extent: Option<[[f64; 2]; 2]>,
    duplicates: usize,
    /// Shortest, mean and longest distance between two places; absent for large instances.
    distances: Option<Distances>,
    /// Cost of visiting the places in the order of the file.
    file_order_cost: f64,
}

/// Distances between all pairs of places.
#[derive(Debug, Serialize)]
struct Distances {
    shortest: f64,
    mean: f64,
    longest: f64,
}

impl<'a> Shown<'a> {
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
pub(crate) fn show(shown: &Shown<'_>) -> String {
    let quantity = |value: f64| number::quantity(value, shown.unit);
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut line = |key: &str, value: String| table.row([key.to_owned(), value]);
    if !shown.comment.is_empty() {
        line("comment", shown.comment.to_owned());
    }
    if shown.problem != registry::DEFAULT {
        line("problem", shown.problem.to_owned());
    }
    line("places", number::count(shown.n));
    for (name, value) in &shown.facts {
        line(name, number::quantity(*value, ""));
    }
    line("metric", [shown.metric, shown.unit].join(" ").trim_end().to_owned());
    if let Some([[left, right], [low, high]]) = shown.extent {
        line("extent", format!("{left} to {right}, {low} to {high}"));
    }
    if shown.duplicates > 0 {
        line("duplicates", format!("{} in the place of another", number::count(shown.duplicates)));
    }
    if let Some(Distances { shortest, mean, longest }) = &shown.distances {
        let [shortest, mean, longest] = [*shortest, *mean, *longest].map(quantity);
        line("distances", format!("{shortest} to {longest}, mean {mean}"));
    }
    line("file order", quantity(shown.file_order_cost));
    line("best known", shown.best_known.map_or("unknown".to_owned(), quantity));
    format!("{}   {}\n{}", shown.name, shown.file, table.render(2, 2))
}

//! The learning curves of a training run, as SVG or PNG: one panel above the other over the
//! instances seen.

pub(super) mod axis;
mod line;
mod metrics;
mod panel;

use std::path::Path;

use kuva::render::{
    color::Color,
    render::{Scene, TextAnchor},
};
use serde::Serialize;

use self::axis::Axis;
use self::line::Point;
pub(crate) use self::metrics::Metrics;
use self::metrics::{Step, Valid};
use self::panel::{FAINT, GREEN, Look, Panel, Series, Value};
use super::number;
use super::picture::{self, INK, LINE, QUIET, START};

const WIDTH: f64 = 960.0;
/// Room left of the panels, for the numbers of their axes.
const LEFT: f64 = 78.0;
/// Room right of the panels.
const RIGHT: f64 = 30.0;
/// Height of the title.
const HEADING: f64 = 78.0;
/// Height of the line above each panel that says what is in it.
const CAPTION: f64 = 42.0;
/// Room below the panels, for the common axis.
const FOOT: f64 = 58.0;

/// The result of `regard plot`.
#[derive(Debug, Serialize)]
pub(crate) struct Drawn {
    written: String,
    /// The last step that is known.
    steps: u64,
    last_valid_cost: Option<f64>,
}

impl Drawn {
    /// What was drawn, and where it was written.
    pub(crate) fn new(path: &Path, metrics: &Metrics) -> Self {
        Self {
            written: path.display().to_string(),
            steps: metrics.last_step(),
            last_valid_cost: metrics.valid_costs().next_back(),
        }
    }

    /// The result as one line of text.
    pub(crate) fn plain(&self) -> String {
        let plural = if self.steps == 1 { "step" } else { "steps" };
        let mut text = format!("written {}: {} {plural}", self.written, number::count(self.steps as usize));
        if let Some(cost) = self.last_valid_cost {
            text += &format!(", last validation {}", number::quantity(cost, ""));
        }
        text
    }
}

/// Draws the learning curves; the ending of `path`, `.svg` or `.png`, says how.
pub(crate) fn draw(path: &Path, title: &str, metrics: &Metrics) -> anyhow::Result<()> {
    picture::write(path, || scene(title, metrics))
}

fn scene(title: &str, metrics: &Metrics) -> Scene {
    let panels = panels(metrics);
    let heights: f64 = panels.iter().map(|panel| CAPTION + panel.height).sum();
    let mut scene = picture::sheet(WIDTH, HEADING + heights + FOOT);
    let name = picture::shortened(title, ((WIDTH - LEFT) / 13.0) as usize);
    picture::add_text(&mut scene, (28.0, 40.0), &name, 22, TextAnchor::Start, true, INK);
    picture::add_text(&mut scene, (28.0, 64.0), &facts(metrics), 14, TextAnchor::Start, false, QUIET);

    let (first, last) = metrics.instances();
    // A run that went on from another one has its curves where they belong, without a void.
    let low = if first < last && first as f64 > 0.3 * last as f64 { first } else { 0 };
    let high = last.max(1);
    let x = Axis { low: low as f64, high: high as f64, from: LEFT, to: WIDTH - RIGHT };
    let (unit, label) = match last {
        2_000_000.. => (1e6, "instances seen, millions"),
        2_000.. => (1e3, "instances seen, thousands"),
        _ => (1.0, "instances seen"),
    };
    let ticks = x.ticks(8, unit);
    let mut top = HEADING;
    for panel in &panels {
        panel.draw(&mut scene, &x, &ticks, top + CAPTION);
        top += CAPTION + panel.height;
    }
    for (value, name) in &ticks {
        picture::add_text(&mut scene, (x.place(*value), top + 20.0), name, 12, TextAnchor::Middle, false, QUIET);
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    picture::add_text(&mut scene, (middle, top + 42.0), label, 13, TextAnchor::Middle, false, INK);
    scene
}

/// The line below the title.
fn facts(metrics: &Metrics) -> String {
    let counted = |count: u64, one: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {one}{plural}", number::count(count as usize))
    };
    let mut facts = vec![counted(metrics.last_step(), "step"), counted(metrics.instances().1, "instance")];
    if let Some(last) = metrics.valid_costs().next_back() {
        facts.push(format!("last validation {}", number::quantity(last, "")));
        let best = metrics.valid_costs().fold(f64::INFINITY, f64::min);
        if best < last {
            facts.push(format!("best {}", number::quantity(best, "")));
        }
    }
    facts.join("  ·  ")
}

/// The panels that have something to show.
fn panels(metrics: &Metrics) -> Vec<Panel> {
    let gradient = points(&metrics.steps, |step| step.grad_norm);
    let rate = points(&metrics.steps, |step| step.learning_rate);
    let mut panels = vec![cost(metrics)];
    if !gradient.is_empty() {
        let range = axis::range(values(&gradient), Some(0.0), 0.99);
        panels.push(Panel { name: "gradient norm", height: 120.0, ticks: 3, range, series: noisy(gradient, LINE, "") });
    }
    if !rate.is_empty() {
        let range = axis::range(values(&rate), Some(0.0), 1.0);
        let series = vec![Series::line(rate, LINE, 1.6, "")];
        panels.push(Panel { name: "learning rate", height: 70.0, ticks: 2, range, series });
    }
    panels
}

fn cost(metrics: &Metrics) -> Panel {
    let training = points(&metrics.steps, |step| step.cost);
    // The mean over an instance's own tours is the training cost itself: one line for both.
    let apart =
        |step: &Step| matches!((step.cost, step.baseline), (Some(a), Some(b)) if (a - b).abs() > 1e-9 * a.abs());
    let baseline = match metrics.steps.iter().any(apart) {
        true => points(&metrics.steps, |step| step.baseline),
        false => Vec::new(),
    };
    let valids = |wanted: Option<bool>| {
        metrics.valids.iter().filter(move |valid| wanted.is_none_or(|wanted| valid.baseline_updated == Some(wanted)))
    };
    let place = |valid: &Valid| valid.cost.map(|cost| (valid.instances as f64, cost));
    let validation: Vec<Point> = valids(None).filter_map(place).collect();
    let kept: Vec<Point> = valids(Some(false)).filter_map(place).collect();
    let others: Vec<Point> =
        valids(None).filter(|valid| valid.baseline_updated != Some(false)).filter_map(place).collect();

    let every = values(&training).chain(values(&baseline)).chain(values(&validation));
    let range = axis::range(every, None, 0.95);
    let mut series = noisy(training, LINE, "training");
    series.push(Series::line(line::smooth(&baseline), GREEN, 1.4, "baseline"));
    series.push(Series::line(validation, START, 1.2, ""));
    let updates = valids(Some(true)).next().is_some();
    let name = if updates { "validation, new baseline" } else { "validation" };
    series.push(Series { points: others, colour: START, look: Look::Dots, name });
    series.push(Series { points: kept, colour: START, look: Look::Rings, name: "validation" });
    series.retain(|series| !series.points.is_empty());
    Panel { name: "cost", height: 300.0, ticks: 5, range, series }
}

/// A faint line through the values and a clear one through their running mean.
fn noisy(points: Vec<Point>, colour: Color, name: &'static str) -> Vec<Series> {
    let mean = Series::line(line::smooth(&points), colour, 1.8, name);
    vec![Series::line(points, FAINT, 0.8, ""), mean]
}

fn points(steps: &[Step], value: Value) -> Vec<Point> {
    steps.iter().filter_map(|step| Some((step.instances as f64, value(step)?))).collect()
}

fn values(points: &[Point]) -> impl Iterator<Item = f64> {
    points.iter().map(|point| point.1)
}

#[cfg(test)]
mod tests;

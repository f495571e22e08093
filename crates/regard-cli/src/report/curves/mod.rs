//! The learning curves of a training run, as SVG or PNG: one panel above the other over the
//! instances seen.

mod metrics;

use std::path::Path;

use kuva::render::{
    color::Color,
    render::{Primitive, Scene, TextAnchor},
};
use serde::Serialize;

pub(crate) use self::metrics::Metrics;
use self::metrics::{Step, Valid};
use super::number;
use super::picture::{self, INK, LINE, Point, QUIET, START, WHITE};

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
pub(crate) struct PlotReport {
    written: String,
    /// The last step of the metrics.
    steps: u64,
    last_valid_cost: Option<f64>,
}

impl PlotReport {
    /// The picture at `path`, and the metrics in it.
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
        let mut text = format!("wrote {}: {} {plural}", self.written, number::count(self.steps as usize));
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
        2_000_000.. => (1e6, "training instances, millions"),
        2_000.. => (1e3, "training instances, thousands"),
        _ => (1.0, "training instances"),
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
        let range = range(values(&gradient), Some(0.0), 0.99);
        panels.push(Panel { name: "gradient norm", height: 120.0, ticks: 3, range, series: noisy(gradient, LINE, "") });
    }
    if !rate.is_empty() {
        let range = range(values(&rate), Some(0.0), 1.0);
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
    let range = range(every, None, 0.95);
    let mut series = noisy(training, LINE, "training");
    series.push(Series::line(smooth(&baseline), GREEN, 1.4, "baseline"));
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
    let mean = Series::line(smooth(&points), colour, 1.8, name);
    vec![Series::line(points, FAINT, 0.8, ""), mean]
}

fn points(steps: &[Step], value: Value) -> Vec<Point> {
    steps.iter().filter_map(|step| Some((step.instances as f64, value(step)?))).collect()
}

fn values(points: &[Point]) -> impl Iterator<Item = f64> {
    points.iter().map(|point| point.1)
}

/// Single values behind their running mean.
const FAINT: Color = Color::Rgb(0xae, 0xc9, 0xd7);
/// The baseline.
const GREEN: Color = Color::Rgb(0x5c, 0x93, 0x4f);
const GRID: Color = Color::Rgb(0xe6, 0xe3, 0xda);
const EDGE: Color = Color::Rgb(0xa9, 0xae, 0xb3);

/// Size of the letters that explain a line.
const SMALL: u32 = 12;
/// A letter is about this wide, in letter heights.
const LETTER: f64 = 0.56;

/// Room between two explanations.
const GAP: f64 = 20.0;

/// A number of a step.
type Value = fn(&Step) -> Option<f64>;

/// Curves over the same values.
struct Panel {
    name: &'static str,
    height: f64,
    /// About so many numbers on the axis.
    ticks: usize,
    /// Ends of the axis, and the largest value where that lies above.
    range: (f64, f64, Option<f64>),
    series: Vec<Series>,
}

/// Values and how they are shown.
struct Series {
    points: Vec<Point>,
    colour: Color,
    look: Look,
    /// Empty where the caption is silent about it.
    name: &'static str,
}

/// Look of values.
#[derive(Clone, Copy)]
enum Look {
    /// A line of this width.
    Line(f64),
    Dots,
    Rings,
}

impl Series {
    fn line(points: Vec<Point>, colour: Color, width: f64, name: &'static str) -> Self {
        Self { points, colour, look: Look::Line(width), name }
    }
}

impl Panel {
    /// Draws the panel; its upper edge lies at `top`.
    fn draw(&self, scene: &mut Scene, x: &Axis, ticks: &[(f64, String)], top: f64) {
        let y = Axis { low: self.range.0, high: self.range.1, from: top + self.height, to: top };
        for (value, _) in ticks {
            let at = x.place(*value);
            add_line(scene, (at, y.from), (at, y.to), GRID, 1.0);
        }
        for (value, name) in y.ticks(self.ticks, 1.0) {
            let at = y.place(value);
            add_line(scene, (x.from, at), (x.to, at), GRID, 1.0);
            picture::add_text(scene, (x.from - 9.0, at + 4.0), &name, SMALL, TextAnchor::End, false, QUIET);
        }
        for series in &self.series {
            series.draw(scene, x, &y);
        }
        add_line(scene, (x.from, y.from), (x.to, y.from), EDGE, 1.0);
        self.add_caption(scene, x, top - 12.0);
    }

    /// The name on the left, what the lines are on the right.
    fn add_caption(&self, scene: &mut Scene, x: &Axis, base: f64) {
        picture::add_text(scene, (x.from, base), self.name, 14, TextAnchor::Start, true, INK);
        if let Some(highest) = self.range.2 {
            let note = format!("up to {}, not shown", number::quantity(highest, ""));
            let after = x.from + self.name.chars().count() as f64 * LETTER * 14.0 + 16.0;
            picture::add_text(scene, (after, base), &note, SMALL, TextAnchor::Start, false, QUIET);
        }
        let mut right = x.to;
        for series in self.series.iter().rev().filter(|series| !series.name.is_empty()) {
            let left = right - series.name.chars().count() as f64 * LETTER * f64::from(SMALL);
            picture::add_text(scene, (left, base), series.name, SMALL, TextAnchor::Start, false, INK);
            let (mark, middle) = (left - 7.0, base - 4.0);
            right = match series.look {
                Look::Line(width) => {
                    add_line(scene, (mark - 20.0, middle), (mark, middle), series.colour.clone(), width.max(1.8));
                    mark - 20.0 - GAP
                }
                Look::Dots | Look::Rings => {
                    series.add_mark(scene, (mark - 4.0, middle), 4.0);
                    mark - 8.0 - GAP
                }
            };
        }
    }
}

impl Series {
    fn draw(&self, scene: &mut Scene, x: &Axis, y: &Axis) {
        let placed = |point: &Point| (x.place(point.0), y.place(point.1));
        match self.look {
            Look::Line(width) if self.points.len() > 1 => {
                let thinned = thin(self.points.clone());
                for part in cut(&thinned, y.low, y.high) {
                    let points = part.iter().map(placed).collect();
                    let stroke = self.colour.clone();
                    scene.add(Primitive::PolyLine { points, stroke, stroke_width: width, stroke_dasharray: None });
                }
            }
            Look::Line(width) => {
                // A single value has no line yet.
                for point in &self.points {
                    add_circle(scene, placed(point), 1.2 * width, self.colour.clone(), None);
                }
            }
            Look::Dots | Look::Rings => {
                let room = (x.to - x.from) / self.points.len().max(1) as f64;
                let radius = (0.4 * room).clamp(1.8, 4.0);
                for point in self.points.iter().filter(|point| y.holds(point.1)) {
                    self.add_mark(scene, placed(point), radius);
                }
            }
        }
    }

    fn add_mark(&self, scene: &mut Scene, at: Point, radius: f64) {
        match self.look {
            Look::Rings => add_circle(scene, at, radius - 0.6, WHITE, Some(self.colour.clone())),
            _ => add_circle(scene, at, radius, self.colour.clone(), None),
        }
    }
}

fn add_line(scene: &mut Scene, from: Point, to: Point, stroke: Color, stroke_width: f64) {
    let ((x1, y1), (x2, y2)) = (from, to);
    scene.add(Primitive::Line { x1, y1, x2, y2, stroke, stroke_width, stroke_dasharray: None });
}

fn add_circle(scene: &mut Scene, (cx, cy): Point, r: f64, fill: Color, stroke: Option<Color>) {
    let stroke_width = stroke.is_some().then_some(1.4);
    scene.add(Primitive::Circle { cx, cy, r, fill, fill_opacity: None, stroke, stroke_width });
}

/// A line has at most this many points; a picture is hardly wider.
const MOST_POINTS: usize = 800;

/// Number of neighbours on each side in the running mean of `len` values.
fn reach(len: usize) -> usize {
    (len / 50).clamp(1, 100)
}

/// The running mean. Near the start it takes fewer neighbours, on both sides alike, lest it flatten
/// the slope there; near the end it takes those that there are.
fn smooth(points: &[Point]) -> Vec<Point> {
    let reach = reach(points.len());
    let mut sums = Vec::with_capacity(points.len() + 1);
    sums.push(0.0);
    let mut sum = 0.0;
    for (_, value) in points {
        sum += value;
        sums.push(sum);
    }
    let mean = |i: usize| {
        let reach = reach.min(i);
        let (from, to) = (i - reach, (i + reach + 1).min(points.len()));
        (sums[to] - sums[from]) / (to - from) as f64
    };
    points.iter().enumerate().map(|(i, &(x, _))| (x, mean(i))).collect()
}

/// Fewer points that look the same: of each stretch its lowest and its highest.
fn thin(points: Vec<Point>) -> Vec<Point> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let stretch = (2 * points.len()).div_ceil(MOST_POINTS);
    let mut thinned = Vec::with_capacity(MOST_POINTS + 2);
    for part in points.chunks(stretch) {
        let by_value = |&(_, a): &(usize, Point), &(_, b): &(usize, Point)| a.1.total_cmp(&b.1);
        let indexed = || part.iter().copied().enumerate();
        if let (Some(low), Some(high)) = (indexed().min_by(by_value), indexed().max_by(by_value)) {
            let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
            thinned.push(first.1);
            if second.0 != first.0 {
                thinned.push(second.1);
            }
        }
    }
    thinned
}

/// The parts of a line with ordinates from `low` to `high`.
fn cut(line: &[Point], low: f64, high: f64) -> Vec<Vec<Point>> {
    let mut parts: Vec<Vec<Point>> = Vec::new();
    for leg in line.windows(2) {
        let Some((from, to)) = inside(leg[0], leg[1], low, high) else { continue };
        match parts.last_mut() {
            Some(part) if part.last() == Some(&from) => part.push(to),
            _ => parts.push(vec![from, to]),
        }
    }
    parts
}

fn inside(a: Point, b: Point, low: f64, high: f64) -> Option<(Point, Point)> {
    if a.1.max(b.1) < low || a.1.min(b.1) > high {
        return None;
    }
    let end = |from: Point, to: Point| {
        let value = from.1.clamp(low, high);
        if value == from.1 {
            return from;
        }
        (from.0 + (value - from.1) / (to.1 - from.1) * (to.0 - from.0), value)
    };
    Some((end(a, b), end(b, a)))
}

/// A range of values and the coordinates of its ends in the picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Coordinate of `low`.
    pub(super) from: f64,
    /// Coordinate of `high`.
    pub(super) to: f64,
}

impl Axis {
    /// Coordinate of a value.
    pub(super) fn place(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// If true, a value lies on the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// About `count` round values with their names; a value is named in multiples of `unit`.
    pub(super) fn ticks(&self, count: usize, unit: f64) -> Vec<(f64, String)> {
        let (low, high) = (self.low / unit, self.high / unit);
        let step = round_step((high - low) / count.max(1) as f64);
        if !(step.is_finite() && step > 0.0) {
            return Vec::new();
        }
        // A little more than the range, lest rounding loses an end.
        let first = (low / step - 1e-6).ceil() as i64;
        let last = (high / step + 1e-6).floor() as i64;
        (first..=last).map(|i| i as f64 * step).map(|value| (value * unit, name(value, step, high))).collect()
    }
}

/// 1, 2 or 5 times a power of ten, whichever is nearest by its ratio.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factor = match step / power {
        ..1.414 => 1.0,
        ..3.162 => 2.0,
        ..7.071 => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// A multiple of `step` on an axis up to `high`, with the digits that tell it from its neighbours.
fn name(value: f64, step: f64, high: f64) -> String {
    if value.abs() < 0.5 * step {
        return "0".to_owned();
    }
    if high.abs() < 0.01 || high.abs() >= 1e7 {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let decimals = (-step.log10() - 1e-6).ceil().max(0.0) as usize;
    if decimals == 0 { number::quantity(value.round(), "") } else { format!("{value:.decimals$}") }
}

/// A range for values of which few may lie far above the rest: these are left out when they would
/// press the others together. `share` of the values must stay inside.
///
/// Returns the ends, with room around them, and the largest value when it is left out.
pub(super) fn range(values: impl Iterator<Item = f64>, floor: Option<f64>, share: f64) -> (f64, f64, Option<f64>) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (Some(&lowest), Some(&highest)) = (values.first(), values.last()) else {
        return (0.0, 1.0, None);
    };
    let low = floor.unwrap_or(lowest);
    let usual = values[((values.len() - 1) as f64 * share) as usize];
    let far = highest - low > 2.5 * (usual - low) && usual > low;
    let high = if far { low + 1.25 * (usual - low) } else { highest };
    // Equal values still need a range.
    let room = if high > low { 0.06 * (high - low) } else { (0.1 * high.abs()).max(1e-6) };
    (floor.unwrap_or(low - room), high + room, far.then_some(highest))
}

#[cfg(test)]
mod tests {
    use kuva::backend::svg::SvgBackend;

    use super::*;

    /// The records of a run as a folder holds them.
    fn run(lines: &[String]) -> (tempfile::TempDir, Metrics) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("metrics.jsonl"), lines.join("\n")).unwrap();
        let metrics = Metrics::read(folder.path()).unwrap();
        (folder, metrics)
    }

    fn step(step: u64, cost: f64) -> String {
        let instances = 64 * step;
        let rest = r#""baseline":4.0,"grad_norm":0.6,"learning_rate":0.0001"#;
        format!(r#"{{"kind":"step","step":{step},"instances":{instances},"cost":{cost},{rest}}}"#)
    }

    fn valid(step: u64, cost: f64, updated: bool) -> String {
        let instances = 64 * step;
        let rest = format!(r#""cost":{cost},"baseline_updated":{updated}"#);
        format!(r#"{{"kind":"valid","step":{step},"instances":{instances},{rest}}}"#)
    }

    fn svg(title: &str, lines: &[String]) -> String {
        let (_folder, metrics) = run(lines);
        let svg = SvgBackend::new().render_scene(&scene(title, &metrics));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        svg
    }

    #[test]
    fn the_picture_says_what_it_shows() {
        let mut lines: Vec<String> = (1..=200).map(|i| step(10 * i, 4.0 + 1.0 / i as f64)).collect();
        lines.push(valid(2000, 3.871, true));
        let svg = svg("<a & b>", &lines);
        assert!(svg.contains("&lt;a &amp; b&gt;"), "{svg}");
        for text in ["2,000 steps", "128,000 instances", "last validation 3.871", "gradient norm", "learning rate"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(svg.contains("training instances, thousands") && svg.contains("validation, new baseline"), "{svg}");
    }

    #[test]
    fn a_run_that_has_hardly_begun_is_drawn() {
        for lines in [vec![step(1, 9.0)], vec![valid(0, 9.0, false)], vec![step(1, 9.0), step(2, 9.0)]] {
            assert!(svg("run", &lines).contains("cost"));
        }
        let failed = step(1, 9.0).replace("9", "null").replace("0.6", "null");
        assert!(!svg("run", &[failed]).contains("gradient norm"));
    }

    #[test]
    fn long_runs_stay_small_pictures() {
        let lines: Vec<String> = (1..=30_000).map(|i| step(i, 4.0 + (i % 13) as f64 / 10.0)).collect();
        assert!(svg("run", &lines).len() < 200_000);
    }

    #[test]
    fn the_result_names_the_last_validation() {
        let (folder, metrics) = run(&[step(50, 4.0), valid(50, 3.9, true), step(100, 3.8), valid(100, 3.85, false)]);
        let path = folder.path().join("curves.svg");
        draw(&path, "run", &metrics).unwrap();
        let report = PlotReport::new(&path, &metrics);
        assert!(report.plain().ends_with("curves.svg: 100 steps, last validation 3.8500"), "{}", report.plain());
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["steps"], &json["last_valid_cost"]), (&100.into(), &3.85.into()));
        assert!(path.is_file());
    }

    fn names(low: f64, high: f64, count: usize) -> Vec<String> {
        let axis = Axis { low, high, from: 0.0, to: 1.0 };
        axis.ticks(count, 1.0).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(names(3.81, 4.22, 4), ["3.9", "4.0", "4.1", "4.2"].map(str::to_owned));
        assert_eq!(names(0.0, 1.1e-4, 1), ["0", "1e-4"]);
        assert_eq!(names(0.0, 1.1e-4, 2), ["0", "5e-5", "1e-4"]);
        assert_eq!(names(0.0, 1.28e-2, 3), ["0", "0.005", "0.010"]);
        assert_eq!(names(0.0, 5000.0, 3), ["0", "2,000", "4,000"]);
        assert_eq!(names(-0.5, 0.5, 2), ["-0.5", "0", "0.5"]);
        assert!(names(1.0, 1.0, 3).is_empty());
    }

    #[test]
    fn units_divide_the_names_only() {
        let axis = Axis { low: 0.0, high: 2.5e6, from: 100.0, to: 200.0 };
        let ticks = axis.ticks(5, 1e6);
        assert_eq!(ticks[1], (5e5, "0.5".to_owned()));
        assert_eq!(axis.place(ticks[5].0), 200.0);
    }

    #[test]
    fn a_steep_start_does_not_press_the_rest_together() {
        let costs = || (0..1000).map(|i| 3.8 + 6.0 * (-f64::from(i) / 5.0).exp() + 0.1 * f64::from(i % 3));
        let (low, high, cut) = range(costs(), None, 0.97);
        assert!(low < 3.8 && low > 3.7 && high > 4.0 && high < 4.3 && cut.unwrap() > 9.0, "{low} {high} {cut:?}");
        let (_, high, cut) = range(costs().take(20), None, 0.97);
        assert!(high > 9.8 && cut.is_none());
        assert_eq!(range([].into_iter(), None, 0.9), (0.0, 1.0, None));
        let (low, high, _) = range([2.0].into_iter(), None, 0.9);
        assert!(low < 2.0 && high > 2.0);
    }

    fn numbered(values: impl IntoIterator<Item = f64>) -> Vec<Point> {
        values.into_iter().enumerate().map(|(i, value)| (i as f64, value)).collect()
    }

    #[test]
    fn smoothing_keeps_straight_lines_and_calms_noise() {
        let straight = numbered((0..500).map(|i| 3.0 - 0.01 * f64::from(i)));
        for (before, after) in straight.iter().zip(smooth(&straight)).take(490) {
            assert!((before.1 - after.1).abs() < 1e-9);
        }
        let noisy = numbered((0..500).map(|i| f64::from(i % 2)));
        assert!(smooth(&noisy)[20..480].iter().all(|point| (point.1 - 0.5).abs() < 0.1));
        assert!(smooth(&[]).is_empty());
    }

    #[test]
    fn thinning_keeps_the_extremes_and_the_order() {
        let many = numbered((0..10_000).map(|i| if i == 5000 { 9.0 } else { f64::from(i % 7) }));
        let thinned = thin(many);
        assert!(thinned.len() <= MOST_POINTS + 2);
        assert!(thinned.contains(&(5000.0, 9.0)));
        assert!(thinned.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(thin(numbered([1.0, 2.0])).len(), 2);
    }

    #[test]
    fn lines_end_at_the_edge() {
        let line = numbered([4.0, 0.0, 4.0, 1.0, 1.0]);
        let parts = cut(&line, 0.0, 2.0);
        assert_eq!(parts[0], [(0.5, 2.0), (1.0, 0.0), (1.5, 2.0)]);
        assert_eq!(parts[1].len(), 3);
        assert_eq!((parts[1][0].1, parts.len()), (2.0, 2));
        assert!(cut(&numbered([5.0, 5.0]), 0.0, 2.0).is_empty());
    }
}

//! Pictures of one step of a trace: heat maps with named rows and columns, bars, and drawings on the places of the input.

use std::path::Path;

use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};
use regard::explain::{Axis, Layout, Trace, TraceStep};

use super::picture::{
    GRID, INK, LINE, MARGIN, Point, QUIET, START, WHITE, add_circle, add_text, heading, heading_width, sheet,
    shortened, write,
};
use super::trace::{place, shape};
use crate::failure::Failure;

/// Matrices or drawings of one picture, at most.
const MOST_PANELS: usize = 24;
/// Rows or columns of a heat map, at most.
const MOST_CELLS: usize = 2000;
/// Bars of a picture, at most.
const MOST_BARS: usize = 100;
/// Space for the title of the picture, for the name of a panel, and for the colour bar.
const TOP: f64 = 90.0;
const CAPTION: f64 = 22.0;
const FOOT: f64 = 48.0;
/// Points that the name of a row or column may take.
const NAME: f64 = 96.0;
const BARRED: Color = Color::Rgb(214, 216, 219);

/// Draws the only step of a trace.
///
/// # Errors
/// A trace with more steps than one; a step too large to be drawn; a file that cannot be written.
pub(crate) fn draw(path: &Path, trace: &Trace) -> anyhow::Result<()> {
    let [step] = &trace.steps[..] else {
        let names: Vec<&str> = trace.steps.iter().take(3).map(|step| step.recorded.name.as_str()).collect();
        let found = format!("--plot draws one step, and {} are shown: {}, …", trace.steps.len(), names.join(", "));
        return Err(Failure::new(found).hint(format!("name one, such as --filter {}", names[names.len() - 1])).into());
    };
    if let Some(axis) = step.axes.iter().rev().take(2).find(|axis| axis.labels.len() > MOST_CELLS) {
        let (name, found) = (&axis.name, axis.labels.len());
        let what =
            format!("{}: {found} of `{name}` are too many to be drawn; at most {MOST_CELLS}", step.recorded.name);
        return Err(Failure::new(what).hint("--json has all numbers").into());
    }
    write(path, || scene(trace, step))
}

/// Width that a formula may ask for.
const MOST_WIDE: f64 = 1400.0;

fn scene(trace: &Trace, step: &TraceStep) -> Scene {
    let panels = panels(step, trace.layout.as_ref());
    let shown = panels.len().min(MOST_PANELS);
    let columns = (shown as f64).sqrt().ceil() as usize;
    let size = |axis: fn(&Panel<'_>) -> f64| panels[..shown].iter().map(axis).fold(0.0, f64::max);
    let (width, height) = (size(|panel| panel.size().0) + 24.0, size(|panel| panel.size().1) + CAPTION + 16.0);
    let lines = shown.div_ceil(columns);
    let mut facts = vec![step.recorded.operation.formula(), shape(step), step.recorded.source.to_owned()];
    if panels.len() > shown {
        facts.push(format!("the first {shown} of {}", panels.len()));
    }
    facts.retain(|fact| !fact.is_empty());
    let title = format!("{}, {}: {}", trace.model, trace.input, step.recorded.name);
    let facts = facts.join("  ·  ");
    // As wide as the formula needs, up to what a page holds.
    let wide = (heading_width(&title, &facts)).clamp(560.0, MOST_WIDE);
    let mut scene = sheet((columns as f64 * width + MARGIN).max(wide), TOP + lines as f64 * height + FOOT);
    heading(&mut scene, &title, &facts);
    let range = Range::of(&step.recorded.values);
    for (at, panel) in panels[..shown].iter().enumerate() {
        let (x, y) = (MARGIN / 2.0 + (at % columns) as f64 * width, TOP + (at / columns) as f64 * height);
        if !panel.caption.is_empty() {
            add_text(&mut scene, (x, y + 14.0), &panel.caption, 13, TextAnchor::Start, true, INK);
        }
        panel.draw(&mut scene, (x, y + CAPTION), &range);
    }
    let foot = scene.height - 30.0;
    range.bar(&mut scene, (MARGIN / 2.0, foot));
    scene
}

/// The range of the finite numbers of a step: from 0 in two directions where there are numbers of both signs.
struct Range {
    low: f32,
    high: f32,
    signed: bool,
}

impl Range {
    fn of(values: &[f32]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let (low, high) = (finite().fold(f32::MAX, f32::min), finite().fold(f32::MIN, f32::max));
        let (low, high) = if low > high { (0.0, 0.0) } else { (low, high) };
        match low < 0.0 && high > 0.0 {
            true => Self { low: -high.max(-low), high: high.max(-low), signed: true },
            false => Self { low, high, signed: false },
        }
    }

    fn colour(&self, value: f32) -> Color {
        const PALE: [f32; 3] = [246.0, 247.0, 248.0];
        const DARK: [f32; 3] = [18.0, 62.0, 92.0];
        const NEGATIVE: [f32; 3] = [176.0, 70.0, 40.0];
        if !value.is_finite() {
            return BARRED;
        }
        let (end, share) = match self.signed {
            true => (if value < 0.0 { NEGATIVE } else { DARK }, value.abs() / self.high),
            false if self.high > self.low => (DARK, (value - self.low) / (self.high - self.low)),
            false => (DARK, 0.5),
        };
        let [r, g, b] = [0, 1, 2].map(|at| (PALE[at] + (end[at] - PALE[at]) * share).round() as u8);
        Color::Rgb(r, g, b)
    }

    /// The colours with the numbers at their ends.
    fn bar(&self, scene: &mut Scene, (x, y): Point) {
        const CELLS: usize = 64;
        const WIDTH: f64 = 200.0;
        let each = WIDTH / CELLS as f64;
        let value = |at: usize| self.low + (self.high - self.low) * at as f32 / (CELLS - 1) as f32;
        let cells = 0..CELLS;
        scene.add(Primitive::RectBatch {
            x: cells.clone().map(|at| x + at as f64 * each).collect(),
            y: vec![y; CELLS],
            w: vec![each + 0.5; CELLS],
            h: vec![10.0; CELLS],
            fills: cells.map(|at| self.colour(value(at))).collect(),
        });
        add_text(scene, (x, y + 24.0), &number(self.low), 12, TextAnchor::Start, false, QUIET);
        add_text(scene, (x + WIDTH, y + 24.0), &number(self.high), 12, TextAnchor::End, false, QUIET);
    }
}

fn number(value: f32) -> String {
    let text = format!("{value:.4}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// One matrix, list or drawing.
struct Panel<'a> {
    caption: String,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Heat { values: &'a [f32], rows: &'a Axis, columns: &'a Axis },
    Bars { values: &'a [f32], axis: &'a Axis, notes: &'a [String] },
    Plane { layout: &'a Layout, nodes: Option<Vec<f32>>, edges: Option<Vec<f32>> },
}

fn panels<'a>(step: &'a TraceStep, layout: Option<&'a Layout>) -> Vec<Panel<'a>> {
    /// Columns that are drawn each on the places of the input.
    const MOST_DRAWINGS: usize = 16;
    let (values, axes) = (&step.recorded.values[..], &step.axes[..]);
    let panel = |caption: String, kind| Panel { caption, kind };
    let column = |at: usize, of: usize| values.iter().skip(at).step_by(of).copied().collect::<Vec<f32>>();
    let of_items = |layout: &Layout, axis: &Axis| axis.name == layout.axis && axis.labels.len() == layout.places.len();
    match (axes, layout) {
        ([one], Some(layout)) if of_items(layout, one) => {
            return vec![panel(String::new(), Kind::Plane { layout, nodes: Some(values.to_vec()), edges: None })];
        }
        ([items, columns], Some(layout))
            if columns.labels.len() <= MOST_DRAWINGS && columns.name != layout.axis && of_items(layout, items) =>
        {
            let drawn = columns.labels.iter().enumerate().map(|(at, label)| {
                let nodes = Some(column(at, columns.labels.len()));
                panel(format!("{} {label}", columns.name), Kind::Plane { layout, nodes, edges: None })
            });
            return drawn.collect();
        }
        ([edges, columns], Some(layout))
            if edges.name == "edge"
                && edges.labels.len() == layout.edges.len()
                && columns.labels.len() <= MOST_DRAWINGS =>
        {
            let drawn = columns.labels.iter().enumerate().map(|(at, label)| {
                let edges = Some(column(at, columns.labels.len()));
                panel(format!("{} {label}", columns.name), Kind::Plane { layout, nodes: None, edges })
            });
            return drawn.collect();
        }
        _ => {}
    }
    match axes {
        [] => vec![],
        [axis] => vec![panel(String::new(), Kind::Bars { values, axis, notes: &step.recorded.notes })],
        [before @ .., rows, columns] => {
            let size = (rows.labels.len() * columns.labels.len()).max(1);
            let heat = |(at, values)| {
                let caption = if before.is_empty() { String::new() } else { place(before, at) };
                panel(caption, Kind::Heat { values, rows, columns })
            };
            values.chunks(size).enumerate().map(heat).collect()
        }
    }
}

/// Points that names of an axis take.
fn room(axis: &Axis, size: f64) -> f64 {
    let longest = axis.labels.iter().map(|label| label.chars().count().min(16)).max().unwrap_or(0);
    (8.0 + size * longest as f64).min(NAME)
}

impl Panel<'_> {
    /// Width and height, without the caption.
    fn size(&self) -> Point {
        match &self.kind {
            Kind::Heat { rows, columns, .. } => {
                let cell = cell(rows, columns);
                let (left, top) = (room(rows, 6.6), 16.0 + room(columns, 5.6));
                (left + (cell * columns.labels.len() as f64).max(120.0), top + cell * rows.labels.len() as f64)
            }
            Kind::Bars { values, .. } => (620.0, 20.0 * values.len().min(MOST_BARS) as f64 + 24.0),
            Kind::Plane { layout, .. } => {
                let plane = Plane::of(layout);
                (plane.width, plane.height)
            }
        }
    }

    fn draw(&self, scene: &mut Scene, corner: Point, range: &Range) {
        match &self.kind {
            Kind::Heat { values, rows, columns } => heat(scene, corner, values, rows, columns, range),
            Kind::Bars { values, axis, notes } => bars(scene, corner, values, axis, notes, range),
            Kind::Plane { layout, nodes, edges } => {
                Plane::of(layout).draw(scene, corner, nodes.as_deref(), edges.as_deref(), range);
            }
        }
    }
}

/// Side of a cell of a heat map.
fn cell(rows: &Axis, columns: &Axis) -> f64 {
    (900.0 / rows.labels.len().max(columns.labels.len()).max(1) as f64).clamp(0.75, 24.0)
}

fn heat(scene: &mut Scene, (x, y): Point, values: &[f32], rows: &Axis, columns: &Axis, range: &Range) {
    let cell = cell(rows, columns);
    let (left, top) = (x + room(rows, 6.6), y + 16.0 + room(columns, 5.6));
    let width = columns.labels.len();
    let places = || (0..values.len()).map(|at| ((at % width) as f64, (at / width) as f64));
    scene.add(Primitive::RectBatch {
        x: places().map(|(column, _)| left + column * cell).collect(),
        y: places().map(|(_, row)| top + row * cell).collect(),
        w: vec![cell; values.len()],
        h: vec![cell; values.len()],
        fills: values.iter().map(|value| range.colour(*value)).collect(),
    });
    let title = format!("{} \\ {}", rows.name, columns.name);
    add_text(scene, (x, y + 10.0), &title, 11, TextAnchor::Start, true, QUIET);
    let every = (12.0 / cell).ceil() as usize;
    for (row, label) in rows.labels.iter().enumerate().step_by(every.max(1)) {
        let at = (left - 4.0, top + cell * (row as f64 + 0.5) + 4.0);
        add_text(scene, at, &shortened(label, 14), 11, TextAnchor::End, false, INK);
    }
    for (column, label) in columns.labels.iter().enumerate().step_by(every.max(1)) {
        let (x, y) = (left + cell * (column as f64 + 0.5) + 3.0, top - 4.0);
        scene.add(Primitive::Text {
            x,
            y,
            content: shortened(label, 14),
            size: 11,
            anchor: TextAnchor::Start,
            rotate: Some(-60.0),
            bold: false,
            color: Some(INK),
        });
    }
}

fn bars(scene: &mut Scene, (x, y): Point, values: &[f32], axis: &Axis, notes: &[String], range: &Range) {
    const NAMES: f64 = 130.0;
    const LONGEST: f64 = 260.0;
    let most = values.iter().copied().filter(|value| value.is_finite()).map(f32::abs).fold(f32::MIN_POSITIVE, f32::max);
    add_text(scene, (x, y + 10.0), &axis.name, 11, TextAnchor::Start, true, QUIET);
    for (at, (value, label)) in values.iter().zip(&axis.labels).take(MOST_BARS).enumerate() {
        let middle = y + 24.0 + 20.0 * at as f64;
        add_text(scene, (x + NAMES - 6.0, middle + 9.0), &shortened(label, 18), 12, TextAnchor::End, false, INK);
        let length = if value.is_finite() { LONGEST * f64::from(value.abs() / most) } else { 0.0 };
        scene.add(Primitive::Rect {
            x: x + NAMES,
            y: middle - 2.0,
            width: length.max(0.5),
            height: 13.0,
            fill: range.colour(*value),
            stroke: Some(QUIET),
            stroke_width: Some(0.4),
            opacity: None,
        });
        let note = notes.get(at).filter(|note| !note.is_empty()).map_or_else(String::new, |note| format!("  {note}"));
        let said = if *value == f32::NEG_INFINITY { "barred".to_owned() } else { number(*value) };
        let end = (x + NAMES + length + 8.0, middle + 9.0);
        add_text(scene, end, &format!("{said}{note}"), 12, TextAnchor::Start, false, QUIET);
    }
    if values.len() > MOST_BARS {
        let more = format!("… {} more", values.len() - MOST_BARS);
        let end = (x + NAMES, y + 34.0 + 20.0 * MOST_BARS as f64);
        add_text(scene, end, &more, 12, TextAnchor::Start, false, QUIET);
    }
}

/// The items of the input on a plane.
struct Plane<'a> {
    layout: &'a Layout,
    low: [f64; 2],
    unit: f64,
    width: f64,
    height: f64,
}

impl<'a> Plane<'a> {
    fn of(layout: &'a Layout) -> Self {
        const EDGE: f64 = 54.0;
        let end = |axis: usize, pick: fn(f64, f64) -> f64| {
            layout.places.iter().map(|place| place[axis]).reduce(pick).unwrap_or(0.0)
        };
        let low = [end(0, f64::min), end(1, f64::min)];
        let extent = [end(0, f64::max) - low[0], end(1, f64::max) - low[1]];
        let most = if layout.edges.is_empty() { f64::INFINITY } else { EDGE };
        let unit = (760.0 / extent[0]).min(560.0 / extent[1]).min(most);
        let unit = if unit.is_finite() { unit } else { 1.0 };
        Self { layout, low, unit, width: extent[0] * unit + 110.0, height: extent[1] * unit + 60.0 }
    }

    fn draw(&self, scene: &mut Scene, (x, y): Point, nodes: Option<&[f32]>, edges: Option<&[f32]>, range: &Range) {
        let layout = self.layout;
        let point = |place: &[f64; 2]| {
            let right = x + 30.0 + (place[0] - self.low[0]) * self.unit;
            (right, y + self.height - 30.0 - (place[1] - self.low[1]) * self.unit)
        };
        let points: Vec<Point> = layout.places.iter().map(point).collect();
        let mut line = |points: Vec<Point>, stroke: Color, stroke_width: f64| {
            scene.add(Primitive::PolyLine { points, stroke, stroke_width, stroke_dasharray: None });
        };
        for (at, &[source, target]) in layout.edges.iter().enumerate().filter(|(_, [source, target])| source != target)
        {
            let (a, b) = (points[source], points[target]);
            match edges {
                // Each direction is a line of its own.
                Some(values) => {
                    let length = (b.0 - a.0).hypot(b.1 - a.1).max(1e-9);
                    let (nx, ny) = (-(b.1 - a.1) / length * 3.2, (b.0 - a.0) / length * 3.2);
                    let beside = vec![(a.0 + nx, a.1 + ny), (b.0 + nx, b.1 + ny)];
                    line(beside, range.colour(values[at]), 4.6);
                }
                None => line(vec![a, b], GRID, 2.0),
            }
        }
        for route in &layout.routes {
            line(route.iter().map(|&node| points[node]).collect(), GRID, 1.5);
        }
        let few = points.len() <= 60;
        for (node, &at) in points.iter().enumerate() {
            let fill = nodes.map_or(WHITE, |values| range.colour(values[node]));
            let radius = if few { 9.0 } else { 5.0 };
            let rim = if layout.depot && node == 0 { START } else { LINE };
            add_circle(scene, at, radius + 1.4, rim, 0.0);
            add_circle(scene, at, radius, fill, 0.0);
            if few {
                let beside = (at.0 + radius + 4.0, at.1 - radius + 3.0);
                add_text(scene, beside, &shortened(&layout.labels[node], 12), 11, TextAnchor::Start, false, INK);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kuva::backend::svg::SvgBackend;
    use regard::Device;
    use regard::explain::{AttentionInput, attention};

    use super::*;

    fn weights() -> Trace {
        let trace = attention("by hand", &AttentionInput::hand_worked(), &Device::flex()).unwrap();
        trace.named(Some("attention")).unwrap()
    }

    #[test]
    fn a_heat_map_has_names_heads_and_a_colour_bar() {
        let trace = weights();
        let svg = SvgBackend::new().render_scene(&scene(&trace, &trace.steps[0]));
        for expected in ["head 0", "head 1", "token 2", "query \\ key", ">0.3302<", ">0.6698<", "softmax(x)"] {
            assert!(svg.contains(expected), "{expected}: {svg}");
        }
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn one_step_is_drawn_and_several_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        draw(&path, &weights()).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(b"\x89PNG"));
        let whole = attention("by hand", &AttentionInput::hand_worked(), &Device::flex()).unwrap();
        let error = draw(&folder.path().join("b.svg"), &whole).unwrap_err().to_string();
        assert!(error.contains("--plot draws one step, and 10 are shown"), "{error}");
    }

    #[test]
    fn numbers_of_both_signs_have_two_colours_and_barred_ones_none() {
        let range = Range::of(&[-1.0, 0.0, 4.0, f32::NEG_INFINITY]);
        assert!(range.signed && range.low == -4.0 && range.high == 4.0);
        let same = |a: Color, b: Color| format!("{a:?}") == format!("{b:?}");
        assert!(same(range.colour(f32::NEG_INFINITY), BARRED));
        assert!(!same(range.colour(-4.0), range.colour(4.0)));
        assert!(Range::of(&[]).high == 0.0 && same(Range::of(&[2.0]).colour(2.0), Range::of(&[3.0]).colour(3.0)));
    }

    #[test]
    fn columns_of_few_numbers_are_drawn_on_the_places() {
        let layout = Layout {
            axis: "query",
            labels: vec!["a".into(), "b".into()],
            places: vec![[0.0, 0.0], [1.0, 1.0]],
            edges: vec![[0, 1], [1, 0]],
            ..Layout::default()
        };
        let whole = attention("by hand", &AttentionInput::hand_worked(), &Device::flex()).unwrap();
        let mut trace = whole.named(Some("merged")).unwrap();
        trace.layout = Some(layout);
        assert_eq!(panels(&trace.steps[0], trace.layout.as_ref()).len(), 4);
        let svg = SvgBackend::new().render_scene(&scene(&trace, &trace.steps[0]));
        assert!(svg.contains("channel 3") && svg.matches("<circle").count() == 16, "{svg}");
    }
}

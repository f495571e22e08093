//! One panel: a grid, a caption with the meaning of the lines, and the lines.

use kuva::render::{
    color::Color,
    render::{Primitive, Scene, TextAnchor},
};

use super::axis::Axis;
use super::line::{self, Point};
use super::metrics::Step;
use crate::report::number;
use crate::report::picture::{self, INK, QUIET, WHITE};

/// Single values behind their running mean.
pub(super) const FAINT: Color = Color::Rgb(0xae, 0xc9, 0xd7);
/// The baseline.
pub(super) const GREEN: Color = Color::Rgb(0x5c, 0x93, 0x4f);
const GRID: Color = Color::Rgb(0xe6, 0xe3, 0xda);
const EDGE: Color = Color::Rgb(0xa9, 0xae, 0xb3);

/// Size of the letters that explain a line.
const SMALL: u32 = 12;
/// A letter is about this wide, in letter heights.
const LETTER: f64 = 0.56;

/// Room between two explanations.
const GAP: f64 = 20.0;

/// A number of a step.
pub(super) type Value = fn(&Step) -> Option<f64>;

/// Curves over the same values.
pub(super) struct Panel {
    pub(super) name: &'static str,
    pub(super) height: f64,
    /// About so many numbers on the axis.
    pub(super) ticks: usize,
    /// Ends of the axis, and the largest value where that lies above.
    pub(super) range: (f64, f64, Option<f64>),
    pub(super) series: Vec<Series>,
}

/// Values and how they are shown.
pub(super) struct Series {
    pub(super) points: Vec<Point>,
    pub(super) colour: Color,
    pub(super) look: Look,
    /// Empty where the caption is silent about it.
    pub(super) name: &'static str,
}

/// How values are shown.
#[derive(Clone, Copy)]
pub(super) enum Look {
    /// A line of this width.
    Line(f64),
    Dots,
    Rings,
}

impl Series {
    pub(super) fn line(points: Vec<Point>, colour: Color, width: f64, name: &'static str) -> Self {
        Self { points, colour, look: Look::Line(width), name }
    }
}

impl Panel {
    /// Draws the panel; its upper edge lies at `top`.
    pub(super) fn draw(&self, scene: &mut Scene, x: &Axis, ticks: &[(f64, String)], top: f64) {
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
                let thinned = line::thin(self.points.clone());
                for part in line::cut(&thinned, y.low, y.high) {
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

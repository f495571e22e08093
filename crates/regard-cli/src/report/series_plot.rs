//! A picture of a series with its forecast and intervals.

use std::path::Path;

use kuva::render::{
    color::Color,
    render::{PathData, Primitive, Scene, TextAnchor},
};
use regard::data::series::Panel;
use regard::data::series::formats::forecasts::ForecastRow;

use super::curves::{Axis, range};
use super::picture::{self, GRID, INK, QUIET, heading, sheet};

/// Size of the picture, and of what surrounds the field.
const SIZE: (f64, f64) = (960.0, 440.0);
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 46.0;
const OBSERVED: Color = Color::Rgb(70, 78, 92);
const FORECAST: Color = Color::Rgb(196, 78, 32);
/// Shades of intervals, from the widest.
const SHADES: [Color; 3] = [Color::Rgb(252, 233, 222), Color::Rgb(247, 206, 184), Color::Rgb(240, 178, 146)];
/// Observed values that are shown: so many times the forecast ones, and at least so many.
const TIMES: usize = 4;
const LEAST: usize = 48;
/// Stamps written below.
const STAMPS: usize = 6;

/// Draws the end of a series of a panel in the units of its file, and its forecast.
pub(crate) fn draw(path: &Path, panel: &Panel, series: usize, forecast: &[&ForecastRow]) -> anyhow::Result<()> {
    picture::write(path, || scene(panel, series, forecast))
}

fn scene(panel: &Panel, series: usize, forecast: &[&ForecastRow]) -> Scene {
    let one = &panel.series()[series];
    let shown = one.len().min((TIMES * forecast.len()).max(LEAST));
    let first = one.len() - shown;
    let observed = &one.values()[first..];
    let steps = shown + forecast.len();
    let (width, height) = SIZE;
    let mut scene = sheet(width, height);
    let levels: Vec<String> = forecast
        .first()
        .map_or(vec![], |row| row.intervals.iter().map(|interval| format!("{} %", interval.level)).collect());
    let within =
        if levels.is_empty() { String::new() } else { format!("  ·  shaded: {} intervals", levels.join(" and ")) };
    heading(&mut scene, one.name(), &format!("the next {} values{within}", forecast.len()));
    let ends = forecast.iter().flat_map(|row| row.intervals.iter().flat_map(|interval| [interval.low, interval.high]));
    let all = observed.iter().copied().chain(forecast.iter().map(|row| row.forecast)).chain(ends);
    let (low, high, _) = range(all.filter(|value| value.is_finite()).map(f64::from), None, 1.0);
    let (low, high) = if high > low { (low, high) } else { (low - 1.0, high + 1.0) };
    let x = Axis { low: 0.0, high: (steps - 1).max(1) as f64, from: LEFT, to: width - RIGHT };
    let y = Axis { low, high, from: height - BOTTOM, to: TOP };
    grid(&mut scene, &x, &y);
    stamps(&mut scene, &x, y.from, |step| panel.stamp(series, first + step).ok());
    let place = |step: usize, value: f32| (x.place(step as f64), y.place(f64::from(value)));
    for (at, shade) in widest_first(forecast).into_iter().zip(SHADES.iter().cycle()) {
        let end = |row: &&ForecastRow, high: bool| if high { row.intervals[at].high } else { row.intervals[at].low };
        let joint = observed.last().filter(|value| value.is_finite()).map(|&value| place(shown - 1, value));
        let upper = forecast.iter().enumerate().map(|(step, row)| place(shown + step, end(row, true)));
        let lower = forecast.iter().enumerate().rev().map(|(step, row)| place(shown + step, end(row, false)));
        let outline: Vec<(f64, f64)> = joint.into_iter().chain(upper).chain(lower).collect();
        if outline.iter().all(|(_, y)| y.is_finite()) {
            let d = outline
                .iter()
                .enumerate()
                .map(|(i, (x, y))| format!("{}{x:.2},{y:.2}", if i == 0 { "M" } else { "L" }));
            let d = d.collect::<Vec<_>>().join(" ") + " Z";
            let stroke = shade.clone();
            let path = PathData {
                d,
                fill: Some(stroke.clone()),
                stroke,
                stroke_width: 0.5,
                opacity: None,
                stroke_dasharray: None,
            };
            scene.add(Primitive::Path(Box::new(path)));
        }
    }
    for part in observed.iter().enumerate().collect::<Vec<_>>().split(|(_, value)| !value.is_finite()) {
        line(&mut scene, part.iter().map(|(step, value)| place(*step, **value)).collect(), OBSERVED, 1.6);
    }
    let last = observed.last().filter(|value| value.is_finite()).map(|&value| place(shown - 1, value));
    let after = forecast.iter().enumerate().map(|(step, row)| place(shown + step, row.forecast));
    line(&mut scene, last.into_iter().chain(after).collect(), FORECAST, 2.2);
    scene
}

/// Indices of the intervals, the widest first.
fn widest_first(forecast: &[&ForecastRow]) -> Vec<usize> {
    let Some(row) = forecast.first() else { return vec![] };
    let mut order: Vec<usize> = (0..row.intervals.len()).collect();
    order.sort_by(|&a, &b| row.intervals[b].level.total_cmp(&row.intervals[a].level));
    order
}

fn line(scene: &mut Scene, points: Vec<(f64, f64)>, stroke: Color, stroke_width: f64) {
    if points.len() > 1 {
        scene.add(Primitive::PolyLine { points, stroke, stroke_width, stroke_dasharray: None });
    }
}

fn grid(scene: &mut Scene, x: &Axis, y: &Axis) {
    for (value, name) in y.ticks(6, 1.0) {
        let at = y.place(value);
        line(scene, vec![(x.from, at), (x.to, at)], GRID, 1.0);
        picture::add_text(scene, (x.from - 9.0, at + 4.0), &name, 12, TextAnchor::End, false, QUIET);
    }
}

/// Time stamps below the field, at height `base`; `stamp_of` is the stamp of a step.
fn stamps(scene: &mut Scene, x: &Axis, base: f64, stamp_of: impl Fn(usize) -> Option<String>) {
    let steps = x.high as usize + 1;
    let every = steps.div_ceil(STAMPS).max(1);
    for step in (0..steps).step_by(every) {
        let Some(stamp) = stamp_of(step) else { continue };
        let at = x.place(step as f64);
        line(scene, vec![(at, base), (at, base + 5.0)], INK, 1.0);
        let anchor = if step == 0 { TextAnchor::Start } else { TextAnchor::Middle };
        picture::add_text(scene, (at, base + 20.0), &stamp, 12, anchor, false, QUIET);
    }
}

//! A reliability diagram: accuracy by confidence (Guo et al. 2017, section 2).

use std::path::Path;

use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};
use regard::data::metrics::ReliabilityBin;

use super::curves::Axis;
use super::picture::{self, GRID, INK, LINE, QUIET, heading, sheet};

/// Size of the picture, and of what surrounds the field.
const SIZE: (f64, f64) = (560.0, 600.0);
const LEFT: f64 = 76.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 96.0;
const BOTTOM: f64 = 62.0;
/// Radius of the point of a bin with all rows; its area follows the rows.
const LARGEST: f64 = 18.0;
const SMALLEST: f64 = 3.0;

/// Draws the bins of a reliability diagram, and the diagonal on which probabilities are right.
pub(crate) fn draw(path: &Path, bins: &[ReliabilityBin], error: f64) -> anyhow::Result<()> {
    picture::write(path, || scene(bins, error))
}

fn scene(bins: &[ReliabilityBin], error: f64) -> Scene {
    let (width, height) = SIZE;
    let mut scene = sheet(width, height);
    let about = format!("on the diagonal probabilities are right  ·  mean distance {error:.3}");
    heading(&mut scene, "Accuracy by confidence", &about);
    let x = Axis { low: 0.0, high: 1.0, from: LEFT, to: width - RIGHT };
    let y = Axis { low: 0.0, high: 1.0, from: height - BOTTOM, to: TOP };
    let mut line = |points: Vec<(f64, f64)>, stroke: Color, stroke_width: f64| {
        scene.add(Primitive::PolyLine { points, stroke, stroke_width, stroke_dasharray: None });
    };
    let ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
    for tick in ticks {
        line(vec![(x.from, y.place(tick)), (x.to, y.place(tick))], GRID, 1.0);
        line(vec![(x.place(tick), y.from), (x.place(tick), y.to)], GRID, 1.0);
    }
    line(vec![(x.place(0.0), y.place(0.0)), (x.place(1.0), y.place(1.0))], QUIET, 1.2);
    line(bins.iter().map(|bin| (x.place(bin.confidence), y.place(bin.accuracy))).collect(), LINE, 2.0);
    let all: usize = bins.iter().map(|bin| bin.rows).sum();
    for bin in bins {
        let share = bin.rows as f64 / all.max(1) as f64;
        scene.add(Primitive::Circle {
            cx: x.place(bin.confidence),
            cy: y.place(bin.accuracy),
            r: (LARGEST * share.sqrt()).max(SMALLEST),
            fill: LINE,
            fill_opacity: Some(0.75),
            stroke: None,
            stroke_width: None,
        });
    }
    for tick in ticks {
        let name = format!("{tick:.1}");
        picture::add_text(&mut scene, (x.from - 9.0, y.place(tick) + 4.0), &name, 12, TextAnchor::End, false, QUIET);
        picture::add_text(&mut scene, (x.place(tick), y.from + 20.0), &name, 12, TextAnchor::Middle, false, QUIET);
    }
    let middle = (x.from + x.to) / 2.0;
    let below = "confidence: probability of the most probable class; area: examples";
    picture::add_text(&mut scene, (middle, y.from + 44.0), below, 12, TextAnchor::Middle, false, INK);
    picture::add_text(&mut scene, (x.from, y.to - 10.0), "accuracy", 12, TextAnchor::Start, false, INK);
    scene
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bin_is_drawn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reliability.svg");
        let bins = [(0.55, 0.5, 3), (0.75, 0.8, 10), (0.95, 0.9, 40)]
            .map(|(confidence, accuracy, rows)| ReliabilityBin { confidence, accuracy, rows });
        draw(&path, &bins, 0.05).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.matches("<circle").count(), 3);
        assert!(text.contains("mean distance 0.050"), "{text}");
        draw(&folder.path().join("empty.png"), &[], 0.0).unwrap();
    }
}

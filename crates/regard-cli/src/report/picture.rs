//! Common parts of all pictures: background, colours, frame, text and file.
//!
//! kuva draws the shapes: it brings its own typeface and rasteriser, so that a picture is the same
//! on a machine without fonts or graphics. Everything is placed here, in points of the picture
//! (y downwards); a PNG has two pixels to the point.

use std::path::Path;

use anyhow::{anyhow, bail};
use kuva::backend::{png::PngBackend, svg::SvgBackend};
use kuva::render::{
    color::Color,
    render::{Primitive, Scene, TextAnchor},
};
use regard::data::file::write_atomic;

use super::printable;

/// The area that holds the tour is at most this wide and high.
const LARGEST: [f64; 2] = [1120.0, 760.0];
/// The picture is at least this wide, so that its title has room.
const NARROWEST: f64 = 520.0;
/// Space around the tour.
pub(super) const MARGIN: f64 = 56.0;
/// Height of the title.
pub(super) const HEADING: f64 = 84.0;

const PAPER: &str = "#fbfaf7";
pub(super) const INK: Color = Color::Rgb(0x22, 0x2b, 0x33);
pub(super) const QUIET: Color = Color::Rgb(0x6b, 0x74, 0x7d);
/// Lines behind what is drawn.
pub(super) const GRID: Color = Color::Rgb(228, 230, 234);
pub(super) const LINE: Color = Color::Rgb(0x2b, 0x6c, 0x8f);
/// Lines of routes, one after another; a single tour has the first.
pub(super) const ROUTES: [Color; 8] = [
    LINE,
    Color::Rgb(0xc9, 0x76, 0x2c),
    Color::Rgb(0x4f, 0x8a, 0x4b),
    Color::Rgb(0x8d, 0x5a, 0x97),
    Color::Rgb(0xb0, 0x4a, 0x4a),
    Color::Rgb(0x3f, 0x9a, 0x9a),
    Color::Rgb(0x8a, 0x7a, 0x2f),
    Color::Rgb(0x5a, 0x6a, 0xb5),
];
pub(super) const START: Color = Color::Rgb(0xd9, 0x58, 0x2b);
pub(super) const WHITE: Color = Color::Rgb(0xff, 0xff, 0xff);

/// A point of the picture.
pub(super) type Point = (f64, f64);

/// Writes a scene, which is composed only when the ending of `path` is one of a picture.
pub(super) fn write(path: &Path, scene: impl FnOnce() -> Scene) -> anyhow::Result<()> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let bytes = match ending.to_ascii_lowercase().as_str() {
        "svg" => well_formed(&SvgBackend::new().render_scene(&scene())).into_bytes(),
        "png" => PngBackend::new()
            .render_scene(&scene())
            .map_err(|reason| anyhow!("{}: cannot draw: {reason}", path.display()))?,
        _ => bail!("{}: expected a file name that ends in .svg or .png, found `.{ending}`", path.display()),
    };
    write_atomic(path, |file| file.write_all(&bytes))?;
    Ok(())
}

/// The text of an SVG without the characters that XML 1.0 forbids even where they are escaped: names of a file may have
/// any.
fn well_formed(svg: &str) -> String {
    printable(svg).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// An empty picture of this size.
pub(super) fn sheet(width: f64, height: f64) -> Scene {
    let mut scene = Scene::new(width, height).with_background(Some(PAPER));
    scene.font_family = Some("DejaVu Sans, Verdana, Helvetica, Arial, sans-serif".to_owned());
    scene
}

/// Map from coordinates to points of the picture: shifted, and scaled alike in both directions, north upwards.
pub(super) struct Frame {
    pub(super) width: f64,
    pub(super) height: f64,
    low: [f64; 2],
    scale: f64,
    corner: Point,
}

impl Frame {
    /// As large as there is room.
    pub(super) fn around(nodes: &[[f64; 2]]) -> Self {
        Self::at_most(nodes, f64::INFINITY)
    }

    /// As large as there is room, but for `limit` points to a unit.
    pub(super) fn at_most(nodes: &[[f64; 2]], limit: f64) -> Self {
        let end =
            |axis: usize, pick: fn(f64, f64) -> f64| nodes.iter().map(|place| place[axis]).reduce(pick).unwrap_or(0.0);
        let low = [end(0, f64::min), end(1, f64::min)];
        let extent = [end(0, f64::max) - low[0], end(1, f64::max) - low[1]];
        let scale = (LARGEST[0] / extent[0]).min(LARGEST[1] / extent[1]).min(limit);
        // All nodes in one point: any scale will do.
        let scale = if scale.is_finite() { scale } else { 1.0 };
        let drawn = extent.map(|extent| extent * scale);
        let width = (drawn[0] + 2.0 * MARGIN).max(NARROWEST).ceil();
        let height = (HEADING + drawn[1].max(120.0) + 1.5 * MARGIN).ceil();
        let top = HEADING + (height - HEADING - 0.5 * MARGIN - drawn[1]) / 2.0;
        Self { width, height, low, scale, corner: ((width - drawn[0]) / 2.0, top + drawn[1]) }
    }

    pub(super) fn point(&self, place: [f64; 2]) -> Point {
        let right = (place[0] - self.low[0]) * self.scale;
        let up = (place[1] - self.low[1]) * self.scale;
        (self.corner.0 + right, self.corner.1 - up)
    }
}

/// The title, and a line of facts below it.
pub(super) fn heading(scene: &mut Scene, title: &str, facts: &str) {
    let room = |letter: f64| ((scene.width - MARGIN) / letter) as usize;
    let (title, facts) = (shortened(title, room(TITLE_LETTER)), shortened(facts, room(FACTS_LETTER)));
    add_text(scene, (MARGIN / 2.0, 40.0), &title, 22, TextAnchor::Start, true, INK);
    add_text(scene, (MARGIN / 2.0, 64.0), &facts, 14, TextAnchor::Start, false, QUIET);
}

/// Width of a letter of a title, and of the facts below it, at most in the mean.
const TITLE_LETTER: f64 = 13.0;
const FACTS_LETTER: f64 = 7.6;

/// Width of a picture whose [`heading`] is not shortened.
pub(super) fn heading_width(title: &str, facts: &str) -> f64 {
    let width = |text: &str, letter: f64| (text.chars().count() as f64 + 1.0) * letter;
    MARGIN + width(title, TITLE_LETTER).max(width(facts, FACTS_LETTER))
}

/// At most `room` characters.
pub(super) fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

pub(super) fn add_circle(scene: &mut Scene, (cx, cy): Point, r: f64, fill: Color, rim: f64) {
    let stroke = (rim > 0.3).then_some(WHITE);
    let stroke_width = stroke.is_some().then_some(rim);
    scene.add(Primitive::Circle { cx, cy, r, fill, fill_opacity: None, stroke, stroke_width });
}

pub(super) fn add_text(
    scene: &mut Scene,
    (x, y): Point,
    content: &str,
    size: u32,
    anchor: TextAnchor,
    bold: bool,
    color: Color,
) {
    let content = content.to_owned();
    scene.add(Primitive::Text { x, y, content, size, anchor, rotate: None, bold, color: Some(color) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_keep_their_proportion() {
        let frame = Frame::around(&[[0.0, 0.0], [4.0, 3.0]]);
        let (low, high) = (frame.point([0.0, 0.0]), frame.point([4.0, 3.0]));
        assert!(((high.0 - low.0) * 3.0 - (low.1 - high.1) * 4.0).abs() < 1e-9);
        assert!(low.1 > high.1);
    }

    #[test]
    fn an_svg_has_no_character_that_xml_forbids() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.svg");
        let name = "b\u{1}\u{1b}\u{ffff} <\u{fc}>\tc";
        write(&path, || {
            let mut scene = sheet(100.0, 100.0);
            add_text(&mut scene, (10.0, 10.0), name, 12, TextAnchor::Start, false, INK);
            scene
        })
        .unwrap();
        let svg = std::fs::read_to_string(path).unwrap();
        assert!(svg.contains("b\u{fffd}\u{fffd}\u{fffd} &lt;\u{fc}&gt;\tc"), "{svg}");
    }
}

//! Pictures of solutions, as SVG or PNG.
//!
//! kuva draws the shapes: it brings its own typeface and rasteriser, so that a picture is the same
//! on a machine without fonts or graphics. Everything is placed here, in points of the picture
//! (y downwards); a PNG has two pixels to the point.

mod labels;

use std::path::Path;

use anyhow::{anyhow, bail};
use kuva::backend::{png::PngBackend, svg::SvgBackend};
use kuva::render::{
    color::Color,
    render::{Primitive, Scene, TextAnchor},
};
use regard::data::{file::write_atomic, routes::formats::Instance};

use super::number;

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
pub(super) const LINE: Color = Color::Rgb(0x2b, 0x6c, 0x8f);
const NODE: Color = Color::Rgb(0x1d, 0x44, 0x5c);
const LEFT_OUT: Color = Color::Rgb(0xb4, 0xba, 0xc0);
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

/// Draws a solution; the ending of `path`, `.svg` or `.png`, says how.
///
/// The start, or the depot, is the orange node; nodes left out are hollow. Nodes get their ids as
/// labels where there are few of them and a label has room.
pub(crate) fn solution(path: &Path, instance: &Instance, solution: &[usize]) -> anyhow::Result<()> {
    write(path, || scene(instance, solution))
}

/// Writes a scene, which is composed only when the ending of `path` is one of a picture.
pub(super) fn write(path: &Path, scene: impl FnOnce() -> Scene) -> anyhow::Result<()> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let bytes = match ending.to_ascii_lowercase().as_str() {
        "svg" => SvgBackend::new().render_scene(&scene()).into_bytes(),
        "png" => PngBackend::new()
            .render_scene(&scene())
            .map_err(|reason| anyhow!("{}: cannot draw: {reason}", path.display()))?,
        _ => bail!("{}: a picture is .svg or .png, found `.{ending}`", path.display()),
    };
    write_atomic(path, |file| file.write_all(&bytes))?;
    Ok(())
}

fn scene(instance: &Instance, solution: &[usize]) -> Scene {
    let sites = instance.sites();
    let frame = Frame::around(sites.places());
    let mut scene = sheet(frame.width, frame.height);
    add_heading(&mut scene, instance, solution);
    let points: Vec<Point> = sites.places().iter().map(|&place| frame.point(place)).collect();
    let has_depot = !matches!(instance, Instance::Tsp(_));
    let style = Style::of(points.len());
    let mut visited = vec![false; points.len()];
    let mut all_stops = Vec::new();
    for (number, route) in instance.routes(solution).iter().enumerate() {
        let ends = if has_depot { Some(0) } else { route.first().copied() };
        let begin = if has_depot { ends } else { None };
        let nodes = begin.into_iter().chain(route.iter().copied()).chain(ends);
        let stops: Vec<Point> = nodes.inspect(|&node| visited[node] = true).map(|node| points[node]).collect();
        add_line(&mut scene, &stops, ROUTES[number % ROUTES.len()].clone(), &style);
        all_stops.extend(stops);
    }
    let start = if has_depot { Some(0) } else { solution.first().copied() };
    add_nodes(&mut scene, &points, &visited, start, &style);
    for label in labels::place(sites.ids(), &points, &all_stops, style.radius, &frame) {
        add_text(&mut scene, label.at, &label.text, labels::SIZE, label.anchor, false, INK);
    }
    scene
}

/// An empty picture of this size.
pub(super) fn sheet(width: f64, height: f64) -> Scene {
    let mut scene = Scene::new(width, height).with_background(Some(PAPER));
    scene.font_family = Some("DejaVu Sans, Verdana, Helvetica, Arial, sans-serif".to_owned());
    scene
}

/// How places become points: moved and scaled alike in both directions, north upwards.
pub(super) struct Frame {
    pub(super) width: f64,
    pub(super) height: f64,
    low: [f64; 2],
    scale: f64,
    corner: Point,
}

impl Frame {
    /// As large as there is room.
    pub(super) fn around(places: &[[f64; 2]]) -> Self {
        Self::at_most(places, f64::INFINITY)
    }

    /// As large as there is room, but for `limit` points to a unit.
    pub(super) fn at_most(places: &[[f64; 2]], limit: f64) -> Self {
        let end =
            |axis: usize, pick: fn(f64, f64) -> f64| places.iter().map(|place| place[axis]).reduce(pick).unwrap_or(0.0);
        let low = [end(0, f64::min), end(1, f64::min)];
        let extent = [end(0, f64::max) - low[0], end(1, f64::max) - low[1]];
        let scale = (LARGEST[0] / extent[0]).min(LARGEST[1] / extent[1]).min(limit);
        // All places in one point: any scale will do.
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

/// Sizes that suit the number of nodes.
struct Style {
    radius: f64,
    stroke: f64,
    rim: f64,
}

impl Style {
    fn of(nodes: usize) -> Self {
        let crowd = (nodes.max(1) as f64 / 50.0).sqrt().max(1.0);
        Self { radius: (4.6 / crowd).max(1.7), stroke: (2.4 / crowd.sqrt()).max(0.8), rim: 1.4 / crowd }
    }
}

fn add_heading(scene: &mut Scene, instance: &Instance, solution: &[usize]) {
    let (sites, value) = (instance.sites(), instance.value(solution));
    let amount = number::quantity(value, sites.unit());
    let routes = instance.routes(solution);
    let mut facts = vec![format!("{} places", number::count(sites.len()))];
    facts.push(match instance {
        Instance::Tsp(_) => format!("tour {amount}"),
        Instance::Cvrp(_) => format!("{} routes, {amount}", number::count(routes.len())),
        Instance::Orienteering(_) => format!("prize {amount}"),
        _ => format!("cost {amount}"),
    });
    if let Some((best, gap)) = instance.best_known().zip(instance.gap(value)) {
        facts.push(if gap == 0.0 {
            "equals the best known".to_owned()
        } else {
            format!("gap {} to {}", number::gap(gap), number::quantity(best, sites.unit()))
        });
    }
    heading(scene, sites.name(), &facts.join("  ·  "));
}

/// The name of what is drawn, and a line of facts under it.
pub(super) fn heading(scene: &mut Scene, title: &str, facts: &str) {
    let room = ((scene.width - MARGIN) / 13.0) as usize;
    add_text(scene, (MARGIN / 2.0, 40.0), &shortened(title, room), 22, TextAnchor::Start, true, INK);
    add_text(scene, (MARGIN / 2.0, 64.0), facts, 14, TextAnchor::Start, false, QUIET);
}

/// At most `room` characters.
pub(super) fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

fn add_line(scene: &mut Scene, stops: &[Point], stroke: Color, style: &Style) {
    scene.add(Primitive::PolyLine {
        points: stops.to_vec(),
        stroke,
        stroke_width: style.stroke,
        stroke_dasharray: None,
    });
}

fn add_nodes(scene: &mut Scene, points: &[Point], visited: &[bool], start: Option<usize>, style: &Style) {
    for (&point, visited) in points.iter().zip(visited) {
        match visited {
            true => add_circle(scene, point, style.radius, NODE, style.rim),
            false => add_circle(scene, point, style.radius, LEFT_OUT, style.rim),
        }
    }
    if let Some(start) = start {
        add_circle(scene, points[start], (1.5 * style.radius).max(5.0), START, 2.0);
    }
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
    use regard::data::routes::cvrp::Cvrp;
    use regard::data::routes::tsp::Tsp;

    use super::*;

    fn example() -> Instance {
        let places = vec![[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0], [2.0, 1.0]];
        Instance::Tsp(Tsp::euclidean("five", places).unwrap().with_best_known(Some(14.0)))
    }

    #[test]
    fn writes_both_formats_and_names_them_when_asked_for_another() {
        let folder = tempfile::tempdir().unwrap();
        let order = [0, 4, 1, 2, 3];
        for (name, head) in [("a.svg", b"<svg".as_slice()), ("a.PNG", b"\x89PNG\r\n\x1a\n")] {
            solution(&folder.path().join(name), &example(), &order).unwrap();
            assert!(std::fs::read(folder.path().join(name)).unwrap().starts_with(head), "{name}");
        }
        let error = solution(&folder.path().join("a.pdf"), &example(), &order).unwrap_err().to_string();
        assert!(error.ends_with("a picture is .svg or .png, found `.pdf`"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_picture_says_what_it_shows_and_escapes_names() {
        let instance = Tsp::euclidean("<a & b>", vec![[0.0, 0.0], [0.0, 3.0], [4.0, 0.0]]).unwrap();
        let svg = SvgBackend::new().render_scene(&scene(&Instance::Tsp(instance), &[0, 1, 2]));
        assert!(svg.contains("&lt;a &amp; b&gt;") && !svg.contains("<a &"), "{svg}");
        assert!(svg.contains("tour 12"), "{svg}");
    }

    #[test]
    fn directions_keep_their_proportion() {
        let frame = Frame::around(&[[0.0, 0.0], [4.0, 3.0]]);
        let (low, high) = (frame.point([0.0, 0.0]), frame.point([4.0, 3.0]));
        assert!(((high.0 - low.0) * 3.0 - (low.1 - high.1) * 4.0).abs() < 1e-9);
        assert!(low.1 > high.1);
    }

    #[test]
    fn one_place_or_places_on_a_line_are_drawn() {
        for places in [vec![[7.0, 7.0]], vec![[1.0, 2.0]; 3], vec![[0.0, 0.0], [0.0, 5.0]]] {
            let order: Vec<usize> = (0..places.len()).collect();
            let frame = Frame::around(&places);
            assert!(places.iter().all(|&place| {
                let (x, y) = frame.point(place);
                (0.0..=frame.width).contains(&x) && (HEADING..=frame.height).contains(&y)
            }));
            let svg =
                SvgBackend::new().render_scene(&scene(&Instance::Tsp(Tsp::euclidean("line", places).unwrap()), &order));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn every_route_has_a_line_of_its_own() {
        let places = vec![[1.0, 1.0], [0.0, 0.0], [0.0, 2.0], [2.0, 2.0], [2.0, 0.0]];
        let sites = Tsp::euclidean("five", places).unwrap();
        let instance = Cvrp::new(sites, vec![0.0, 1.0, 1.0, 1.0, 1.0], 2.0).unwrap();
        let svg = SvgBackend::new().render_scene(&scene(&Instance::Cvrp(instance), &[1, 2, 0, 3, 4]));
        assert!(svg.contains("2 routes"), "{svg}");
        assert_eq!(svg.matches("<polyline").count().max(svg.matches("<path").count()), 2, "{svg}");
    }
}

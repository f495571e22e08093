//! Pictures of solutions, as SVG or PNG.

mod labels;

use std::path::Path;

use kuva::render::{
    color::Color,
    render::{Primitive, Scene},
};
use regard::routing::Instance;
use regard::routing::formats::solution::SolutionFormat;

use super::number;
use super::picture::{Frame, INK, Point, ROUTES, START, add_circle, add_text, heading, sheet, write};

const NODE: Color = Color::Rgb(0x1d, 0x44, 0x5c);
const LEFT_OUT: Color = Color::Rgb(0xb4, 0xba, 0xc0);

/// Draws a solution; the ending of `path`, `.svg` or `.png`, says how.
///
/// The start, or the depot, is the orange node; nodes left out are hollow. Nodes get their ids as
/// labels where there are few of them and a label has room.
pub(crate) fn solution(path: &Path, instance: &Instance, solution: &[usize]) -> anyhow::Result<()> {
    write(path, || scene(instance, solution))
}

fn scene(instance: &Instance, solution: &[usize]) -> Scene {
    let sites = instance.sites();
    let frame = Frame::around(sites.places());
    let mut scene = sheet(frame.width, frame.height);
    add_heading(&mut scene, instance, solution);
    let points: Vec<Point> = sites.places().iter().map(|&place| frame.point(place)).collect();
    let has_depot = instance.spec().depot;
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
    let mut facts = vec![number::of(sites.len(), "node")];
    facts.push(match instance.solution_format() {
        SolutionFormat::Tour => format!("tour {amount}"),
        SolutionFormat::Routes => format!("{}, {amount}", number::of(routes.len(), "route")),
        SolutionFormat::Visits if instance.maximises() => format!("prize {amount}"),
        SolutionFormat::Visits => format!("cost {amount}"),
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

#[cfg(test)]
mod tests {
    use kuva::backend::svg::SvgBackend;
    use regard::routing::Sites;
    use regard::routing::problems::{cvrp::Cvrp, tsp::Tsp};

    use super::super::picture::HEADING;
    use super::*;

    fn example() -> Instance {
        let places = vec![[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0], [2.0, 1.0]];
        Tsp::from(Sites::euclidean("five", places).unwrap().with_best_known(Some(14.0))).into()
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
        assert!(error.ends_with("expected a file name that ends in .svg or .png, found `.pdf`"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_picture_says_what_it_shows_and_escapes_names() {
        let sites = Sites::euclidean("<a & b>", vec![[0.0, 0.0], [0.0, 3.0], [4.0, 0.0]]).unwrap();
        let svg = SvgBackend::new().render_scene(&scene(&Tsp::from(sites).into(), &[0, 1, 2]));
        assert!(svg.contains("&lt;a &amp; b&gt;") && !svg.contains("<a &"), "{svg}");
        assert!(svg.contains("tour 12"), "{svg}");
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
            let svg = SvgBackend::new()
                .render_scene(&scene(&Tsp::from(Sites::euclidean("line", places).unwrap()).into(), &order));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn every_route_has_a_line_of_its_own() {
        let places = vec![[1.0, 1.0], [0.0, 0.0], [0.0, 2.0], [2.0, 2.0], [2.0, 0.0]];
        let sites = Sites::euclidean("five", places).unwrap();
        let instance = Cvrp::new(sites, vec![0.0, 1.0, 1.0, 1.0, 1.0], 2.0).unwrap();
        let svg = SvgBackend::new().render_scene(&scene(&instance.into(), &[1, 2, 0, 3, 4]));
        assert!(svg.contains("2 routes"), "{svg}");
        assert_eq!(svg.matches("<polyline").count().max(svg.matches("<path").count()), 2, "{svg}");
    }
}

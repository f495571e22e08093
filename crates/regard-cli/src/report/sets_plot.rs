//! Pictures of a set: its points with the mixture found in them, or with what a model looked at.

use std::path::Path;

use kuva::render::{
    color::Color,
    render::{Primitive, Scene, TextAnchor},
};
use regard::data::sets::Bags;
use regard::data::sets::mixture::Mixture;

use super::number;
use super::picture::{
    Frame, HEADING, INK, LINE, MARGIN, Point, QUIET, ROUTES, add_circle, add_text, heading, sheet, write,
};

/// Ellipses lie so many deviations around the means: two hold 86 % of a component's points.
const DEVIATIONS: f64 = 2.0;
/// Corners of what stands for an ellipse.
const CORNERS: usize = 72;
/// Most rows of a picture of importances.
const BARS: usize = 40;
const BAR_STEP: f64 = 22.0;
const BAR_LEFT: f64 = 150.0;
const BAR_ROOM: f64 = 480.0;
const BARS_WIDTH: f64 = 760.0;
/// Directions of a cloud whose extents differ by more are not drawn to one scale.
const SLIM: f64 = 4.0;

/// Draws the points of a bag in the plane with its mixture: every point in the colour of its likeliest
/// component, an ellipse of two deviations around every mean.
pub(crate) fn clusters(
    path: &Path,
    bags: &Bags,
    bag: usize,
    mixture: &Mixture,
    components: &[usize],
) -> anyhow::Result<()> {
    write(path, || {
        let points = points(bags, bag);
        let ellipses: Vec<Vec<[f64; 2]>> = (0..mixture.components()).map(|at| ellipse(mixture, at)).collect();
        let all: Vec<[f64; 2]> = points.iter().chain(ellipses.iter().flatten()).copied().collect();
        let frame = Frame::around(&all);
        let mut scene = sheet(frame.width, frame.height);
        let facts = format!("{} points  ·  {} components", number::count(points.len()), mixture.components());
        heading(&mut scene, &bags.ids()[bag], &facts);
        let radius = (70.0 / (points.len().max(1) as f64).sqrt()).clamp(1.4, 4.5);
        for (place, component) in points.iter().zip(components) {
            add_circle(&mut scene, frame.point(*place), radius, colour(*component), 0.4);
        }
        for (at, ellipse) in ellipses.iter().enumerate() {
            let points = ellipse.iter().map(|place| frame.point(*place)).collect();
            let stroke_width = 1.2 + 4.0 * mixture.weights()[at];
            scene.add(Primitive::PolyLine { points, stroke: colour(at), stroke_width, stroke_dasharray: None });
        }
        scene
    })
}

/// Draws how much a model looked at the rows of a bag: a cloud in the plane as points of that area,
/// anything else as bars, the weightiest rows first.
pub(crate) fn importances(path: &Path, bags: &Bags, bag: usize, weights: &[f64], answer: &str) -> anyhow::Result<()> {
    let points = points(bags, bag);
    write(path, || {
        if is_cloud(bags, &points) {
            cloud(bags, bag, &points, weights, answer)
        } else {
            bars(bags, bag, weights, answer)
        }
    })
}

fn cloud(bags: &Bags, bag: usize, points: &[[f64; 2]], weights: &[f64], answer: &str) -> Scene {
    let frame = Frame::around(points);
    let mut scene = sheet(frame.width, frame.height);
    heading(&mut scene, &bags.ids()[bag], &format!("{}  ·  {answer}", number::of(points.len(), "row")));
    let most = weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for (place, weight) in points.iter().zip(weights) {
        add_circle(&mut scene, frame.point(*place), 2.0 + 14.0 * (weight / most).max(0.0).sqrt(), LINE, 1.0);
    }
    scene
}

fn bars(bags: &Bags, bag: usize, weights: &[f64], answer: &str) -> Scene {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
    let shown = &order[..order.len().min(BARS)];
    let rest = if shown.len() < order.len() { format!("  ·  the first {BARS}") } else { String::new() };
    let mut scene = sheet(BARS_WIDTH, HEADING + BAR_STEP * shown.len().max(1) as f64 + 0.5 * MARGIN);
    heading(&mut scene, &bags.ids()[bag], &format!("{}  ·  {answer}{rest}", number::of(order.len(), "row")));
    let most = shown.first().map_or(0.0, |&row| weights[row]).max(f64::MIN_POSITIVE);
    for (place, &row) in shown.iter().enumerate() {
        let top = HEADING + BAR_STEP * place as f64;
        let width = BAR_ROOM * (weights[row] / most).max(0.0);
        let name = match bags.line(bags.offsets()[bag] + row) {
            Some(line) => format!("row {} (line {line})", row + 1),
            None => format!("row {}", row + 1),
        };
        let middle = top + 0.68 * BAR_STEP;
        add_text(&mut scene, (BAR_LEFT - 10.0, middle), &name, 12, TextAnchor::End, false, INK);
        bar(&mut scene, (BAR_LEFT, top + 3.0), width, BAR_STEP - 6.0);
        let share = format!("{:.1} %", 100.0 * weights[row]);
        add_text(&mut scene, (BAR_LEFT + width + 8.0, middle), &share, 12, TextAnchor::Start, false, QUIET);
    }
    scene
}

fn bar(scene: &mut Scene, (x, y): Point, width: f64, height: f64) {
    scene.add(Primitive::Rect { x, y, width, height, fill: LINE, stroke: None, stroke_width: None, opacity: None });
}

fn colour(component: usize) -> Color {
    ROUTES[component % ROUTES.len()].clone()
}

/// The first two numbers of every row of a bag.
fn points(bags: &Bags, bag: usize) -> Vec<[f64; 2]> {
    if bags.width() < 2 {
        return Vec::new();
    }
    bags.bag(bag).chunks(bags.width()).map(|row| [f64::from(row[0]), f64::from(row[1])]).collect()
}

/// If true, the rows are points in a plane, and not two quantities that have nothing to do with each
/// other.
fn is_cloud(bags: &Bags, points: &[[f64; 2]]) -> bool {
    let extent = |axis: usize| {
        let all = || points.iter().map(|point| point[axis]);
        all().fold(f64::NEG_INFINITY, f64::max) - all().fold(f64::INFINITY, f64::min)
    };
    let ratio = extent(0) / extent(1);
    bags.width() == 2 && points.len() > 2 && ratio > 1.0 / SLIM && ratio < SLIM
}

/// A closed line around the mean of a component, in the first two coordinates.
fn ellipse(mixture: &Mixture, component: usize) -> Vec<[f64; 2]> {
    let at = component * mixture.dimension();
    let (mean, deviation) = (&mixture.means()[at..at + 2], &mixture.deviations()[at..at + 2]);
    let corner = |i: usize| {
        let (sin, cos) = (std::f64::consts::TAU * i as f64 / CORNERS as f64).sin_cos();
        [mean[0] + DEVIATIONS * deviation[0] * cos, mean[1] + DEVIATIONS * deviation[1] * sin]
    };
    (0..=CORNERS).map(corner).collect()
}

#[cfg(test)]
mod tests {
    use kuva::backend::svg::SvgBackend;
    use regard::data::sets::FeatureNames;

    use super::*;

    fn bags(width: usize, features: Vec<f32>) -> Bags {
        let rows = features.len() / width;
        Bags::new(FeatureNames::Count(width), features, vec![0, rows]).unwrap()
    }

    #[test]
    fn clusters_have_a_colour_and_an_ellipse_each() {
        let folder = tempfile::tempdir().unwrap();
        let bags = bags(2, vec![0.0, 0.0, 1.0, 0.5, 8.0, 8.0]);
        let mixture = Mixture::isotropic(vec![0.6, 0.4], vec![0.5, 0.2, 8.0, 8.0], &[1.0, 0.5]).unwrap();
        let path = folder.path().join("a.svg");
        clusters(&path, &bags, 0, &mixture, &[0, 0, 1]).unwrap();
        let svg = std::fs::read_to_string(path).unwrap();
        assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
        assert!(svg.contains("3 points") && svg.contains("2 components") && !svg.contains("NaN"), "{svg}");
        assert!(clusters(&folder.path().join("a.pdf"), &bags, 0, &mixture, &[0, 0, 1]).is_err());
    }

    #[test]
    fn clouds_are_points_and_tables_are_bars() {
        let cloud = bags(2, vec![0.0, 0.0, 1.0, 0.5, 2.0, 2.0]);
        assert!(is_cloud(&cloud, &points(&cloud, 0)));
        let slim = bags(2, vec![0.0, 0.0, 1.0, 50.0, 2.0, 90.0]);
        assert!(!is_cloud(&slim, &points(&slim, 0)));
        let table = bags(3, vec![1.0; 150]);
        assert!(!is_cloud(&table, &points(&table, 0)));
        let weights: Vec<f64> = (0..50).map(|row| f64::from(row) / 1225.0).collect();
        let svg = SvgBackend::new().render_scene(&bars(&table, 0, &weights, "yes"));
        assert!(svg.contains("row 50") && !svg.contains("row 5<") && svg.contains("the first 40"), "{svg}");
    }

    #[test]
    fn nothing_looked_at_is_drawn_too() {
        for weights in [vec![], vec![0.0]] {
            let bags = bags(1, vec![1.0; weights.len()]);
            let svg = SvgBackend::new().render_scene(&bars(&bags, 0, &weights, "0"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

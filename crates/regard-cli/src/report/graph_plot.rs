//! Pictures of a graph: its edges as dark as they are looked along.

use std::path::Path;

use kuva::render::{
    color::Color,
    render::{Primitive, Scene, TextAnchor},
};
use regard::data::graphs::Graphs;
use regard::graphs::layout;

use super::number;
use super::picture::{Frame, INK, LINE, Point, WHITE, add_circle, add_text, heading, sheet, shortened, write};

/// Largest number of nodes of a graph that is drawn; a larger picture would be illegible.
pub(crate) const MOST_NODES: usize = 300;
/// Largest length of an edge in points.
const EDGE: f64 = 64.0;
/// An atom that needs no letter.
const CARBON: &str = "C";

/// Draws a graph of at most [`MOST_NODES`] nodes. `weights` says how much each of its edges is looked along,
/// in the order of [`Graphs::edges_of`]; of the two directions of an edge their mean counts, for a
/// node with one neighbour has nowhere else to look.
pub(crate) fn draw(path: &Path, graphs: &Graphs, graph: usize, weights: &[f64]) -> anyhow::Result<()> {
    write(path, || scene(graphs, graph, weights))
}

fn scene(graphs: &Graphs, graph: usize, weights: &[f64]) -> Scene {
    let edges = edges(graphs, graph, weights);
    let nodes = graphs.nodes_of(graph);
    let pairs: Vec<[usize; 2]> = edges.iter().map(|edge| edge.ends).collect();
    let places = layout(nodes.len(), &pairs);
    let frame = Frame::at_most(&places, EDGE);
    let mut scene = sheet(frame.width, frame.height);
    let facts =
        format!("{} nodes  ·  {} edges  ·  darker: larger attention weight", number::count(nodes.len()), edges.len());
    heading(&mut scene, &graphs.ids()[graph], &facts);
    let points: Vec<Point> = places.iter().map(|&place| frame.point(place)).collect();
    let most = edges.iter().map(|edge| edge.weight).fold(f64::MIN_POSITIVE, f64::max);
    for edge in &edges {
        let share = (edge.weight / most).clamp(0.0, 1.0);
        let points = edge.ends.map(|node| points[node]).to_vec();
        let stroke_width = 1.5 + 6.0 * share;
        scene.add(Primitive::PolyLine { points, stroke: shade(share), stroke_width, stroke_dasharray: None });
    }
    for (node, &(x, y)) in nodes.zip(&points) {
        let name = name(graphs, node);
        if name == CARBON {
            add_circle(&mut scene, (x, y), 4.0, LINE, 1.0);
            continue;
        }
        add_circle(&mut scene, (x, y), 11.0, WHITE, 0.0);
        add_text(&mut scene, (x, y + 4.5), &shortened(&name, 6), 13, TextAnchor::Middle, true, INK);
    }
    scene
}

/// An edge, or both directions of one.
struct Edge {
    ends: [usize; 2],
    /// The mean over its directions.
    weight: f64,
    directions: f64,
}

/// The edges between different nodes of a graph, numbered within it.
fn edges(graphs: &Graphs, graph: usize, weights: &[f64]) -> Vec<Edge> {
    let nodes = graphs.nodes_of(graph);
    let mut found: Vec<Edge> = Vec::new();
    let mut at = 0;
    for (target, node) in nodes.enumerate() {
        for &source in graphs.sources_of(node) {
            let (source, weight) = (source as usize, weights[at]);
            at += 1;
            let ends = [source.min(target), source.max(target)];
            match found.iter_mut().find(|edge| edge.ends == ends) {
                Some(edge) => {
                    edge.directions += 1.0;
                    edge.weight += (weight - edge.weight) / edge.directions;
                }
                None if source != target => found.push(Edge { ends, weight, directions: 1.0 }),
                None => {}
            }
        }
    }
    found
}

/// From pale to dark.
fn shade(share: f64) -> Color {
    let between = |pale: f64, dark: f64| (pale + (dark - pale) * share) as u8;
    Color::Rgb(between(210.0, 29.0), between(216.0, 68.0), between(222.0, 92.0))
}

fn name(graphs: &Graphs, node: usize) -> String {
    let features = graphs.node_features();
    let named = features.types().and_then(|types| features.type_names().get(types[node] as usize));
    named.cloned().unwrap_or_else(|| graphs.node_name(node))
}

#[cfg(test)]
mod tests {
    use kuva::backend::svg::SvgBackend;
    use regard::data::graphs::{Graph, Kinds};

    use super::*;

    #[test]
    fn atoms_have_letters_and_both_directions_are_one_line() {
        let mut graph = Graph::new("ethanol", 3);
        graph.node_types = vec![0, 0, 1];
        graph.join(0, 1, 0);
        graph.join(1, 2, 0);
        let graphs = Graphs::new(Kinds::types(["C", "O"]), Kinds::types(["single"]), vec![graph]).unwrap();
        let svg = SvgBackend::new().render_scene(&scene(&graphs, 0, &[0.5, 0.9, 0.1, 1.0]));
        assert!(svg.contains("ethanol") && svg.contains("3 nodes  ·  2 edges") && svg.contains(">O<"), "{svg}");
        assert!(!svg.contains("NaN"), "{svg}");
    }
}

//! TSPLIB95 instance files (G. Reinelt, "TSPLIB 95", 1995), symmetric ones.
//!
//! Every `EDGE_WEIGHT_TYPE` but `SPECIAL`, `XRAY1` and `XRAY2` (whose functions are not in the
//! file) and every `EDGE_WEIGHT_FORMAT` is read. Keywords may stand before or after the sections,
//! in any case, with or without spaces about the colon; `EOF` may be missing.

mod coordinates;
pub(super) mod depot;
pub(super) mod header;
pub(super) mod layout;
pub(super) mod per_node;
mod weights;
pub(super) mod write;

use std::path::Path;

use self::coordinates::Node;
use self::header::{Header, Problem, WeightType};
use self::layout::{Layout, Section};
use crate::Result;
use crate::routes::metric::Metric;
use crate::routes::tsp::Tsp;

pub use self::weights::MOST_EXPLICIT_NODES;
pub use self::write::{render, write};

/// Reads a TSPLIB instance from its text; `path` names it in errors.
///
/// The best-known cost is left open, see [`best_known`](super::best_known).
///
/// # Errors
/// [`Error::Parse`](crate::Error::Parse) with line, what was found and what was expected.
///
/// ```
/// use regard_data::routes::formats::tsplib;
///
/// let text = "NAME: three\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D
/// NODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\nEOF\n";
/// let instance = tsplib::parse(text, "three.tsp".as_ref())?;
/// assert_eq!(instance.cost(&[0, 1, 2]), 12.0);
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path) -> Result<Tsp> {
    read(&Layout::of(text, path)?, text.len())
}

pub(super) fn read(layout: &Layout<'_>, bytes: usize) -> Result<Tsp> {
    sites(layout, bytes, Problem::Tsp)
}

/// Nodes and distances of a file of `bytes` bytes, which describes `problem` and nothing else.
pub(super) fn sites(layout: &Layout<'_>, bytes: usize, problem: Problem) -> Result<Tsp> {
    let header = Header::of(layout, bytes, problem)?;
    refuse_unsupported(layout, problem)?;
    let instance = match &header.weight_type {
        WeightType::Function(metric) => from_coordinates(layout, &header, metric.clone())?,
        WeightType::Explicit(format) => from_weights(layout, &header, *format)?,
    };
    Ok(instance.with_comment(header.comment))
}

/// Whether a text without a telling name is TSPLIB: its first line of content is a keyword.
pub(super) fn looks_like(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    first.is_some_and(layout::is_keyword_line)
}

fn refuse_unsupported(layout: &Layout<'_>, problem: Problem) -> Result<()> {
    let expected = problem.name();
    for section in &layout.sections {
        let keyword = section.keyword.as_str();
        if problem.sections().contains(&keyword) {
            continue;
        }
        let reason = match keyword {
            "NODE_COORD_SECTION" | "EDGE_WEIGHT_SECTION" | "DISPLAY_DATA_SECTION" => continue,
            "FIXED_EDGES_SECTION" if section.rows.iter().all(|(_, row)| *row == "-1") => continue,
            "FIXED_EDGES_SECTION" => "edges that every tour must contain are not supported".into(),
            "TOUR_SECTION" => "this is a tour, expected an instance".into(),
            "EDGE_DATA_SECTION" => "graphs that are not complete are not supported".into(),
            "DEPOT_SECTION" | "DEMAND_SECTION" => {
                format!("depots and demands belong to vehicle routing, expected {expected}")
            }
            "NODE_SCORE_SECTION" => format!("scores belong to orienteering, expected {expected}"),
            "TIME_WINDOW_SECTION" | "SERVICE_TIME_SECTION" => "time windows are not supported".into(),
            "BACKHAUL_SECTION" | "PICKUP_SECTION" | "PICKUP_AND_DELIVERY_SECTION" => "pickups are not supported".into(),
            _ => "this section is not known".to_owned(),
        };
        return Err(layout.error(section.line, reason).in_field(&section.keyword));
    }
    Ok(())
}

fn from_coordinates(layout: &Layout<'_>, header: &Header, metric: Metric) -> Result<Tsp> {
    if let Some(section) = layout.section("EDGE_WEIGHT_SECTION") {
        let reason = format!("weights are given although EDGE_WEIGHT_TYPE is {}", metric.name());
        let error = layout.error(section.line, reason).in_field("EDGE_WEIGHT_SECTION");
        return Err(error.with_hint("a matrix needs `EDGE_WEIGHT_TYPE : EXPLICIT`"));
    }
    let section = required(layout, "NODE_COORD_SECTION", metric.name())?;
    let given = header.coordinates.unwrap_or(0).max(metric.dimensions());
    let nodes = coordinates::read(layout, section, header.dimension, metric.dimensions(), given)?;
    let (ids, points) = split(nodes);
    Tsp::new(&*header.name, metric, points)?.with_ids(ids)
}

/// Rows of the matrix belong to the ids in ascending order, which is how TSPLIB counts nodes.
fn from_weights(layout: &Layout<'_>, header: &Header, format: weights::Format) -> Result<Tsp> {
    let section = required(layout, "EDGE_WEIGHT_SECTION", "EXPLICIT")?;
    let matrix = weights::read(layout, section, header.dimension, format)?;
    let instance = Tsp::new(&*header.name, Metric::Explicit(matrix), Vec::new())?;
    let drawn = layout.section("DISPLAY_DATA_SECTION").or(layout.section("NODE_COORD_SECTION"));
    let Some(drawn) = drawn else {
        return Ok(instance);
    };
    let given = header.coordinates.unwrap_or(2).max(2);
    let mut nodes = coordinates::read(layout, drawn, header.dimension, 2, given)?;
    nodes.sort_by_key(|node| node.number);
    let (ids, points) = split(nodes);
    instance.with_ids(ids)?.with_display(points.iter().map(|&[x, y, _]| [x, y]).collect())
}

fn split(nodes: Vec<Node>) -> (Vec<String>, Vec<[f64; 3]>) {
    nodes.into_iter().map(|node| (node.id, node.point)).unzip()
}

fn required<'l, 'a>(layout: &'l Layout<'a>, keyword: &str, kind: &str) -> Result<&'l Section<'a>> {
    layout.required(keyword, &format!("EDGE_WEIGHT_TYPE {kind}"))
}

#[cfg(test)]
mod tests;

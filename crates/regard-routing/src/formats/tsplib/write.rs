//! Writing TSPLIB instances.

use std::fmt::Write as _;
use std::path::Path;

use super::{Fields, TsplibType};
use crate::file::write_atomic;
use crate::instance::SolverInstance;
use crate::{Error, Metric, Result, Sites};

/// Writes an instance as a file of TSPLIB or one of its descendants, under a temporary name first.
///
/// # Errors
/// Those of [`render`], and [`Error::Io`] when the file cannot be written.
pub fn write<I: SolverInstance>(path: impl AsRef<Path>, instance: &I) -> Result<()> {
    let text = render(instance)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The text of a file of TSPLIB or one of its descendants that reads as the same instance.
///
/// # Errors
/// [`Error::Invalid`] when TSPLIB cannot hold it: problems it does not know and real-valued metrics (write CSV
/// instead), and ids that are not integers.
pub fn render<I: SolverInstance>(instance: &I) -> Result<String> {
    let (Some(tsplib), Some(Fields { keywords, sections })) = (I::FILES.tsplib, instance.tsplib_fields()) else {
        return Err(Error::invalid("format", format!("TSPLIB has no file type for {}; write CSV", I::FILES.title)));
    };
    match sections.is_empty() {
        true => Ok(render_sites(tsplib, instance.sites(), &keywords)? + "EOF\n"),
        false => render_with_depot(tsplib, instance.sites(), &keywords, &sections),
    }
}

/// Keywords, with `extra` ones, and distances of a file of any problem, without `EOF`.
fn render_sites(tsplib: &TsplibType, sites: &Sites, extra: &[(&str, f64)]) -> Result<String> {
    let named = match (sites.metric(), tsplib.in_tenths) {
        (Metric::Tenths, true) => Some(Metric::Euc2d.name()),
        (Metric::Euclidean | Metric::GreatCircleKm | Metric::Tenths, _) | (Metric::Euc2d, true) => None,
        _ => Some(sites.metric_name()),
    };
    let Some(metric_name) = named else {
        let reason = format!("TSPLIB has no {} distances for {}; write CSV", sites.metric_name(), tsplib.name);
        return Err(Error::invalid("metric", reason));
    };
    if let Some(bad) = sites.ids().iter().find(|id| id.parse::<i64>().is_err()) {
        return Err(Error::invalid("node id", format!("TSPLIB requires integers, found `{bad}`")));
    }
    let mut text = String::new();
    let mut keyword = |name: &str, value: &str| {
        let value = value.replace(['\n', '\r'], " ");
        text.push_str(&format!("{name} : {value}\n"));
    };
    keyword("NAME", sites.name());
    // TSPLIB names the types of files whose distances differ by direction by an `A` in front.
    let directed = tsplib.words.iter().find(|word| word.strip_prefix('A') == Some(tsplib.name));
    keyword("TYPE", directed.filter(|_| !sites.is_symmetric()).unwrap_or(&tsplib.name));
    if !sites.comment().is_empty() {
        keyword("COMMENT", sites.comment());
    }
    keyword("DIMENSION", &sites.len().to_string());
    for (name, value) in extra {
        keyword(name, &value.to_string());
    }
    keyword("EDGE_WEIGHT_TYPE", metric_name);
    match sites.metric() {
        Metric::Explicit(_) => table(&mut text, sites),
        metric => {
            let shown = |p: &[f64; 3]| p[..metric.dimensions()].to_vec();
            let points: Vec<_> = sites.coordinates().iter().map(shown).collect();
            rows(&mut text, "NODE_COORD_SECTION", sites.ids(), &points);
        }
    }
    Ok(text)
}

/// Keywords and sections of a problem with a depot.
///
/// A table of distances without places names no ids, so these must be 1, 2, ... in some order.
fn render_with_depot(
    tsplib: &TsplibType,
    sites: &Sites,
    extra: &[(&str, f64)],
    sections: &[(&str, Vec<&[f64]>)],
) -> Result<String> {
    let mut text = render_sites(tsplib, sites, extra)?;
    let unnamed = sites.coordinates().is_empty() && sites.display().is_none();
    let counted = |(number, &node): (i64, &usize)| sites.ids()[node].parse() == Ok(number);
    if unnamed && !(1..).zip(&by_number(sites)).all(counted) {
        let reason = "a distance matrix without coordinates needs the ids 1, 2, ...";
        return Err(Error::invalid("node id", reason));
    }
    for (section, columns) in sections {
        let numbers = |node: usize| columns.iter().map(|column| column[node]).collect();
        rows(&mut text, section, sites.ids(), &(0..sites.len()).map(numbers).collect::<Vec<_>>());
    }
    text.push_str(&format!("DEPOT_SECTION\n{}\n-1\nEOF\n", sites.ids()[0]));
    Ok(text)
}

/// The nodes in ascending order of their ids, which is how a table of distances counts them.
fn by_number(sites: &Sites) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sites.len()).collect();
    order.sort_by_key(|&node| sites.ids()[node].parse().unwrap_or(i64::MAX));
    order
}

fn table(text: &mut String, instance: &Sites) {
    let symmetric = instance.is_symmetric();
    let format = if symmetric { "LOWER_DIAG_ROW" } else { "FULL_MATRIX" };
    text.push_str(&format!("EDGE_WEIGHT_FORMAT : {format}\n"));
    if instance.display().is_some() {
        text.push_str("DISPLAY_DATA_TYPE : TWOD_DISPLAY\n");
    }
    text.push_str("EDGE_WEIGHT_SECTION\n");
    let order = by_number(instance);
    for (row, &node) in order.iter().enumerate() {
        let until = if symmetric { row + 1 } else { order.len() };
        let row: Vec<String> = order[..until].iter().map(|&other| instance.distance(node, other).to_string()).collect();
        text.push_str(&row.join(" "));
        text.push('\n');
    }
    if let Some(display) = instance.display() {
        let points: Vec<_> = display.iter().map(|p| p.to_vec()).collect();
        rows(text, "DISPLAY_DATA_SECTION", instance.ids(), &points);
    }
}

fn rows(text: &mut String, section: &str, ids: &[String], points: &[Vec<f64>]) {
    text.push_str(section);
    text.push('\n');
    for (id, point) in ids.iter().zip(points) {
        text.push_str(id);
        for value in point {
            // Shortest digits that read back as the same number; writing to a string never fails.
            let _ = write!(text, " {value}");
        }
        text.push('\n');
    }
}

//! Writing TSPLIB instances.

use std::fmt::Write as _;
use std::path::Path;

use crate::file::write_atomic;
use crate::routes::metric::Metric;
use crate::routes::tsp::Tsp;
use crate::{Error, Result};

/// Writes an instance as a TSPLIB file, under a temporary name first.
///
/// # Errors
/// Those of [`render`], and [`Error::Io`] when the file cannot be written.
pub fn write(path: impl AsRef<Path>, instance: &Tsp) -> Result<()> {
    let text = render(instance)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The text of a TSPLIB file that reads as the same instance.
///
/// # Errors
/// [`Error::Invalid`] when TSPLIB cannot say it: real-valued metrics (write CSV instead) and ids
/// that are not whole numbers.
pub fn render(instance: &Tsp) -> Result<String> {
    if matches!(instance.metric(), Metric::Euclidean | Metric::GreatCircleKm) {
        let reason = format!("TSPLIB has no unrounded {} distances; write CSV", instance.metric_name());
        return Err(Error::invalid("metric", reason));
    }
    if let Some(bad) = instance.ids().iter().find(|id| id.parse::<i64>().is_err()) {
        return Err(Error::invalid("node id", format!("TSPLIB wants whole numbers, found `{bad}`")));
    }
    let mut text = String::new();
    let mut keyword = |name: &str, value: &str| {
        let value = value.replace(['\n', '\r'], " ");
        text.push_str(&format!("{name} : {value}\n"));
    };
    keyword("NAME", instance.name());
    keyword("TYPE", "TSP");
    if !instance.comment().is_empty() {
        keyword("COMMENT", instance.comment());
    }
    keyword("DIMENSION", &instance.len().to_string());
    keyword("EDGE_WEIGHT_TYPE", instance.metric_name());
    match instance.metric() {
        Metric::Explicit(_) => table(&mut text, instance),
        metric => {
            let shown = |p: &[f64; 3]| p[..metric.dimensions()].to_vec();
            let points: Vec<_> = instance.coordinates().iter().map(shown).collect();
            rows(&mut text, "NODE_COORD_SECTION", instance.ids(), &points);
        }
    }
    text.push_str("EOF\n");
    Ok(text)
}

fn table(text: &mut String, instance: &Tsp) {
    text.push_str("EDGE_WEIGHT_FORMAT : LOWER_DIAG_ROW\n");
    if instance.display().is_some() {
        text.push_str("DISPLAY_DATA_TYPE : TWOD_DISPLAY\n");
    }
    text.push_str("EDGE_WEIGHT_SECTION\n");
    for row in 0..instance.len() {
        let row: Vec<String> = (0..=row).map(|column| instance.distance(row, column).to_string()).collect();
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

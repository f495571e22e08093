//! Instances as CSV: `id,x,y` in the plane, or `id,lat,lon` on the Earth.
//!
//! The header decides. Columns may stand in any order and be called as in [`ID`], [`LATITUDE`]
//! and [`LONGITUDE`], in any case; others are ignored; without ids, rows are counted from 1;
//! rows without any value are skipped.
//! Fields are separated by commas, semicolons or tabs, whichever the header has most of. Lines
//! starting with `#` above the header are the instance's comment.
//!
//! [`parse`] reads a TSP. [`parse_instance`] also reads columns of demands, prizes and penalties and
//! with them vehicle routing, orienteering and prize collecting.

mod columns;
mod instance;
mod options;
mod sheet;

use std::path::Path;

use self::sheet::Sheet;
use crate::file::write_atomic;
use crate::routes::instance::Instance;
use crate::routes::metric::Metric;
use crate::routes::tsp::Tsp;
use crate::table::write::quoted;
use crate::{Error, Result};

pub use self::instance::parse_instance;
pub use self::options::Options;

/// Names of the column of ids, the preferred first.
pub const ID: [&str; 6] = ["id", "name", "city", "node", "place", "label"];
/// Names of the column of latitudes in decimal degrees, north positive.
pub const LATITUDE: [&str; 2] = ["lat", "latitude"];
/// Names of the column of longitudes in decimal degrees, east positive.
pub const LONGITUDE: [&str; 4] = ["lon", "lng", "long", "longitude"];
/// Names of the column of demands, which make it vehicle routing.
pub const DEMAND: [&str; 1] = ["demand"];
/// Names of the column of prizes, which make it orienteering or, with penalties, prize collecting.
pub const PRIZE: [&str; 3] = ["prize", "score", "profit"];
/// Names of the column of penalties for customers left out.
pub const PENALTY: [&str; 1] = ["penalty"];
/// Names of the column of prizes collected where they differ from those expected.
pub const REAL_PRIZE: [&str; 1] = ["real_prize"];
/// Names of the column that marks the depot with 1.
pub const DEPOT: [&str; 1] = ["depot"];

/// Reads an instance from CSV text; `path` names it in errors and gives the instance its name.
///
/// `x` and `y` give straight, unrounded distances, latitude and longitude great-circle
/// kilometres.
///
/// # Errors
/// [`Error::Parse`] naming line and field, e.g.
/// ``cities.csv:7: field `x`: found `abc`, expected a number``.
///
/// ```
/// use regard_data::routes::formats::csv;
///
/// let text = "city,lat,lon\nParis,48.8566,2.3522\nBerlin,52.5200,13.4050\n";
/// let two = csv::parse(text, "two.csv".as_ref())?;
/// assert_eq!(two.distance(0, 1).round(), 877.0);
/// assert_eq!(two.unit(), "km");
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path) -> Result<Tsp> {
    let sheet = Sheet::of(text, path)?;
    let comments: Vec<&str> = sheet.comments.iter().map(|(_, words)| words.as_str()).collect();
    sheet.sites(&comments.join(" "))
}

/// Writes an instance as CSV, under a temporary name first.
///
/// # Errors
/// Those of [`render`], and [`Error::Io`] when the file cannot be written.
pub fn write(path: impl AsRef<Path>, instance: &Tsp) -> Result<()> {
    let text = render(instance)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The CSV text that reads as the same instance, but for its name, which is that of the file.
///
/// # Errors
/// [`Error::Invalid`] for metrics that CSV cannot tell (write TSPLIB instead).
pub fn render(instance: &Tsp) -> Result<String> {
    table(instance, &[], &[])
}

/// Writes an instance of any problem as CSV, under a temporary name first.
///
/// # Errors
/// Those of [`render_instance`], and [`Error::Io`] when the file cannot be written.
pub fn write_instance(path: impl AsRef<Path>, instance: &Instance) -> Result<()> {
    let text = render_instance(instance)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The CSV text that [`parse_instance`] reads as the same instance, but for its name, which is that
/// of the file.
///
/// # Errors
/// [`Error::Invalid`] for metrics that CSV cannot tell (write TSPLIB instead).
pub fn render_instance(instance: &Instance) -> Result<String> {
    match instance {
        Instance::Tsp(instance) => render(instance),
        Instance::Cvrp(instance) => {
            let mut options = vec![("capacity", instance.capacity().to_string())];
            if let Some(limit) = instance.limit() {
                options.push(("max_length", limit.to_string()));
                options.push(("service_time", instance.service().to_string()));
            }
            if instance.split() {
                options.push(("split", "yes".into()));
            }
            table(instance.sites(), &options, &[(DEMAND[0], instance.demands())])
        }
        Instance::Orienteering(instance) => {
            let options = [("max_length", instance.max_length().to_string())];
            table(instance.sites(), &options, &[(PRIZE[0], instance.prizes())])
        }
        Instance::PrizeCollecting(instance) => {
            let options = [("required_prize", instance.required().to_string())];
            let mut columns = vec![(PRIZE[0], instance.prizes()), (PENALTY[0], instance.penalties())];
            columns.extend(instance.real_prizes().map(|real| (REAL_PRIZE[0], real)));
            table(instance.sites(), &options, &columns)
        }
    }
}

/// The text with these options as comments and these columns after the coordinates.
fn table(sites: &Tsp, options: &[(&str, String)], columns: &[(&str, &[f64])]) -> Result<String> {
    let header = match sites.metric() {
        Metric::Euclidean => "id,x,y",
        Metric::GreatCircleKm => "id,lat,lon",
        other => {
            let reason = format!("CSV cannot tell {} distances; write TSPLIB", other.name());
            return Err(Error::invalid("metric", reason));
        }
    };
    let mut text: String = options.iter().map(|(name, value)| format!("# {name}: {value}\n")).collect();
    for line in sites.comment().lines() {
        // A remark such as "capacity: 100" must not be read as the option.
        let mark = if !options.is_empty() && options::is_option(line) { "# note: " } else { "# " };
        text.push_str(&format!("{mark}{line}\n"));
    }
    text.push_str(header);
    text.extend(columns.iter().map(|(name, _)| format!(",{name}")));
    for (node, (id, [first, second, _])) in sites.ids().iter().zip(sites.coordinates()).enumerate() {
        text.push_str(&format!("\n{},{first},{second}", quoted(id)));
        text.extend(columns.iter().map(|(_, values)| format!(",{}", values[node])));
    }
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests;

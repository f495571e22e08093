//! Solomon's text format (M. M. Solomon, "Algorithms for the vehicle routing and scheduling problems with time window
//! constraints", Operations Research 35, 1987), which Gehring and Homberger's larger instances share.
//!
//! Distances are straight lines cut to one decimal ([`Metric::Tenths`]), in costs and in times: the rule of the 12th
//! DIMACS Implementation Challenge, whose best-known costs are by distance alone. The number of vehicles is a limit.

use std::collections::HashMap;
use std::path::Path;

use super::files::{self, Times};
use super::{Cvrptw, TimeWindows};
use crate::formats::stem;
use crate::formats::tsplib::Amount;
use crate::instance::OwnFormat;
use crate::problems::cvrp::Cvrp;
use crate::sites::is_coordinate;
use crate::{Error, Metric, Result, Sites, shown};

pub(super) const FORMAT: OwnFormat = OwnFormat { title: "Solomon's format", ending: "txt", recognises };

/// Columns of the table of customers, the depot in its first row.
const FIELDS: [&str; 7] = ["CUST NO.", "XCOORD.", "YCOORD.", "DEMAND", "READY TIME", "DUE DATE", "SERVICE TIME"];

/// The most lines of content above the first heading: a name and what else people write there.
const MOST_ABOVE: usize = 5;

/// A name and other lines, which may be missing, `VEHICLE`, `NUMBER CAPACITY`, then `CUSTOMER`; or [`is_of_li_and_lim`], to
/// be refused.
fn recognises(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| is_content(line)).take(MOST_ABOVE + 6).collect();
    let is_solomons = above(&lines).is_some_and(|above| lines[above..].iter().any(|line| begins(line, "CUSTOMER")));
    is_solomons || is_of_li_and_lim(&lines)
}

/// If true, a line is neither empty nor a comment.
fn is_content(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

/// If true, a line begins with a word, in any case.
fn begins(line: &str, word: &str) -> bool {
    line.to_ascii_uppercase().starts_with(word)
}

/// The number of lines of content above the first heading, the first of which is the name; `None` if it is not there.
fn above(lines: &[&str]) -> Option<usize> {
    lines.windows(2).take(MOST_ABOVE + 1).position(|two| begins(two[0], "VEHICLE") && begins(two[1], "NUMBER"))
}

/// If true, the lines of content are those of Li and Lim's instances, which descend from Solomon's: the number of
/// vehicles, their capacity and their speed, then rows of nine numbers, the last of which name the pickup and the delivery.
fn is_of_li_and_lim(lines: &[&str]) -> bool {
    let numbers = |line: &&str| {
        let words = line.split_whitespace().map(|word| word.parse::<f64>().is_ok());
        words.clone().all(|is_number| is_number).then(|| words.count())
    };
    lines.len() >= 2 && numbers(&lines[0]) == Some(3) && lines[1..].iter().all(|line| numbers(line) == Some(9))
}

/// Reads an instance; `path` names the file in errors.
pub(super) fn read(text: &str, path: &Path) -> Result<Cvrptw> {
    let trimmed = |line: &str| line.trim_matches(|c: char| c.is_whitespace() || c == '\u{1a}').to_owned();
    let lines: Vec<(usize, String)> =
        (1..).zip(text.lines().map(trimmed)).filter(|(_, line)| is_content(line)).collect();
    let fault = |line: usize, field: &str, reason: String| Error::parse(path, line, reason).in_field(field);
    let head: Vec<&str> = lines.iter().take(MOST_ABOVE + 2).map(|(_, line)| line.as_str()).collect();
    if is_of_li_and_lim(&head[..head.len().min(2)]) {
        let reason = "pickup and delivery with time windows (Li and Lim's format) is not supported";
        let hint = "a table (CSV) with a column `pickup` is pickup and delivery without time windows";
        return Err(Error::parse(path, lines[0].0, reason).with_hint(hint));
    }
    // Without the headings the first line is the name.
    let above = above(&head).unwrap_or(1).min(lines.len());
    let name = match above {
        0 => stem(path),
        _ => lines[0].1.clone(),
    };
    let mut rest = lines[above..].iter();
    for heading in ["VEHICLE", "NUMBER"] {
        expect(path, rest.next(), heading)?;
    }
    let (at, fleet) = rest.next().ok_or_else(|| fault(0, "CAPACITY", "ends before the number of vehicles".into()))?;
    let [vehicles, capacity] = numbers(path, *at, fleet, ["NUMBER", "CAPACITY"])?;
    let vehicles = files::count(vehicles).map_err(|reason| fault(*at, "NUMBER", reason))?;
    if capacity <= 0.0 {
        return Err(fault(*at, "CAPACITY", format!("found {capacity}, expected a number above 0")));
    }
    expect(path, rest.next(), "CUSTOMER")?;
    expect(path, rest.next(), "CUST")?;
    let rows = rest
        .map(|(line, row)| {
            let numbers = numbers(path, *line, row, FIELDS)?;
            let id = row.split_whitespace().next().unwrap_or_default().to_owned();
            Ok((*line, id, numbers))
        })
        .collect::<Result<Vec<_>>>()?;
    if rows.is_empty() {
        let error = Error::parse(path, 0, "has no rows below its header, expected the depot and its customers");
        return Err(error.with_hint(format!("each line has {}", FIELDS.join(", "))));
    }
    let mut first_lines: HashMap<&str, usize> = HashMap::new();
    for (line, id, _) in &rows {
        if let Some(first) = first_lines.insert(id, *line) {
            return Err(fault(*line, FIELDS[0], format!("node {id} occurs a second time, first on line {first}")));
        }
    }
    let column = |field: usize| rows.iter().map(|(_, _, numbers)| numbers[field]).collect::<Vec<f64>>();
    let points = rows.iter().map(|(_, _, numbers)| [numbers[1], numbers[2], 0.0]).collect();
    let ids = rows.iter().map(|(_, id, _)| id.clone()).collect();
    let sites = Sites::new(name, Metric::Tenths, points)?.with_ids(ids)?;
    let lines: Vec<usize> = rows.iter().map(|(line, ..)| *line).collect();
    let demands: Vec<Amount> = lines.iter().zip(column(3)).map(|(&line, value)| Amount { line, value }).collect();
    files::check_demands(&demands, sites.ids(), 0, capacity)
        .map_err(|(line, reason)| fault(line, FIELDS[3], reason))?;
    let routing = Cvrp::new(sites, column(3), capacity)?;
    let windows = TimeWindows { ready: column(4), due: column(5), service: column(6) };
    let named = |node: usize, field: &str, reason: String| {
        let field = match field {
            "ready" => FIELDS[4],
            "due" => FIELDS[5],
            "vehicles" => return fault(*at, "NUMBER", reason),
            _ => FIELDS[6],
        };
        fault(lines[node], field, reason)
    };
    files::build(routing, Times { windows, pace: 1.0, vehicles: Some(vehicles) }, named)
}

/// Checks the heading of a part.
fn expect(path: &Path, line: Option<&(usize, String)>, heading: &str) -> Result<()> {
    let Some((number, found)) = line else {
        return Err(Error::parse(path, 0, format!("ends before the line that begins with {heading}")));
    };
    if begins(found, heading) {
        return Ok(());
    }
    let reason = format!("found `{}`, expected a line that begins with {heading}", shown(found));
    Err(Error::parse(path, *number, reason))
}

/// The numbers of a line, each above 0 or 0 but for coordinates.
fn numbers<const N: usize>(path: &Path, line: usize, row: &str, fields: [&str; N]) -> Result<[f64; N]> {
    let words: Vec<&str> = row.split_whitespace().collect();
    if words.len() != N {
        let reason = format!("found {} numbers, expected {N}", words.len());
        return Err(Error::parse(path, line, reason).with_hint(format!("each line has {}", fields.join(", "))));
    }
    let mut numbers = [0.0; N];
    for ((slot, word), field) in numbers.iter_mut().zip(words).zip(fields) {
        let value = word.parse().ok().filter(|value: &f64| is_coordinate(*value));
        let Some(value) = value else {
            let reason = format!("found `{}`, expected a number", shown(word));
            return Err(Error::parse(path, line, reason).in_field(field));
        };
        if value < 0.0 && !field.ends_with("COORD.") {
            let reason = format!("found {value}, expected a number of 0 or more");
            return Err(Error::parse(path, line, reason).in_field(field));
        }
        *slot = value;
    }
    Ok(numbers)
}

/// The text of an instance.
pub(super) fn render(instance: &Cvrptw) -> Result<String> {
    let sites = instance.sites();
    let refused = |what: &str, reason: String| Err(Error::invalid(what, format!("{reason}; write CSV")));
    if *sites.metric() != Metric::Tenths || instance.pace() != 1.0 {
        return refused("metric", format!("Solomon's format has no {} distances", sites.metric_name()));
    }
    let windows = instance.windows();
    if windows.due.iter().any(|due| due.is_infinite()) {
        return refused("due time", "Solomon's format needs an end of every window".into());
    }
    if let Some(bad) = sites.ids().iter().find(|id| id.parse::<f64>().is_err()) {
        return refused("node id", format!("Solomon's format requires numbers, found `{}`", shown(bad)));
    }
    let vehicles = instance.vehicles().unwrap_or(sites.len().saturating_sub(1).max(1));
    let name = sites.name().lines().next().filter(|name| !name.trim().is_empty()).unwrap_or("unnamed");
    let (fleet, capacity) = ("NUMBER     CAPACITY", instance.routing().capacity());
    let mut text = format!("{name}\n\nVEHICLE\n{fleet}\n{vehicles:>4} {capacity:>11}\n\nCUSTOMER\n");
    text += "CUST NO.  XCOORD.   YCOORD.    DEMAND   READY TIME  DUE DATE   SERVICE   TIME\n\n";
    for (node, id) in sites.ids().iter().enumerate() {
        let [x, y, _] = sites.coordinates()[node];
        let times = [windows.ready[node], windows.due[node], windows.service[node]];
        text += &format!("{id:>5}");
        for value in [x, y, instance.routing().demands()[node]].into_iter().chain(times) {
            text += &format!(" {value:>10}");
        }
        text += "\n";
    }
    Ok(text)
}

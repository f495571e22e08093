//! TSPLIB95 tour files (`.tour`): node ids under `TOUR_SECTION`, ended by -1 or the end.
//!
//! Tours that leave nodes out begin with the depot and list the visited nodes only; `DIMENSION` is that of the instance.

use std::collections::HashMap;
use std::path::Path;

use super::shown;
use crate::file::read_text;
use crate::{Error, Result, Sites};

/// Reads a tour of `instance`: indices of nodes in the order of the file.
///
/// Every id is one of the instance's; whether each occurs once is for the checker of the problem to say.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, [`Error::Parse`] when it is no tour file, belongs
/// to an instance of another size, names an unknown node or holds several tours.
pub fn read(path: impl AsRef<Path>, instance: &Sites) -> Result<Vec<usize>> {
    let path = path.as_ref();
    parse(&read_text(path)?, path, instance)
}

/// Reads a tour from its text; `path` names it in errors. See [`read`].
///
/// # Errors
/// As [`read`], without those of the file system.
pub fn parse(text: &str, path: &Path, instance: &Sites) -> Result<Vec<usize>> {
    let trimmed = |raw| str::trim_matches(raw, |c: char| c.is_whitespace() || c == '\u{1a}');
    let mut lines = text.lines().map(trimmed).enumerate().map(|(at, content)| (at + 1, content));
    read_header(&mut lines, path, instance)?;
    let index: HashMap<&str, usize> = instance.ids().iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
    let mut tour = Vec::new();
    let mut ended = false;
    for (line, content) in lines {
        // An id may contain spaces, so a line is tried as a whole first.
        let words = match index.contains_key(content) {
            true => vec![content],
            false => content.split_whitespace().collect(),
        };
        for word in words {
            match (word, index.get(word)) {
                ("EOF" | "eof", None) => return Ok(tour),
                ("-1", None) => ended = true,
                _ if ended => {
                    let reason = format!("found `{}` after the end of the tour (-1), expected one tour", shown(word));
                    return Err(Error::parse(path, line, reason));
                }
                (_, Some(node)) => tour.push(*node),
                (_, None) => return Err(unknown(path, line, word, instance)),
            }
        }
    }
    Ok(tour)
}

/// Reads the visits of a tour of `sites` in their order, without the depot, with which the tour must begin.
///
/// # Errors
/// Those of [`read`], and [`Error::Parse`] when the tour does not begin with the depot.
pub fn read_visits(path: impl AsRef<Path>, sites: &Sites) -> Result<Vec<usize>> {
    let path = path.as_ref();
    parse_visits(&read_text(path)?, path, sites)
}

/// Reads visits from the text of a tour; `path` names it in errors. See [`read_visits`].
///
/// # Errors
/// As [`read_visits`], without those of the file system.
pub fn parse_visits(text: &str, path: &Path, sites: &Sites) -> Result<Vec<usize>> {
    let mut tour = parse(text, path, sites)?;
    let depot = shown(&sites.ids()[0]);
    match tour.first() {
        Some(0) => {
            tour.remove(0);
            Ok(tour)
        }
        Some(&other) => {
            let reason = format!("begins with `{}`, expected the depot (`{depot}`)", shown(&sites.ids()[other]));
            Err(Error::parse(path, 0, reason).in_field("TOUR_SECTION"))
        }
        None => {
            let reason = format!("is empty, expected at least the depot (`{depot}`)");
            Err(Error::parse(path, 0, reason).in_field("TOUR_SECTION"))
        }
    }
}

/// The text of a tour file of these nodes, with this comment.
///
/// # Errors
/// [`Error::Invalid`] when an id cannot stand in a tour file.
pub fn render(sites: &Sites, comment: &str, nodes: &[usize]) -> Result<String> {
    if let Some(bad) = sites.ids().iter().find(|id| !is_writable(id)) {
        let reason = format!("`{}` cannot be written to a tour file", shown(bad));
        return Err(Error::invalid("node id", reason));
    }
    Ok(lay_out(sites, comment, nodes))
}

/// The file of these nodes of `sites`, in this order.
fn lay_out<'n>(sites: &Sites, comment: &str, nodes: impl IntoIterator<Item = &'n usize>) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = format!("NAME : {}.tour\nCOMMENT : {comment}\n", one_line(sites.name()));
    text.push_str(&format!("TYPE : TOUR\nDIMENSION : {}\nTOUR_SECTION\n", sites.len()));
    for &node in nodes {
        text.push_str(&sites.ids()[node]);
        text.push('\n');
    }
    text.push_str("-1\nEOF\n");
    text
}

/// If true, an id reads back: not a mark of the format, and a line of its own.
fn is_writable(id: &str) -> bool {
    let plain = !id.contains(|c: char| c.is_control());
    plain && !id.is_empty() && id.trim() == id && !matches!(id, "-1" | "EOF" | "eof")
}

/// Reads up to and with `TOUR_SECTION`.
fn read_header<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>, path: &Path, instance: &Sites) -> Result<()> {
    for (line, content) in lines {
        let (keyword, value) = content.split_once(':').unwrap_or((content, ""));
        let (keyword, value) = (keyword.trim().to_ascii_uppercase(), value.trim());
        let error = |reason: String| Error::parse(path, line, reason).in_field(&*keyword);
        match keyword.as_str() {
            "TOUR_SECTION" => return Ok(()),
            "TYPE" if !value.to_ascii_uppercase().starts_with("TOUR") => {
                return Err(error(format!("found `{}`, expected TOUR", shown(value))));
            }
            "DIMENSION" if value.parse() != Ok(instance.len()) => {
                let (found, name, n) = (shown(value), instance.name(), instance.len());
                let reason = format!("found `{found}`, expected {n}, the nodes of {name}");
                return Err(error(reason).with_hint("the tour belongs to another instance"));
            }
            _ => {}
        }
    }
    let error = Error::parse(path, 0, "has no TOUR_SECTION");
    Err(error.with_hint("expected a TSPLIB tour: `TOUR_SECTION`, node ids, -1"))
}

fn unknown(path: &Path, line: usize, word: &str, instance: &Sites) -> Error {
    let ids = instance.ids();
    let (first, last) = (ids.first().map_or("", |i| i), ids.last().map_or("", |i| i));
    let reason = format!("found `{}`, expected a node of {}", shown(word), instance.name());
    let error = Error::parse(path, line, reason).in_field("TOUR_SECTION");
    error.with_hint(format!("its {} ids run from `{}` to `{}`", ids.len(), shown(first), shown(last)))
}

#[cfg(test)]
mod tests;

//! Solutions of vehicle routing as CVRPLIB writes them (`.sol`): `Route #1: 5 12 ...` on each line,
//! then `Cost 27591`.
//!
//! Customers are counted from 1 in the order of the instance, the depot left out. With the depot as
//! node 1 of ids 1, 2, ... that is the id less 1; it is always the index of the node.

use std::path::Path;

use super::{number, shown};
use crate::file::read_text;
use crate::{Error, Result, Sites};

/// Content of a solution file.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Routes in the order of the file, each a list of node indices without the depot.
    pub routes: Vec<Vec<usize>>,
    /// The cost the file states, which may be wrong.
    pub stated_cost: Option<f64>,
}

/// Reads a solution of `instance`.
///
/// Every number is one of its customers; whether the routes obey its rules is for the checker of the
/// problem to say.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, [`Error::Parse`] when it is no solution file or
/// names an unknown customer.
pub fn read(path: impl AsRef<Path>, instance: &Sites) -> Result<Solution> {
    let path = path.as_ref();
    parse(&read_text(path)?, path, instance)
}

/// Reads a solution from its text; `path` names it in errors. See [`read`].
///
/// Lines `keyword: value` other than routes and costs are ignored.
///
/// # Errors
/// As [`read`], without those of the file system.
pub fn parse(text: &str, path: &Path, instance: &Sites) -> Result<Solution> {
    let mut solution = Solution { routes: Vec::new(), stated_cost: None };
    let mut cost_line = None;
    for (line, raw) in (1..).zip(text.lines()) {
        let content = raw.trim_matches(|c: char| c.is_whitespace() || c == '\u{1a}');
        if content.is_empty() {
            continue;
        }
        let (head, rest) = split(content);
        match head.as_str() {
            "route" => solution.routes.push(route(rest, path, line, instance)?),
            "cost" => {
                if let Some(first) = cost_line.replace(line) {
                    let reason = format!("occurs a second time, first on line {first}");
                    return Err(Error::parse(path, line, reason).in_field("Cost"));
                }
                solution.stated_cost = Some(cost(rest, path, line)?);
            }
            "eof" => break,
            _ if is_other_keyword(content) => {}
            _ => {
                let reason = format!("found `{}`, expected `Route #1: ...` or `Cost ...`", shown(content));
                return Err(Error::parse(path, line, reason));
            }
        }
    }
    if solution.routes.is_empty() && customers(instance) > 0 {
        let error = Error::parse(path, 0, "has no routes");
        return Err(error.with_hint("expected lines like `Route #1: 5 12 3`"));
    }
    Ok(solution)
}

/// Nodes but the depot.
fn customers(sites: &Sites) -> usize {
    sites.len().saturating_sub(1)
}

/// The first word in small letters and what follows it.
fn split(content: &str) -> (String, &str) {
    let end = content.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(content.len());
    let (word, rest) = content.split_at(end);
    (word.to_ascii_lowercase(), rest)
}

/// If true, a line is `keyword: value`.
fn is_other_keyword(content: &str) -> bool {
    let word = |c: char| c.is_alphabetic() || c == '_' || c == '-';
    content.split_once(':').is_some_and(|(keyword, _)| !keyword.trim().is_empty() && keyword.trim().chars().all(word))
}

/// The customers after `#1:`.
fn route(rest: &str, path: &Path, line: usize, instance: &Sites) -> Result<Vec<usize>> {
    let error = |reason: String| Error::parse(path, line, reason).in_field("Route");
    let last = customers(instance);
    let Some((number, customers)) = rest.split_once(':') else {
        return Err(error(format!("found `{}`, expected `#1: customers`", shown(rest.trim()))));
    };
    let number = number.trim().trim_start_matches('#').trim();
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return Err(error(format!("found `{}`, expected the number of a route", shown(number))));
    }
    let customer = |word: &str| match word.parse::<usize>() {
        Ok(node) if (1..=last).contains(&node) => Ok(node),
        _ => {
            let found = shown(word);
            let reason = format!("found `{found}`, expected a customer of {}, 1 to {last}", instance.name());
            Err(error(reason).with_hint("customers are counted from 1 without the depot, whatever their ids"))
        }
    };
    customers.split_whitespace().map(customer).collect()
}

fn cost(rest: &str, path: &Path, line: usize) -> Result<f64> {
    let value = rest.trim().trim_start_matches([':', '=']).trim();
    number(value).ok_or_else(|| {
        let reason = format!("found `{}`, expected a number", shown(value));
        Error::parse(path, line, reason).in_field("Cost")
    })
}

/// The text of a solution file with these routes and their cost; empty routes are left out.
#[must_use]
pub fn render(routes: &[Vec<usize>], cost: f64) -> String {
    let mut text = String::new();
    for (number, route) in (1..).zip(routes.iter().filter(|route| !route.is_empty())) {
        let customers: Vec<String> = route.iter().map(usize::to_string).collect();
        text.push_str(&format!("Route #{number}: {}\n", customers.join(" ")));
    }
    text.push_str(&format!("Cost {cost}\n"));
    text
}

#[cfg(test)]
mod tests;

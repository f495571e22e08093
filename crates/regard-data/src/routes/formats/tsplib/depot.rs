//! `DEPOT_SECTION`: the id of the depot, ended by -1.

use super::super::shown;
use super::layout::Layout;
use crate::Result;

const SECTION: &str = "DEPOT_SECTION";

/// The index of the only depot among the nodes of these ids, which are whole numbers.
pub(crate) fn read(layout: &Layout<'_>, ids: &[String], problem: &str) -> Result<usize> {
    let section = layout.required(SECTION, problem)?;
    let mut words = section.rows.iter().flat_map(|&(line, row)| row.split_whitespace().map(move |word| (line, word)));
    let named: Vec<(usize, &str)> = words.by_ref().take_while(|(_, word)| *word != "-1").collect();
    if let Some((line, word)) = words.next() {
        let reason = format!("found `{}` after the end of the section (-1)", shown(word));
        return Err(layout.error(line, reason).in_field(SECTION));
    }
    let (line, word) = match named[..] {
        [only] => only,
        [] => {
            let error = layout.error(section.line, "names no depot, expected one").in_field(SECTION);
            return Err(error.with_hint("write the id of the depot, then -1"));
        }
        [(_, first), (line, second), ref rest @ ..] => {
            let more = if rest.is_empty() { "" } else { ", ..." };
            let reason =
                format!("names {} depots ({}, {}{more}), expected one", named.len(), shown(first), shown(second));
            let error = layout.error(line, reason).in_field(SECTION);
            return Err(error.with_hint("several depots are not supported"));
        }
    };
    let number = word.parse::<i64>().ok();
    match ids.iter().position(|id| number.is_some() && id.parse().ok() == number) {
        Some(depot) => Ok(depot),
        None => {
            let reason = format!("found `{}`, expected the id of one of the {} nodes", shown(word), ids.len());
            Err(layout.error(line, reason).in_field(SECTION))
        }
    }
}

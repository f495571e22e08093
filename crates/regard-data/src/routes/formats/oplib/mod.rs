//! Orienteering files of OPLib (`.oplib`): TSPLIB95 with `COST_LIMIT`, `NODE_SCORE_SECTION` and
//! `DEPOT_SECTION` (G. Kobeaga, M. Merino and J. A. Lozano, "An efficient evolutionary algorithm
//! for the orienteering problem", Computers & Operations Research 90, 2018).
//!
//! The score of the depot counts, as in their solver.

use std::path::Path;

use super::tsplib::header::Problem;
use super::tsplib::layout::Layout;
use super::tsplib::write::render_with_depot;
use super::tsplib::{depot, per_node, sites};
use crate::Result;
use crate::file::write_atomic;
use crate::routes::orienteering::Orienteering;

/// Reads an instance from its text; `path` names it in errors. The depot becomes node 0, the
/// others keep their order, all keep their ids.
///
/// The best-known score is left open, see [`best_known`](super::best_known).
///
/// # Errors
/// [`Error::Parse`](crate::Error::Parse) with line, what was found and what was expected.
///
/// ```
/// use regard_data::routes::formats::oplib;
///
/// let text = "NAME: two\nTYPE: OP\nDIMENSION: 2\nCOST_LIMIT: 9\nEDGE_WEIGHT_TYPE: EUC_2D
/// NODE_COORD_SECTION\n1 0 0\n2 3 0\nNODE_SCORE_SECTION\n1 0\n2 7\nDEPOT_SECTION\n1\n-1\nEOF\n";
/// let instance = oplib::parse(text, "two.oplib".as_ref())?;
/// assert_eq!((instance.prize(&[1]), instance.length(&[1])), (7.0, 6.0));
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn parse(text: &str, path: &Path) -> Result<Orienteering> {
    read(&Layout::of(text, path)?, text.len())
}

pub(super) fn read(layout: &Layout<'_>, bytes: usize) -> Result<Orienteering> {
    let problem = Problem::Orienteering;
    let sites = sites(layout, bytes, problem)?;
    let Some(limit) = layout.amount("COST_LIMIT", false)? else {
        let error = layout.error(0, "has no COST_LIMIT, which OP needs");
        return Err(error.with_hint("add `COST_LIMIT : the longest a tour may be`"));
    };
    let section = layout.required("NODE_SCORE_SECTION", problem.name())?;
    let mut scores = per_node::read(layout, section, sites.ids(), "score")?;
    let depot = depot::read(layout, sites.ids(), problem.name())?;
    scores[..=depot].rotate_right(1);
    let sites = crate::routes::depot::first(sites, depot)?;
    Orienteering::new(sites, scores.iter().map(|s| s.value).collect(), limit)
}

/// Writes an instance as an OPLib file, under a temporary name first.
///
/// # Errors
/// Those of [`render`], and [`Error::Io`](crate::Error::Io) when the file cannot be written.
pub fn write(path: impl AsRef<Path>, instance: &Orienteering) -> Result<()> {
    let text = render(instance)?;
    write_atomic(path, |w| w.write_all(text.as_bytes()))
}

/// The text of an OPLib file that reads as the same instance.
///
/// # Errors
/// [`Error::Invalid`](crate::Error::Invalid) when TSPLIB cannot say it: real-valued metrics (write CSV instead) and ids
/// that are not whole numbers.
pub fn render(instance: &Orienteering) -> Result<String> {
    let extra = [("COST_LIMIT", instance.max_length())];
    render_with_depot("OP", instance.sites(), &extra, "NODE_SCORE_SECTION", instance.prizes())
}

#[cfg(test)]
mod tests;

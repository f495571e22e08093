//! Instance files of TSPLIB95 (G. Reinelt, "TSPLIB 95", 1995) and its descendants CVRPLIB and OPLib.
//!
//! Every `EDGE_WEIGHT_TYPE` but `SPECIAL`, `XRAY1` and `XRAY2` (whose functions are not in the file) and every
//! `EDGE_WEIGHT_FORMAT` is read. Keywords may stand before or after the sections, in any case, with or without spaces
//! about the colon; `EOF` may be missing. The further keywords and sections of a problem are declared and read by the
//! problem ([`TsplibType`]).

pub(super) mod header;
pub(super) mod layout;
mod nodes;
#[cfg(test)]
mod tests;
mod weights;
mod write;

use std::path::Path;

use self::header::{Header, WeightType};
use self::layout::{Layout, Section};
use self::nodes::Node;
use super::{number, shown, whole};
use crate::instance::SolverInstance;
use crate::{Error, Metric, Result, Sites};

pub use self::header::TsplibType;
pub(crate) use self::nodes::{Amount, DEPOT_SECTION};
pub use self::weights::MOST_EXPLICIT_NODES;
pub use self::write::{render, write};

/// Reads an instance of one problem from the text of a file; `path` names it in errors. A depot becomes node 0, the
/// others keep their order, all keep their ids.
///
/// The best-known cost is left open, see [`best_known`](super::best_known).
///
/// # Errors
/// [`Error::Parse`] with line, what was found and what was expected.
///
/// ```
/// use regard_routing::formats::tsplib;
/// use regard_routing::problems::{cvrp::Cvrp, tsp::Tsp};
///
/// let text = "NAME: three\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D
/// NODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\nEOF\n";
/// let instance: Tsp = tsplib::parse(text, "three.tsp".as_ref())?;
/// assert_eq!(instance.cost(&[0, 1, 2]), 12.0);
///
/// let text = "NAME: three\nTYPE: CVRP\nDIMENSION: 3\nCAPACITY: 5\nEDGE_WEIGHT_TYPE: EUC_2D
/// NODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\nDEMAND_SECTION\n1 0\n2 4\n3 4\nDEPOT_SECTION\n1\n-1\nEOF\n";
/// let instance: Cvrp = tsplib::parse(text, "three.vrp".as_ref())?;
/// assert_eq!(instance.cost(&[vec![1], vec![2]]), 16.0);
/// # Ok::<(), regard_routing::Error>(())
/// ```
pub fn parse<I: SolverInstance>(text: &str, path: &Path) -> Result<I> {
    read(&Layout::of(text, path)?, text.len())
}

/// Reads an instance of one problem from a file of `bytes` bytes.
pub(super) fn read<I: SolverInstance>(layout: &Layout<'_>, bytes: usize) -> Result<I> {
    let Some(tsplib) = I::FILES.tsplib else {
        return Err(layout.error(0, format!("TSPLIB has no file type for {}", I::FILES.title)));
    };
    I::read_tsplib(&File { layout, bytes, tsplib })
}

/// A file of one problem, read section by section.
pub struct File<'a> {
    layout: &'a Layout<'a>,
    bytes: usize,
    /// The problem as the file names it.
    pub tsplib: &'static TsplibType,
}

impl File<'_> {
    /// Nodes and distances in the order of the file, which holds nothing that the problem does not know.
    ///
    /// # Errors
    /// [`Error::Parse`] with line, what was found and what was expected; so for all methods.
    pub fn sites(&self) -> Result<Sites> {
        let header = Header::of(self.layout, self.bytes, self.tsplib)?;
        refuse_unsupported(self.layout, self.tsplib)?;
        let sites = match &header.weight_type {
            WeightType::Function(metric) => from_coordinates(self.layout, &header, metric.clone())?,
            WeightType::Explicit(format) => from_weights(self.layout, &header, *format)?,
        };
        let sites = if self.tsplib.in_tenths { sites.in_tenths() } else { sites };
        Ok(sites.with_comment(header.comment))
    }

    /// The number of a keyword, if the file has it: above 0, or also 0 where `zero` is allowed.
    ///
    /// # Errors
    /// As [`Self::sites`].
    pub fn amount(&self, keyword: &str, zero: bool) -> Result<Option<f64>> {
        self.layout.amount(keyword, zero)
    }

    /// The line of a keyword, if the file has it.
    pub(crate) fn line_of(&self, keyword: &str) -> Result<Option<usize>> {
        Ok(self.layout.entry(keyword)?.map(|entry| entry.line))
    }

    /// The whole number of at least 1 of a keyword, if the file has it.
    pub(crate) fn count(&self, keyword: &str) -> Result<Option<usize>> {
        let Some(entry) = self.layout.entry(keyword)? else { return Ok(None) };
        number(entry.value).and_then(whole).map(Some).ok_or_else(|| {
            let reason = format!("found `{}`, expected a whole number of at least 1", shown(entry.value));
            self.error(entry.line, reason).in_field(keyword)
        })
    }

    /// The number above 0 of a keyword that the problem needs; `meaning` is for the hint.
    ///
    /// # Errors
    /// As [`Self::sites`].
    pub fn required_amount(&self, keyword: &str, meaning: &str) -> Result<f64> {
        self.amount(keyword, false)?.ok_or_else(|| {
            let error = self.error(0, format!("has no {keyword}, which {} needs", self.tsplib.name));
            error.with_hint(format!("add `{keyword} : {meaning}`"))
        })
    }

    /// The numbers of a section with one for each node, in the order of `ids`; `what` names one in errors.
    pub(crate) fn amounts(&self, section: &str, ids: &[String], what: &str) -> Result<Vec<Amount>> {
        let rows = self.rows(section, ids, [what])?;
        Ok(rows.into_iter().map(|(line, [value])| Amount { line, value }).collect())
    }

    /// The lines and the numbers of a section with `N` numbers for each node, in the order of `ids`; `what` names them in
    /// errors.
    pub(crate) fn rows<const N: usize>(
        &self,
        section: &str,
        ids: &[String],
        what: [&str; N],
    ) -> Result<Vec<(usize, [f64; N])>> {
        nodes::rows(self.layout, self.layout.required(section, self.tsplib.name)?, ids, what)
    }

    /// If true, the file has a section.
    pub(crate) fn has(&self, section: &str) -> bool {
        self.layout.section(section).is_some()
    }

    /// The index of the only depot among the nodes of these ids, which are integers.
    ///
    /// # Errors
    /// As [`Self::sites`].
    pub fn depot(&self, ids: &[String]) -> Result<usize> {
        nodes::depot(self.layout, ids, self.tsplib.name)
    }

    /// An error of this file; line 0 for the file as a whole.
    pub fn error(&self, line: usize, reason: impl Into<String>) -> Error {
        self.layout.error(line, reason)
    }
}

/// Sections of a file beside its nodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fields<'a> {
    /// Keywords with their numbers.
    pub keywords: Vec<(&'static str, f64)>,
    /// Sections of a problem with a depot, each with the columns of its numbers, `[nodes]`; none without a depot.
    pub sections: Vec<(&'static str, Vec<&'a [f64]>)>,
}

/// If true, the text is TSPLIB by its first line of content, which is a keyword.
pub(super) fn looks_like(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    first.is_some_and(layout::is_keyword_line)
}

fn refuse_unsupported(layout: &Layout<'_>, tsplib: &TsplibType) -> Result<()> {
    let expected = tsplib.name;
    for section in &layout.sections {
        let keyword = section.keyword.as_str();
        if tsplib.sections.contains(&keyword) {
            continue;
        }
        let reason = match keyword {
            "NODE_COORD_SECTION" | "EDGE_WEIGHT_SECTION" | "DISPLAY_DATA_SECTION" => continue,
            "FIXED_EDGES_SECTION" if section.rows.iter().all(|(_, row)| *row == "-1") => continue,
            "FIXED_EDGES_SECTION" => "edges that every tour must contain are not supported".into(),
            "TOUR_SECTION" => "this is a tour, expected an instance".into(),
            "EDGE_DATA_SECTION" => "graphs that are not complete are not supported".into(),
            _ if let Some(note) = note_of(keyword) => format!("{note}, expected {expected}"),
            "BACKHAUL_SECTION" | "PICKUP_SECTION" | "PICKUP_AND_DELIVERY_SECTION" => "pickups are not supported".into(),
            _ => "this section is not known".to_owned(),
        };
        return Err(layout.error(section.line, reason).in_field(&section.keyword));
    }
    Ok(())
}

/// The note of the first problem that has a section.
fn note_of(keyword: &str) -> Option<&'static str> {
    header::types().find(|(.., other)| other.sections.contains(&keyword)).map(|(.., other)| other.sections_note)
}

fn from_coordinates(layout: &Layout<'_>, header: &Header, metric: Metric) -> Result<Sites> {
    if let Some(section) = layout.section("EDGE_WEIGHT_SECTION") {
        let reason = format!("weights are given although EDGE_WEIGHT_TYPE is {}", metric.name());
        let error = layout.error(section.line, reason).in_field("EDGE_WEIGHT_SECTION");
        return Err(error.with_hint("a matrix needs `EDGE_WEIGHT_TYPE : EXPLICIT`"));
    }
    let section = required(layout, "NODE_COORD_SECTION", metric.name())?;
    let given = header.coordinates.unwrap_or(0).max(metric.dimensions());
    let nodes = nodes::coordinates(layout, section, header.dimension, metric.dimensions(), given)?;
    let (ids, points) = split(nodes);
    Sites::new(&*header.name, metric, points)?.with_ids(ids)
}

/// Rows of the matrix belong to the ids in ascending order, which is how TSPLIB counts nodes.
fn from_weights(layout: &Layout<'_>, header: &Header, format: weights::Format) -> Result<Sites> {
    let section = required(layout, "EDGE_WEIGHT_SECTION", "EXPLICIT")?;
    let matrix = weights::read(layout, section, header.dimension, format)?;
    let instance = Sites::new(&*header.name, Metric::Explicit(matrix), Vec::new())?;
    let drawn = layout.section("DISPLAY_DATA_SECTION").or(layout.section("NODE_COORD_SECTION"));
    let Some(drawn) = drawn else {
        return Ok(instance);
    };
    let given = header.coordinates.unwrap_or(2).max(2);
    let mut nodes = nodes::coordinates(layout, drawn, header.dimension, 2, given)?;
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

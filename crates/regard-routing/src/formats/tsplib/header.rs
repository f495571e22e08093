//! The keywords of a TSPLIB instance, checked.

use super::super::{shown, stem};
use super::layout::{Entry, Layout};
use super::weights::Format;
use crate::registry;
use crate::{Error, Metric, Result};

/// Sections of a problem in files of TSPLIB and its descendants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TsplibType {
    /// Its name as `TYPE` writes it.
    pub name: &'static str,
    /// All first words of `TYPE` that name it.
    pub words: &'static [&'static str],
    /// Its sections beside those of the distances.
    pub sections: &'static [&'static str],
    /// The section that a file without `TYPE` is recognised by.
    pub marker: Option<&'static str>,
    /// The reason why a file of another problem may not have these sections.
    pub sections_note: &'static str,
    /// Its keywords beside those of every file.
    pub keywords: &'static [&'static str],
    /// If true, `EUC_2D` stands for straight distances cut to one decimal ([`Metric::Tenths`]).
    pub in_tenths: bool,
    /// Endings of its files, that of written ones first.
    pub endings: &'static [&'static str],
}

/// The problems that TSPLIB files hold, with their titles.
pub(crate) fn types() -> impl Iterator<Item = (&'static str, &'static str, &'static TsplibType)> {
    registry::with_files().filter_map(|(spec, files)| Some((spec.name, files.title, files.tsplib?)))
}

/// Name of the problem of a file: by its `TYPE`, else by its sections; `None` when neither says.
pub(crate) fn problem_of(layout: &Layout<'_>) -> Result<Option<&'static str>> {
    if let Some(entry) = layout.entry("TYPE")? {
        let word = word(entry);
        return Ok(types().find(|(.., tsplib)| tsplib.words.contains(&word.as_str())).map(|(name, ..)| name));
    }
    // Sections of any problem in the file; one problem has all of them.
    let known = |keyword: &str| types().any(|(.., tsplib)| tsplib.sections.contains(&keyword));
    let has_all = |tsplib: &TsplibType| {
        let mut sections = layout.sections.iter().map(|section| section.keyword.as_str());
        sections.all(|keyword| !known(keyword) || tsplib.sections.contains(&keyword))
    };
    let marked =
        |tsplib: &TsplibType| tsplib.marker.is_some_and(|marker| layout.section(marker).is_some()) && has_all(tsplib);
    let mut all = types().filter(|(.., tsplib)| marked(tsplib)).map(|(name, ..)| name);
    let first = all.next();
    Ok(if all.next().is_none() { first } else { None })
}

/// Where distances come from.
pub(crate) enum WeightType {
    /// A function of the coordinates.
    Function(Metric),
    /// A table in the file.
    Explicit(Format),
}

/// Values of the keywords.
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) comment: String,
    pub(crate) dimension: usize,
    pub(crate) weight_type: WeightType,
    /// Coordinates per node as `NODE_COORD_TYPE` says, which may be more than the metric reads.
    pub(crate) coordinates: Option<usize>,
}

impl Header {
    /// Reads the keywords of a file of `bytes` bytes that describes a problem.
    pub(crate) fn of(layout: &Layout<'_>, bytes: usize, tsplib: &TsplibType) -> Result<Self> {
        check_type(layout, tsplib)?;
        let name = match layout.entries.iter().find(|e| e.keyword == "NAME" && !e.value.is_empty()) {
            Some(entry) => entry.value.to_owned(),
            None => stem(layout.path),
        };
        let comments = layout.entries.iter().filter(|e| e.keyword == "COMMENT");
        let comment = comments.map(|e| e.value).filter(|v| !v.is_empty()).collect::<Vec<_>>().join(" ");
        Ok(Self {
            name,
            comment,
            weight_type: weight_type(layout)?,
            dimension: dimension(layout, bytes)?,
            coordinates: coordinates(layout)?,
        })
    }
}

/// The first word of a value: files write `TYPE: TSP (M.~Hofmeister)`.
fn word(entry: &Entry<'_>) -> String {
    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
    entry.value.split(end).next().unwrap_or("").to_ascii_uppercase()
}

fn check_type(layout: &Layout<'_>, tsplib: &TsplibType) -> Result<()> {
    let Some(entry) = layout.entry("TYPE")? else {
        return Ok(());
    };
    let (word, expected) = (word(entry), tsplib.name);
    let reason = match word.as_str() {
        found if tsplib.words.contains(&found) => return Ok(()),
        found if let Some((_, title, _)) = types().find(|(.., other)| other.words.contains(&found)) => {
            format!("{word} ({title}) is not {expected}, expected {expected}")
        }
        "SOP" => format!("SOP (sequential ordering) is not supported, expected {expected}"),
        "HCP" => format!("HCP (Hamiltonian cycles) is not supported, expected {expected}"),
        "TOUR" => format!("this is a tour, expected an instance ({expected})"),
        _ => return Err(unexpected(layout, entry, expected)),
    };
    Err(layout.error(entry.line, reason).in_field("TYPE"))
}

fn dimension(layout: &Layout<'_>, bytes: usize) -> Result<usize> {
    let Some(entry) = layout.entry("DIMENSION")? else {
        let error = layout.error(0, "has no DIMENSION");
        return Err(error.with_hint("add `DIMENSION : number of nodes`"));
    };
    let in_field = |reason: String| layout.error(entry.line, reason).in_field("DIMENSION");
    let digits = !entry.value.is_empty() && entry.value.bytes().all(|b| b.is_ascii_digit());
    if !digits {
        return Err(unexpected(layout, entry, "an integer, the number of nodes"));
    }
    // A number too long for u64 is certainly more than the file holds.
    let nodes = entry.value.parse::<u64>().unwrap_or(u64::MAX);
    if nodes == 0 {
        return Err(in_field("found 0, an instance needs at least one node".into()));
    }
    match usize::try_from(nodes).ok().filter(|n| *n <= bytes) {
        Some(nodes) => Ok(nodes),
        None => {
            let found = shown(entry.value);
            Err(in_field(format!("found {found}, but the whole file has only {bytes} bytes")))
        }
    }
}

fn weight_type(layout: &Layout<'_>) -> Result<WeightType> {
    const EXPECTED: &str = "EXPLICIT, EUC_2D, EUC_3D, MAX_2D, MAX_3D, MAN_2D, MAN_3D, CEIL_2D, GEO or ATT";
    let Some(entry) = layout.entry("EDGE_WEIGHT_TYPE")? else {
        let error = layout.error(0, "has no EDGE_WEIGHT_TYPE, which says how distances are computed");
        return Err(error.with_hint(format!("expected {EXPECTED}")));
    };
    let metric = match word(entry).as_str() {
        "EXPLICIT" => return Ok(WeightType::Explicit(weight_format(layout)?)),
        "EUC_2D" => Metric::Euc2d,
        "EUC_3D" => Metric::Euc3d,
        "MAX_2D" => Metric::Max2d,
        "MAX_3D" => Metric::Max3d,
        "MAN_2D" => Metric::Man2d,
        "MAN_3D" => Metric::Man3d,
        "CEIL_2D" => Metric::Ceil2d,
        "GEO" => Metric::Geo,
        "ATT" => Metric::Att,
        special @ ("SPECIAL" | "XRAY1" | "XRAY2") => {
            let reason = format!("{special} is not supported: its distances are not in the file");
            let error = layout.error(entry.line, reason).in_field("EDGE_WEIGHT_TYPE");
            return Err(error.with_hint(format!("expected {EXPECTED}")));
        }
        _ => return Err(unexpected(layout, entry, EXPECTED)),
    };
    Ok(WeightType::Function(metric))
}

fn weight_format(layout: &Layout<'_>) -> Result<Format> {
    let expected = Format::NAMES.join(", ");
    let Some(entry) = layout.entry("EDGE_WEIGHT_FORMAT")? else {
        let error = layout.error(0, "has no EDGE_WEIGHT_FORMAT, which EDGE_WEIGHT_TYPE EXPLICIT needs");
        return Err(error.with_hint(format!("expected one of {expected}")));
    };
    Format::named(&word(entry)).ok_or_else(|| unexpected(layout, entry, &format!("one of {expected}")))
}

fn coordinates(layout: &Layout<'_>) -> Result<Option<usize>> {
    let Some(entry) = layout.entry("NODE_COORD_TYPE")? else {
        return Ok(None);
    };
    match word(entry).as_str() {
        "TWOD_COORDS" => Ok(Some(2)),
        "THREED_COORDS" => Ok(Some(3)),
        "NO_COORDS" => Ok(None),
        _ => Err(unexpected(layout, entry, "TWOD_COORDS, THREED_COORDS or NO_COORDS")),
    }
}

fn unexpected(layout: &Layout<'_>, entry: &Entry<'_>, expected: &str) -> Error {
    let reason = format!("found `{}`, expected {expected}", shown(entry.value));
    layout.error(entry.line, reason).in_field(&entry.keyword)
}

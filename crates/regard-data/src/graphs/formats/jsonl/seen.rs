//! What nodes or edges carry, which is of one sort in all graphs.

use super::object::{Object, Values};
use crate::Result;
use crate::graphs::features::Kinds;
use crate::sets::FeatureNames;

/// What nodes or edges carry, as the first graph that has any says.
#[derive(Default)]
pub(super) struct Seen {
    /// With types: the line that says so, and one more than the highest.
    pub(super) types: Option<(usize, u32)>,
    /// With numbers: the line that says so, and how many.
    pub(super) numbers: Option<(usize, usize)>,
}

pub(super) fn kinds(seen: &Seen) -> Kinds {
    let counted = Kinds::counted(seen.types.map_or(0, |(_, most)| most as usize));
    Kinds { columns: FeatureNames::Count(seen.numbers.map_or(0, |(_, width)| width)), ..counted }
}

pub(super) fn note_type(seen: &mut Seen, line: usize, kind: u32) {
    let (_, most) = seen.types.get_or_insert((line, 0));
    *most = (*most).max(kind + 1);
}

/// Takes the values of a graph's nodes or edges, which are of one sort in all graphs.
pub(super) fn take(
    object: &Object<'_>,
    field: &str,
    seen: &mut Seen,
    values: Values,
    count: usize,
    types: &mut Vec<u32>,
    dense: &mut Vec<f32>,
) -> Result<()> {
    match values {
        Values::Types(kinds) => {
            kinds.iter().for_each(|kind| note_type(seen, object.line, *kind));
            *types = kinds;
            agree(object, field, seen, Some(true), None)
        }
        Values::Numbers { width, values } => {
            if let Some(width) = width {
                let _ = seen.numbers.get_or_insert((object.line, width));
            }
            *dense = values;
            if field == "edge_attr" {
                *types = vec![0; count];
            }
            agree(object, field, seen, None, width)
        }
    }
}

/// Refuses types where other graphs have numbers, and numbers of another count.
pub(super) fn agree(
    object: &Object<'_>,
    field: &str,
    seen: &Seen,
    typed: Option<bool>,
    width: Option<usize>,
) -> Result<()> {
    let above = |line: usize| format!("as on line {line}");
    match (typed, width, seen.types, seen.numbers) {
        (Some(false), _, Some((line, _)), _) => {
            Err(object.error(field, format!("has no types, {} there are", above(line))))
        }
        (Some(_), _, _, Some((line, width))) => {
            Err(object.error(field, format!("has types, expected {width} numbers {}", above(line))))
        }
        (None, Some(_), Some((line, _)), _) => {
            Err(object.error(field, format!("has numbers, expected types {}", above(line))))
        }
        (None, Some(found), _, Some((line, width))) if found != width => {
            Err(object.error(field, format!("has {found} numbers, expected {width} {}", above(line))))
        }
        _ => Ok(()),
    }
}

//! `EDGE_WEIGHT_SECTION`: numbers in the order of an `EDGE_WEIGHT_FORMAT`, broken into lines
//! anywhere.

use super::super::{number, shown};
use super::layout::{Layout, Section};
use crate::{DistanceMatrix, Result};

/// A table of distances is refused beyond this many nodes (1.6 GB of distances, twice as much where they differ by direction).
pub const MOST_EXPLICIT_NODES: usize = 20_000;

/// The order in which a matrix is written. A triangle by columns is the other triangle by rows, so five orders serve nine names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Format {
    Full,
    Upper,
    UpperDiagonal,
    Lower,
    LowerDiagonal,
}

impl Format {
    /// TSPLIB's names of the formats that have numbers in the file.
    pub(super) const NAMES: [&str; 9] = [
        "FULL_MATRIX",
        "UPPER_ROW",
        "LOWER_ROW",
        "UPPER_DIAG_ROW",
        "LOWER_DIAG_ROW",
        "UPPER_COL",
        "LOWER_COL",
        "UPPER_DIAG_COL",
        "LOWER_DIAG_COL",
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "FULL_MATRIX" => Self::Full,
            "UPPER_ROW" | "LOWER_COL" => Self::Upper,
            "UPPER_DIAG_ROW" | "LOWER_DIAG_COL" => Self::UpperDiagonal,
            "LOWER_ROW" | "UPPER_COL" => Self::Lower,
            "LOWER_DIAG_ROW" | "UPPER_DIAG_COL" => Self::LowerDiagonal,
            _ => return None,
        })
    }

    /// Numbers for `n` nodes, at most [`MOST_EXPLICIT_NODES`].
    fn count(self, n: usize) -> usize {
        match self {
            Self::Full => n * n,
            Self::Upper | Self::Lower => n * (n - 1) / 2,
            Self::UpperDiagonal | Self::LowerDiagonal => n * (n + 1) / 2,
        }
    }

    /// Where the distance of the pair stands, `row > column`.
    fn position(self, n: usize, row: usize, column: usize) -> usize {
        match self {
            Self::Full => row * n + column,
            Self::Lower => row * (row - 1) / 2 + column,
            Self::LowerDiagonal => row * (row + 1) / 2 + column,
            // The pair stands in row `column` of the upper triangle, after the longer rows before.
            Self::Upper => column * (2 * n - column - 1) / 2 + (row - column - 1),
            Self::UpperDiagonal => column * (2 * n - column + 1) / 2 + (row - column),
        }
    }
}

/// Reads the distances of `n` nodes.
pub(super) fn read(layout: &Layout<'_>, section: &Section<'_>, n: usize, format: Format) -> Result<DistanceMatrix> {
    if n > MOST_EXPLICIT_NODES {
        let reason = format!("{n} nodes are too many for a table, at most {MOST_EXPLICIT_NODES}");
        return Err(layout.error(section.line, reason).in_field("DIMENSION"));
    }
    let weights = numbers(layout, section, n, format)?;
    if format == Format::Full {
        return DistanceMatrix::from_rows(n, weights);
    }
    let pairs = (1..n).flat_map(|row| (0..row).map(move |column| (row, column)));
    let lower = pairs.map(|(row, column)| weights[format.position(n, row, column)]).collect();
    DistanceMatrix::from_lower(n, lower)
}

fn numbers(layout: &Layout<'_>, section: &Section<'_>, n: usize, format: Format) -> Result<Vec<f64>> {
    let expected = format.count(n);
    let mut weights = Vec::new();
    for &(line, row) in &section.rows {
        for word in row.split_whitespace() {
            let Some(weight) = number(word) else {
                let reason = format!("found `{}`, expected a number", shown(word));
                return Err(layout.error(line, reason).in_field("EDGE_WEIGHT_SECTION"));
            };
            weights.push(weight);
        }
    }
    if weights.len() == expected {
        return Ok(weights);
    }
    let reason = format!("has {} numbers, expected {expected} for {n} nodes", weights.len());
    let error = layout.error(section.line, reason).in_field("EDGE_WEIGHT_SECTION");
    Err(match fitting(n, weights.len()) {
        Some(names) => error.with_hint(format!("{} numbers would be {names}", weights.len())),
        None => error,
    })
}

/// The formats that have `count` numbers for `n` nodes.
fn fitting(n: usize, count: usize) -> Option<String> {
    let fits = |name: &&&str| Format::named(name).is_some_and(|f| f.count(n) == count);
    let names: Vec<&str> = Format::NAMES.iter().filter(fits).copied().collect();
    if names.is_empty() { None } else { Some(names.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the matrix d(i, j) = 10 i + j, i < j, as TSPLIB describes each format, entry by
    /// entry, and finds every pair again.
    #[test]
    fn positions_follow_the_definition_of_every_format() {
        let value = |i: usize, j: usize| (10 * i.min(j) + i.max(j)) as f64;
        for n in 1..6 {
            for name in Format::NAMES {
                let inside = |i: usize, j: usize| match name.split('_').collect::<Vec<_>>()[..] {
                    ["FULL", _] => true,
                    ["UPPER", "DIAG", _] => i <= j,
                    ["LOWER", "DIAG", _] => i >= j,
                    ["UPPER", _] => i < j,
                    _ => i > j,
                };
                let mut written = Vec::new();
                for outer in 0..n {
                    for inner in 0..n {
                        let (i, j) = if name.ends_with("COL") { (inner, outer) } else { (outer, inner) };
                        if inside(i, j) {
                            written.push(value(i, j));
                        }
                    }
                }
                let format = Format::named(name).unwrap();
                assert_eq!(written.len(), format.count(n), "{name}");
                for row in 1..n {
                    for column in 0..row {
                        let at = format.position(n, row, column);
                        assert_eq!(written[at], value(row, column), "{name} {row} {column}");
                    }
                }
            }
        }
    }
}

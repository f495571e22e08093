//! Ranges of columns in known rows, and values elsewhere that lie far outside them.

use serde::{Deserialize, Serialize};

use crate::names::{FeatureNames, first_of};
use crate::shown;

/// The smallest and the largest value of each column of numbers, in training or in the past; `None` for a column without
/// values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ColumnRanges(Vec<Option<[f32; 2]>>);

/// Columns that are named in a note.
const MOST_NAMED: usize = 3;

impl ColumnRanges {
    /// The ranges of these rows, `columns` numbers each; NaN is a missing value.
    ///
    /// ```
    /// use regard_data::names::FeatureNames;
    /// use regard_data::ranges::ColumnRanges;
    ///
    /// let names = FeatureNames::Named(vec!["age".into()]);
    /// let ranges = ColumnRanges::of(1, [20.0, 80.0].chunks(1));
    /// assert_eq!(ranges.note("training", &names, &[85.0, 139.0]), None);
    /// let note = ranges.note("training", &names, &[7.0, 430.0]).unwrap();
    /// assert!(note.contains("`age` (430; 20 to 80 in training)"));
    /// ```
    #[must_use]
    pub fn of<'r>(columns: usize, rows: impl IntoIterator<Item = &'r [f32]>) -> Self {
        let mut ranges = vec![None; columns];
        for row in rows {
            for (range, &value) in ranges.iter_mut().zip(row).filter(|(_, value)| !value.is_nan()) {
                let [low, high] = range.get_or_insert([value; 2]);
                (*low, *high) = (low.min(value), high.max(value));
            }
        }
        Self(ranges)
    }

    /// The number of columns; 0 where nothing is known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// If true, nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// If true, all ranges are made of finite numbers and rise.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.0.iter().flatten().all(|[low, high]| low.is_finite() && high.is_finite() && low <= high)
    }

    /// A sentence about columns of `rows [rows, columns]` with values that lie more than one whole range outside that of
    /// the rows that are `known`, such as "training", with the farthest of each; `None` without such values, or for another
    /// number of columns.
    #[must_use]
    pub fn note(&self, known: &str, names: &FeatureNames, rows: &[f32]) -> Option<String> {
        if self.is_empty() || names.len() != self.len() {
            return None;
        }
        let farthest = |column: usize, range: Option<[f32; 2]>| {
            let distance = |value: f32| match range.map(|range| range.map(f64::from)) {
                // Any value of a column that had none, or only one, is new.
                None => 1.0,
                Some([low, high]) => {
                    let (below, above) = (low - f64::from(value), f64::from(value) - high);
                    below.max(above) - (high - low)
                }
            };
            let values = rows.iter().skip(column).step_by(self.len()).copied().filter(|value| !value.is_nan());
            let far = values.map(|value| (distance(value), value)).filter(|(distance, _)| *distance > 0.0);
            far.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, value)| (column, value, range))
        };
        let far: Vec<_> = self.0.iter().enumerate().filter_map(|(at, range)| farthest(at, *range)).collect();
        if far.is_empty() {
            return None;
        }
        let described = far.iter().map(|&(column, value, range)| {
            let before = match range {
                None => "no values".to_owned(),
                Some([low, high]) if low == high => format!("always {}", number(low)),
                Some([low, high]) => format!("{} to {}", number(low), number(high)),
            };
            format!("`{}` ({}; {before} in {known})", shown(&names.name(column)), number(value))
        });
        Some(format!(
            "values far outside those of {known}: {}; predictions from them may be wrong: are the units the same?",
            first_of(MOST_NAMED, described)
        ))
    }
}

fn number(value: f32) -> String {
    if value == 0.0 || (1e-4..1e9).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f32 = f32::NAN;

    fn names() -> FeatureNames {
        FeatureNames::Named(["a", "b", "c", "d"].map(str::to_owned).to_vec())
    }

    fn ranges() -> ColumnRanges {
        ColumnRanges::of(4, [1.0, 5.0, NAN, -2.0, 3.0, 5.0, NAN, NAN].chunks(4))
    }

    #[test]
    fn one_range_outside_is_not_far() {
        assert_eq!(ranges().note("training", &names(), &[5.0, 5.0, NAN, -2.0, -1.0, NAN, NAN, NAN]), None);
        assert_eq!(ranges().note("training", &names(), &[]), None);
        assert_eq!(ColumnRanges::default().note("training", &names(), &[1e9; 4]), None);
        assert_eq!(ranges().note("training", &FeatureNames::Count(2), &[1e9; 2]), None);
    }

    #[test]
    fn the_farthest_value_is_named_with_its_range() {
        let note = ranges().note("training", &names(), &[5.5, 5.0, NAN, -2.0, -40.0, 5.0, NAN, NAN]).unwrap();
        assert!(note.contains(": `a` (-40; 1 to 3 in training); predictions"), "{note}");
        let note = ranges().note("training", &names(), &[2.0, 6.0, 7.0, 1e30]).unwrap();
        assert!(note.contains("`b` (6; always 5 in training), `c` (7; no values in training), `d` (1e30;"), "{note}");
        let note = ranges().note("training", &FeatureNames::Count(4), &[9.0, 6.0, 7.0, 1e30]).unwrap();
        assert!(note.contains("`1` (9;") && note.contains("`3` (7; no values in training) and 1 more;"), "{note}");
    }

    #[test]
    fn ranges_are_written_and_read() {
        let text = serde_json::to_string(&ranges()).unwrap();
        assert_eq!(text, "[[1.0,3.0],[5.0,5.0],null,[-2.0,-2.0]]");
        assert_eq!(serde_json::from_str::<ColumnRanges>(&text).unwrap(), ranges());
        let sound = |text: &str| serde_json::from_str::<ColumnRanges>(text).unwrap().is_sound();
        assert!(sound("[[1.0,2.0],null]") && !sound("[[2.0,1.0]]"));
    }
}

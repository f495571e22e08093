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
    /// The ranges of so many columns with these values; NaN is a missing value.
    ///
    /// ```
    /// use regard_data::names::FeatureNames;
    /// use regard_data::ranges::ColumnRanges;
    ///
    /// let names = FeatureNames::Named(vec!["age".into()]);
    /// let ranges = ColumnRanges::of(1, |_| [20.0, 80.0]);
    /// assert!(ranges.notes("training", &names, |_| [85.0, 139.0]).is_empty());
    /// let notes = ranges.notes("training", &names, |_| [7.0, 430.0]);
    /// assert!(notes[0].contains("`age` (430; 20 to 80 in training)"));
    /// ```
    #[must_use]
    pub fn of<V: IntoIterator<Item = f32>>(columns: usize, values: impl Fn(usize) -> V) -> Self {
        let widened = |range: Option<[f32; 2]>, value: f32| match range {
            _ if value.is_nan() => range,
            None => Some([value; 2]),
            Some([low, high]) => Some([low.min(value), high.max(value)]),
        };
        Self((0..columns).map(|column| values(column).into_iter().fold(None, widened)).collect())
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

    /// Sentences about columns with values that lie more than one whole range outside that of the rows that are `known`, such
    /// as "training", with the farthest of each, and about columns that had a single value there, or none, and have others
    /// here. None for another number of columns.
    #[must_use]
    pub fn notes<V: IntoIterator<Item = f32>>(
        &self,
        known: &str,
        names: &FeatureNames,
        values: impl Fn(usize) -> V,
    ) -> Vec<String> {
        if names.len() != self.len() {
            return vec![];
        }
        let (mut far, mut new) = (vec![], vec![]);
        for (column, range) in self.0.iter().enumerate() {
            let mut values = values(column).into_iter().filter(|value| !value.is_nan());
            let name = || shown(&names.name(column));
            match range.map(|range| range.map(f64::from)) {
                None => {
                    new.extend(values.next().map(|_| format!("`{}` (no values in {known})", name())));
                }
                Some([low, high]) if low == high => {
                    let other = values.find(|value| f64::from(*value) != low);
                    new.extend(other.map(|_| format!("`{}` (always {} in {known})", name(), number(low))));
                }
                Some([low, high]) => {
                    let outside = |value: f64| (low - value).max(value - high);
                    let farthest = values.map(f64::from).max_by(|a, b| outside(*a).total_cmp(&outside(*b)));
                    if let Some(value) = farthest.filter(|value| outside(*value) > high - low) {
                        let [value, low, high] = [value, low, high].map(number);
                        far.push(format!("`{}` ({value}; {low} to {high} in {known})", name()));
                    }
                }
            }
        }
        let listed = |all: Vec<String>| (!all.is_empty()).then(|| first_of(MOST_NAMED, all.into_iter()));
        let far = listed(far).map(|all| {
            format!(
                "values far outside those of {known}: {all}; predictions from them may be wrong: are the units the same?"
            )
        });
        let new = listed(new).map(|all| format!("nothing is known about other values of {all}"));
        far.into_iter().chain(new).collect()
    }
}

/// A number of single precision as people write it.
fn number(value: f64) -> String {
    let value = value as f32;
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
        ColumnRanges::of(4, |column| [[1.0, 3.0], [5.0, 5.0], [NAN, NAN], [-2.0, NAN]][column])
    }

    fn notes_on<const ROWS: usize>(columns: [[f32; ROWS]; 4]) -> Vec<String> {
        ranges().notes("training", &names(), |column| columns[column])
    }

    #[test]
    fn one_range_outside_is_not_far() {
        assert!(notes_on([[5.0, -1.0], [5.0, NAN], [NAN, NAN], [-2.0, NAN]]).is_empty());
        assert!(notes_on([[], [], [], []]).is_empty());
        assert!(ColumnRanges::default().notes("training", &names(), |_| [1e9]).is_empty());
        assert!(ranges().notes("training", &FeatureNames::Count(2), |_| [1e9]).is_empty());
    }

    #[test]
    fn the_farthest_value_is_named_with_its_range() {
        let far = "values far outside those of training: `a` (-40; 1 to 3 in training); predictions";
        let notes = notes_on([[5.5, -40.0], [5.0, 5.0], [NAN, NAN], [-2.0, NAN]]);
        assert!(notes.len() == 1 && notes[0].starts_with(far), "{notes:?}");
        let wide = ColumnRanges::of(4, |_| [0.0, 1e-6]);
        let notes = wide.notes("the past", &FeatureNames::Count(4), |_| [1e30]);
        assert!(notes[0].contains(" `1` (1e30; 0 to 1e-6 in the past), `2` ("), "{notes:?}");
        assert!(notes[0].contains("in the past) and 1 more; predictions"), "{notes:?}");
    }

    #[test]
    fn columns_of_one_value_or_none_are_named_where_they_have_others() {
        let notes = notes_on([[2.0], [6.0], [7.0], [-2.0]]);
        assert_eq!(
            notes,
            ["nothing is known about other values of `b` (always 5 in training), `c` (no values in training)"]
        );
        assert_eq!(notes_on([[-9.0], [5.0], [NAN], [-3.0]]).len(), 2);
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

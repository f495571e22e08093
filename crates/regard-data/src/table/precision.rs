//! Digits that values lose in single precision.

use crate::error::shown;

/// A value may be off by at most this share of what tells values apart.
const LARGEST_SHARE: f64 = 0.05;

/// The measure by which values of a column differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// The mean change from row to row: values are a series.
    Changes,
    /// The standard deviation: rows have no order.
    Deviation,
}

/// The values of columns as they are written and as they are kept.
pub(crate) struct Precision {
    spread: Spread,
    columns: Vec<Digits>,
}

/// Values of a column.
#[derive(Clone, Copy)]
struct Digits {
    first: f64,
    last: f64,
    /// Number of values, without those that are missing.
    count: f64,
    /// Sum of distances from the value before or from the first one, and of their squares.
    distances: (f64, f64),
    /// The largest distance of a value from the one that is kept.
    off: f64,
    /// The value of that distance.
    at: f64,
}

impl Digits {
    const NONE: Self = Self { first: f64::NAN, last: f64::NAN, count: 0.0, distances: (0.0, 0.0), off: 0.0, at: 0.0 };

    fn spread(&self, spread: Spread) -> f64 {
        match spread {
            _ if self.count < 2.0 => 0.0,
            Spread::Changes => self.distances.0 / (self.count - 1.0),
            Spread::Deviation => {
                let mean = self.distances.0 / self.count;
                (self.distances.1 / self.count - mean * mean).max(0.0).sqrt()
            }
        }
    }

    /// The largest distance in units of the spread; 0 for a constant column.
    fn share(&self, spread: Spread) -> f64 {
        let spread = self.spread(spread);
        if spread > 0.0 { self.off / spread } else { 0.0 }
    }
}

impl Precision {
    pub(crate) fn new(spread: Spread) -> Self {
        Self { spread, columns: Vec::new() }
    }

    /// The next value of a column in single precision; NaN is missing.
    pub(crate) fn single(&mut self, column: usize, value: f64) -> f32 {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, Digits::NONE);
        }
        let kept = value as f32;
        let digits = &mut self.columns[column];
        if value.is_nan() {
            return kept;
        }
        if digits.last.is_nan() {
            (digits.first, digits.last) = (value, value);
        }
        let distance = match self.spread {
            Spread::Changes => (value - digits.last).abs(),
            Spread::Deviation => value - digits.first,
        };
        digits.last = value;
        digits.count += 1.0;
        digits.distances.0 += distance;
        digits.distances.1 += distance * distance;
        let off = (value - f64::from(kept)).abs();
        if off > digits.off {
            (digits.off, digits.at) = (off, value);
        }
        kept
    }

    /// A sentence about the column whose values lose the most, where some lose digits that matter. `kind` says what the
    /// columns are; those without a name do not count.
    pub(crate) fn note<'n>(&self, kind: &str, name: impl Fn(usize) -> Option<&'n str>) -> Option<String> {
        let share = |digits: &Digits| digits.share(self.spread);
        let named = self.columns.iter().enumerate().filter_map(|(at, digits)| Some((name(at)?, digits)));
        let coarse: Vec<_> = named.filter(|(_, digits)| share(digits) > LARGEST_SHARE).collect();
        let (name, worst) = coarse.iter().max_by(|a, b| share(a.1).total_cmp(&share(b.1)))?;
        let more = match coarse.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let kept = (worst.at as f32).abs();
        let step = kept.next_up() - kept;
        let spread = worst.spread(self.spread);
        let apart = match self.spread {
            Spread::Changes => format!("change by {spread:.3} from row to row"),
            Spread::Deviation => format!("have a standard deviation of {spread:.3}"),
        };
        Some(format!(
            "{kind} `{}`{more}: values near {} are kept in steps of {step} (single precision), and {apart}: subtract a \
             constant, such as {}, in the file to keep their last digits",
            shown(name),
            worst.at,
            worst.first.trunc()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_of(spread: Spread, values: &[f64]) -> Option<String> {
        let mut precision = Precision::new(spread);
        for value in values {
            precision.single(0, *value);
        }
        precision.note("series", |_| Some("a"))
    }

    fn note(values: &[f64]) -> Option<String> {
        note_of(Spread::Changes, values)
    }

    #[test]
    fn large_values_with_small_changes_are_said() {
        let meter: Vec<f64> = (0..50).map(|at| 123_457_304.48 + 10.25 * f64::from(at)).collect();
        let said = note(&meter).unwrap();
        assert!(said.starts_with("series `a`: values near 1234"), "{said}");
        assert!(said.contains("kept in steps of 8 (") && said.contains("change by 10.250"), "{said}");
        assert!(said.contains("such as 123457304, in the file"), "{said}");
        // They are one value in single precision.
        assert!(note(&[1e9 + 1.0, 1e9 + 8.0, 1e9 + 3.0]).is_some());
    }

    #[test]
    fn rows_without_an_order_are_told_apart_by_their_deviation() {
        // Seconds since 1970 on one morning, and over a year.
        let seconds = |step: f64| (0..100).map(move |at| 1.7e9 + step * f64::from(at * 37 % 100)).collect::<Vec<_>>();
        let said = note_of(Spread::Deviation, &seconds(20.0)).unwrap();
        assert!(said.contains("kept in steps of 128 (") && said.contains("a standard deviation of 577.321"), "{said}");
        assert_eq!(note_of(Spread::Deviation, &seconds(3e5)), None);
        assert_eq!((note_of(Spread::Deviation, &[1.7e9 + 1.0]), note_of(Spread::Deviation, &[0.1; 9])), (None, None));
    }

    #[test]
    fn other_values_are_not() {
        let temperatures: Vec<f64> = (0..50).map(|at| 1013.25 + 0.01 * f64::from(at % 7)).collect();
        assert_eq!((note(&temperatures), note(&[0.1; 9]), note(&[123_456_789.12; 9])), (None, None, None));
        assert_eq!((note(&[f64::NAN, 1e9 + 1.0]), note(&[])), (None, None));
    }
}

//! Digits that values lose in single precision.

use crate::error::shown;

/// A value may be off by at most this share of the mean change from row to row.
const LARGEST_SHARE: f64 = 0.05;

/// Values of series as they are written and as they are kept.
#[derive(Default)]
pub(super) struct Precision(Vec<Digits>);

/// Values of a series.
#[derive(Clone, Copy)]
struct Digits {
    first: f64,
    last: f64,
    /// Sum of absolute changes from row to row, and how many they are.
    changes: (f64, f64),
    /// The largest distance of a value from the one that is kept.
    off: f64,
    /// The value of that distance.
    at: f64,
}

impl Digits {
    /// The largest distance in mean changes; 0 for a constant series.
    fn share(&self) -> f64 {
        let (sum, count) = self.changes;
        if sum > 0.0 { self.off * count / sum } else { 0.0 }
    }
}

impl Precision {
    /// The next value of a series in single precision; NaN is missing.
    pub(super) fn single(&mut self, series: usize, value: f64) -> f32 {
        let none = Digits { first: f64::NAN, last: f64::NAN, changes: (0.0, 0.0), off: 0.0, at: 0.0 };
        if self.0.len() <= series {
            self.0.resize(series + 1, none);
        }
        let kept = value as f32;
        let digits = &mut self.0[series];
        if value.is_nan() {
            return kept;
        }
        if digits.last.is_nan() {
            digits.first = value;
        } else {
            digits.changes.0 += (value - digits.last).abs();
            digits.changes.1 += 1.0;
        }
        digits.last = value;
        let off = (value - f64::from(kept)).abs();
        if off > digits.off {
            (digits.off, digits.at) = (off, value);
        }
        kept
    }

    /// A sentence about the series whose changes lose the most, where some lose digits that matter.
    pub(super) fn note<'n>(&self, name: impl Fn(usize) -> &'n str) -> Option<String> {
        let coarse = || self.0.iter().enumerate().filter(|(_, digits)| digits.share() > LARGEST_SHARE);
        let (series, worst) = coarse().max_by(|a, b| a.1.share().total_cmp(&b.1.share()))?;
        let more = match coarse().count() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let kept = (worst.at as f32).abs();
        let step = kept.next_up() - kept;
        let (sum, count) = worst.changes;
        Some(format!(
            "series `{}`{more}: values near {} are kept in steps of {step} (single precision), and change by {:.3} from row \
             to row: subtract a constant, such as {}, in the file to keep their last digits",
            shown(name(series)),
            worst.at,
            sum / count,
            worst.first.trunc()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(values: &[f64]) -> Option<String> {
        let mut precision = Precision::default();
        for value in values {
            precision.single(0, *value);
        }
        precision.note(|_| "a")
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
    fn other_values_are_not() {
        let temperatures: Vec<f64> = (0..50).map(|at| 1013.25 + 0.01 * f64::from(at % 7)).collect();
        assert_eq!((note(&temperatures), note(&[0.1; 9]), note(&[123_456_789.12; 9])), (None, None, None));
        assert_eq!((note(&[f64::NAN, 1e9 + 1.0]), note(&[])), (None, None));
    }
}

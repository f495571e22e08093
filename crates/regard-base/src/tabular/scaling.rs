//! Imputation and standardisation of columns.

use serde::{Deserialize, Serialize};

/// Brings columns to mean 0 and deviation 1, missing values to the mean.
///
/// Columns of a single value are left out. A column that is missing in some rows gets a second one, 1 where it is
/// missing, if these are at least 1 % of the rows and 3 rows. Values far outside those seen are cut to the range seen,
/// widened by itself on either side, so that a single value cannot dominate a prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scaling {
    columns: usize,
    kept: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Column {
    at: u32,
    /// If true, the column is the indicator of missing values.
    missing: bool,
    mean: f64,
    scale: f64,
    /// The bounds of values before they are scaled.
    low: f64,
    high: f64,
}

impl Scaling {
    /// The scaling of `values [rows, columns]`.
    pub(crate) fn of(values: &[f32], columns: usize) -> Self {
        let rows = values.len() / columns.max(1);
        let mut moments = vec![Moments::default(); columns];
        for row in values.chunks(columns.max(1)) {
            row.iter().zip(&mut moments).for_each(|(value, moments)| moments.add(f64::from(*value)));
        }
        for row in values.chunks(columns.max(1)) {
            row.iter().zip(&mut moments).for_each(|(value, moments)| moments.deviate(f64::from(*value)));
        }
        let mut kept = Vec::new();
        for (at, of) in moments.iter().enumerate() {
            let at = at as u32;
            if of.high > of.low {
                let deviation = (of.squares / of.seen).sqrt();
                // A bit that is hardly ever set is not blown up to the weight of a common one.
                let scale = deviation.max(0.1 * (of.high - of.low).min(of.high.abs().max(of.low.abs())));
                let range = of.high - of.low;
                kept.push(Column {
                    at,
                    missing: false,
                    mean: of.mean(),
                    scale,
                    low: of.low - range,
                    high: of.high + range,
                });
            }
            let missing = rows as f64 - of.seen;
            if missing >= 3.0 && missing >= 0.01 * rows as f64 && of.seen > 0.0 {
                let mean = missing / rows as f64;
                let scale = (mean * (1.0 - mean)).sqrt();
                kept.push(Column { at, missing: true, mean, scale, low: 0.0, high: 1.0 });
            }
        }
        Self { columns, kept }
    }

    /// The number of columns that are kept, indicators among them.
    pub(crate) fn outputs(&self) -> usize {
        self.kept.len()
    }

    /// Scales `values [rows, columns]` to `[rows, outputs]`.
    pub(crate) fn apply(&self, values: &[f32]) -> Vec<f32> {
        let mut scaled = Vec::with_capacity(values.len() / self.columns.max(1) * self.kept.len());
        for row in values.chunks(self.columns.max(1)) {
            scaled.extend(self.kept.iter().map(|column| column.scaled(row[column.at as usize])));
        }
        scaled
    }
}

impl Column {
    fn scaled(&self, value: f32) -> f32 {
        if self.missing {
            return ((f64::from(u8::from(value.is_nan())) - self.mean) / self.scale) as f32;
        }
        if value.is_nan() {
            return 0.0;
        }
        ((f64::from(value).clamp(self.low, self.high) - self.mean) / self.scale) as f32
    }
}

#[derive(Debug, Clone)]
struct Moments {
    seen: f64,
    sum: f64,
    squares: f64,
    low: f64,
    high: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { seen: 0.0, sum: 0.0, squares: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl Moments {
    fn add(&mut self, value: f64) {
        if !value.is_nan() {
            self.seen += 1.0;
            self.sum += value;
            self.low = self.low.min(value);
            self.high = self.high.max(value);
        }
    }

    fn mean(&self) -> f64 {
        self.sum / self.seen
    }

    fn deviate(&mut self, value: f64) {
        if !value.is_nan() {
            self.squares += (value - self.mean()).powi(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_columns_go_and_missing_values_are_marked() {
        let nan = f32::NAN;
        let values = [1.0, 5.0, nan, 2.0, 5.0, nan, 3.0, 5.0, nan, nan, 5.0, nan, nan, 5.0, nan, nan, 5.0, nan];
        let scaling = Scaling::of(&values, 3);
        assert_eq!(scaling.outputs(), 2);
        let scaled = scaling.apply(&values);
        assert_eq!(scaled[6..8], [0.0, 1.0]);
        assert!((scaled[0] + 1.5f32.sqrt()).abs() < 1e-6 && (scaled[1] + 1.0).abs() < 1e-6);
    }

    #[test]
    fn huge_values_stay_finite() {
        let values = [1e38, -1e38, 3e38, 0.0, 1.0, -3e38];
        let scaling = Scaling::of(&values, 1);
        assert!(scaling.apply(&[3.4e38, -3.4e38, f32::NAN]).iter().all(|value| value.is_finite()));
    }
}

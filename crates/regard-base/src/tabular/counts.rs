//! Rows of counts without their zeros, and the kernels of counts.

use faer::Mat;
use serde::{Deserialize, Serialize};

/// Rows of counts, zeros left out. Missing and negative values count as 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CountRows {
    columns: usize,
    /// Where each row begins.
    starts: Vec<usize>,
    /// The columns of the values.
    at: Vec<u32>,
    values: Vec<f32>,
}

impl CountRows {
    /// The rows of `values [rows, columns]`.
    pub(crate) fn of(values: &[f32], columns: usize) -> Self {
        let mut rows = Self { columns, starts: vec![0], at: Vec::new(), values: Vec::new() };
        for row in values.chunks(columns.max(1)) {
            for (at, value) in row.iter().enumerate().filter(|(_, value)| **value > 0.0) {
                rows.at.push(at as u32);
                rows.values.push(*value);
            }
            rows.starts.push(rows.at.len());
        }
        rows
    }

    pub(crate) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Some of the rows.
    pub(crate) fn select(&self, places: &[usize]) -> Self {
        let mut rows = Self { columns: self.columns, starts: vec![0], at: Vec::new(), values: Vec::new() };
        for place in places {
            let run = self.starts[*place]..self.starts[place + 1];
            rows.at.extend_from_slice(&self.at[run.clone()]);
            rows.values.extend_from_slice(&self.values[run]);
            rows.starts.push(rows.at.len());
        }
        rows
    }

    /// The sum of each row.
    pub(crate) fn sums(&self) -> Vec<f64> {
        let sum = |pair: &[usize]| self.values[pair[0]..pair[1]].iter().map(|value| f64::from(*value)).sum();
        self.starts.windows(2).map(sum).collect()
    }

    /// The Euclidean norm of each row.
    pub(crate) fn norms(&self) -> Vec<f64> {
        let squares = |pair: &[usize]| self.values[pair[0]..pair[1]].iter().map(|value| f64::from(*value).powi(2));
        self.starts.windows(2).map(|pair| squares(pair).sum::<f64>().sqrt()).collect()
    }

    /// For every row of this and of the other the sum over columns of the lesser value `[rows, others]`.
    pub(crate) fn shared_with(&self, other: &Self) -> Mat<f64> {
        self.sums_with(other, |a, b| f64::from(a.min(b)))
    }

    /// For every row of this and of the other their inner product `[rows, others]`.
    pub(crate) fn dots_with(&self, other: &Self) -> Mat<f64> {
        self.sums_with(other, |a, b| f64::from(a) * f64::from(b))
    }

    fn sums_with(&self, other: &Self, of: impl Fn(f32, f32) -> f64) -> Mat<f64> {
        // The rows of the other that have something in a column, so that only these are visited.
        let mut postings = vec![Vec::new(); self.columns.max(other.columns)];
        for row in 0..other.rows() {
            for at in other.starts[row]..other.starts[row + 1] {
                postings[other.at[at] as usize].push((row as u32, other.values[at]));
            }
        }
        let mut all = Mat::zeros(self.rows(), other.rows());
        let mut sums = vec![0.0f64; other.rows()];
        for row in 0..self.rows() {
            sums.fill(0.0);
            for at in self.starts[row]..self.starts[row + 1] {
                let value = self.values[at];
                for (other, theirs) in &postings[self.at[at] as usize] {
                    sums[*other as usize] += of(value, *theirs);
                }
            }
            sums.iter().enumerate().for_each(|(other, sum)| all[(row, other)] = *sum);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lesser_values_are_summed() {
        let rows = CountRows::of(&[1.0, 0.0, 3.0, 2.0, 1.0, 1.0], 3);
        assert_eq!(rows.sums(), [4.0, 4.0]);
        let shared = rows.shared_with(&rows);
        assert_eq!((shared[(0, 0)], shared[(0, 1)], shared[(1, 0)]), (4.0, 2.0, 2.0));
        assert_eq!(rows.select(&[1]).shared_with(&rows)[(0, 0)], 2.0);
    }
}

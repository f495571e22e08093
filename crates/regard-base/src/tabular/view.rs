//! Views: matrices of features, several of the same examples.

use regard_data::{Error, Result};

/// A named matrix of features `[rows, columns]`, NaN where a value is missing.
///
/// In a plain view row `i` belongs to example `i`. In an instance view every example owns a run of rows: those of
/// example `i` are `offsets[i]..offsets[i + 1]`. All views of a problem have the same examples in the same order.
///
/// ```
/// use regard_base::tabular::View;
///
/// let bags = View::instances("instances", vec![0.0, 1.0, 2.0, f32::NAN, 4.0, 5.0], 2, vec![0, 1, 3])?;
/// assert_eq!((bags.examples(), bags.rows(), bags.columns()), (2, 3, 2));
/// assert!(View::new("odd", vec![0.0; 5], 2).is_err());
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    name: String,
    columns: usize,
    /// `[rows, columns]`
    values: Vec<f32>,
    offsets: Option<Vec<usize>>,
    /// `[examples]`
    groups: Option<Vec<u64>>,
}

impl View {
    /// A view of one row an example, from `values [rows, columns]` in row-major order. Infinite values count as
    /// missing.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the values do not fill whole rows.
    pub fn new(name: impl Into<String>, values: Vec<f32>, columns: usize) -> Result<Self> {
        let name = name.into();
        if columns == 0 && !values.is_empty() || columns > 0 && !values.len().is_multiple_of(columns) {
            let reason = format!("{} values do not fill rows of {columns} columns", values.len());
            return Err(Error::invalid(format!("view `{name}`"), reason));
        }
        let finite = |value: f32| if value.is_finite() { value } else { f32::NAN };
        Ok(Self { name, columns, values: values.into_iter().map(finite).collect(), offsets: None, groups: None })
    }

    /// A view of several rows an example: those of example `i` are `offsets[i]..offsets[i + 1]`. A run may be empty.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the values do not fill whole rows, or offsets do not begin with 0, fall, or do not end
    /// with the number of rows.
    pub fn instances(name: impl Into<String>, values: Vec<f32>, columns: usize, offsets: Vec<usize>) -> Result<Self> {
        let view = Self::new(name, values, columns)?;
        let whole = offsets.first() == Some(&0)
            && offsets.last() == Some(&view.rows())
            && offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        if !whole {
            let reason = format!("offsets have to begin with 0, never fall, and end with {}", view.rows());
            return Err(Error::invalid(format!("view `{}`", view.name), reason));
        }
        Ok(Self { offsets: Some(offsets), ..view })
    }

    /// This view with the group of each example (the graph of a node, for example): examples of one group are held out
    /// together where members of a stack are weighed, as they will be in use. Linear models of numbers and kernels choose
    /// their penalties by single examples nevertheless.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the number of groups is not that of the examples.
    pub fn grouped(self, groups: Vec<u64>) -> Result<Self> {
        if groups.len() != self.examples() {
            let reason = format!("expected {}, one for each example", self.examples());
            return Err(Error::invalid(format!("{} groups of view `{}`", groups.len(), self.name), reason));
        }
        Ok(Self { groups: Some(groups), ..self })
    }

    /// The groups of these examples, where there are groups and the examples are of more than one.
    #[must_use]
    pub fn groups_of(&self, examples: &[usize]) -> Option<Vec<u64>> {
        let of: Vec<u64> =
            examples.iter().map(|example| self.groups.as_ref().map(|all| all[*example])).collect::<Option<_>>()?;
        of.windows(2).any(|pair| pair[0] != pair[1]).then_some(of)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of rows of the matrix.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }

    /// The number of examples.
    #[must_use]
    pub fn examples(&self) -> usize {
        self.offsets.as_ref().map_or(self.rows(), |offsets| offsets.len() - 1)
    }

    /// If true, an example owns a run of rows.
    #[must_use]
    pub fn has_instances(&self) -> bool {
        self.offsets.is_some()
    }

    /// The values `[rows, columns]`.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The values of one row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// The rows of one example.
    #[must_use]
    pub fn rows_of(&self, example: usize) -> std::ops::Range<usize> {
        self.offsets.as_ref().map_or(example..example + 1, |offsets| offsets[example]..offsets[example + 1])
    }

    /// If true, no value is negative, most are 0 or missing, and all are whole numbers: counts or bits.
    #[must_use]
    pub fn is_counts(&self) -> bool {
        let whole = |value: &f32| value.is_nan() || *value >= 0.0 && value.fract() == 0.0;
        let zeros = self.values.iter().filter(|value| **value == 0.0).count();
        self.values.iter().all(whole) && zeros * 2 > self.values.len()
    }

    /// The values of these rows `[rows, columns]`.
    pub(crate) fn gather(&self, rows: &[usize]) -> Vec<f32> {
        rows.iter().flat_map(|row| self.row(*row)).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_that_do_not_fit_are_refused() {
        for offsets in [vec![], vec![0], vec![1, 2], vec![0, 2, 1, 2], vec![0, 3]] {
            assert!(View::instances("a", vec![0.0; 4], 2, offsets).is_err());
        }
        assert_eq!(View::instances("a", vec![0.0; 4], 2, vec![0, 0, 2]).unwrap().rows_of(0), 0..0);
    }

    #[test]
    fn infinite_values_are_missing() {
        assert!(View::new("a", vec![f32::INFINITY], 1).unwrap().values()[0].is_nan());
    }
}

//! Bags of rows: many sets of vectors in one array.

mod check;
mod order;

use std::path::{Path, PathBuf};

use self::check::{check_offsets, distinct, finite, same_count};
use super::labels::Labels;
use super::names::FeatureNames;
use crate::error::shown;
use crate::{Error, Result};

/// Bags of any size, a bag with no rows among them.
///
/// Rows of all bags lie one after the other in one row-major array `[rows, features]`; those of bag
/// `b` are `offsets[b]..offsets[b + 1]`. All features are finite.
///
/// ```
/// use regard_data::sets::{Bags, FeatureNames, Labels};
///
/// // A bag of two rows, and one without any.
/// let bags = Bags::new(FeatureNames::Count(2), vec![1.0, 2.0, 3.0, 4.0], vec![0, 2, 2])?
///     .with_labels(Labels::Numbers(vec![0.0, 1.0]))?;
/// assert_eq!((bags.len(), bags.rows(), bags.size(1)), (2, 2, 0));
/// assert_eq!(bags.bag(0), [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bags {
    names: FeatureNames,
    features: Vec<f32>,
    offsets: Vec<usize>,
    ids: Vec<String>,
    labels: Option<Labels>,
    row_labels: Option<Labels>,
    skipped: Vec<String>,
    origin: Origin,
}

/// Where bags were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The file; empty for bags that were made.
    pub(super) path: PathBuf,
    /// The line that names the columns; 0 where none does.
    pub(super) header: usize,
    /// The line of each row; empty where rows have none.
    pub(super) lines: Vec<usize>,
}

impl Bags {
    /// Bags of `features` `[rows, names.len()]`, cut at `offsets` `[bags + 1]`, with the ids "1",
    /// "2", ....
    ///
    /// # Errors
    /// [`Error::Invalid`] when lengths do not fit, offsets do not start at 0 and grow to the number
    /// of rows, names occur twice, or a feature is not finite.
    pub fn new(names: FeatureNames, features: Vec<f32>, offsets: Vec<usize>) -> Result<Self> {
        let rows = check_offsets(&offsets)?;
        if rows.checked_mul(names.len()) != Some(features.len()) {
            let reason = format!("has {} values, expected {rows} rows of {} features", features.len(), names.len());
            return Err(Error::invalid("features", reason));
        }
        if let Some(at) = features.iter().position(|v| !v.is_finite()) {
            let (row, column) = (at / names.len() + 1, at % names.len());
            let reason = format!("found {} in row {row}, expected a finite number", features[at]);
            return Err(Error::invalid(format!("feature `{}`", shown(&names.name(column))), reason));
        }
        if let FeatureNames::Named(names) = &names {
            distinct(names, "feature")?;
        }
        let ids = (1..offsets.len()).map(|bag| bag.to_string()).collect();
        let origin = Origin::default();
        Ok(Self { names, features, offsets, ids, labels: None, row_labels: None, skipped: Vec::new(), origin })
    }

    /// The same bags with these ids, one for each bag, no two alike.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many ids as bags, or two are alike.
    pub fn with_ids(mut self, ids: Vec<String>) -> Result<Self> {
        same_count("ids", ids.len(), self.len(), "bags")?;
        distinct(&ids, "id")?;
        self.ids = ids;
        Ok(self)
    }

    /// The same bags with a label for each bag.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many labels as bags, or one is not finite.
    pub fn with_labels(mut self, labels: Labels) -> Result<Self> {
        same_count("labels", labels.len(), self.len(), "bags")?;
        finite(&labels)?;
        self.labels = Some(labels);
        Ok(self)
    }

    /// The same bags with a label for each row.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many labels as rows, or one is not finite.
    pub fn with_row_labels(mut self, labels: Labels) -> Result<Self> {
        same_count("row labels", labels.len(), self.rows(), "rows")?;
        finite(&labels)?;
        self.row_labels = Some(labels);
        Ok(self)
    }

    /// These bags, and behind them others with the same features; ids are counted anew, and what only one of both
    /// has, labels of bags or of rows, is left out.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the other bags have not the same features in the same order.
    pub fn followed_by(&self, other: &Self) -> Result<Self> {
        if self.names != other.names {
            return Err(Error::invalid("features", "are not those of the bags before"));
        }
        let moved = other.offsets.iter().skip(1).map(|offset| offset + self.rows());
        let offsets = self.offsets.iter().copied().chain(moved).collect();
        let mut all = Self::new(self.names.clone(), [self.features.as_slice(), &other.features].concat(), offsets)?;
        let both =
            |first: &Option<Labels>, second: &Option<Labels>| Some(first.as_ref()?.followed_by(second.as_ref()?));
        all.labels = both(&self.labels, &other.labels);
        all.row_labels = both(&self.row_labels, &other.row_labels);
        Ok(all)
    }

    pub(super) fn with_origin(mut self, origin: Origin) -> Self {
        debug_assert!(origin.lines.is_empty() || origin.lines.len() == self.rows());
        self.origin = origin;
        self
    }

    pub(super) fn with_skipped(mut self, columns: Vec<String>) -> Self {
        self.skipped = columns;
        self
    }

    /// How many bags there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no bags.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows all bags have together.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.offsets[self.len()]
    }

    /// How many features a row has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// How many rows a bag has.
    ///
    /// # Panics
    /// If there is no such bag.
    #[must_use]
    pub fn size(&self, bag: usize) -> usize {
        self.offsets[bag + 1] - self.offsets[bag]
    }

    /// The rows of a bag, `[size, features]` row-major.
    ///
    /// # Panics
    /// If there is no such bag.
    #[must_use]
    pub fn bag(&self, bag: usize) -> &[f32] {
        &self.features[self.offsets[bag] * self.width()..self.offsets[bag + 1] * self.width()]
    }

    /// All rows, `[rows, features]` row-major.
    #[must_use]
    pub fn features(&self) -> &[f32] {
        &self.features
    }

    /// All rows, to be changed in place by values that stay finite.
    pub(super) fn features_mut(&mut self) -> &mut [f32] {
        &mut self.features
    }

    /// Where bags begin and end among the rows, `[bags + 1]`.
    #[must_use]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The features' names.
    #[must_use]
    pub fn names(&self) -> &FeatureNames {
        &self.names
    }

    /// The bags' ids, `[bags]`, no two alike.
    #[must_use]
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// The bags' labels, `[bags]`.
    #[must_use]
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// The rows' labels, `[rows]`.
    #[must_use]
    pub fn row_labels(&self) -> Option<&Labels> {
        self.row_labels.as_ref()
    }

    /// Columns of the file that were left out because nothing in them is a number.
    #[must_use]
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// The file that the bags were read from; empty for bags that were made.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.origin.path
    }

    /// The line of its file that a row stands on, if it came from a text file.
    #[must_use]
    pub fn line(&self, row: usize) -> Option<usize> {
        self.origin.lines.get(row).copied()
    }
}

#[cfg(test)]
mod tests;

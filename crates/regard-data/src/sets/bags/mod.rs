//! Bags of rows: many sets of vectors in one array.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::shown;
use crate::labels::Labels;
use crate::names::FeatureNames;
use crate::table::numbers::Decimal;
use crate::{Error, Result};

/// Bags of any size, a bag with no rows among them.
///
/// Rows of all bags lie one after the other in one row-major array `[rows, features]`; those of bag
/// `b` are `offsets[b]..offsets[b + 1]`. Features are finite, or NaN where a table lacks them.
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
    notes: Vec<String>,
    decimal: Option<Decimal>,
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
        Self::checked(names, features, offsets, |value| !value.is_finite())
    }

    /// As [`Self::new`], of features that are NaN where they are missing.
    ///
    /// # Errors
    /// As there, but for NaN.
    pub fn with_missing(names: FeatureNames, features: Vec<f32>, offsets: Vec<usize>) -> Result<Self> {
        Self::checked(names, features, offsets, |value| value.is_infinite())
    }

    fn checked(
        names: FeatureNames,
        features: Vec<f32>,
        offsets: Vec<usize>,
        is_bad: impl Fn(&f32) -> bool,
    ) -> Result<Self> {
        let rows = check_offsets(&offsets)?;
        if rows.checked_mul(names.len()) != Some(features.len()) {
            let reason = format!("has {} values, expected {rows} rows of {} features", features.len(), names.len());
            return Err(Error::invalid("features", reason));
        }
        if let Some(at) = features.iter().position(is_bad) {
            let (row, column) = (at / names.len() + 1, at % names.len());
            let reason = format!("found {} in row {row}, expected a finite number", features[at]);
            return Err(Error::invalid(format!("feature `{}`", shown(&names.name(column))), reason));
        }
        if let FeatureNames::Named(names) = &names {
            distinct(names, "feature")?;
        }
        let ids = (1..offsets.len()).map(|bag| bag.to_string()).collect();
        let origin = Origin::default();
        Ok(Self {
            names,
            features,
            offsets,
            ids,
            labels: None,
            row_labels: None,
            notes: Vec::new(),
            decimal: None,
            origin,
        })
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

    /// These bags, followed by others with the same features. Ids are counted anew; labels that only one of both has are
    /// left out.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the other bags have not the same features in the same order.
    pub fn followed_by(&self, other: &Self) -> Result<Self> {
        if self.names != other.names {
            return Err(Error::invalid("features", "are not those of the bags before"));
        }
        let moved = other.offsets.iter().skip(1).map(|offset| offset + self.rows());
        let offsets = self.offsets.iter().copied().chain(moved).collect();
        let mut all =
            Self::with_missing(self.names.clone(), [self.features.as_slice(), &other.features].concat(), offsets)?;
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

    pub(super) fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }

    /// The same bags with more notes.
    #[must_use]
    pub fn with_more_notes(mut self, notes: Vec<String>) -> Self {
        self.notes.extend(notes);
        self
    }

    pub(super) fn with_decimal(mut self, decimal: Option<Decimal>) -> Self {
        self.decimal = decimal;
        self
    }

    /// The decimal mark of the table that the bags were read from: as given, else the one that its numbers show.
    #[must_use]
    pub fn decimal(&self) -> Option<Decimal> {
        self.decimal
    }

    /// The number of bags.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// If true, there are no bags.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows of all bags together.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.offsets[self.len()]
    }

    /// The number of features of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// The number of rows of a bag.
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

    /// Columns of the file that were left out, columns with missing values, and whatever was added, a sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
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

/// The number of rows that well-formed offsets end at.
fn check_offsets(offsets: &[usize]) -> Result<usize> {
    let (Some(0), Some(rows)) = (offsets.first(), offsets.last()) else {
        return Err(Error::invalid("offsets", "must begin with 0 and have one more entry than there are bags"));
    };
    match offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        Some(bag) => {
            let reason = format!("fall from {} to {} at bag {}", offsets[bag], offsets[bag + 1], bag + 1);
            Err(Error::invalid("offsets", reason))
        }
        None => Ok(*rows),
    }
}

fn same_count(what: &str, found: usize, expected: usize, of: &str) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::invalid(what, format!("are {found}, expected one for each of {expected} {of}")))
}

fn finite(labels: &Labels) -> Result<()> {
    match labels {
        Labels::Numbers(numbers) => match numbers.iter().position(|v| !v.is_finite()) {
            Some(at) => Err(Error::invalid(
                format!("label {}", at + 1),
                format!("is {}, expected a finite number", numbers[at]),
            )),
            None => Ok(()),
        },
        Labels::Words(_) => Ok(()),
    }
}

fn distinct(names: &[String], what: &str) -> Result<()> {
    let mut seen = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name, at) {
            let reason = format!("occurs twice, at {} and {}", first + 1, at + 1);
            return Err(Error::invalid(format!("{what} `{}`", shown(name)), reason));
        }
    }
    Ok(())
}

impl Bags {
    /// The bags at these places, in this order; a bag may be taken more than once, and has then its
    /// id more than once.
    ///
    /// # Panics
    /// If there is no such bag.
    #[must_use]
    pub fn select(&self, bags: &[usize]) -> Self {
        let rows: Vec<usize> = bags.iter().flat_map(|&bag| self.offsets[bag]..self.offsets[bag + 1]).collect();
        let mut offsets = vec![0];
        offsets.extend(bags.iter().scan(0, |end, &bag| {
            *end += self.size(bag);
            Some(*end)
        }));
        let lines = if self.origin.lines.is_empty() {
            Vec::new()
        } else {
            rows.iter().map(|&r| self.origin.lines[r]).collect()
        };
        Self {
            names: self.names.clone(),
            features: bags.iter().flat_map(|&bag| self.bag(bag)).copied().collect(),
            offsets,
            ids: bags.iter().map(|&bag| self.ids[bag].clone()).collect(),
            labels: self.labels.as_ref().map(|labels| labels.select(bags)),
            row_labels: self.row_labels.as_ref().map(|labels| labels.select(&rows)),
            notes: self.notes.clone(),
            decimal: self.decimal,
            origin: Origin { path: self.origin.path.clone(), header: self.origin.header, lines },
        }
    }

    /// The bags of several data sets one after the other, with the ids "1", "2", ... and no labels.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the number of features is another than that of the first data set.
    pub fn concat(all: &[&Self]) -> Result<Self> {
        let Some(first) = all.first() else { return Self::new(FeatureNames::Count(0), vec![], vec![0]) };
        if let Some(other) = all.iter().find(|one| one.width() != first.width()) {
            let reason = format!("are {} in one data set and {} in another", first.width(), other.width());
            return Err(Error::invalid("features", reason));
        }
        let (mut features, mut offsets) = (Vec::new(), vec![0]);
        for one in all {
            let rows = offsets.last().copied().unwrap_or(0);
            features.extend_from_slice(&one.features);
            offsets.extend(one.offsets[1..].iter().map(|offset| rows + offset));
        }
        Self::with_missing(first.names.clone(), features, offsets)
    }

    /// The same bags with the features in the order of `training`.
    ///
    /// Names must be the same set. Where one side has no names, the number of features must agree
    /// and they are taken in the order they have, under the names of these bags.
    ///
    /// # Errors
    /// [`Error::Parse`] naming the column that is missing or is not in the training data, with the file
    /// and the line of its header; [`Error::Invalid`] for bags that were not read from a file.
    pub fn align(mut self, training: &FeatureNames) -> Result<Self> {
        let places =
            self.names.places_of(training).map_err(|misfit| match self.origin.path.as_os_str().is_empty() {
                true => Error::invalid("features", misfit.reason()),
                false => Error::parse(&self.origin.path, self.origin.header, misfit.reason()).with_hint(misfit.hint()),
            })?;
        if let Some(places) = places {
            let mut row = vec![0.0; places.len()];
            for old in self.features.chunks_exact_mut(places.len()) {
                row.copy_from_slice(old);
                old.iter_mut().zip(&places).for_each(|(value, &from)| *value = row[from]);
            }
        }
        // Names of its own are worth keeping where training had none.
        if matches!(training, FeatureNames::Named(_)) {
            self.names = training.clone();
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests;

//! Other bags, or the same with their features in another order.

use super::{Bags, Origin};
use crate::sets::names::FeatureNames;
use crate::{Error, Result};

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
            skipped: self.skipped.clone(),
            origin: Origin { path: self.origin.path.clone(), header: self.origin.header, lines },
        }
    }

    /// The same bags with the features in the order of `training`.
    ///
    /// Names must be the same set. Where one side has no names, the number of features must agree
    /// and they are taken in the order they have, under the names of these bags.
    ///
    /// # Errors
    /// [`Error::Parse`] naming the column that is missing or was not there in training, with the file
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

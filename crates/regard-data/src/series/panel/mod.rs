//! Panels: series that share a clock.

use std::sync::Arc;

use super::Clock;
use crate::error::shown;
use crate::labels::Labels;
use crate::{Error, Result};

/// One series of a [`Panel`].
#[derive(Debug, Clone)]
pub struct Series {
    name: String,
    start: usize,
    values: Vec<f32>,
    covariates: Vec<Arc<[f32]>>,
    statics: Vec<f32>,
}

impl Series {
    /// A series of these values, NaN where one is missing, whose first has the stamp of this step.
    #[must_use]
    pub fn new(name: impl Into<String>, start: usize, values: Vec<f32>) -> Self {
        Self { name: name.into(), start, values, covariates: Vec::new(), statics: Vec::new() }
    }

    /// The same with covariates that are known in the future, one array for each, which begin with the
    /// first value and may be longer than the values. Series may share arrays.
    #[must_use]
    pub fn with_covariates(mut self, covariates: Vec<Arc<[f32]>>) -> Self {
        self.covariates = covariates;
        self
    }

    /// The same with features that never change.
    #[must_use]
    pub fn with_statics(mut self, statics: Vec<f32>) -> Self {
        self.statics = statics;
        self
    }

    /// The same with other values; covariates and static features stay.
    #[must_use]
    pub fn with_values(&self, values: Vec<f32>) -> Self {
        Self { values, ..self.clone() }
    }

    /// The name of its column, or its id.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The step of its first value.
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }

    /// Values from its first to its last, NaN where one is missing.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Its name and its values.
    pub(super) fn into_parts(self) -> (String, Vec<f32>) {
        (self.name, self.values)
    }

    /// The number of values, missing ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// If true, it has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The number of missing values.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.values.iter().filter(|value| value.is_nan()).count()
    }

    /// Covariates in the order of [`Panel::covariates`], from the first value on.
    #[must_use]
    pub fn covariates(&self) -> &[Arc<[f32]>] {
        &self.covariates
    }

    /// Steps after the last value for which covariates are known; 0 without covariates.
    #[must_use]
    pub fn known_steps(&self) -> usize {
        self.covariates.iter().map(|values| values.len().saturating_sub(self.len())).min().unwrap_or(0)
    }

    /// Features in the order of [`Panel::statics`].
    #[must_use]
    pub fn statics(&self) -> &[f32] {
        &self.statics
    }
}

/// Series on one clock: the columns of a wide file, or the ids of a long one.
///
/// ```
/// use regard_data::series::{Clock, Panel, Series};
///
/// let clock = Clock::new("2020-01-30", "day".parse()?)?;
/// let series = vec![Series::new("a", 0, vec![1.0, f32::NAN, 3.0]), Series::new("b", 1, vec![4.0])];
/// let panel = Panel::new(clock, series)?;
/// assert_eq!((panel.steps(), panel.is_aligned(), panel.stamp(1, 0)?), (3, false, "2020-01-31".into()));
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Panel {
    clock: Clock,
    series: Vec<Series>,
    covariates: Vec<String>,
    statics: Vec<String>,
    labels: Option<Labels>,
}

impl Panel {
    /// Series without covariates and features.
    ///
    /// # Errors
    /// [`Error::Invalid`] as [`Panel::with_names`] has them.
    pub fn new(clock: Clock, series: Vec<Series>) -> Result<Self> {
        Self::with_names(clock, series, Vec::new(), Vec::new())
    }

    /// Series with the names of their covariates and static features.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are no series, names occur twice, a value is infinite, or a series has
    /// other numbers of covariates or features, or covariates that end before its values.
    pub fn with_names(
        clock: Clock,
        series: Vec<Series>,
        covariates: Vec<String>,
        statics: Vec<String>,
    ) -> Result<Self> {
        if series.is_empty() {
            return Err(Error::invalid("panel", "has no series, expected at least one"));
        }
        distinct("series", series.iter().map(Series::name))?;
        distinct("covariate", covariates.iter().map(String::as_str))?;
        distinct("static feature", statics.iter().map(String::as_str))?;
        for one in &series {
            let wrong = |reason: String| Err(Error::invalid(format!("series `{}`", shown(&one.name)), reason));
            if one.covariates.len() != covariates.len() || one.statics.len() != statics.len() {
                return wrong(format!(
                    "has {} covariates and {} static features, expected {} and {}",
                    one.covariates.len(),
                    one.statics.len(),
                    covariates.len(),
                    statics.len()
                ));
            }
            let short = one.covariates.iter().position(|values| values.len() < one.values.len());
            if let Some(at) = short {
                let (has, wants) = (one.covariates[at].len(), one.values.len());
                return wrong(format!("has {has} values of `{}`, expected at least {wants}", shown(&covariates[at])));
            }
            if one.values.iter().any(|value| value.is_infinite()) {
                return wrong("has a value that is infinite".into());
            }
        }
        Ok(Self { clock, series, covariates, statics, labels: None })
    }

    /// The same with a label for each series.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many labels as series.
    pub fn with_labels(mut self, labels: Option<Labels>) -> Result<Self> {
        if let Some(labels) = &labels
            && labels.len() != self.len()
        {
            let reason = format!("are {}, expected one for each of {} series", labels.len(), self.len());
            return Err(Error::invalid("labels", reason));
        }
        self.labels = labels;
        Ok(self)
    }

    /// The stamps.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// All series, in the order of the file.
    #[must_use]
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// All series, in the order of the file.
    pub(super) fn into_series(self) -> Vec<Series> {
        self.series
    }

    /// The number of series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// If true, there are none; never the case.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The values of a series, to be changed in place.
    pub(super) fn values_mut(&mut self, series: usize) -> &mut [f32] {
        &mut self.series[series].values
    }

    /// The names of the series.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.series.iter().map(Series::name)
    }

    /// The names of what is known in the future.
    #[must_use]
    pub fn covariates(&self) -> &[String] {
        &self.covariates
    }

    /// The names of what never changes.
    #[must_use]
    pub fn statics(&self) -> &[String] {
        &self.statics
    }

    /// A label for each series, where the file has them.
    #[must_use]
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// The number of steps of the clock until the last value of any series.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.series.iter().map(|one| one.start + one.len()).max().unwrap_or(0)
    }

    /// If true, all series begin together and are equally long, as those of a wide file are.
    #[must_use]
    pub fn is_aligned(&self) -> bool {
        are_aligned(self.series.iter())
    }

    /// The stamp of a value of a series, or of one after its last.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond the calendar.
    ///
    /// # Panics
    /// If there is no such series.
    pub fn stamp(&self, series: usize, at: usize) -> Result<String> {
        self.clock.stamp(self.series[series].start + at)
    }

    /// The panel with every series changed; clock, names and labels stay.
    ///
    /// # Errors
    /// As [`Panel::with_names`].
    pub fn changed(&self, change: impl FnMut(&Series) -> Series) -> Result<Self> {
        let series = self.series.iter().map(change).collect();
        let names = (self.covariates.clone(), self.statics.clone());
        Self::with_names(self.clock.clone(), series, names.0, names.1)?.with_labels(self.labels.clone())
    }

    /// The panel without the last rows of every series; covariates keep them, as known in the future.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first series that has no more rows.
    pub fn without_last(&self, rows: usize) -> Result<Self> {
        if let Some(short) = self.series.iter().find(|one| one.len() <= rows) {
            let reason = format!("has {} values, expected more than {rows}", short.len());
            return Err(Error::invalid(format!("series `{}`", shown(&short.name)), reason));
        }
        self.changed(|one| one.with_values(one.values()[..one.len() - rows].to_vec()))
    }

    /// The panel with the series of these names, in this order: those a model was trained on.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first that is missing, with the name most like it.
    pub fn select(&self, names: &[String]) -> Result<Self> {
        let find = |name: &String| {
            self.names().position(|known| known == name).ok_or_else(|| {
                let near = crate::names::nearest(name, self.names());
                let near = near.map_or(String::new(), |near| format!("; there is `{}`", shown(near)));
                Error::invalid(format!("series `{}`", shown(name)), format!("is not in the file{near}"))
            })
        };
        self.select_places(&names.iter().map(find).collect::<Result<Vec<usize>>>()?)
    }

    /// The panel with the series at these places, in this order.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a place that occurs twice, and for no places at all.
    ///
    /// # Panics
    /// If there is no such series.
    pub fn select_places(&self, places: &[usize]) -> Result<Self> {
        let series = places.iter().map(|at| self.series[*at].clone()).collect();
        let labels = self.labels.as_ref().map(|labels| labels.select(places));
        Self::with_names(self.clock.clone(), series, self.covariates.clone(), self.statics.clone())?.with_labels(labels)
    }
}

/// If true, these series begin together and are equally long.
#[must_use]
pub fn are_aligned<'s>(series: impl IntoIterator<Item = &'s Series>) -> bool {
    let mut places = series.into_iter().map(|one| (one.start, one.len()));
    let first = places.next();
    places.all(|place| Some(place) == first)
}

fn distinct<'n>(what: &str, names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Error::invalid(format!("{what} `{}`", shown(name)), "occurs twice"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

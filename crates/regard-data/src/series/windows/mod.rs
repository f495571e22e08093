//! Windows of series: a look-back to forecast from, and the horizon after it.

use super::{Panel, Part, Parts};
use crate::error::shown;
use crate::{Error, Result};

/// One window of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The series, by its number in the panel.
    pub series: usize,
    /// The place of its first input in the series' values.
    pub start: usize,
    /// The number of inputs.
    pub look_back: usize,
    /// The number of targets after them.
    pub horizon: usize,
}

/// All windows of a part of a panel, of which only their places are kept.
///
/// Targets of a window lie in its part; its inputs lie before them, for validation and test in the part
/// before, if need be. Windows of one series follow each other, series after series.
///
/// ```
/// use regard_data::series::{Clock, Panel, Part, Series, Split, Windows};
///
/// let panel = Panel::new(Clock::steps(), vec![Series::new("a", 0, (0..20).map(|v| v as f32).collect())])?;
/// let parts = Split::Last { validation: 0, test: 5 }.parts(&panel)?;
/// let windows = Windows::new(&panel, &parts, Part::Test, 3, 2)?;
/// assert_eq!(windows.len(), 4);
/// let (mut inputs, mut targets, mut observed) = ([0.0; 3], [0.0; 2], [true; 3]);
/// let first = windows.get(0);
/// first.copy_look_back(&panel, &mut inputs, &mut observed);
/// first.copy_horizon(&panel, &mut targets, &mut observed[..2]);
/// assert_eq!((inputs, targets), ([12.0, 13.0, 14.0], [15.0, 16.0]));
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    look_back: usize,
    horizon: usize,
    stride: usize,
    /// The start of the first window of each series, and how many starts there are, each a step after the
    /// other.
    places: Vec<(usize, usize)>,
    /// Windows before those of each series, and all of them.
    offsets: Vec<usize>,
}

impl Windows {
    /// The windows of a part, each a step after the one before.
    ///
    /// # Errors
    /// [`Error::Invalid`] when look-back or horizon is 0, or no series has a window; it says how many rows are
    /// needed.
    ///
    /// # Panics
    /// If there are not as many parts as series.
    pub fn new(panel: &Panel, parts: &[Parts], part: Part, look_back: usize, horizon: usize) -> Result<Self> {
        assert_eq!(parts.len(), panel.len(), "parts for each series");
        for (what, length) in [("look-back", look_back), ("horizon", horizon)] {
            if length == 0 {
                return Err(Error::invalid(what, "is 0, expected at least 1 step"));
            }
        }
        let place = |parts: &Parts| {
            let targets = parts.of(part);
            let first = targets.start.max(look_back);
            let end = first.saturating_add(horizon);
            (first - look_back, (targets.end + 1).saturating_sub(end))
        };
        let places: Vec<(usize, usize)> = parts.iter().map(place).collect();
        if places.iter().all(|(_, starts)| *starts == 0) {
            return Err(too_short(panel, parts, part, look_back, horizon));
        }
        Ok(Self { look_back, horizon, stride: 1, places, offsets: Vec::new() }.with_stride(1))
    }

    /// The same windows, of each series only the first and each `stride` steps after it.
    ///
    /// # Panics
    /// If `stride` is 0.
    #[must_use]
    pub fn with_stride(mut self, stride: usize) -> Self {
        assert!(stride > 0, "a stride of at least one step");
        self.stride = stride;
        let mut sum = 0;
        self.offsets = vec![0];
        self.offsets.extend(self.places.iter().map(|(_, starts)| {
            sum += starts.div_ceil(stride);
            sum
        }));
        self
    }

    /// The number of windows of all series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets[self.places.len()]
    }

    /// If true, there are none; never the case.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of windows of a series.
    ///
    /// # Panics
    /// If there is no such series.
    #[must_use]
    pub fn of_series(&self, series: usize) -> usize {
        self.offsets[series + 1] - self.offsets[series]
    }

    /// The number of windows of each series, where all have as many at the same places: the batches of the
    /// original codes are such starts, with all series each.
    #[must_use]
    pub fn starts(&self) -> Option<usize> {
        self.places.iter().all(|place| *place == self.places[0]).then(|| self.of_series(0))
    }

    /// The series that are too short for a window in this part.
    pub fn short(&self) -> impl Iterator<Item = usize> {
        (0..self.places.len()).filter(|series| self.places[*series].1 == 0)
    }

    /// A window of all.
    ///
    /// # Panics
    /// If there are not as many.
    #[must_use]
    pub fn get(&self, at: usize) -> Window {
        assert!(at < self.len(), "window {at} of {}", self.len());
        let series = self.offsets.partition_point(|offset| *offset <= at) - 1;
        self.window(series, at - self.offsets[series])
    }

    /// A window of one series.
    ///
    /// # Panics
    /// If there are not as many.
    #[must_use]
    pub fn window(&self, series: usize, at: usize) -> Window {
        assert!(at < self.of_series(series), "window {at} of {}", self.of_series(series));
        let start = self.places[series].0 + at * self.stride;
        Window { series, start, look_back: self.look_back, horizon: self.horizon }
    }

    /// All windows in order.
    pub fn iter(&self) -> impl Iterator<Item = Window> {
        (0..self.places.len())
            .flat_map(move |series| (0..self.of_series(series)).map(move |at| self.window(series, at)))
    }
}

fn too_short(panel: &Panel, parts: &[Parts], part: Part, look_back: usize, horizon: usize) -> Error {
    let longest = (0..parts.len()).max_by_key(|at| (parts[*at].of(part).len(), std::cmp::Reverse(*at))).unwrap_or(0);
    let (targets, all) = (parts[longest].of(part), panel.series()[longest].len());
    let what = format!("series `{}`", shown(panel.series()[longest].name()));
    let needed = look_back.saturating_add(horizon);
    let reason = format!("look-back {look_back} and horizon {horizon} need at least");
    if all < needed {
        return Error::invalid(what, format!("has {all} rows; {reason} {needed}"));
    }
    let in_part = horizon + look_back.saturating_sub(targets.start);
    Error::invalid(what, format!("has {} rows for {part}, of {all}; {reason} {in_part} there", targets.len()))
}

impl Window {
    /// The window whose inputs are the last values of a series, and whose horizon lies after them.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the series is shorter than the look-back, or a covariate is not known for the
    /// whole horizon; it says what is needed.
    ///
    /// # Panics
    /// If there is no such series.
    pub fn last(panel: &Panel, series: usize, look_back: usize, horizon: usize) -> Result<Self> {
        let one = &panel.series()[series];
        let wrong = |reason: String| Err(Error::invalid(format!("series `{}`", shown(one.name())), reason));
        if one.len() < look_back {
            return wrong(format!("has {} rows; expected at least {look_back}, the look-back", one.len()));
        }
        let end = one.len() + horizon;
        for (name, values) in panel.covariates().iter().zip(one.covariates()) {
            if values.len() < end {
                let until = panel.stamp(series, end - 1)?;
                let known = values.len() - one.len();
                return wrong(format!(
                    "has `{}` for {known} future steps, expected {horizon}, until {until}",
                    shown(name)
                ));
            }
        }
        Ok(Self { series, start: one.len() - look_back, look_back, horizon })
    }

    /// The place of the first target in the series' values.
    #[must_use]
    pub fn target(&self) -> usize {
        self.start + self.look_back
    }

    /// Copies the inputs, `[look-back]`. A missing one has the last value before it in the window; where there
    /// is none, the mean of the window; 0 in a window without values. `observed` says which are not missing.
    ///
    /// # Panics
    /// If a slice has another length, or the panel has no such window.
    pub fn copy_look_back(&self, panel: &Panel, values: &mut [f32], observed: &mut [bool]) {
        values.copy_from_slice(&panel.series()[self.series].values()[self.start..self.target()]);
        fill_missing(values, observed);
    }

    /// Copies the targets, `[horizon]`, 0 where one is missing. `observed` says which are not.
    ///
    /// # Panics
    /// If a slice has another length, or the panel has no such window, as that of [`Window::last`].
    pub fn copy_horizon(&self, panel: &Panel, values: &mut [f32], observed: &mut [bool]) {
        let target = self.target();
        values.copy_from_slice(&panel.series()[self.series].values()[target..target + self.horizon]);
        note_observed(values, observed);
        values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
    }

    /// Copies what is known over look-back and horizon, `[covariates, look-back + horizon]`; missing values are
    /// filled as those of inputs are.
    ///
    /// # Panics
    /// If the slice has another length, or the panel has no such window.
    pub fn copy_covariates(&self, panel: &Panel, values: &mut [f32]) {
        let (covariates, length) = (panel.series()[self.series].covariates(), self.look_back + self.horizon);
        assert_eq!(values.len(), covariates.len() * length, "room for all covariates");
        for (values, all) in values.chunks_exact_mut(length).zip(covariates) {
            values.copy_from_slice(&all[self.start..self.start + length]);
            fill(values);
        }
    }
}

fn note_observed(values: &[f32], observed: &mut [bool]) {
    assert_eq!(values.len(), observed.len(), "one flag for each value");
    observed.iter_mut().zip(values).for_each(|(observed, value)| *observed = !value.is_nan());
}

/// Fills the missing inputs of a window as [`Window::copy_look_back`] does; `observed` says which are not missing.
///
/// # Panics
/// If the slices have different lengths.
pub fn fill_missing(values: &mut [f32], observed: &mut [bool]) {
    note_observed(values, observed);
    fill(values);
}

/// Missing values become the last before them, or the mean of all, or 0.
fn fill(values: &mut [f32]) {
    let Some(first) = values.iter().position(|value| !value.is_nan()) else {
        return values.fill(0.0);
    };
    if first > 0 {
        let known = values.iter().filter(|value| !value.is_nan());
        let (sum, count) = known.fold((0.0, 0.0), |(sum, count), value| (sum + f64::from(*value), count + 1.0));
        values[..first].fill((sum / count) as f32);
    }
    for at in first + 1..values.len() {
        if values[at].is_nan() {
            values[at] = values[at - 1];
        }
    }
}

#[cfg(test)]
mod tests;

//! Windows of series: a look-back to forecast from, and the horizon after it.

use super::{Panel, Part, Parts};
use crate::error::shown;
use crate::{Error, Result};

/// One window of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Which series of the panel.
    pub series: usize,
    /// The place of its first input in the series' values.
    pub start: usize,
    /// How many values are inputs.
    pub look_back: usize,
    /// How many values after them are targets.
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

    /// How many windows there are, of all series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets[self.places.len()]
    }

    /// Whether there are none, which is never so.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many windows a series has.
    ///
    /// # Panics
    /// If there is no such series.
    #[must_use]
    pub fn of_series(&self, series: usize) -> usize {
        self.offsets[series + 1] - self.offsets[series]
    }

    /// How many windows each series has, where all have as many at the same places: the batches of the
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
            return wrong(format!("has {} rows; a look-back of {look_back} needs as many", one.len()));
        }
        let end = one.len() + horizon;
        for (name, values) in panel.covariates().iter().zip(one.covariates()) {
            if values.len() < end {
                let until = panel.stamp(series, end - 1)?;
                let known = values.len() - one.len();
                return wrong(format!(
                    "knows `{}` for {known} steps ahead, expected {horizon}, until {until}",
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
        note_observed(values, observed);
        fill(values);
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
mod tests {
    use super::*;
    use crate::series::{Clock, Series, Split};

    const MISSING: f32 = f32::NAN;

    fn panel(series: &[(usize, &[f32])]) -> Panel {
        let series = series.iter().enumerate();
        let series = series.map(|(at, (start, values))| Series::new(at.to_string(), *start, values.to_vec())).collect();
        Panel::new(Clock::steps(), series).unwrap()
    }

    #[test]
    fn windows_are_counted_as_in_the_originals() {
        let panel = panel(&[(0, &[0.0; 17420]), (0, &[0.0; 17420])]);
        let parts = Split::EttHourly.parts(&panel).unwrap();
        let count = |part, look_back, horizon| {
            Windows::new(&panel, &parts, part, look_back, horizon).unwrap().starts().unwrap()
        };
        assert_eq!(count(Part::Training, 336, 96), 8209);
        assert_eq!(count(Part::Training, 336, 720), 7585);
        for (horizon, expected) in [(96, 2785), (192, 2689), (336, 2545), (720, 2161)] {
            for look_back in [96, 336, 512] {
                assert_eq!(count(Part::Validation, look_back, horizon), expected);
                assert_eq!(count(Part::Test, look_back, horizon), expected);
            }
        }
        let test = Windows::new(&panel, &parts, Part::Test, 336, 96).unwrap();
        assert_eq!((test.len(), test.get(2785).series, test.get(0).target()), (5570, 1, 11520));
        assert_eq!(test.get(2784).target() + 96, 14400);
        assert_eq!(test.with_stride(100).starts(), Some(28));
    }

    #[test]
    fn series_of_unequal_length_have_windows_of_their_own() {
        let panel = panel(&[(0, &[0.0; 10]), (3, &[0.0; 4]), (1, &[0.0; 7])]);
        let parts = Split::Last { validation: 0, test: 2 }.parts(&panel).unwrap();
        let windows = Windows::new(&panel, &parts, Part::Training, 3, 2).unwrap();
        assert_eq!((0..3).map(|at| windows.of_series(at)).collect::<Vec<_>>(), [4, 0, 1]);
        assert_eq!((windows.len(), windows.starts(), windows.short().collect::<Vec<_>>()), (5, None, vec![1]));
        assert_eq!(windows.iter().collect::<Vec<_>>(), (0..5).map(|at| windows.get(at)).collect::<Vec<_>>());
        assert_eq!((windows.get(4).series, windows.get(4).start), (2, 0));
        // Inputs of the test may lie before it, but not before the series.
        let test = Windows::new(&panel, &parts, Part::Test, 3, 1).unwrap();
        assert_eq!((0..3).map(|at| test.of_series(at)).collect::<Vec<_>>(), [2, 1, 2]);
    }

    #[test]
    fn missing_values_are_filled_and_marked() {
        let panel = panel(&[(0, &[MISSING, 1.0, MISSING, 4.0, MISSING, 5.0, 1.0])]);
        let parts = Split::Last { validation: 0, test: 2 }.parts(&panel).unwrap();
        let windows = Windows::new(&panel, &parts, Part::Training, 3, 2).unwrap();
        let (mut inputs, mut targets, mut seen, mut known) = ([0.0; 3], [0.0; 2], [true; 3], [true; 2]);
        windows.get(0).copy_look_back(&panel, &mut inputs, &mut seen);
        windows.get(0).copy_horizon(&panel, &mut targets, &mut known);
        assert_eq!((inputs, seen), ([1.0, 1.0, 1.0], [false, true, false]));
        assert_eq!((targets, known), ([4.0, 0.0], [true, false]));
        let mut values = [MISSING, 2.0, 4.0];
        fill(&mut values);
        assert_eq!(values, [3.0, 2.0, 4.0]);
        let mut nothing = [MISSING; 2];
        fill(&mut nothing);
        assert_eq!(nothing, [0.0; 2]);
        let last = Window::last(&panel, 0, 4, 10).unwrap();
        assert_eq!((last.start, last.target()), (3, 7));
    }

    #[test]
    fn covariates_reach_into_the_future() {
        let one =
            Series::new("a", 0, vec![1.0, 2.0, 3.0]).with_covariates(vec![vec![0.0, 1.0, MISSING, 3.0, 4.0].into()]);
        let clock = Clock::new("2020-01", "month".parse().unwrap()).unwrap();
        let panel = Panel::with_names(clock, vec![one], vec!["heat".into()], vec![]).unwrap();
        let mut values = [9.0; 4];
        Window::last(&panel, 0, 2, 2).unwrap().copy_covariates(&panel, &mut values);
        assert_eq!(values, [1.0, 1.0, 3.0, 4.0]);
        let said = Window::last(&panel, 0, 2, 3).unwrap_err().to_string();
        assert_eq!(said, "series `a`: knows `heat` for 2 steps ahead, expected 3, until 2020-06");
        let said = Window::last(&panel, 0, 4, 1).unwrap_err().to_string();
        assert_eq!(said, "series `a`: has 3 rows; a look-back of 4 needs as many");
    }

    #[test]
    fn panels_that_are_too_short_say_how_much_is_needed() {
        let panel = panel(&[(0, &[0.0; 9]), (0, &[0.0; 20])]);
        let parts = Split::Last { validation: 3, test: 5 }.parts(&panel).unwrap();
        let said =
            |part, look_back, horizon| Windows::new(&panel, &parts, part, look_back, horizon).unwrap_err().to_string();
        assert_eq!(
            said(Part::Training, 336, 96),
            "series `1`: has 20 rows; look-back 336 and horizon 96 need at least 432"
        );
        assert_eq!(
            said(Part::Training, 10, 3),
            "series `1`: has 12 rows for training, of 20; look-back 10 and horizon 3 need at least 13 there"
        );
        assert_eq!(
            said(Part::Test, 2, 6),
            "series `0`: has 5 rows for test, of 9; look-back 2 and horizon 6 need at least 6 there"
        );
        assert_eq!(said(Part::Test, 0, 6), "look-back: is 0, expected at least 1 step");
        assert_eq!(
            said(Part::Test, usize::MAX, 6),
            format!("series `0`: has 9 rows; look-back {0} and horizon 6 need at least {0}", usize::MAX)
        );
    }
}

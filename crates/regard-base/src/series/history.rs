//! The values of a series before an origin, without gaps and in a unit of their own.

/// Logarithms of values, of which those before the last rows of a series are above 0. Later ones that are not count as
/// half of the least one that is.
pub(super) fn logarithms(values: &[f64]) -> Vec<f64> {
    let above = values.iter().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let least = if above.is_finite() { above / 2.0 } else { 1.0 };
    values.iter().map(|value| value.max(least).ln()).collect()
}

/// The signs of the known values before an origin; those after it shall not choose between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// All are above 0.
    Positive,
    /// None is below 0.
    NonNegative,
    /// Some are below 0.
    Any,
}

impl Sign {
    pub(super) fn of(known: &[f64]) -> Self {
        // `f64::min` passes over NaN.
        let least = known.iter().copied().fold(f64::INFINITY, f64::min);
        match least {
            _ if least > 0.0 => Self::Positive,
            _ if least >= 0.0 => Self::NonNegative,
            _ => Self::Any,
        }
    }
}

/// Fewer known values say nothing of how far an outlier lies.
const FEWEST_KNOWN: usize = 12;
/// An outlier lies beyond the range of all other values by more than this share of it.
const BEYOND: f64 = 0.5;

/// The place of a single value among the last two seasons (NaN is missing) that lies far outside the range of all others: a
/// day that is not over, a typing error, or the first value of a new level, of which one row says little. Older outliers
/// and several are left to the forecasters: what has come again may come again.
///
/// ```
/// let mut sold: Vec<f64> = (0..40).map(|day| f64::from(100 + day % 7)).collect();
/// sold.push(3.0);
/// assert_eq!(regard_base::series::recent_outlier(&sold, 7), Some(40));
/// ```
#[must_use]
pub fn recent_outlier(known: &[f64], season: usize) -> Option<usize> {
    let count = known.iter().filter(|value| value.is_finite()).count();
    if count < FEWEST_KNOWN.max(2 * season) {
        return None;
    }
    let recent = known.len() - (2 * season).max(FEWEST_KNOWN).min(known.len() / 3);
    // How far the largest value, or with `sign` -1 the smallest, lies beyond, in ranges of the others.
    let beyond = |sign: f64| {
        let (mut least, mut second, mut most, mut place) = (f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, 0);
        for (at, value) in known.iter().map(|value| sign * value).enumerate().filter(|(_, value)| value.is_finite()) {
            least = least.min(value);
            if value > most {
                (second, most, place) = (most, value, at);
            } else {
                second = second.max(value);
            }
        }
        let shares = (most - second) / (second - least);
        (place >= recent && second > least && shares > BEYOND).then_some((shares, place))
    };
    let of_both = [beyond(1.0), beyond(-1.0)];
    of_both.into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, place)| place)
}

/// The values before an origin: gaps are filled, and values are divided by a large one, so that squares of huge and
/// tiny values stay finite.
#[derive(Debug, Clone)]
pub(super) struct History {
    /// `[rows]`, at most 1000 in size; empty if no value is known.
    pub(super) values: Vec<f64>,
    /// The number by which a value is multiplied to get the file's.
    pub(super) unit: f64,
    /// Missing values that were filled.
    pub(super) filled: usize,
}

impl History {
    /// Reads `values`, in which NaN and infinite numbers are missing. Missing values before the first known one are
    /// left out. Others are interpolated linearly, around the mean of their place in the season where there are at
    /// least three seasons; those after the last known value repeat it, or its season.
    pub(super) fn new(values: &[f64], season: usize) -> Self {
        let first = values.iter().position(|value| value.is_finite()).unwrap_or(values.len());
        let known = || values.iter().copied().filter(|value| value.is_finite());
        let largest = known().map(f64::abs).fold(0.0, f64::max);
        // The first rows give the unit, where they are not much smaller than the others: what comes after an origin
        // shall not change forecasts made before.
        let early = values[first..].iter().take((values.len() - first) * 2 / 5).filter(|value| value.is_finite());
        let early = early.fold(0.0f64, |most, value| most.max(value.abs()));
        let unit = if early > 1e-3 * largest { early } else { largest };
        let unit = if unit > 1e-300 { unit } else { 1.0 };
        let mut scaled: Vec<f64> =
            values[first..].iter().map(|value| if value.is_finite() { value / unit } else { f64::NAN }).collect();
        let filled = scaled.iter().filter(|value| value.is_nan()).count();
        if filled > 0 {
            fill(&mut scaled, season);
        }
        Self { values: scaled, unit, filled }
    }
}

/// A series whose missing values (NaN) are interpolated linearly, around the mean of their place in the season where there
/// are at least three seasons. Those before the first known value and after the last one repeat it, or its season; without
/// any known value all are 0.
///
/// ```
/// let values = [f64::NAN, 1.0, f64::NAN, 5.0];
/// assert_eq!(regard_base::series::interpolated(&values, 1), [1.0, 1.0, 3.0, 5.0]);
/// ```
#[must_use]
pub fn interpolated(values: &[f64], season: usize) -> Vec<f64> {
    let Some(first) = values.iter().position(|value| !value.is_nan()) else { return vec![0.0; values.len()] };
    let mut known = values[first..].to_vec();
    fill(&mut known, season);
    let season = if season > 1 && known.len() >= season { season } else { 1 };
    // The place in the season of a value in front, counted from the first known one.
    let front = (1..=first).rev().map(|before| known[(season - before % season) % season]);
    front.chain(known.iter().copied()).collect()
}

fn fill(values: &mut [f64], season: usize) {
    let seasonal = season > 1 && values.len() >= 3 * season;
    let places = if seasonal { places(values, season) } else { vec![0.0] };
    let place = |at: usize| places[at % places.len()];
    let mut last: Option<usize> = None;
    for at in 0..=values.len() {
        if at < values.len() && values[at].is_nan() {
            continue;
        }
        let Some(from) = last else {
            last = Some(at);
            continue;
        };
        let start = values[from] - place(from);
        let end = values.get(at).map_or(start, |value| value - place(at));
        for (step, gap) in values[from + 1..at].iter_mut().enumerate() {
            let part = (step + 1) as f64 / (at - from) as f64;
            *gap = start + part * (end - start) + place(from + 1 + step);
        }
        last = Some(at);
    }
}

/// Mean distances from a linear interpolation's mean over a season, for each place in the season.
fn places(values: &[f64], season: usize) -> Vec<f64> {
    let mut line = values.to_vec();
    fill(&mut line, 1);
    let mut sums = vec![(0.0, 0.0); season];
    let half = season / 2;
    let mut sum: f64 = line[..season].iter().sum();
    for at in half..line.len() - (season - half) {
        let value = values[at];
        if !value.is_nan() {
            let place = &mut sums[at % season];
            place.0 += value - sum / season as f64;
            place.1 += 1.0;
        }
        sum += line[at - half + season] - line[at - half];
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_and_huge_values_scaled() {
        let nan = f64::NAN;
        let history = History::new(&[nan, 2e30, nan, 4e30, f64::INFINITY], 1);
        assert_eq!(
            (history.values.as_slice(), history.unit, history.filled),
            ([1.0, 1.5, 2.0, 2.0].as_slice(), 2e30, 2)
        );
        let wave = |at: usize| [10.0, 0.0, -7.0, -3.0][at % 4] + 100.0;
        let mut values: Vec<f64> = (0..40).map(wave).collect();
        [10, 11, 12, 13, 14, 38, 39].into_iter().for_each(|at| values[at] = nan);
        let filled = History::new(&values, 4);
        for at in 0..40 {
            assert!((filled.values[at] * filled.unit - wave(at)).abs() < 1.5, "{at}");
        }
    }

    #[test]
    fn a_gap_in_front_repeats_the_first_season() {
        let nan = f64::NAN;
        assert_eq!(interpolated(&[nan, nan, 3.0, 4.0, 5.0], 3), [4.0, 5.0, 3.0, 4.0, 5.0]);
        assert_eq!(interpolated(&[nan, 2.0], 3), [2.0, 2.0]);
        assert_eq!(interpolated(&[nan, nan], 1), [0.0, 0.0]);
    }

    #[test]
    fn a_single_value_far_from_all_others_is_an_outlier() {
        let wave = |at: usize| 100.0 + [0.0, 8.0, 3.0, -9.0][at % 4] + (at % 3) as f64;
        let with = |changes: &[(usize, f64)]| {
            let mut values: Vec<f64> = (0..40).map(wave).collect();
            changes.iter().for_each(|&(at, value)| values[at] = value);
            recent_outlier(&values, 4)
        };
        assert_eq!(with(&[]), None);
        assert_eq!([with(&[(39, 300.0)]), with(&[(35, 10.0)]), with(&[(39, -1e9)])], [Some(39), Some(35), Some(39)]);
        // Old ones, those that come again, and what lies little outside.
        assert_eq!([with(&[(5, 300.0)]), with(&[(5, 280.0), (39, 300.0)]), with(&[(39, 115.0)])], [None; 3]);
        // Two at once are a new level.
        assert_eq!(with(&[(38, 200.0), (39, 201.0)]), None);
        assert_eq!(with(&[(38, f64::NAN), (37, 300.0)]), Some(37));
        assert_eq!(recent_outlier(&[1.0, 2.0, 1.0, 90.0], 1), None);
        let flat = |last: f64| recent_outlier(&[&[5.0; 30][..], &[last]].concat(), 1);
        assert_eq!(flat(6.0), None);
    }

    #[test]
    fn signs_pass_over_missing_values() {
        assert_eq!(Sign::of(&[f64::NAN, 2.0, 1.0]), Sign::Positive);
        assert_eq!(Sign::of(&[1.0, f64::NAN, 0.0]), Sign::NonNegative);
        assert_eq!(Sign::of(&[0.0, f64::NAN, -1.0]), Sign::Any);
    }

    #[test]
    fn histories_without_values_are_empty() {
        for values in [&[][..], &[f64::NAN; 3]] {
            let history = History::new(values, 7);
            assert!(history.values.is_empty());
        }
        assert_eq!(History::new(&[0.0, 0.0], 1).unit, 1.0);
    }
}

//! Forecasts by a formula: the last value, the last season, a line, means.

/// The last value, for `horizon` steps; 0 without values.
///
/// ```
/// assert_eq!(regard_base::series::naive(&[1.0, 5.0], 2), [5.0, 5.0]);
/// ```
#[must_use]
pub fn naive(values: &[f64], horizon: usize) -> Vec<f64> {
    vec![values.last().copied().unwrap_or(0.0); horizon]
}

/// The last season again and again, for `horizon` steps; [`naive`] where the series is shorter than a season.
///
/// ```
/// assert_eq!(regard_base::series::seasonal_naive(&[9.0, 1.0, 5.0], 2, 3), [1.0, 5.0, 1.0]);
/// ```
#[must_use]
pub fn seasonal_naive(values: &[f64], season: usize, horizon: usize) -> Vec<f64> {
    if season < 2 || values.len() < season {
        return naive(values, horizon);
    }
    let last = &values[values.len() - season..];
    last.iter().copied().cycle().take(horizon).collect()
}

/// The line through the first and the last value, for `horizon` steps; [`naive`] with fewer than two values.
///
/// ```
/// assert_eq!(regard_base::series::drift(&[1.0, 0.0, 5.0], 2), [7.0, 9.0]);
/// ```
#[must_use]
pub fn drift(values: &[f64], horizon: usize) -> Vec<f64> {
    let [first, .., last] = values else { return naive(values, horizon) };
    let slope = (last - first) / (values.len() - 1) as f64;
    (1..=horizon).map(|step| last + slope * step as f64).collect()
}

/// The mean of the last `window` values, for `horizon` steps; 0 without values.
///
/// ```
/// assert_eq!(regard_base::series::window_average(&[1.0, 4.0, 6.0], 2, 1), [5.0]);
/// ```
#[must_use]
pub fn window_average(values: &[f64], window: usize, horizon: usize) -> Vec<f64> {
    let last = &values[values.len() - window.clamp(1, values.len().max(1)).min(values.len())..];
    let mean = last.iter().sum::<f64>() / last.len().max(1) as f64;
    vec![mean; horizon]
}

/// The mean of the same place in the last `seasons` seasons, for `horizon` steps; fewer seasons where the series is
/// shorter, and [`naive`] where it is shorter than one.
///
/// ```
/// let values = [1.0, 2.0, 3.0, 6.0];
/// assert_eq!(regard_base::series::seasonal_window_average(&values, 2, 2, 3), [2.0, 4.0, 2.0]);
/// ```
#[must_use]
pub fn seasonal_window_average(values: &[f64], season: usize, seasons: usize, horizon: usize) -> Vec<f64> {
    if season < 2 || values.len() < season {
        return naive(values, horizon);
    }
    let seasons = seasons.clamp(1, values.len() / season);
    let last = &values[values.len() - seasons * season..];
    let mean = |place: usize| last.iter().skip(place).step_by(season).sum::<f64>() / seasons as f64;
    let places: Vec<f64> = (0..season.min(horizon)).map(mean).collect();
    places.iter().copied().cycle().take(horizon).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_seasons_are_continued_exactly() {
        let line: Vec<f64> = (0..20).map(|at| 3.0 - 0.5 * at as f64).collect();
        assert_eq!(drift(&line, 3), [-7.0, -7.5, -8.0]);
        let wave: Vec<f64> = (0..20).map(|at| [1.0, 5.0, 2.0][at % 3]).collect();
        assert_eq!(seasonal_naive(&wave, 3, 4), [2.0, 1.0, 5.0, 2.0]);
        assert_eq!(seasonal_window_average(&wave, 3, 9, 4), [2.0, 1.0, 5.0, 2.0]);
    }

    #[test]
    fn short_series_have_forecasts_too() {
        for values in [&[][..], &[2.0]] {
            let last = values.last().copied().unwrap_or(0.0);
            for season in [0, 1, 2, 5] {
                assert_eq!(seasonal_naive(values, season, 2), [last; 2]);
                assert_eq!(seasonal_window_average(values, season, 3, 2), [last; 2]);
            }
            assert_eq!(drift(values, 2), [last; 2]);
            assert_eq!(window_average(values, 5, 2), [last; 2]);
            assert_eq!(window_average(values, 0, 2), [last; 2]);
            assert!(drift(values, 0).is_empty());
        }
    }
}

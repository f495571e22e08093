//! Baselines: forecasts without a model.

/// The last value, for each step of the horizon; 0 without values.
///
/// ```
/// let mut horizon = [0.0; 2];
/// regard_data::series::baseline::naive(&[1.0, 5.0], &mut horizon);
/// assert_eq!(horizon, [5.0, 5.0]);
/// ```
pub fn naive(look_back: &[f32], horizon: &mut [f32]) {
    horizon.fill(look_back.last().copied().unwrap_or(0.0));
}

/// The value one season before, the last season again and again. A look-back shorter than a season gives the
/// last value, as [`naive`] does; so does a season of 0 or 1.
///
/// ```
/// let mut horizon = [0.0; 3];
/// regard_data::series::baseline::seasonal_naive(&[9.0, 1.0, 5.0], 2, &mut horizon);
/// assert_eq!(horizon, [1.0, 5.0, 1.0]);
/// ```
pub fn seasonal_naive(look_back: &[f32], season: usize, horizon: &mut [f32]) {
    if season < 2 || look_back.len() < season {
        return naive(look_back, horizon);
    }
    let last = &look_back[look_back.len() - season..];
    horizon.iter_mut().zip(last.iter().cycle()).for_each(|(forecast, value)| *forecast = *value);
}

/// The mean of the look-back, for each step of the horizon; 0 without values.
///
/// ```
/// let mut horizon = [0.0; 2];
/// regard_data::series::baseline::mean(&[1.0, 5.0], &mut horizon);
/// assert_eq!(horizon, [3.0, 3.0]);
/// ```
pub fn mean(look_back: &[f32], horizon: &mut [f32]) {
    let sum: f64 = look_back.iter().map(|value| f64::from(*value)).sum();
    horizon.fill(if look_back.is_empty() { 0.0 } else { (sum / look_back.len() as f64) as f32 });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_look_backs_have_forecasts_too() {
        let mut horizon = [9.0; 3];
        for (look_back, expected) in [(&[][..], 0.0), (&[2.0], 2.0)] {
            naive(look_back, &mut horizon);
            assert_eq!(horizon, [expected; 3]);
            for season in [0, 1, 2, 5] {
                horizon = [9.0; 3];
                seasonal_naive(look_back, season, &mut horizon);
                assert_eq!(horizon, [expected; 3]);
            }
            horizon = [9.0; 3];
            mean(look_back, &mut horizon);
            assert_eq!(horizon, [expected; 3]);
        }
        seasonal_naive(&[1.0, 2.0], 2, &mut []);
    }
}

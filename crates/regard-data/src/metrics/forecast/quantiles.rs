//! The metric of quantiles.

/// The pinball loss of quantile forecasts: `level (y - f)` where the truth is above the forecast, `(1 - level)
/// (f - y)` where it is below (Koenker and Bassett 1978). Some programs print twice as much.
///
/// ```
/// use regard_data::metrics::forecast::Pinball;
///
/// let mut loss = Pinball::new(&[0.5, 0.75]);
/// loss.add(&[1.0, 3.0], &[2.0], &[true]);
/// assert_eq!(loss.by_level(), [0.5, 0.25]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pinball {
    levels: Vec<f64>,
    sums: Vec<f64>,
    count: u64,
}

impl Pinball {
    /// No forecasts yet, for these levels between 0 and 1.
    #[must_use]
    pub fn new(levels: &[f64]) -> Self {
        Self { levels: levels.to_vec(), sums: vec![0.0; levels.len()], count: 0 }
    }

    /// Adds a window: forecasts `[levels, horizon]`, truth and which of it is not missing `[horizon]`.
    ///
    /// # Panics
    /// If lengths do not fit.
    pub fn add(&mut self, forecasts: &[f32], truth: &[f32], observed: &[bool]) {
        let horizon = truth.len();
        assert!(forecasts.len() == self.levels.len() * horizon && observed.len() == horizon, "a forecast for each");
        for (at, (level, sum)) in self.levels.iter().zip(&mut self.sums).enumerate() {
            for step in (0..horizon).filter(|step| observed[*step]) {
                let above = f64::from(truth[step]) - f64::from(forecasts[at * horizon + step]);
                *sum += if above > 0.0 { level * above } else { (level - 1.0) * above };
            }
        }
        self.count += observed.iter().filter(|observed| **observed).count() as u64;
    }

    /// The mean loss of each level; NaN without targets.
    #[must_use]
    pub fn by_level(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum / self.count as f64).collect()
    }

    /// The mean of all levels' losses.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.by_level().iter().sum::<f64>() / self.levels.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_targets_are_left_out() {
        let mut loss = Pinball::new(&[0.25, 0.75]);
        loss.add(&[4.0, 0.0, 0.0, 0.0], &[0.0, f32::NAN], &[true, false]);
        assert_eq!((loss.by_level(), loss.mean()), (vec![3.0, 0.0], 1.5));
        assert!(Pinball::new(&[0.5]).mean().is_nan());
    }
}

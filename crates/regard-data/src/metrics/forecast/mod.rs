//! Metrics of forecasts of series.
//!
//! Accumulators take one window after the other and leave out targets that are missing.

mod batches;
mod quantiles;

use serde::Serialize;

pub use self::batches::BatchMeans;
pub use self::quantiles::Pinball;

/// Errors of forecasts, for each step of the horizon and each series.
///
/// ```
/// use regard_data::metrics::forecast::ForecastErrors;
///
/// let mut errors = ForecastErrors::new(1, 2);
/// errors.add(0, &[1.0, 5.0], &[2.0, 8.0], &[true, true]);
/// errors.add(0, &[1.0, 5.0], &[4.0, 0.0], &[true, false]);
/// assert_eq!((errors.total().mse, errors.total().mae), (19.0 / 3.0, 7.0 / 3.0));
/// assert_eq!(errors.by_step()[0].mae, 2.0);
/// assert_eq!(errors.mase(&[0.5]), 14.0 / 3.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastErrors {
    steps: Vec<Sums>,
    series: Vec<Sums>,
}

/// Means over targets; NaN without any.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ErrorMeans {
    /// Mean squared error.
    pub mse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// Symmetric mean absolute percentage error as in M4 (Makridakis et al. 2020): the mean of `200 |f - y| /
    /// (|f| + |y|)`, 0 where both are 0.
    pub smape: f64,
    /// Targets that are not missing.
    pub count: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    squared: f64,
    absolute: f64,
    symmetric: f64,
    count: u64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.squared += other.squared;
        self.absolute += other.absolute;
        self.symmetric += other.symmetric;
        self.count += other.count;
    }

    fn of(forecast: f32, truth: f32) -> Self {
        let (forecast, truth) = (f64::from(forecast), f64::from(truth));
        let error = (forecast - truth).abs();
        let size = forecast.abs() + truth.abs();
        let symmetric = if size > 0.0 { 200.0 * error / size } else { 0.0 };
        Self { squared: error * error, absolute: error, symmetric, count: 1 }
    }

    fn means(self) -> ErrorMeans {
        let count = self.count as f64;
        ErrorMeans {
            mse: self.squared / count,
            mae: self.absolute / count,
            smape: self.symmetric / count,
            count: self.count,
        }
    }
}

impl ForecastErrors {
    /// No forecasts yet, of so many series and steps.
    #[must_use]
    pub fn new(series: usize, horizon: usize) -> Self {
        Self { steps: vec![Sums::default(); horizon], series: vec![Sums::default(); series] }
    }

    /// Adds a window of a series, `[horizon]` each; `observed` says which targets are not missing.
    ///
    /// # Panics
    /// If a slice has another length, or there is no such series.
    pub fn add(&mut self, series: usize, forecast: &[f32], truth: &[f32], observed: &[bool]) {
        let horizon = self.steps.len();
        assert!(
            forecast.len() == horizon && truth.len() == horizon && observed.len() == horizon,
            "a forecast for each of {horizon} targets"
        );
        let mut window = Sums::default();
        for (step, sums) in self.steps.iter_mut().enumerate().filter(|(step, _)| observed[*step]) {
            let one = Sums::of(forecast[step], truth[step]);
            sums.add(one);
            window.add(one);
        }
        self.series[series].add(window);
    }

    /// Means over all targets, each counting the same.
    #[must_use]
    pub fn total(&self) -> ErrorMeans {
        let mut total = Sums::default();
        self.steps.iter().for_each(|sums| total.add(*sums));
        total.means()
    }

    /// Means for each step of the horizon.
    #[must_use]
    pub fn by_step(&self) -> Vec<ErrorMeans> {
        self.steps.iter().map(|sums| sums.means()).collect()
    }

    /// Means for each series.
    #[must_use]
    pub fn by_series(&self) -> Vec<ErrorMeans> {
        self.series.iter().map(|sums| sums.means()).collect()
    }

    /// Mean absolute scaled error (Hyndman and Koehler 2006): the mean over series of the mean absolute error
    /// divided by the series' [`mase_scale`]. Series without targets are left out; NaN when all are.
    ///
    /// # Panics
    /// If there are not as many scales as series.
    #[must_use]
    pub fn mase(&self, scales: &[f64]) -> f64 {
        assert_eq!(scales.len(), self.series.len(), "a scale for each series");
        let with_targets = self.series.iter().zip(scales).filter(|(sums, _)| sums.count > 0);
        let scaled: Vec<f64> = with_targets.map(|(sums, scale)| sums.absolute / sums.count as f64 / scale).collect();
        scaled.iter().sum::<f64>() / scaled.len() as f64
    }
}

/// The scale of the errors of a series: the mean absolute error of the seasonal naive forecast one step
/// ahead on its training values, NaN being missing.
///
/// Where that is 0 or there are no two values a season apart, it is the same with a season of 1; where that is
/// 0 too, the mean absolute value; and 1 for a series of zeros, so that it is always above 0. An error of at most 10⁻¹² of
/// the mean absolute value is one of rounding, and counts as 0.
///
/// ```
/// use regard_data::metrics::forecast::mase_scale;
///
/// assert_eq!(mase_scale(&[1.0, 5.0, 2.0, 7.0], 2), 1.5);
/// assert_eq!(mase_scale(&[1.0, 5.0, 1.0, 5.0], 2), 4.0);
/// assert_eq!(mase_scale(&[-3.0, -3.0], 1), 3.0);
/// ```
#[must_use]
pub fn mase_scale<V: Copy + Into<f64>>(training: &[V], season: usize) -> f64 {
    let mean = |sizes: &mut dyn Iterator<Item = f64>| {
        let known = sizes.filter(|size| size.is_finite());
        let (sum, count) = known.fold((0.0, 0u64), |(sum, count), size| (sum + size, count + 1));
        if count > 0 { sum / count as f64 } else { 0.0 }
    };
    let size = mean(&mut training.iter().map(|&value| value.into().abs()));
    let naive = |season: usize| {
        let pairs = training.iter().zip(training.iter().skip(season));
        let error = mean(&mut pairs.map(|(&before, &value)| (value.into() - before.into()).abs()));
        (error > 1e-12 * size).then_some(error)
    };
    naive(season.max(1)).or_else(|| naive(1)).unwrap_or(if size > 0.0 { size } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_by_hand() {
        let mut errors = ForecastErrors::new(3, 2);
        errors.add(0, &[0.0, 3.0], &[0.0, 1.0], &[true, true]);
        errors.add(2, &[-1.0, 9.0], &[1.0, f32::NAN], &[true, false]);
        let total = errors.total();
        assert_eq!((total.mse, total.mae, total.count), (8.0 / 3.0, 4.0 / 3.0, 3));
        assert_eq!(total.smape, (0.0 + 100.0 + 200.0) / 3.0);
        assert_eq!(errors.by_step().iter().map(|means| means.mae).collect::<Vec<_>>(), [1.0, 2.0]);
        let of_series = errors.by_series();
        assert!(of_series[0].mae == 1.0 && of_series[1].mae.is_nan() && of_series[2].mse == 4.0);
        // The series without targets is left out.
        assert_eq!(errors.mase(&[2.0, 1.0, 4.0]), (0.5 + 0.5) / 2.0);
        assert!(ForecastErrors::new(1, 1).mase(&[1.0]).is_nan() && ForecastErrors::new(1, 1).total().mse.is_nan());
    }

    #[test]
    fn scales_are_above_zero_and_skip_what_is_missing() {
        assert_eq!(mase_scale(&[1.0, f32::NAN, 4.0, 6.0], 1), 2.0);
        for (values, season) in [(&[][..], 1), (&[0.0; 5], 2), (&[f32::NAN], 0), (&[2.0], 7)] {
            assert!(mase_scale(values, season) > 0.0);
        }
        assert_eq!(mase_scale(&[2.0, 3.0], usize::MAX), 1.0);
    }

    #[test]
    fn scales_follow_the_unit_and_not_the_rounding_of_a_series() {
        for unit in [1e-20, 1e-13, 1.0, 1e20] {
            let scale = |values: [f64; 4]| mase_scale(&values.map(|value| unit * value), 1) / unit;
            assert!((scale([1.0, 2.0, 4.0, 1.0]) - 2.0).abs() < 1e-9, "{unit}");
            assert!((scale([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2]) - 0.3).abs() < 1e-9, "{unit}");
        }
    }
}

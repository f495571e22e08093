//! Statistics of a sample: mean, deviation, standard error, gap to a reference, paired t-test.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Mean of the values; NaN when there are none.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance (divided by n - 1), two passes; 0 for fewer than two values.
#[must_use]
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let center = mean(values);
    values.iter().map(|v| (v - center).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// Sample standard deviation (divided by n - 1); 0 for fewer than two values.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> f64 {
    variance(values).sqrt()
}

/// Standard error of the mean: the sample deviation over the square root of n; 0 for fewer than
/// two values.
#[must_use]
pub fn standard_error(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    standard_deviation(values) / (values.len() as f64).sqrt()
}

/// The number of standard errors below its mean at which the mean of normal values may lie, with this
/// confidence on each side (Student's t): 1.96 of many values for 0.975, 12.7 of two. Infinity for fewer.
#[must_use]
pub fn standard_errors(confidence: f64, values: usize) -> f64 {
    let degrees = values.saturating_sub(1) as f64;
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |distribution| distribution.inverse_cdf(confidence))
}

/// The place of the largest value, the first of equal ones; 0 where there is none.
#[must_use]
pub fn largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, at| if values[at] > values[best] { at } else { best })
}

/// The gap of `cost` to `reference`, as a fraction of the reference (0.05 is 5 %).
///
/// `None` when the reference is 0, where no fraction exists, unless the cost is 0 too.
#[must_use]
pub fn gap(cost: f64, reference: f64) -> Option<f64> {
    if reference != 0.0 {
        Some((cost - reference) / reference.abs())
    } else if cost == 0.0 {
        Some(0.0)
    } else {
        None
    }
}

/// Count, mean and spread of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub count: usize,
    /// Mean; NaN when there are no values.
    pub mean: f64,
    /// Sample standard deviation (n - 1).
    pub standard_deviation: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
}

impl Summary {
    /// Summary of the values.
    ///
    /// ```
    /// let s = regard_data::stats::Summary::of(&[1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(s.mean, 2.5);
    /// assert!((s.standard_error - 0.6454972243679028).abs() < 1e-15);
    /// ```
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        Self {
            count: values.len(),
            mean: mean(values),
            standard_deviation: standard_deviation(values),
            standard_error: standard_error(values),
        }
    }
}

/// Outcome of [`paired_t_test`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedTTest {
    /// Mean of the differences.
    pub mean_difference: f64,
    /// The statistic; negative when the first values are lower.
    pub t: f64,
    /// Degrees of freedom, one less than the pairs.
    pub degrees: f64,
    /// Probability of a statistic at least as far from 0, were the means equal.
    pub p_two_sided: f64,
}

impl PairedTTest {
    /// Probability of a statistic at most as large, were the means equal: small where the first values are lower.
    #[must_use]
    pub fn p_less(&self) -> f64 {
        if self.t < 0.0 { self.p_two_sided / 2.0 } else { 1.0 - self.p_two_sided / 2.0 }
    }
}

/// Student's t-test for paired samples, of `a - b` against 0.
///
/// `None` for fewer than two pairs, and when all differences are the same: there is no spread to
/// compare with.
///
/// # Panics
/// If the samples differ in length.
#[must_use]
pub fn paired_t_test(a: &[f64], b: &[f64]) -> Option<PairedTTest> {
    assert_eq!(a.len(), b.len(), "pairs");
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let error = standard_error(&differences);
    if error.is_nan() || error <= 0.0 {
        return None;
    }
    let (mean_difference, degrees) = (mean(&differences), (differences.len() - 1) as f64);
    let t = mean_difference / error;
    let distribution = StudentsT::new(0.0, 1.0, degrees).ok()?;
    Some(PairedTTest { mean_difference, t, degrees, p_two_sided: 2.0 * distribution.cdf(-t.abs()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_no_spread_and_none_has_no_mean() {
        assert_eq!(standard_error(&[5.0]), 0.0);
        assert_eq!(standard_deviation(&[]), 0.0);
        assert!(mean(&[]).is_nan());
    }

    #[test]
    fn a_one_sided_p_value_depends_on_the_sign() {
        let (low, high) = ([1.0, 2.0, 4.0], [1.5, 2.7, 4.4]);
        let (less, more) = (paired_t_test(&low, &high).unwrap(), paired_t_test(&high, &low).unwrap());
        assert_eq!((less.p_less(), less.t), (less.p_two_sided / 2.0, -more.t));
        assert!((less.p_less() + more.p_less() - 1.0).abs() < 1e-15 && less.p_less() < 0.05);
    }

    #[test]
    fn two_passes_keep_digits_far_from_zero() {
        let values = [1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0];
        assert_eq!(variance(&values), 1.0);
    }

    #[test]
    fn few_values_take_more_standard_errors() {
        for (values, expected) in [(2, 12.7062), (3, 4.3027), (11, 2.2281), (100_000, 1.96)] {
            assert!((standard_errors(0.975, values) - expected).abs() < 1e-3, "{values}");
        }
        assert_eq!(standard_errors(0.975, 1), f64::INFINITY);
    }

    #[test]
    fn gap_is_a_fraction_of_the_reference() {
        assert_eq!(gap(105.0, 100.0), Some(0.05));
        assert_eq!(gap(0.0, 0.0), Some(0.0));
        assert_eq!(gap(1.0, 0.0), None);
    }
}

//! Metrics of numbers, classes, rankings, clusters and forecasts, all in `f64`.
//!
//! Mean and spread over repeats are those of [`crate::stats::Summary`].

mod classes;
mod clusters;
pub mod forecast;
mod ranking;
mod summary;

pub use self::classes::{accuracy, accuracy_sbm, average_precision, balanced_accuracy, roc_auc};
pub use self::clusters::adjusted_rand_index;
pub use self::ranking::{mean_ndcg, ndcg};
pub use self::summary::{
    Metrics, ReliabilityBin, bootstrap_intervals, calibration_error, class_metrics, confusion, f1, number_metrics,
    reliability,
};

/// Mean absolute error; NaN when there are no values.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// assert_eq!(regard_data::metrics::mean_absolute_error(&[1.0, 2.0], &[2.0, 4.0]), 1.5);
/// ```
#[must_use]
pub fn mean_absolute_error(predicted: &[f64], truth: &[f64]) -> f64 {
    assert_eq!(predicted.len(), truth.len(), "one prediction for each value");
    predicted.iter().zip(truth).map(|(p, t)| (p - t).abs()).sum::<f64>() / truth.len() as f64
}

/// Root of the mean squared error; NaN when there are no values.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn root_mean_squared_error(predicted: &[f64], truth: &[f64]) -> f64 {
    assert_eq!(predicted.len(), truth.len(), "one prediction for each value");
    (predicted.iter().zip(truth).map(|(p, t)| (p - t).powi(2)).sum::<f64>() / truth.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_numbers() {
        assert_eq!(root_mean_squared_error(&[1.0, 2.0], &[4.0, 6.0]), 12.5f64.sqrt());
        assert!(mean_absolute_error(&[], &[]).is_nan());
    }
}

//! Covariates at the network's scale.

use std::ops::Range;
use std::sync::Arc;

use regard_data::ranges::ColumnRanges;
use regard_data::series::{Panel, Series, moments};

use super::model::SeriesPreparation;
use crate::Result;

/// The mean and the deviation of what stays as it is.
pub(super) const UNSCALED: (f64, f64) = (0.0, 1.0);

/// Means, deviations and ranges of covariates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Of each covariate, over the training rows of all series.
    pub covariates: (Vec<f64>, Vec<f64>),
    /// Of each number known of a series as a whole, over the series.
    pub statics: (Vec<f64>, Vec<f64>),
    /// Ranges of both.
    pub ranges: [ColumnRanges; 2],
}

impl Known {
    /// The scales that a network learnt.
    pub fn of(data: &SeriesPreparation) -> Self {
        Self {
            covariates: (data.future_covariate_mean.clone(), data.future_covariate_std.clone()),
            statics: (data.static_covariate_mean.clone(), data.static_covariate_std.clone()),
            ranges: [data.future_covariate_ranges.clone(), data.static_covariate_ranges.clone()],
        }
    }

    /// Learns them from some rows of series of a panel; what has no value there keeps its scale.
    pub fn learn<'a>(panel: &Panel, series: impl Iterator<Item = (&'a Series, Range<usize>)> + Clone) -> Self {
        let covariate = |at: usize| {
            series.clone().flat_map(move |(one, rows)| {
                let values = &one.covariates()[at];
                values[rows.start..rows.end.min(values.len())].iter().copied()
            })
        };
        let of_series = |at: usize| series.clone().map(move |(one, _)| one.statics()[at]);
        let (covariates, statics) = (panel.covariates().len(), panel.statics().len());
        Self {
            covariates: (0..covariates).map(|at| moments(covariate(at)).unwrap_or(UNSCALED)).unzip(),
            statics: (0..statics).map(|at| moments(of_series(at)).unwrap_or(UNSCALED)).unzip(),
            ranges: [ColumnRanges::of(covariates, covariate), ColumnRanges::of(statics, of_series)],
        }
    }
}

/// A panel whose covariates and statics are at the network's scale.
///
/// # Errors
/// None for a panel that was made from a file.
pub fn scaled_known(panel: Panel, known: &Known) -> Result<Panel> {
    if panel.covariates().is_empty() && panel.statics().is_empty() {
        return Ok(panel);
    }
    let scaled = |values: &[f32], mean: f64, deviation: f64| -> Vec<f32> {
        values.iter().map(|&value| ((f64::from(value) - mean) / deviation) as f32).collect()
    };
    let of_series = |one: &Series| {
        let (means, deviations) = &known.covariates;
        let covariates = one.covariates().iter().zip(means.iter().zip(deviations));
        let covariates = covariates.map(|(values, (&mean, &by))| Arc::from(scaled(values, mean, by))).collect();
        let (means, deviations) = &known.statics;
        let statics = one.statics().iter().zip(means.iter().zip(deviations));
        // What is missing has the mean.
        let known = |value: f32, mean: f64| if value.is_nan() { mean } else { f64::from(value) };
        let statics = statics.map(|(&value, (&mean, by))| ((known(value, mean) - mean) / by) as f32).collect();
        one.clone().with_covariates(covariates).with_statics(statics)
    };
    Ok(panel.changed(of_series)?)
}

//! Covariates at the network's scale.

use std::sync::Arc;

use regard_data::series::{Panel, Parts, Series};

use super::model::SeriesPreparation;
use crate::Result;

/// Means and deviations of covariates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Of each covariate, over the training rows of all series.
    pub covariates: (Vec<f64>, Vec<f64>),
    /// Of each number known of a series as a whole, over the series.
    pub statics: (Vec<f64>, Vec<f64>),
}

impl Known {
    /// The scales that a network learnt.
    pub fn of(data: &SeriesPreparation) -> Self {
        Self {
            covariates: (data.future_covariate_mean.clone(), data.future_covariate_std.clone()),
            statics: (data.static_covariate_mean.clone(), data.static_covariate_std.clone()),
        }
    }

    /// Learns them.
    pub fn learn(panel: &Panel, parts: &[Parts]) -> Self {
        let of_covariate = |at: usize| {
            let rows = panel.series().iter().zip(parts);
            moments(rows.flat_map(|(one, parts)| {
                let values = &one.covariates()[at];
                values[parts.training.start..parts.training.end.min(values.len())].iter().copied()
            }))
        };
        let of_static = |at: usize| moments(panel.series().iter().map(|one| one.statics()[at]));
        Self {
            covariates: (0..panel.covariates().len()).map(of_covariate).unzip(),
            statics: (0..panel.statics().len()).map(of_static).unzip(),
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

/// Mean and population deviation, 1 for numbers that are all the same; missing ones are left out.
pub(super) fn moments(values: impl Iterator<Item = f32> + Clone) -> (f64, f64) {
    let values = values.filter(|value| !value.is_nan()).map(f64::from);
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
}

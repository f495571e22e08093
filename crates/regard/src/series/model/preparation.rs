//! Numbers and names that a network on time series learnt from its data beside weights.

use regard_data::ranges::ColumnRanges;
use regard_data::series::Scaler;
use serde::{Deserialize, Serialize};

use super::PatchTstConfig;
use crate::experiment::DecimalMark;
use crate::store::ranges::{distinct, finite, length, of_columns, statistics};
use crate::{Error, Result};

/// Numbers and names learnt from the training data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesPreparation {
    /// Names of the series.
    pub names: Vec<String>,
    /// Mean of each series over its training rows.
    pub mean: Vec<f64>,
    /// Population deviation of each series over its training rows; 1 for a constant one.
    pub std: Vec<f64>,
    /// Time from one value to the next, such as `1 hour`.
    pub frequency: String,
    /// Values after which the series repeats itself, roughly.
    pub season_length: usize,
    /// Names of what is known of the future.
    pub future_covariates: Vec<String>,
    /// Mean of each covariate.
    pub future_covariate_mean: Vec<f64>,
    /// Deviation of each covariate.
    pub future_covariate_std: Vec<f64>,
    /// Range of each covariate in training.
    #[serde(default, skip_serializing_if = "ColumnRanges::is_empty")]
    pub future_covariate_ranges: ColumnRanges,
    /// Names of what is known of each series as a whole.
    pub static_covariates: Vec<String>,
    /// Mean of each of them.
    pub static_covariate_mean: Vec<f64>,
    /// Deviation of each of them.
    pub static_covariate_std: Vec<f64>,
    /// Range of each of them in training.
    #[serde(default, skip_serializing_if = "ColumnRanges::is_empty")]
    pub static_covariate_ranges: ColumnRanges,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// The decimal mark of the training table: that of numbers of other files that do not tell theirs.
    #[serde(default, skip_serializing_if = "DecimalMark::is_auto")]
    pub decimal: DecimalMark,
    /// Levels for which `interval_widths` stand, in percent.
    pub interval_levels: Vec<f64>,
    /// Half widths of the intervals that held that share of the validation values, `[levels][horizon]`, in
    /// deviations of the series (split conformal prediction, Vovk et al. 2005).
    pub interval_widths: Vec<Vec<f32>>,
}

impl SeriesPreparation {
    /// The scale of the series.
    ///
    /// # Errors
    /// [`Error::Data`] for a mean or a deviation that is none.
    pub fn scaler(&self) -> Result<Scaler> {
        Ok(Scaler::from_arrays(self.names.clone(), self.mean.clone(), self.std.clone())?)
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that every number is finite, and that there are as many as the network needs.
    pub(crate) fn validate(&self, config: &PatchTstConfig) -> Result<()> {
        distinct("data.names", &self.names)?;
        statistics("data.", &self.mean, &self.std, self.names.len())?;
        let known = [
            ("future", &self.future_covariates, &self.future_covariate_mean, &self.future_covariate_std),
            ("static", &self.static_covariates, &self.static_covariate_mean, &self.static_covariate_std),
        ];
        for (kind, names, means, deviations) in known {
            distinct(&format!("data.{kind}_covariates"), names)?;
            statistics(&format!("data.{kind}_covariate_"), means, deviations, names.len())?;
        }
        of_columns("data.future_covariate_ranges", &self.future_covariate_ranges, self.future_covariates.len())?;
        of_columns("data.static_covariate_ranges", &self.static_covariate_ranges, self.static_covariates.len())?;
        if !self.is_empty() {
            length("data.mean", self.mean.len(), self.names.len(), false)?;
            length("data.future_covariates", self.future_covariates.len(), config.future_covariates, false)?;
            length("data.static_covariates", self.static_covariates.len(), config.static_covariates, false)?;
            length("data.future_covariate_mean", self.future_covariate_mean.len(), config.future_covariates, false)?;
            length("data.static_covariate_mean", self.static_covariate_mean.len(), config.static_covariates, false)?;
        }
        length("data.classes", self.classes.len(), config.classes, true)?;
        self.check_intervals(config.horizon)
    }

    fn check_intervals(&self, horizon: usize) -> Result<()> {
        let levels = &self.interval_levels;
        if !levels.windows(2).all(|pair| pair[0] < pair[1])
            || levels.iter().any(|&level| !(0.0..100.0).contains(&level))
        {
            let reason = format!("are {levels:?}; expected increasing levels from 0 to below 100");
            return Err(Error::config("data.interval_levels", reason));
        }
        length("data.interval_widths", self.interval_widths.len(), levels.len(), false)?;
        for widths in &self.interval_widths {
            length("data.interval_widths", widths.len(), horizon, false)?;
            let widths: Vec<f64> = widths.iter().map(|&width| f64::from(width)).collect();
            finite("data.interval_widths", &widths)?;
            if widths.iter().any(|&width| width < 0.0) {
                return Err(Error::config("data.interval_widths", "has a negative width"));
            }
        }
        Ok(())
    }

    /// One of each, so that every key is known.
    pub(crate) fn template() -> Self {
        Self { frequency: String::from("1 hour"), season_length: 1, ..Self::default() }
    }

    /// Half width of the interval that holds `level` percent of the values `step` steps ahead, in deviations
    /// of the series; between two known levels on the straight line.
    pub fn interval_width(&self, level: f64, step: usize) -> Option<f64> {
        let width = |at: usize| self.interval_widths.get(at)?.get(step).map(|&width| f64::from(width));
        let after = self.interval_levels.iter().position(|&known| known >= level)?;
        let (upper, high) = (self.interval_levels[after], width(after)?);
        if after == 0 || upper == level {
            return if upper == level { Some(high) } else { Some(high * level / upper) };
        }
        let (lower, low) = (self.interval_levels[after - 1], width(after - 1)?);
        Some(low + (high - low) * (level - lower) / (upper - lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_between_known_levels_are_on_the_line() {
        let data = SeriesPreparation {
            interval_levels: vec![50.0, 90.0],
            interval_widths: vec![vec![1.0, 2.0], vec![3.0, 6.0]],
            ..SeriesPreparation::default()
        };
        assert_eq!(data.interval_width(90.0, 1), Some(6.0));
        assert_eq!(data.interval_width(70.0, 0), Some(2.0));
        assert_eq!(data.interval_width(25.0, 0), Some(0.5));
        assert_eq!(data.interval_width(95.0, 0), None);
        assert_eq!(data.interval_width(50.0, 2), None);
    }
}

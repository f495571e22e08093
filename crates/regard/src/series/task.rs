//! What can be asked of a network on time series.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Task of a network on time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesTask {
    /// Predicts the values after the window.
    Forecast,
    /// Fills in missing values of the window.
    Imputation,
    /// Reconstructs the window; a large error marks an anomaly.
    Anomaly,
    /// Predicts a class for the whole window.
    Classification,
    /// Reconstructs masked patches, to learn without targets.
    Pretraining,
}

impl fmt::Display for SeriesTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forecast => "forecast",
            Self::Imputation => "imputation",
            Self::Anomaly => "anomaly",
            Self::Classification => "classification",
            Self::Pretraining => "pretraining",
        })
    }
}

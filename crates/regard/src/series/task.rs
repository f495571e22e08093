//! What can be asked of a network on time series.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesTask {
    /// The values after the window.
    Forecast,
    /// Values of the window that are missing.
    Imputation,
    /// The window itself, so that what is rebuilt badly stands out.
    Anomaly,
    /// A class for the whole window.
    Classification,
    /// Patches that were hidden, to learn from series without asking anything of them.
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

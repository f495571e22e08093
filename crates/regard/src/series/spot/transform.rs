//! Which numbers are learnt: the values, or their logarithms, where growth multiplies.

use regard_data::series::formats::Read;
use regard_data::series::{Panel, Series};

use crate::Result;

/// What is learnt of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    /// The value.
    Same,
    /// Its logarithm.
    Logarithm,
}

impl Transform {
    /// Those that every value of a panel allows.
    pub(super) fn fitting(panel: &Panel) -> Vec<Self> {
        let values = panel.series().iter().flat_map(Series::values);
        match values.filter(|value| !value.is_nan()).all(|&value| value > 0.0) {
            true => vec![Self::Same, Self::Logarithm],
            false => vec![Self::Same],
        }
    }

    fn of(self, value: f32) -> f32 {
        match self {
            Self::Same => value,
            Self::Logarithm => value.ln(),
        }
    }

    /// The value again.
    pub(super) fn back(self, value: f32) -> f32 {
        match self {
            Self::Same => value,
            Self::Logarithm => value.exp(),
        }
    }

    /// A file whose values are learnt so.
    pub(super) fn of_read(self, read: &Read) -> Result<Read> {
        let panel = &read.panel;
        let series = panel.series().iter().map(|one| {
            let values = one.values().iter().map(|&value| self.of(value)).collect();
            let known = (one.covariates().to_vec(), one.statics().to_vec());
            Series::new(one.name(), one.start(), values).with_covariates(known.0).with_statics(known.1)
        });
        let names = (panel.covariates().to_vec(), panel.statics().to_vec());
        let panel = Panel::with_names(panel.clock().clone(), series.collect(), names.0, names.1)?;
        Ok(Read { panel, report: read.report.clone() })
    }
}

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
        let learnt = |one: &Series| one.with_values(one.values().iter().map(|&value| self.of(value)).collect());
        Ok(Read { panel: read.panel.changed(learnt)?, report: read.report.clone() })
    }
}

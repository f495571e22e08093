//! Metrics of a step, by name.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// One number of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Written as the mean over several steps.
    Mean(&'static str, f64),
    /// Written as it was at the last of several steps.
    Last(&'static str, f64),
    /// A count, written as it was at the last of several steps.
    Count(&'static str, u64),
}

impl Measure {
    /// Its name in `metrics.jsonl`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mean(name, _) | Self::Last(name, _) | Self::Count(name, _) => name,
        }
    }

    /// The number.
    pub fn value(&self) -> f64 {
        match *self {
            Self::Mean(_, value) | Self::Last(_, value) => value,
            Self::Count(_, count) => count as f64,
        }
    }
}

/// The metrics of a step in the order they are written; an object in `metrics.jsonl`, without those that are not finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures(pub Vec<Measure>);

impl Measures {
    /// The number of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|measure| measure.name() == name).map(Measure::value)
    }
}

impl Serialize for Measures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for measure in &self.0 {
            match measure {
                // JSON has no such numbers, and what is written must be readable.
                _ if !measure.value().is_finite() => {}
                Measure::Mean(name, value) | Measure::Last(name, value) => map.serialize_entry(name, value)?,
                Measure::Count(name, count) => map.serialize_entry(name, count)?,
            }
        }
        map.end()
    }
}

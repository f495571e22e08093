//! Standardisation of series: mean 0 and deviation 1.

use serde::{Deserialize, Serialize};

use super::{Panel, Parts};
use crate::error::shown;
use crate::{Error, Result};

/// Mean and deviation of each series, learnt on its training values only.
///
/// A value becomes `(x - mean) / deviation`, the deviation being the root of the mean square distance from
/// the mean (divided by n). A series that is constant in training has a deviation of 1: it becomes 0, and
/// other values keep their distance from it.
///
/// ```
/// use regard_data::series::{Clock, Panel, Scaler, Series, Split};
///
/// let panel = Panel::new(Clock::steps(), vec![Series::new("a", 0, vec![1.0, 3.0, f32::NAN, 9.0])])?;
/// let scaler = Scaler::fit(&panel, &Split::Last { validation: 0, test: 1 }.parts(&panel)?)?;
/// let mut values = [3.0];
/// scaler.scale(0, &mut values);
/// assert_eq!((scaler.mean(), values), (&[2.0][..], [1.0]));
/// scaler.unscale(0, &mut values);
/// assert_eq!(values, [3.0]);
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Arrays", into = "Arrays")]
pub struct Scaler {
    names: Vec<String>,
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

/// A scaler as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arrays {
    names: Vec<String>,
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Scaler {
    /// Learns from the training values of each series, missing ones left out.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming a series without any.
    ///
    /// # Panics
    /// If there are not as many parts as series, or they do not fit them.
    pub fn fit(panel: &Panel, parts: &[Parts]) -> Result<Self> {
        assert_eq!(parts.len(), panel.len(), "parts for each series");
        let mut scaler = Self { names: Vec::new(), mean: Vec::new(), deviation: Vec::new() };
        for (series, parts) in panel.series().iter().zip(parts) {
            let Some((mean, deviation)) = moments(series.values()[parts.training.clone()].iter().copied()) else {
                let reason = format!("has no value in its {} training rows", parts.training.len());
                return Err(Error::invalid(format!("series `{}`", shown(series.name())), reason));
            };
            scaler.names.push(series.name().to_owned());
            scaler.mean.push(mean);
            scaler.deviation.push(deviation);
        }
        Ok(scaler)
    }

    /// The scaler of these means and deviations, one for each name.
    ///
    /// # Errors
    /// [`Error::Invalid`] when lengths differ, or a number is not finite or a deviation not above 0.
    pub fn from_arrays(names: Vec<String>, mean: Vec<f64>, deviation: Vec<f64>) -> Result<Self> {
        if names.len() != mean.len() || names.len() != deviation.len() {
            let reason = format!("has {} names, {} means and {} deviations", names.len(), mean.len(), deviation.len());
            return Err(Error::invalid("scaler", reason));
        }
        let wrong = |at: &usize| !(mean[*at].is_finite() && deviation[*at].is_finite() && deviation[*at] > 0.0);
        if let Some(at) = (0..names.len()).find(wrong) {
            let reason =
                format!("series `{}` has mean {} and deviation {}", shown(&names[at]), mean[at], deviation[at]);
            return Err(Error::invalid("scaler", reason));
        }
        Ok(Self { names, mean, deviation })
    }

    /// The names of the series, in the order of training.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The mean of each series.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The deviation of each series, above 0.
    #[must_use]
    pub fn deviation(&self) -> &[f64] {
        &self.deviation
    }

    /// If true, a panel has the series of training in their order, which [`Panel::select`] brings them into.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first series that is missing, is not in the training data, or stands
    /// elsewhere.
    pub fn check(&self, panel: &Panel) -> Result<()> {
        let series = |name: &str| format!("series `{}`", shown(name));
        let known: std::collections::HashSet<&str> = panel.names().collect();
        if let Some(name) = self.names.iter().find(|name| !known.contains(name.as_str())) {
            let near = crate::names::nearest(name, panel.names().filter(|n| !self.names.iter().any(|m| m == n)));
            let near = near.map_or(String::new(), |near| format!("; there is `{}`", shown(near)));
            return Err(Error::invalid(series(name), format!("is in the training data but missing here{near}")));
        }
        let trained: std::collections::HashSet<&str> = self.names.iter().map(String::as_str).collect();
        if let Some(name) = panel.names().find(|name| !trained.contains(name)) {
            return Err(Error::invalid(series(name), "is not in the training data"));
        }
        match self.names.iter().zip(panel.names()).position(|(a, b)| a != b) {
            None => Ok(()),
            Some(at) => {
                let reason =
                    format!("is number {}, but the training data has `{}` there", at + 1, shown(&self.names[at]));
                Err(Error::invalid(series(panel.series()[at].name()), reason))
            }
        }
    }

    /// Scales values of a series in place; missing ones stay missing.
    ///
    /// # Panics
    /// If there is no such series.
    pub fn scale(&self, series: usize, values: &mut [f32]) {
        let (mean, deviation) = (self.mean[series], self.deviation[series]);
        for value in values {
            *value = ((f64::from(*value) - mean) / deviation) as f32;
        }
    }

    /// Brings scaled values back to the units of the file.
    ///
    /// # Panics
    /// If there is no such series.
    pub fn unscale(&self, series: usize, values: &mut [f32]) {
        let (mean, deviation) = (self.mean[series], self.deviation[series]);
        for value in values {
            *value = f64::from(*value).mul_add(deviation, mean) as f32;
        }
    }

    /// Scales all values of a panel in place.
    ///
    /// # Errors
    /// [`Error::Invalid`] as [`Scaler::check`] has them.
    pub fn apply(&self, panel: &mut Panel) -> Result<()> {
        self.check(panel)?;
        for series in 0..panel.len() {
            self.scale(series, panel.values_mut(series));
        }
        Ok(())
    }
}

/// Mean and population deviation of the values that are not NaN, the deviation being 1 for values that are all the same;
/// `None` where there is no value.
#[must_use]
pub fn moments(values: impl Iterator<Item = f32> + Clone) -> Option<(f64, f64)> {
    let known = || values.clone().filter(|value| !value.is_nan());
    let (low, high) = known().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return None;
    }
    // Rounding of the sum must not give a constant series a tiny deviation.
    if low == high {
        return Some((low.into(), 1.0));
    }
    let count = known().count() as f64;
    let mean = known().map(f64::from).sum::<f64>() / count;
    let square = known().map(|v| (f64::from(v) - mean).powi(2)).sum::<f64>();
    Some((mean, (square / count).sqrt()))
}

impl From<Scaler> for Arrays {
    fn from(Scaler { names, mean, deviation }: Scaler) -> Self {
        Self { names, mean, deviation }
    }
}

impl TryFrom<Arrays> for Scaler {
    type Error = Error;

    fn try_from(Arrays { names, mean, deviation }: Arrays) -> Result<Self> {
        Self::from_arrays(names, mean, deviation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::{Clock, Series, Split};

    fn panel(series: &[(&str, &[f32])]) -> Panel {
        let series = series.iter().map(|(name, values)| Series::new(*name, 0, values.to_vec())).collect();
        Panel::new(Clock::steps(), series).unwrap()
    }

    fn fit(panel: &Panel) -> Result<Scaler> {
        Scaler::fit(panel, &Split::Last { validation: 0, test: 1 }.parts(panel)?)
    }

    #[test]
    fn constant_series_have_a_deviation_of_one() {
        let scaler = fit(&panel(&[("a", &[0.1, 0.1, f32::NAN, 0.1, 7.0])])).unwrap();
        assert_eq!((scaler.mean(), scaler.deviation()), (&[f64::from(0.1f32)][..], &[1.0][..]));
        let mut values = [0.1, 1.1, f32::NAN];
        scaler.scale(0, &mut values);
        assert!(values[0] == 0.0 && (values[1] - 1.0).abs() < 1e-6 && values[2].is_nan());
    }

    #[test]
    fn other_series_than_in_training_are_refused() {
        let scaler = fit(&panel(&[("load", &[1.0, 2.0, 3.0]), ("OT", &[1.0, 5.0, 2.0])])).unwrap();
        let said = |names: [&str; 2]| {
            let mut other = panel(&names.map(|name| (name, &[1.0f32, 2.0][..])));
            scaler.apply(&mut other).unwrap_err().to_string()
        };
        assert_eq!(said(["laod", "OT"]), "series `load`: is in the training data but missing here; there is `laod`");
        assert_eq!(said(["OT", "load"]), "series `OT`: is number 1, but the training data has `load` there");
        let more = panel(&[("load", &[1.0]), ("OT", &[1.0]), ("x", &[1.0])]);
        assert_eq!(scaler.check(&more).unwrap_err().to_string(), "series `x`: is not in the training data");
        let mut same = panel(&[("load", &[1.5]), ("OT", &[3.0])]);
        scaler.apply(&mut same).unwrap();
        assert_eq!([same.series()[0].values()[0], same.series()[1].values()[0]], [0.0, 0.0]);
    }

    #[test]
    fn what_was_stored_is_the_same_and_is_checked() {
        let scaler = fit(&panel(&[("a", &[0.1, 0.7, 0.0]), ("b", &[5.0, 6.0, 0.0])])).unwrap();
        let json = serde_json::to_string(&scaler).unwrap();
        assert_eq!(serde_json::from_str::<Scaler>(&json).unwrap(), scaler);
        for wrong in [json.replace("\"b\"", "\"b\",\"c\""), json.replace("0.5]", "0.0]"), json.replace("mean", "means")]
        {
            assert!(serde_json::from_str::<Scaler>(&wrong).is_err(), "{wrong}");
        }
        let said = fit(&panel(&[("a", &[f32::NAN, f32::NAN, 1.0])])).unwrap_err().to_string();
        assert_eq!(said, "series `a`: has no value in its 2 training rows");
    }
}

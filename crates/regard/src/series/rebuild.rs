//! Reconstruction of windows: missing values are filled in, and values far from their reconstruction are anomalies.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_base::series::interpolated;
use regard_data::series::formats::forecasts::{Forecast, Forecasts};
use regard_data::series::{Panel, Window};
use regard_data::stats::mean;

use super::base::mixed;
use super::batch::Batch;
use super::predict::{Series, SeriesModel, together};
use super::task::SeriesTask;
use crate::supervised::base::Only;
use crate::{Error, Result};

/// Series with their missing values filled.
#[derive(Clone, Debug)]
pub struct Filled {
    /// The series in their own units; what was there is as it was.
    pub series: Forecasts,
    /// The part of the network in what was filled; the rest is interpolated.
    pub network_weight: f64,
    /// The season around which values were interpolated; 1 for straight lines.
    pub season: usize,
    /// Errors on known values that were hidden; `None` where there were too few.
    pub errors: Option<HiddenErrors>,
}

/// Mean absolute errors on known values that were hidden in gaps as long as those of the file, in deviations of each series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HiddenErrors {
    /// Hidden values.
    pub values: usize,
    /// Error of the network.
    pub network: f64,
    /// Error of the interpolation.
    pub interpolation: f64,
    /// Error of both together, with weights that were fitted to these values.
    pub blend: f64,
}

/// Weight and season by hidden values, and their errors.
#[derive(Clone, Copy)]
struct Fitted {
    network_weight: f64,
    season: usize,
    errors: HiddenErrors,
}

/// Hidden values by which weights are fitted at least.
const FEWEST_HIDDEN: usize = 10;
/// Gaps that are hidden at least in a series with gaps, as far as there is room.
const HIDDEN_GAPS: usize = 64;
/// Known values of a series for each that is hidden.
const KNOWN_EACH: usize = 5;

impl SeriesModel {
    /// Series of [`SeriesModel::read`] with their missing values filled by the network and by interpolation. Their weights
    /// are fitted to known values that are hidden in gaps as long as those of the file, so that the answer is not worse than
    /// an interpolation. With too few of them straight lines have all weight; with `only`, what it names.
    ///
    /// # Errors
    /// [`Error::Config`] for a model of another task, or a series shorter than its windows.
    pub fn filled(&self, Series { panel, own, .. }: &Series, only: Option<Only>) -> Result<Filled> {
        self.check_task(SeriesTask::Imputation)?;
        let fitted = self.fitted(panel)?;
        let (best, season) = fitted.map_or((0.0, 1), |fitted| (fitted.network_weight, fitted.season));
        let network_weight = match only {
            Some(Only::Network) => 1.0,
            Some(Only::Base) => 0.0,
            None => best,
        };
        let scaler = self.scaler()?;
        let lines = without_gaps(panel, season);
        let all = self.rebuilt(panel)?.into_iter().zip(lines).enumerate().map(|(series, (network, line))| {
            let both = |(network, line): (&f32, &f32)| mixed([*network, *line], network_weight);
            let mut values: Vec<f32> = network.iter().zip(&line).map(both).collect();
            scaler.unscale(series, &mut values);
            let there = own.series()[series].values();
            let values = values.iter().zip(there).map(|(&value, &there)| if there.is_nan() { value } else { there });
            of_series(panel, series, values.collect())
        });
        let series = Forecasts::new(panel.clock(), all.collect())?;
        Ok(Filled { series, network_weight, season, errors: fitted.map(|fitted| fitted.errors) })
    }

    /// The weight of the network and the season of the interpolation that fit hidden values best; `None` with too few of them.
    fn fitted(&self, panel: &Panel) -> Result<Option<Fitted>> {
        let (hidden, places) = hidden(panel)?;
        if places.len() < FEWEST_HIDDEN {
            return Ok(None);
        }
        let errors = |found: &[Vec<f32>]| -> Vec<f64> {
            let error =
                |&(series, at): &(usize, usize)| f64::from(found[series][at] - panel.series()[series].values()[at]);
            places.iter().map(error).collect()
        };
        let size = |errors: &[f64]| mean(&errors.iter().map(|error| error.abs()).collect::<Vec<_>>());
        let network = errors(&self.rebuilt(&hidden)?);
        let of_season = |season: usize| (season, errors(&without_gaps(&hidden, season)));
        let lines = of_season(1);
        let (season, line) = match panel.clock().season() {
            0 | 1 => lines,
            season => {
                let seasonal = of_season(season);
                if size(&seasonal.1) < size(&lines.1) { seasonal } else { lines }
            }
        };
        // Least squares of w · network + (1 - w) · interpolation.
        let differs = || network.iter().zip(&line).map(|(network, line)| network - line);
        let square: f64 = differs().map(|by| by * by).sum();
        let product: f64 = differs().zip(&line).map(|(by, line)| -by * line).sum();
        let network_weight = if square > 0.0 { (product / square).clamp(0.0, 1.0) } else { 0.0 };
        let both = |(network, line): (&f64, &f64)| network_weight * network + (1.0 - network_weight) * line;
        let both: Vec<f64> = network.iter().zip(&line).map(both).collect();
        let errors = HiddenErrors {
            values: places.len(),
            network: size(&network),
            interpolation: size(&line),
            blend: size(&both),
        };
        Ok(Some(Fitted { network_weight, season, errors }))
    }

    /// The anomaly score of each value: its squared distance from the network's reconstruction, in squared
    /// deviations of the series; not a number where a value is missing.
    ///
    /// # Errors
    /// As [`Self::filled`].
    pub fn anomalies(&self, Series { panel, .. }: &Series) -> Result<Forecasts> {
        self.check_task(SeriesTask::Anomaly)?;
        let all = self.rebuilt(panel)?.into_iter().enumerate().map(|(series, rebuilt)| {
            let there = panel.series()[series].values();
            of_series(
                panel,
                series,
                rebuilt.iter().zip(there).map(|(rebuilt, there)| (rebuilt - there).powi(2)).collect(),
            )
        });
        Ok(Forecasts::new(panel.clock(), all.collect())?)
    }

    /// The network's reconstruction of every value, window after window, the last one up to the end; at its scale.
    fn rebuilt(&self, panel: &Panel) -> Result<Vec<Vec<f32>>> {
        let look_back = self.config.look_back;
        let mut windows = vec![];
        for (series, one) in panel.series().iter().enumerate() {
            let Some(last) = one.len().checked_sub(look_back) else {
                let reason = format!(
                    "`{}` has {} rows; the model needs at least {look_back} (its look-back)",
                    one.name(),
                    one.len()
                );
                return Err(Error::config("the file", reason));
            };
            let starts = (0..last).step_by(look_back).chain([last]);
            windows.extend(starts.map(|start| Window { series, start, look_back, horizon: 0 }));
        }
        let channels = self.config.channels.max(1);
        let mut all: Vec<Vec<f32>> = panel.series().iter().map(|one| vec![f32::NAN; one.len()]).collect();
        if channels > 1 {
            // Networks with something of their own for each series look at all of them at one place.
            windows.sort_by_key(|window| (window.start, window.series));
        }
        for chosen in windows.chunks(together(channels)) {
            let batch = Batch::of_windows(panel, chosen, channels, false);
            let numbers = self.answers(&batch);
            for (window, rebuilt) in chosen.iter().zip(numbers.chunks_exact(look_back)) {
                all[window.series][window.start..window.start + look_back].copy_from_slice(rebuilt);
            }
        }
        Ok(all)
    }

    fn check_task(&self, task: SeriesTask) -> Result<()> {
        match self.config.task == task {
            true => Ok(()),
            false => Err(Error::config("--model", format!("was trained for {}, not for {task}", self.config.task))),
        }
    }
}

/// A panel with some known values hidden, and their places by series: for each gap others of its length, between known
/// values.
fn hidden(panel: &Panel) -> Result<(Panel, Vec<(usize, usize)>)> {
    const TRIES: usize = 20;
    let mut noise = Pcg64Mcg::seed_from_u64(1);
    let (mut places, mut series) = (Vec::new(), 0);
    let hidden = panel.changed(|one| {
        let mut values = one.values().to_vec();
        let mut left = values.iter().filter(|value| !value.is_nan()).count() / KNOWN_EACH;
        let gaps = gaps(one.values());
        for gap in gaps.iter().cycle().take(if gaps.is_empty() { 0 } else { gaps.len().max(HIDDEN_GAPS) }) {
            let length = gap.len().min(left);
            let Some(last) = values.len().checked_sub(length + 2).filter(|_| length > 0) else { continue };
            let is_known = |start: &usize| values[start - 1..=start + length].iter().all(|value| !value.is_nan());
            let start = (0..TRIES).map(|_| 1 + noise.random_range(0..=last)).find(is_known);
            if let Some(start) = start {
                values[start..start + length].fill(f32::NAN);
                places.extend((start..start + length).map(|at| (series, at)));
                left -= length;
            }
        }
        series += 1;
        one.with_values(values)
    })?;
    Ok((hidden, places))
}

/// The places of missing values next to each other.
fn gaps(values: &[f32]) -> Vec<std::ops::Range<usize>> {
    let mut gaps: Vec<std::ops::Range<usize>> = Vec::new();
    for at in (0..values.len()).filter(|at| values[*at].is_nan()) {
        match gaps.last_mut().filter(|gap| gap.end == at) {
            Some(gap) => gap.end += 1,
            None => gaps.push(at..at + 1),
        }
    }
    gaps
}

/// Interpolated values of all series.
fn without_gaps(panel: &Panel, season: usize) -> Vec<Vec<f32>> {
    let of = |values: &[f32]| -> Vec<f32> {
        let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        interpolated(&values, season).into_iter().map(|value| value as f32).collect()
    };
    panel.series().iter().map(|one| of(one.values())).collect()
}

fn of_series(panel: &Panel, series: usize, values: Vec<f32>) -> Forecast {
    let one = &panel.series()[series];
    Forecast { name: one.name().to_owned(), start: one.start(), values, intervals: vec![] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regard_data::series::{Clock, Series};

    #[test]
    fn hidden_values_are_known_ones_in_gaps_of_the_same_lengths() {
        let mut values: Vec<f32> = (0..400).map(|at| at as f32).collect();
        for gap in [40..43, 100..101, 250..257] {
            values[gap].fill(f32::NAN);
        }
        let whole: Vec<f32> = (0..30).map(|at| at as f32).collect();
        let series = vec![Series::new("a", 0, values.clone()), Series::new("b", 0, whole.clone())];
        let panel = Panel::new(Clock::steps(), series).unwrap();
        let (found, places) = hidden(&panel).unwrap();
        assert_eq!(found.series()[1].values(), whole, "a series without gaps has nothing hidden");
        assert!(places.len() > FEWEST_HIDDEN && places.len() <= 389 / KNOWN_EACH, "{}", places.len());
        for (at, (before, after)) in values.iter().zip(found.series()[0].values()).enumerate() {
            assert_eq!(after.is_nan(), before.is_nan() || places.contains(&(0, at)), "{at}");
        }
        let lengths: Vec<usize> = gaps(found.series()[0].values()).iter().map(|gap| gap.len()).collect();
        assert!(lengths.iter().all(|length| *length <= 7) && lengths.len() > 10, "{lengths:?}");
        // Lines are right here, at the beginning of a gap as at its end.
        let line = without_gaps(&found, 1);
        assert!(places.iter().all(|&(series, at)| (line[series][at] - at as f32).abs() < 1e-3));
    }

    #[test]
    fn gaps_are_runs_of_missing_values() {
        let nan = f32::NAN;
        assert_eq!(gaps(&[nan, 1.0, nan, nan, 2.0, nan]), [0..1, 2..4, 5..6]);
        assert!(gaps(&[1.0]).is_empty() && gaps(&[]).is_empty());
    }
}

//! Forecasts of the blend with intervals, and the report of its back-test.

use regard_data::metrics::forecast::Pinball;
use serde::Serialize;

use super::blend::{Weights, blended, fit_weights};
use super::history::Sign;
use super::intervals::{Errors, Widths};
use super::members::Members;
use super::plan::{OriginKind, Plan};

/// Errors that are a smaller share of the value are those of rounding.
const ROUNDING: f64 = 1e-12;

/// Forecasts of all series, and the errors of the back-test.
#[derive(Clone, Debug, Serialize)]
pub struct Forecasts {
    /// In the order of the series that were given.
    pub series: Vec<SeriesForecast>,
    /// Season lengths that were used, the shortest first.
    pub seasons: Vec<usize>,
    /// The rule by which weights were found.
    pub rule: String,
    /// Members with their weights and errors, the largest weight first; those without weight last.
    pub members: Vec<MemberReport>,
    /// Errors on the held-out rows. `None` if the series are too short.
    pub back_test: Option<BackTest>,
    /// Interpolated gaps, series too short.
    pub warnings: Vec<String>,
    /// Members and back-tests that the time was too short for.
    pub short_of_time: Vec<String>,
}

/// The forecast of a series.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesForecast {
    /// `[horizon]`
    pub values: Vec<f64>,
    /// One for each level, in the order of the levels.
    pub intervals: Vec<PredictionInterval>,
}

/// The interval of a level.
#[derive(Clone, Debug, Serialize)]
pub struct PredictionInterval {
    /// Percent.
    pub level: f64,
    /// Lower ends, `[horizon]`.
    pub low: Vec<f64>,
    /// Upper ends, `[horizon]`.
    pub high: Vec<f64>,
}

/// A member's part in the blend.
#[derive(Clone, Debug, Serialize)]
pub struct MemberReport {
    /// The name.
    pub name: String,
    /// Mean weight over series.
    pub weight: f64,
    /// Mean absolute scaled error after the validation origins, averaged over series. `None` without validation.
    pub validation_mase: Option<f64>,
    /// That on the held-out rows.
    pub mase: Option<f64>,
    /// Symmetric mean absolute percentage error on the held-out rows.
    pub smape: Option<f64>,
}

/// Errors on the last rows of the series, by which nothing was chosen. Scaled errors are divided by the error of the
/// seasonal naive forecast one season ahead within the rows before.
#[derive(Clone, Debug, Serialize)]
pub struct BackTest {
    /// Held-out rows at the end of each series.
    pub rows: usize,
    /// Origins by which weights were fitted.
    pub validation_origins: usize,
    /// Mean absolute scaled error of the blend, averaged over series.
    pub mase: f64,
    /// Its symmetric mean absolute percentage error.
    pub smape: f64,
    /// Mean absolute scaled error of the blend for each series; `None` for a series without held-out rows.
    pub mase_of_series: Vec<Option<f64>>,
    /// Mean absolute scaled error of the value a season before.
    pub seasonal_naive_mase: f64,
    /// That of the last value.
    pub naive_mase: f64,
    /// Shares of held-out values inside intervals that were calibrated before them.
    pub coverage: Vec<IntervalCoverage>,
    /// Pinball losses of the forecast as the median, and of the ends of these intervals as quantiles.
    pub pinball: PinballLoss,
    /// The blend's forecasts of the held-out rows in the unit of the file, `[series][rows]`; empty for a series too
    /// short.
    #[serde(skip)]
    pub forecasts: Vec<Vec<f64>>,
}

/// Pinball losses of quantile forecasts (Koenker & Bassett 1978), means over all held-out values.
#[derive(Clone, Debug, Serialize)]
pub struct PinballLoss {
    /// The mean over the quantiles, in the unit of the file.
    pub mean: f64,
    /// The same of values that are divided by the error that scales MASE.
    pub scaled: f64,
    /// The loss of each quantile, in the unit of the file.
    pub quantiles: Vec<QuantileLoss>,
}

/// The pinball loss of a quantile.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct QuantileLoss {
    /// Between 0 and 1.
    pub quantile: f64,
    /// In the unit of the file.
    pub loss: f64,
}

/// The share of values inside intervals of a level.
#[derive(Clone, Debug, Serialize)]
pub struct IntervalCoverage {
    /// Percent.
    pub level: f64,
    /// Percent of the values.
    pub coverage: f64,
}

/// Means over series of scaled and percentage errors.
#[derive(Clone, Copy, Default)]
struct Means {
    mase: f64,
    smape: f64,
    series: f64,
}

impl Means {
    fn values(self) -> Option<(f64, f64)> {
        (self.series > 0.0).then(|| (self.mase / self.series, self.smape / self.series))
    }
}

impl Plan {
    /// Fits weights to the members' errors after the validation origins.
    #[must_use]
    pub fn weights(&self, members: &Members) -> Weights {
        fit_weights(self, members)
    }

    /// The blend's forecasts after an origin, in the unit of the file: `[series][steps]`, empty for a series too short.
    #[must_use]
    pub fn blended(&self, members: &Members, weights: &Weights, origin: usize) -> Vec<Vec<f64>> {
        let Some(place) = self.origins.get(origin) else { return vec![vec![]; self.len()] };
        let of_series = |series: usize| {
            if !self.has(series, origin) {
                return vec![];
            }
            let forecast = |member: usize| members.all[member].forecasts[series][origin].as_slice();
            self.in_unit_of_file(series, &blended(&weights.of_series[series], forecast, place.steps))
        };
        (0..self.len()).map(of_series).collect()
    }

    fn in_unit_of_file(&self, series: usize, values: &[f64]) -> Vec<f64> {
        let unit = self.series[series].whole().unit;
        values.iter().map(|value| value * unit).collect()
    }

    /// The blend's forecasts with intervals, and the errors of the held-out rows.
    #[must_use]
    pub fn blend(&self, members: &Members, weights: &Weights) -> Forecasts {
        let blend = |series: usize, at: usize| {
            let forecast = |member: usize| members.all[member].forecasts[series][at].as_slice();
            blended(&weights.of_series[series], forecast, self.origins[at].steps)
        };
        let held_out = self.origins_of(OriginKind::HeldOut).next();
        let end = self.origins.len() - 1;
        let mut errors = self.validation_errors(weights);
        let back_test = held_out.and_then(|at| {
            let forecasts: Vec<Vec<f64>> =
                (0..self.len()).map(|series| if self.has(series, at) { blend(series, at) } else { vec![] }).collect();
            // Where the time was too short for any forecast of these rows, or no value is in them, there is nothing to
            // report.
            if forecasts.iter().all(Vec::is_empty) || self.means(&[at], |series, _| &forecasts[series]).0.series == 0.0
            {
                return None;
            }
            let widths = Widths::new(self, &errors, at);
            let back_test = self.back_test(members, &forecasts, &widths, at);
            // The intervals of the forecasts know the errors of the held-out rows, too.
            for (series, forecast) in forecasts.iter().enumerate().filter(|(_, one)| !one.is_empty()) {
                errors.push(self.errors(series, at, forecast));
            }
            Some(back_test)
        });
        let widths = Widths::new(self, &errors, end);
        let quantiles: Vec<f64> = self.options.levels.iter().map(|&level| widths.quantile(level)).collect();
        let series = (0..self.len()).map(|series| self.series_forecast(series, blend, &widths, &quantiles)).collect();
        let mut short_of_time = self.short_of_time.clone();
        if !members.left_out.is_empty() {
            let names = members.left_out.join(", ");
            let reason = match self.options.budget.is_stopped() {
                true => "it was interrupted",
                false => "the time is too short (`--time` gives more)",
            };
            short_of_time.push(format!("left out: {names}: {reason}"));
        }
        Forecasts {
            series,
            seasons: self.seasons.clone(),
            rule: weights.rule.clone(),
            members: self.member_reports(members, weights, held_out),
            back_test,
            warnings: self.warnings.iter().cloned().chain(widths.beyond(&self.options.levels)).collect(),
            short_of_time,
        }
    }

    fn has(&self, series: usize, at: usize) -> bool {
        self.series[series].history(at, &self.origins[at]).is_some()
    }

    fn errors(&self, series: usize, at: usize, forecast: &[f64]) -> Errors {
        let truth = self.series[series].truth(&self.origins[at]);
        // A sum of members that are right is off by its rounding, which no interval of a constant series holds.
        let error = |(value, truth): (&f64, &f64)| {
            let error = (value - truth).abs();
            if error <= ROUNDING * truth.abs() { 0.0 } else { error }
        };
        Errors { series, origin: at, absolute: forecast.iter().zip(truth).map(error).collect() }
    }

    fn validation_errors(&self, weights: &Weights) -> Vec<Errors> {
        let mut all = vec![];
        for (series, origins) in weights.unseen.iter().enumerate() {
            for (at, forecast) in origins.iter().enumerate().filter(|(_, forecast)| !forecast.is_empty()) {
                all.push(self.errors(series, at, forecast));
            }
        }
        all
    }

    fn series_forecast(
        &self,
        series: usize,
        blend: impl Fn(usize, usize) -> Vec<f64>,
        widths: &Widths,
        quantiles: &[f64],
    ) -> SeriesForecast {
        let end = self.origins.len() - 1;
        let whole = self.series[series].whole();
        let horizon = self.options.horizon;
        if !self.has(series, end) {
            let zeros = vec![0.0; horizon];
            let interval = |&level: &f64| PredictionInterval { level, low: zeros.clone(), high: zeros.clone() };
            return SeriesForecast {
                values: zeros.clone(),
                intervals: self.options.levels.iter().map(interval).collect(),
            };
        }
        let back = |value: f64| (value * whole.unit).clamp(-f64::MAX, f64::MAX);
        let values = blend(series, end);
        let interval = |(&level, &quantile): (&f64, &f64)| {
            let half = widths.half(series, quantile);
            let least = if self.series[series].sign(&self.origins[end]) != Sign::Any { 0.0 } else { f64::NEG_INFINITY };
            let low = values.iter().zip(&half).map(|(value, half)| back((value - half).max(least))).collect();
            let high = values.iter().zip(&half).map(|(value, half)| back(value + half)).collect();
            PredictionInterval { level, low, high }
        };
        let intervals = self.options.levels.iter().zip(quantiles).map(interval).collect();
        SeriesForecast { values: values.iter().map(|value| back(*value)).collect(), intervals }
    }

    /// Scaled and percentage errors of forecasts after some origins, averaged over series.
    fn means<'a>(&self, origins: &[usize], forecast: impl Fn(usize, usize) -> &'a [f64]) -> (Means, Vec<Option<f64>>) {
        let mut means = Means::default();
        let mut each = vec![None; self.len()];
        for (series, prepared) in self.series.iter().enumerate() {
            let (mut absolute, mut symmetric, mut count) = (0.0, 0.0, 0.0);
            for &at in origins.iter().filter(|at| self.has(series, **at)) {
                let truth = prepared.truth(&self.origins[at]);
                for (value, truth) in forecast(series, at).iter().zip(truth).filter(|(_, truth)| !truth.is_nan()) {
                    let (error, size) = ((value - truth).abs(), value.abs() + truth.abs());
                    absolute += error / prepared.scale;
                    symmetric += if size > 0.0 { 200.0 * error / size } else { 0.0 };
                    count += 1.0;
                }
            }
            if count > 0.0 {
                means.mase += absolute / count;
                means.smape += symmetric / count;
                means.series += 1.0;
                each[series] = Some(absolute / count);
            }
        }
        (means, each)
    }

    fn back_test(&self, members: &Members, forecasts: &[Vec<f64>], widths: &Widths, at: usize) -> BackTest {
        let (blend, mase_of_series) = self.means(&[at], |series, _| &forecasts[series]);
        let (mase, smape) = blend.values().unwrap_or_default();
        let of_member = |member: usize| {
            let (means, _) = self.means(&[at], |series, at| &members.all[member].forecasts[series][at]);
            means.values().map_or(0.0, |means| means.0)
        };
        let coverage = |&level: &f64| {
            let (mut inside, mut count) = (0.0, 0.0);
            let quantile = widths.quantile(level);
            for (series, forecast) in forecasts.iter().enumerate() {
                let half = widths.half(series, quantile);
                let errors = self.errors(series, at, forecast);
                for (error, half) in errors.absolute.iter().zip(&half).filter(|(error, _)| !error.is_nan()) {
                    inside += f64::from(u8::from(error <= half));
                    count += 1.0;
                }
            }
            IntervalCoverage { level, coverage: if count > 0.0 { 100.0 * inside / count } else { 0.0 } }
        };
        BackTest {
            rows: self.origins[at].steps,
            validation_origins: self.origins_of(OriginKind::Validation).count(),
            mase,
            smape,
            mase_of_series,
            seasonal_naive_mase: of_member(usize::from(!self.seasons.is_empty())),
            naive_mase: of_member(0),
            coverage: self.options.levels.iter().map(coverage).collect(),
            pinball: self.pinball(forecasts, widths, at),
            forecasts: (0..self.len()).map(|series| self.in_unit_of_file(series, &forecasts[series])).collect(),
        }
    }

    /// Pinball losses of forecasts after an origin, `[series][steps]`, as medians, and of the ends of their intervals.
    fn pinball(&self, forecasts: &[Vec<f64>], widths: &Widths, at: usize) -> PinballLoss {
        let mut levels = self.options.levels.clone();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let below = levels.iter().rev().map(|level| (-1.0, *level));
        let ends: Vec<(f64, f64)> = below.chain([(0.0, 0.0)]).chain(levels.iter().map(|level| (1.0, *level))).collect();
        let half_widths: Vec<f64> =
            ends.iter().map(|(side, level)| if *side == 0.0 { 0.0 } else { widths.quantile(*level) }).collect();
        let quantiles: Vec<f64> = ends.iter().map(|(side, level)| 0.5 + side * level / 200.0).collect();
        let [mut own, mut scaled] = [Pinball::new(&quantiles), Pinball::new(&quantiles)];
        for (series, forecast) in forecasts.iter().enumerate().filter(|(_, forecast)| !forecast.is_empty()) {
            let prepared = &self.series[series];
            let truth = prepared.truth(&self.origins[at]);
            let observed: Vec<bool> = truth.iter().map(|truth| !truth.is_nan()).collect();
            let least = if prepared.sign(&self.origins[at]) != Sign::Any { 0.0 } else { f64::NEG_INFINITY };
            let values: Vec<f64> = ends
                .iter()
                .zip(&half_widths)
                .flat_map(|((side, _), quantile)| {
                    let half = widths.half(series, *quantile);
                    let ends = forecast.iter().zip(half).map(move |(value, half)| (value + side * half).max(least));
                    ends.take(truth.len()).collect::<Vec<_>>()
                })
                .collect();
            let unit = prepared.whole().unit;
            let of =
                |values: &[f64], factor: f64| values.iter().map(|value| (value * factor) as f32).collect::<Vec<_>>();
            own.add(&of(&values, unit), &of(truth, unit), &observed);
            let factor = 1.0 / prepared.scale;
            scaled.add(&of(&values, factor), &of(truth, factor), &observed);
        }
        let quantiles = quantiles.into_iter().zip(own.by_level());
        PinballLoss {
            mean: own.mean(),
            scaled: scaled.mean(),
            quantiles: quantiles.map(|(quantile, loss)| QuantileLoss { quantile, loss }).collect(),
        }
    }

    fn member_reports(&self, members: &Members, weights: &Weights, held_out: Option<usize>) -> Vec<MemberReport> {
        let mean = weights.mean();
        let validation: Vec<usize> = self.origins_of(OriginKind::Validation).collect();
        let report = |(at, member): (usize, &super::Member)| {
            let of = |origins: &[usize]| self.means(origins, |series, at| &member.forecasts[series][at]).0.values();
            let held_out = held_out.and_then(|at| of(&[at]));
            MemberReport {
                name: member.name.clone(),
                weight: mean[at],
                validation_mase: of(&validation).map(|means| means.0),
                mase: held_out.map(|means| means.0),
                smape: held_out.map(|means| means.1),
            }
        };
        let mut reports: Vec<MemberReport> = members.all.iter().enumerate().map(report).collect();
        reports.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        reports
    }
}

//! Forecasts of a network beyond the end of a file.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use regard_base::series::{Budget, ForecastOptions, PredictionInterval, Progress, forecast_with};
use regard_data::cancel;
use regard_data::names::{FeatureNames, first_of};
use regard_data::series::formats::forecasts::{Forecast, Forecasts, Interval};
use regard_data::series::formats::{Read, ReadOptions, ReadReport, read};
use regard_data::series::{Frequency, Panel, Part, Scaler, Unit, Window};

use super::TimeSeries;
use super::base::{mixed, names, seasons_of, test_errors, values, without_outliers};
use super::batch::Batch;
use super::classify::at_scale;
use super::evaluate::{EvaluateOptions, SeriesEvaluation, evaluate};
use super::experiment::{SeriesData, SeriesExperiment};
use super::intervals::LEVELS;
use super::local_forecast::NETWORK;
use super::measure::{Measuring, WindowsOf, medians, predict};
use super::model::PatchTstConfig;
use super::scaled::{Known, scaled_known};
use super::source::{Source, read_by, read_options, shortened};
use super::task::SeriesTask;
use crate::experiment::DecimalMark;
use crate::store::built_in;
use crate::supervised::Model;
use crate::supervised::intervals::examples_needed;
use crate::train::{Measure, Measures, NumberLoss, ValidationMetrics};
use crate::{Error, Result};

/// Windows that go through a network together: about 256, and all series at a place where the network has
/// something of its own for each of `channels`.
pub(super) fn together(channels: usize) -> usize {
    (256 / channels).max(1) * channels
}

/// The last values of many.
fn last<T>(values: &[T], count: usize) -> &[T] {
    &values[values.len().saturating_sub(count)..]
}

/// Mean and deviation of the last values, or where all of them are missing, of as many before them.
fn own_scale(values: &[f64], look_back: usize) -> (f64, f64) {
    let end = match last(values, look_back).iter().all(|value| value.is_nan()) {
        true => values.iter().rposition(|value| !value.is_nan()).map_or(0, |at| at + 1),
        false => values.len(),
    };
    let known = || last(&values[..end], look_back).iter().filter(|value| !value.is_nan());
    let count = known().count().max(1) as f64;
    let mean = known().sum::<f64>() / count;
    (mean, (known().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
}

/// Passes of a network on generated series, one after the other, of a forecast at most.
const MOST_PASSES: usize = 1000;

/// Steps before a forecast that pictures show at least.
const SHOWN: usize = 48;

/// Warnings name at most so many series.
const MOST_NAMED: usize = 5;

/// A model on time series.
pub type SeriesModel = Model<TimeSeries>;

/// Options of [`SeriesModel::forecast_file`].
#[derive(Clone, Debug)]
pub struct FileForecastOptions {
    /// Values after the last of each series.
    pub horizon: usize,
    /// Intervals, in percent.
    pub levels: Vec<f64>,
    /// Time for the network and the base forecasters.
    pub budget: Budget,
    /// If true, a single value of the last rows that lies far from all others counts for forecasts.
    pub keep_outliers: bool,
    /// The series that are forecast; `None` for all. Base forecasters are fitted to all series together and know no part.
    pub part: Option<Range<usize>>,
}

/// Forecasts of a file by a network and base forecasters.
#[derive(Clone, Debug)]
pub struct FileForecasts {
    /// The forecasts.
    pub forecasts: Forecasts,
    /// Network and base forecasters with their weights, the heaviest first; the network alone for a model without
    /// base forecasters.
    pub members: Vec<(String, f64)>,
    /// Base forecasters that were left out, and why; a network that took longer than all of the time.
    pub warnings: Vec<String>,
}

/// Series of a file, at the scale of a model.
#[derive(Clone, Debug)]
pub struct Series {
    /// The series the model knows, in its order, at its scale.
    pub panel: Panel,
    /// The same as they stand in the file.
    pub own: Panel,
    /// The report of the reader.
    pub report: ReadReport,
    /// Series of the file that the model does not know.
    pub unknown: Vec<String>,
}

/// The data that a model is measured on.
#[derive(Clone, Debug)]
pub struct TestData {
    source: Source,
    /// With the model's sizes.
    experiment: SeriesExperiment,
    /// Series of the file that the model does not know.
    pub unknown: Vec<String>,
}

impl TestData {
    /// The report of the reader.
    #[must_use]
    pub fn report(&self) -> &ReadReport {
        &self.source.report
    }
}

impl SeriesModel {
    /// Reads the series of a file.
    ///
    /// # Errors
    /// Those of reading the file; series that are missing; other distances of time stamps than in training.
    pub fn read(&self, path: &Path, data: &SeriesData) -> Result<Series> {
        self.read_by(path, None, &read_options(data, Some(&self.config))?)
    }

    /// As [`Self::read`], for a forecast of `horizon` values, with the future values of covariates in a file of their own
    /// where one is given. Of a file that is read part by part and of a pipe, only the end of each series is kept where the
    /// network has all weight: what it sees, and four horizons for pictures.
    ///
    /// # Errors
    /// As there; rows of the future that do not go on where the series end; series shorter than the look-back where the
    /// network alone forecasts.
    pub fn read_to_forecast(
        &self,
        path: &Path,
        future: Option<&Path>,
        data: &SeriesData,
        horizon: usize,
    ) -> Result<Series> {
        let only_network = self.base.as_ref().is_none_or(|base| base.weights[1] == 0.0);
        let horizon = horizon.min(self.config.horizon);
        let last = only_network.then(|| self.config.look_back.max(4 * horizon).max(SHOWN));
        let series = self.read_by(path, future, &ReadOptions { last, ..read_options(data, Some(&self.config))? })?;
        if !self.spares_short_ones() {
            let all: Vec<usize> = (0..series.panel.len()).collect();
            self.check_lengths(&series.panel, &all).map_err(|error| error.in_file(path))?;
        }
        Ok(series)
    }

    /// If true, base forecasters forecast series that are too short for the network. A network with something of its
    /// own for each series sees all of them or none.
    fn spares_short_ones(&self) -> bool {
        let of_base = self.base.as_ref().map_or(0.0, |base| base.weights[1]);
        of_base == 1.0 || of_base > 0.0 && self.config.channels == 0
    }

    /// Refuses series shorter than the look-back.
    fn check_lengths(&self, panel: &Panel, of: &[usize]) -> Result<()> {
        if self.config.task != SeriesTask::Forecast || self.knows_none() {
            return Ok(());
        }
        let check = |&series: &usize| Window::last(panel, series, self.config.look_back, 0).map(drop);
        let hint = "omit --model: without one, series may be shorter";
        of.iter().try_for_each(check).map_err(|error| Error::from(error).with_hint(hint))
    }

    fn read_by(&self, path: &Path, future: Option<&Path>, options: &ReadOptions) -> Result<Series> {
        self.known_series(read_by(path, future, options)?).map_err(|error| error.in_file(path))
    }

    /// The series that the model knows among those that were read, at its scale; those of a file are all new to a model that
    /// classifies series. The report names covariates with values far outside those of training.
    ///
    /// # Errors
    /// Series that are missing; other distances of time stamps than in training.
    pub fn known_series(&self, found: Read) -> Result<Series> {
        let Read { panel, mut report } = found;
        if self.knows_none() {
            if let Some(name) = panel.covariates().iter().chain(panel.statics()).next() {
                let reason = format!("gives `{name}`, but a model of generated series sees the series alone");
                return Err(Error::config("--covariates", reason).with_hint("leave the option out"));
            }
            return Ok(Series { own: panel.clone(), panel, report, unknown: vec![] });
        }
        self.check_covariates(&panel)?;
        report.notes.extend(self.far_covariates(&panel));
        if self.config.task == SeriesTask::Classification {
            return Ok(Series { panel: at_scale(&panel, &self.config)?, own: panel, report, unknown: vec![] });
        }
        let frequency = panel.clock().frequency().to_string();
        if frequency != self.config.data.frequency {
            let reason = format!(
                "has one value every {frequency}; the training data has one every {}",
                self.config.data.frequency
            );
            return Err(Error::config("frequency", reason).with_hint(self.way_to_frequency(panel.clock().frequency())));
        }
        let unknown = self.unknown(&panel);
        let own = panel.select(&self.config.data.names)?;
        let mut panel = own.clone();
        self.scaler()?.apply(&mut panel)?;
        Ok(Series { panel: scaled_known(panel, &Known::of(&self.config.data))?, own, report, unknown })
    }

    /// Series that the model does not know.
    fn unknown(&self, panel: &Panel) -> Vec<String> {
        let known: HashSet<&String> = self.config.data.names.iter().collect();
        panel.names().map(str::to_owned).filter(|name| !known.contains(name)).collect()
    }

    /// A hint for a file whose stamps have another distance than those of the training.
    fn way_to_frequency(&self, of_file: Frequency) -> String {
        let known = &self.config.data.frequency;
        let learnt = known.parse::<Frequency>().ok();
        let is_step = |frequency: Frequency| frequency.unit() == Unit::Step;
        match learnt {
            Some(learnt) if learnt.covers(of_file) => {
                format!(
                    "`--frequency \"{known}\"` (`data.frequency`) reads the file so, with missing values between its \
                     rows"
                )
            }
            Some(learnt) if is_step(of_file) && !is_step(learnt) => {
                "the model needs dates: `--date` (`data.date`) names a column that has them".to_owned()
            }
            Some(learnt) if is_step(learnt) && !is_step(of_file) => {
                "the model was trained without dates: number the rows in place of their dates".to_owned()
            }
            _ => format!("bring the file to one row every {known}, or train a model on it"),
        }
    }

    /// Sentences about covariates with values far outside those of training.
    fn far_covariates(&self, panel: &Panel) -> Vec<String> {
        let [covariates, statics] =
            [&self.config.data.future_covariate_ranges, &self.config.data.static_covariate_ranges];
        let all = |at: usize| panel.series().iter().flat_map(move |one| one.covariates()[at].iter().copied());
        let of_series = |at: usize| panel.series().iter().map(move |one| one.statics()[at]);
        let names = |names: &[String]| FeatureNames::Named(names.to_vec());
        let notes = covariates.notes("training", &names(panel.covariates()), all);
        notes.into_iter().chain(statics.notes("training", &names(panel.statics()), of_series)).collect()
    }

    /// Refuses other covariates than those of the training.
    fn check_covariates(&self, panel: &Panel) -> Result<()> {
        let data = &self.config.data;
        for (option, found, known) in [
            ("--covariates", panel.covariates(), &data.future_covariates),
            ("data.static_covariates", panel.statics(), &data.static_covariates),
        ] {
            if found != known.as_slice() {
                let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let reason = format!("gives {}, but the model was trained with {}", list(found), list(known));
                return Err(Error::config(option, reason));
            }
        }
        Ok(())
    }

    /// The built-in model that was trained on generated series; `None` for a build without one.
    #[must_use]
    pub fn pretrained() -> Option<PathBuf> {
        built_in::path("regard-forecaster")
    }

    /// If true, the model was trained on generated series, and forecasts any.
    #[must_use]
    pub fn knows_none(&self) -> bool {
        self.experiment.as_ref().is_some_and(|experiment| experiment.data.generated_series > 0)
    }

    /// The columns of a file for the model: those of its training.
    pub fn columns(&self) -> SeriesData {
        let data = self.experiment.as_ref().map(|experiment| experiment.data.clone()).unwrap_or_default();
        // The decimal mark of training is that of numbers that do not tell theirs.
        SeriesData { generated_series: 0, decimal: DecimalMark::Auto, ..data }
    }

    /// The forecast of every series, `horizon` values after its last, with intervals of these levels in
    /// percent.
    ///
    /// # Errors
    /// [`Error::Config`] for a horizon beyond the model's, or a level it does not know; series shorter than
    /// the look-back.
    pub fn forecast(&self, panel: &Panel, horizon: usize, levels: &[f64]) -> Result<Forecasts> {
        let forever = Budget::unlimited();
        let all: Vec<usize> = (0..panel.len()).collect();
        Ok(Forecasts::new(panel.clock(), self.last_forecasts(panel, &all, horizon, levels, &forever)?)?)
    }

    /// The network's forecast after the last value of each of these series; an interrupted budget ends it.
    fn last_forecasts(
        &self,
        panel: &Panel,
        of: &[usize],
        horizon: usize,
        levels: &[f64],
        budget: &Budget,
    ) -> Result<Vec<Forecast>> {
        self.check_request(horizon, levels)?;
        if self.knows_none() {
            let all = || of.iter().map(|series| &panel.series()[*series]);
            if let Some(one) = all().find(|one| one.values().iter().all(|value| value.is_nan())) {
                let reason = format!("series `{}` has no value in the rows that the network sees", one.name());
                let hint = "omit --model: base forecasters see all rows; or leave the series out by --target";
                return Err(Error::config("--model", reason).with_hint(hint));
            }
            let histories: Vec<Vec<f64>> =
                all().map(|one| one.values().iter().map(|&x| f64::from(x)).collect()).collect();
            let Some(found) = self.forecast_unseen_until(&histories, horizon, &|| budget.is_stopped()) else {
                return Err(Error::config("forecast", "was interrupted before its end"));
            };
            return Ok(all()
                .zip(found)
                .map(|(one, values)| Forecast {
                    name: one.name().to_owned(),
                    start: one.start() + one.len(),
                    values: values.into_iter().map(|value| value as f32).collect(),
                    intervals: vec![],
                })
                .collect());
        }
        self.check_lengths(panel, of)?;
        let (look_back, steps) = (self.config.look_back, self.config.horizon);
        let windows = of.iter().map(|&series| Ok(Window::last(panel, series, look_back, steps)?));
        self.of_windows(panel, &windows.collect::<Result<Vec<Window>>>()?, horizon, levels)
    }

    /// Forecasts of any series by a network that was trained on generated ones: `horizon` values after each history,
    /// `[series][horizon]`, where NaN is missing. What the network sees of a series is brought to mean 0 and deviation 1;
    /// the forecast of a series of one value is that value. Beyond its horizon, its forecasts are taken for values.
    #[must_use]
    pub fn forecast_unseen(&self, histories: &[Vec<f64>], horizon: usize) -> Vec<Vec<f64>> {
        self.forecast_unseen_until(histories, horizon, &|| false).unwrap_or_default()
    }

    /// As [`Self::forecast_unseen`]; `None` as soon as `ends` is true before a pass of the network.
    pub(super) fn forecast_unseen_until(
        &self,
        histories: &[Vec<f64>],
        horizon: usize,
        ends: &dyn Fn() -> bool,
    ) -> Option<Vec<Vec<f64>>> {
        let [look_back, at_once] = [self.config.look_back, self.config.horizon];
        let of_chunk = |histories: &[Vec<f64>]| {
            let scales: Vec<(f64, f64)> = histories.iter().map(|values| own_scale(values, look_back)).collect();
            let mut seen: Vec<Vec<f32>> = histories
                .iter()
                .zip(&scales)
                .map(|(values, (mean, by))| {
                    let seen = last(values, look_back);
                    let mut all = vec![f32::NAN; look_back - seen.len()];
                    let by = if *by > 0.0 { *by } else { 1.0 };
                    all.extend(seen.iter().map(|value| ((value - mean) / by) as f32));
                    all
                })
                .collect();
            for _ in 0..self.passes(horizon) {
                if ends() {
                    return None;
                }
                let windows = seen.iter().map(|values| last(values, look_back));
                let numbers = self.answers(&Batch::of_values(windows, at_once));
                let found = medians(&self.config, &numbers);
                seen.iter_mut().zip(found.chunks(at_once)).for_each(|(all, found)| all.extend(found));
            }
            let own = |(all, (mean, by)): (&Vec<f32>, &(f64, f64))| {
                all[look_back..][..horizon].iter().map(|value| mean + by * f64::from(*value)).collect()
            };
            Some(seen.iter().zip(&scales).map(own).collect::<Vec<Vec<f64>>>())
        };
        let all: Option<Vec<Vec<Vec<f64>>>> = histories.chunks(together(1)).map(of_chunk).collect();
        Some(all?.concat())
    }

    /// Passes, one after the other, of a forecast of so many values.
    pub(super) fn passes(&self, horizon: usize) -> usize {
        horizon.div_ceil(self.config.horizon)
    }

    /// The forecast of every series of a file: that of [`Self::forecast`], blended with base forecasters that are
    /// fitted to the file where the model has them, and forecast series shorter than the look-back alone. Intervals are
    /// blended by their ends.
    ///
    /// # Errors
    /// As [`Self::forecast`].
    pub fn forecast_file(
        &self,
        series: &Series,
        options: &FileForecastOptions,
        progress: Progress<'_>,
    ) -> Result<FileForecasts> {
        let FileForecastOptions { horizon, levels, budget, keep_outliers, part } = options;
        let horizon = *horizon;
        let [of_network, of_base] = self.base.as_ref().map_or([1.0, 0.0], |base| base.weights);
        // Horizon and levels are those that the network knows, whatever its weight.
        self.check_request(horizon, levels)?;
        if part.is_some() && of_base > 0.0 {
            let reason = "forecasts some of the series, but base forecasters are fitted to all of them together";
            let hint =
                "`--only network` forecasts by the network alone, whose forecast of a series does not depend on others";
            return Err(Error::config("--shard", reason).with_hint(hint));
        }
        let part = part.clone().unwrap_or(0..series.panel.len());
        let season_length = self.experiment.as_ref().map_or(0, |experiment| experiment.data.season_length);
        let seasons = seasons_of(&series.own, season_length);
        let mut warnings = vec![];
        let changed = match keep_outliers {
            true => None,
            false => without_outliers(&series.panel, seasons.as_deref())?,
        };
        let (panel, outliers) = changed.as_ref().map_or((&series.panel, 0), |(panel, outliers)| (panel, *outliers));
        if outliers > 0 && of_base == 0.0 {
            let whose = if outliers == 1 { "1 series has".to_owned() } else { format!("{outliers} series have") };
            warnings.push(format!(
                "{whose} a value among the last rows that is far from all others: forecasts are made without it \
                 (`--keep-outliers` keeps it)"
            ));
        }
        let is_seen = |series: &usize| {
            self.knows_none() || !self.spares_short_ones() || panel.series()[*series].len() >= self.config.look_back
        };
        let (seen, short): (Vec<usize>, Vec<usize>) = part.partition(is_seen);
        let network = match of_network > 0.0 && !seen.is_empty() {
            true => self.last_forecasts(panel, &seen, horizon, levels, budget)?,
            false => vec![],
        };
        if of_network > 0.0 && !short.is_empty() {
            warnings.push(self.too_short(panel, &short));
        }
        if budget.is_over() && !budget.is_stopped() {
            let took = budget.elapsed().as_secs_f64();
            warnings.push(format!("the network alone took {took:.1} s, longer than `--time`"));
        }
        if of_base == 0.0 {
            let forecasts = Forecasts::new(series.panel.clock(), network)?;
            return Ok(FileForecasts { forecasts, members: vec![(NETWORK.to_owned(), 1.0)], warnings });
        }
        let settings = ForecastOptions {
            horizon,
            seasons,
            levels: levels.clone(),
            names: names(&series.own),
            budget: budget.clone(),
            keep_outliers: *keep_outliers,
        };
        let found = forecast_with(&values(&series.own), &settings, progress)?;
        let mut members = vec![(NETWORK.to_owned(), of_network)];
        members.extend(found.members.iter().map(|member| (member.name.clone(), of_base * member.weight)));
        members.retain(|(_, weight)| *weight > 0.0);
        members.sort_by(|a, b| b.1.total_cmp(&a.1));
        let blend = |network: Option<&Vec<f32>>, base: &[f64]| -> Vec<f32> {
            let of_step = |(step, base): (usize, &f64)| match network {
                Some(network) => mixed([network[step], *base as f32], of_network),
                None => *base as f32,
            };
            base.iter().enumerate().map(of_step).collect()
        };
        let all = series.own.series().iter().zip(found.series).enumerate().map(|(at, (one, base))| {
            let network = seen.binary_search(&at).ok().and_then(|at| network.get(at));
            let interval = |(level, base): (usize, &PredictionInterval)| {
                let network = network.map(|network| &network.intervals[level]);
                Interval {
                    level: base.level,
                    low: blend(network.map(|network| &network.low), &base.low),
                    high: blend(network.map(|network| &network.high), &base.high),
                }
            };
            Forecast {
                name: one.name().to_owned(),
                start: one.start() + one.len(),
                values: blend(network.map(|network| &network.values), &base.values),
                intervals: base.intervals.iter().enumerate().map(interval).collect(),
            }
        });
        let forecasts = Forecasts::new(series.own.clock(), all.collect())?;
        warnings.extend(found.short_of_time);
        Ok(FileForecasts { forecasts, members, warnings })
    }

    /// A sentence on series that are too short for the network.
    fn too_short(&self, panel: &Panel, short: &[usize]) -> String {
        let names = first_of(MOST_NAMED, short.iter().map(|at| format!("`{}`", panel.series()[*at].name())));
        let (has, them) = if short.len() == 1 { ("has", "it") } else { ("have", "them") };
        format!(
            "series {names} {has} fewer than the {} rows that the network looks back: base forecasters alone forecast \
             {them}",
            self.config.look_back
        )
    }

    /// The forecasts after windows of a panel whose values no network has scaled, in its units.
    pub(super) fn forecast_windows(&self, panel: &Panel, windows: &[Window]) -> Result<Vec<Forecast>> {
        let mut panel = panel.clone();
        self.scaler()?.apply(&mut panel)?;
        let panel = scaled_known(panel, &Known::of(&self.config.data))?;
        self.of_windows(&panel, windows, self.config.horizon, &[])
    }

    /// The forecasts after windows of a panel at the network's scale, in the units of its series;
    /// [`Error::NotFinite`] for one that is not a number.
    pub(super) fn of_windows(
        &self,
        panel: &Panel,
        windows: &[Window],
        horizon: usize,
        levels: &[f64],
    ) -> Result<Vec<Forecast>> {
        let scaler = self.scaler()?;
        let channels = self.config.channels.max(1);
        let mut all = Vec::with_capacity(windows.len());
        for chosen in windows.chunks(together(channels)) {
            let batch = Batch::of_windows(panel, chosen, channels, false);
            let numbers = self.answers(&batch);
            let middle = medians(&self.config, &numbers);
            for (row, window) in chosen.iter().enumerate() {
                let own = |mut values: Vec<f32>| {
                    scaler.unscale(window.series, &mut values);
                    values
                };
                let values = middle[row * self.config.horizon..][..horizon].to_vec();
                let intervals = levels.iter().map(|&level| {
                    let [low, high] = self.interval(level, &values, &numbers, row);
                    Interval { level, low: own(low), high: own(high) }
                });
                let intervals = intervals.collect();
                let one = &panel.series()[window.series];
                let values = own(values);
                if !values.iter().all(|value| value.is_finite()) {
                    return Err(Error::not_finite("series", one.name(), "the forecast of the network"));
                }
                all.push(Forecast {
                    name: one.name().to_owned(),
                    start: one.start() + window.target(),
                    values,
                    intervals,
                });
            }
        }
        Ok(all)
    }

    /// The model on the test part of its experiment's data.
    ///
    /// # Errors
    /// [`Error::Config`] for a model whose folder says nothing of its experiment, and for data that was changed since
    /// the training; what reading the data gives.
    pub fn measure_test(&self) -> Result<SeriesEvaluation> {
        self.measure(&self.test_data(self.experiment_on_same_data()?)?)
    }

    /// The model on the test part of an experiment's data.
    ///
    /// # Errors
    /// [`Error::Config`] for data without test rows.
    pub fn measure(&self, TestData { source, experiment, .. }: &TestData) -> Result<SeriesEvaluation> {
        // Only the authors' code leaves windows of the test out.
        let official = self.config.preset.as_deref() == Some("patchtst-official");
        let paper_batch = official.then_some(experiment.train.batch_size);
        let options = EvaluateOptions { measuring: Measuring::of(experiment), paper_batch };
        let mut found = evaluate(&self.network, &self.config, source, Part::Test, options, &self.device)?;
        if let Some(base) = &self.base {
            found.blend = test_errors(self, source, experiment.data.season_length, base.weights)?;
        }
        Ok(found)
    }

    /// The loss of a network that reconstructs values (masked ones, but for anomalies) as in its training, on the test
    /// rows of an experiment's file, at the network's scale.
    ///
    /// # Errors
    /// [`Error::Config`] for a file without test rows.
    pub fn measure_reconstruction(&self, TestData { source, experiment, .. }: &TestData) -> Result<ValidationMetrics> {
        let Some(windows) = source.windows(Part::Test) else {
            return Err(Error::config("data.test_fraction", "leaves no test rows"));
        };
        let of = WindowsOf { source, windows };
        let cost = predict(&self.network, &self.config, of, Measuring::of(experiment), &self.device, &mut |_, _| {});
        let name = match experiment.train.loss {
            NumberLoss::Absolute => "mae",
            NumberLoss::Squared => "mse",
            NumberLoss::Huber => "huber",
        };
        let measures = Measures(vec![Measure::Last(name, cost)]);
        Ok(ValidationMetrics { cost, measures, ..ValidationMetrics::default() })
    }

    /// The series of an experiment's file at the model's scale, split as the experiment says.
    ///
    /// # Errors
    /// Those of reading the file; other series or covariates than those of training.
    pub fn test_data(&self, experiment: &SeriesExperiment) -> Result<TestData> {
        if experiment.data.generated_series > 0 {
            let (source, _) = Source::of(experiment)?;
            return Ok(TestData { source, experiment: experiment.clone(), unknown: vec![] });
        }
        self.check_series()?;
        let path = Path::new(&experiment.data.path);
        let mut read = read(path, &read_options(&experiment.data, Some(&self.config))?)?;
        self.check_covariates(&read.panel).map_err(|error| error.in_file(path))?;
        let unknown = self.unknown(&read.panel);
        read.panel = read.panel.select(&self.config.data.names)?;
        // Scales and look-back are the model's, also on a file that would give others.
        let (mut experiment, _) = shortened(experiment, &read.panel);
        experiment.model = PatchTstConfig { data: experiment.model.data, ..self.config.clone() };
        let (source, _) = Source::with_panel(&experiment, read, Some(&self.config.data))?;
        Ok(TestData { source, experiment, unknown })
    }

    /// The predictions for a batch.
    pub(super) fn answers(&self, batch: &Batch) -> Vec<f32> {
        cancel::check();
        self.network.forward(batch.input(&self.device)).into_data().iter::<f32>().collect()
    }

    /// Refuses a horizon or levels that the network does not predict.
    pub(super) fn check_request(&self, horizon: usize, levels: &[f64]) -> Result<()> {
        if self.config.task != SeriesTask::Forecast {
            let reason = format!("was trained for {}, not for forecasts", self.config.task);
            return Err(Error::config("--model", reason));
        }
        let most = match self.knows_none() {
            true => self.config.horizon.saturating_mul(MOST_PASSES),
            false => self.config.horizon,
        };
        if horizon == 0 || horizon > most {
            let reason = format!("is {horizon}; the model predicts 1 to {most} values");
            return Err(Error::config("--horizon", reason)
                .with_hint("train a model with `--set task.horizon=…`, or omit --model to train on this file"));
        }
        let pairs = self.config.quantile_intervals();
        let known = |level: f64| {
            let predicted = pairs.iter().any(|(known, ..)| (known - level).abs() < 1e-9);
            predicted || self.config.data.interval_width(level, 0).is_some()
        };
        match levels.iter().find(|&&level| !(level > 0.0 && level < 100.0 && known(level))) {
            None => Ok(()),
            Some(level) => {
                let most = self.config.data.interval_levels.last().copied();
                // Widths of a level follow from those of the next level that models keep.
                let next = LEVELS.into_iter().find(|next| next >= level && *level > 0.0);
                if let (Some(most), Some(next)) = (most, next) {
                    let needed = examples_needed(next);
                    let reason = format!(
                        "has {level}, which needs the errors of at least {needed} validation windows; the model has \
                         intervals of at most {most} %"
                    );
                    let hint = "give a lower level, or train with more validation rows (`data.validation_fraction`, or \
                                `data.validation_rows` with `data.split = \"rows\"`)";
                    return Err(Error::config("--levels", reason).with_hint(hint));
                }
                let reason = match most {
                    Some(most) => format!("has {level}; expected percentages above 0 and at most {most}"),
                    None if self.knows_none() => format!(
                        "has {level}, but a model of generated series has no prediction intervals alone; with `--pretrained` \
                         in place of `--model` the blend has them"
                    ),
                    None => format!(
                        "has {level}, but the model has no prediction intervals: it was trained without validation rows"
                    ),
                };
                Err(Error::config("--levels", reason))
            }
        }
    }

    /// The ends of an interval, at the network's scale.
    fn interval(&self, level: f64, values: &[f32], numbers: &[f32], row: usize) -> [Vec<f32>; 2] {
        let pair = self.config.quantile_intervals().into_iter().find(|(known, ..)| (known - level).abs() < 1e-9);
        if let Some((_, low, high)) = pair {
            let of = |place: usize| {
                let first = row * self.config.horizon * self.config.levels();
                (0..values.len()).map(|step| numbers[first + step * self.config.levels() + place]).collect()
            };
            return [of(low), of(high)];
        }
        let width = |step: usize| self.config.data.interval_width(level, step).unwrap_or(f64::NAN) as f32;
        [-1.0, 1.0].map(|sign| values.iter().enumerate().map(|(step, &value)| value + sign * width(step)).collect())
    }

    /// Refuses a model that knows no series by name.
    fn check_series(&self) -> Result<()> {
        if self.knows_none() {
            let reason = "was trained on generated series: it forecasts any file, and does nothing else";
            return Err(Error::config("--model", reason).with_hint("`regard forecast` without other options takes it"));
        }
        Ok(())
    }

    /// The scale of the network.
    pub(super) fn scaler(&self) -> Result<Scaler> {
        self.check_series()?;
        self.config.data.scaler()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use burn::tensor::Device;
    use regard_data::series::{Clock, Series as OneSeries};

    use super::*;
    use crate::series::SeriesLearner;

    fn panel(lengths: [usize; 3]) -> Panel {
        let value = |at: usize| ((at * 7919 + 13) % 101) as f32;
        let series = ["a", "b", "c"].into_iter().zip(lengths);
        let series = series.map(|(name, rows)| OneSeries::new(name, 0, (0..rows).map(value).collect()));
        Panel::new(Clock::steps(), series.collect()).unwrap()
    }

    /// A network that looks back 16 values, with base forecasters of this weight.
    fn model(of_base: f64) -> SeriesModel {
        let sets = [
            "data.path=a.csv",
            "task.horizon=4",
            "model.look_back=16",
            "model.patch_len=4",
            "model.stride=4",
            "model.width=8",
            "model.heads=2",
            "model.feedforward_width=8",
            "model.layers=1",
            "train.epochs=1",
        ];
        let experiment = SeriesExperiment::load("series/forecast", &sets.map(str::to_owned)).unwrap();
        let (source, config) = Source::with_panel(&experiment, Read::of(panel([80; 3])).unwrap(), None).unwrap();
        let device = Device::flex();
        let mut learner = SeriesLearner::with_data(&experiment, source.into(), config, &device).unwrap();
        learner.learn_while(|_| false).unwrap();
        let network = learner.evaluated().unwrap();
        let mut model = SeriesModel::new(learner.config(), network, Some(experiment), &device);
        let base = serde_json::json!({
            "format": 1, "weights": [1.0 - of_base, of_base], "origins": 1, "not_fitted": null, "mase": [1.0, 1.0, 1.0],
            "members": [],
        });
        model.base = (of_base > 0.0).then(|| serde_json::from_value(base).unwrap());
        model
    }

    fn forecasts(model: &SeriesModel) -> Result<FileForecasts> {
        let series = model.known_series(Read::of(panel([80, 3, 60])).unwrap()).unwrap();
        let options = FileForecastOptions {
            horizon: 4,
            levels: vec![],
            budget: Budget::unlimited(),
            keep_outliers: false,
            part: None,
        };
        model.forecast_file(&series, &options, &|_| ())
    }

    #[test]
    fn a_series_too_short_for_the_network_has_the_forecast_of_the_base_forecasters() {
        let mut model = model(0.5);
        let blend = forecasts(&model).unwrap();
        let said =
            "series `b` has fewer than the 16 rows that the network looks back: base forecasters alone forecast it";
        assert_eq!(blend.warnings, [said]);
        model.base.iter_mut().for_each(|base| base.weights = [0.0, 1.0]);
        let base = forecasts(&model).unwrap();
        assert!(base.warnings.is_empty(), "{:?}", base.warnings);
        let same = |name: &str| {
            let rows = |found: &FileForecasts| {
                let rows = found.forecasts.rows().into_iter().filter(|row| row.unique_id == name);
                rows.map(|row| row.forecast).collect::<Vec<f32>>()
            };
            assert_eq!(rows(&blend).len(), 4);
            rows(&blend) == rows(&base)
        };
        assert_eq!(["a", "b", "c"].map(same), [false, true, false]);
    }

    #[test]
    fn a_file_of_another_frequency_has_a_way_out_that_works() {
        let mut model = model(0.0);
        let mut hint = |of_model: &str, of_file: &str| {
            of_model.clone_into(&mut model.config.data.frequency);
            let clock = match of_file {
                "step" => Clock::steps(),
                dates => Clock::new("2020-01-01", dates.parse().unwrap()).unwrap(),
            };
            let panel = Panel::new(clock, panel([80; 3]).series().to_vec()).unwrap();
            let error = model.known_series(Read::of(panel).unwrap()).unwrap_err();
            error.hint().unwrap_or_default().to_owned()
        };
        assert!(hint("day", "week").starts_with("`--frequency \"day\"` (`data.frequency`) reads"));
        assert!(hint("day", "hour").starts_with("bring the file to one row every day"));
        assert!(hint("day", "step").starts_with("the model needs dates"));
        assert!(hint("step", "day").starts_with("the model was trained without dates"));
    }

    #[test]
    fn a_network_alone_names_the_file_of_a_series_that_is_too_short() {
        let model = model(0.0);
        let hint = Some("omit --model: without one, series may be shorter");
        assert_eq!(forecasts(&model).unwrap_err().hint(), hint);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.csv");
        let mut text = "unique_id,t,y\n".to_owned();
        for one in panel([80, 3, 60]).series() {
            for (at, value) in one.values().iter().enumerate() {
                writeln!(text, "{},{at},{value}", one.name()).unwrap();
            }
        }
        std::fs::write(&path, text).unwrap();
        let error = model.read_to_forecast(&path, None, &model.columns(), 4).unwrap_err();
        let expected = format!("{}: series `b`: has 3 rows; expected at least 16, the look-back", path.display());
        assert_eq!((error.to_string(), error.hint()), (expected, hint));
    }
}

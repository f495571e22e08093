//! The series of an experiment, and their windows for training, validation and test.

use std::path::Path;

use rayon::prelude::*;
use regard_data::random::Draws;
use regard_data::series::formats::{Duplicates, Read, ReadOptions, ReadReport, TableLayout, read, read_with_future};
use regard_data::series::{Clock, Panel, Part, Parts, Scaler, Series, Split, Windows, generate};

use super::experiment::{SeriesData, SeriesDuplicates, SeriesExperiment, SeriesLayout, SeriesSplit};
use super::model::{PatchTstConfig, SeriesPreparation};
use super::scaled::{Known, UNSCALED, scaled_known};
use super::task::SeriesTask;
use crate::{Error, Result};

/// The series of an experiment, brought to the network's scale, and their windows.
#[derive(Clone, Debug)]
pub struct Source {
    /// The series, at the network's scale.
    pub panel: Panel,
    /// The rows of each part, series by series.
    pub parts: Vec<Parts>,
    /// The scale of the network.
    pub scaler: Scaler,
    /// Training windows.
    pub training: Windows,
    /// Validation windows, where there are any.
    pub validation: Option<Windows>,
    /// Test windows, where there are any.
    pub test: Option<Windows>,
    /// If true, a sample is all series at one place, and not one series.
    pub together: bool,
    /// Values after which series repeat themselves.
    pub season: usize,
    /// The report of the reader.
    pub report: ReadReport,
    /// Settings that were changed to fit the series, a sentence each.
    pub notes: Vec<String>,
}

/// The options of the reader, with the static features of a model where one is given.
///
/// # Errors
/// [`Error::Config`] for an unknown frequency.
pub fn read_options(data: &SeriesData, model: Option<&PatchTstConfig>) -> Result<ReadOptions> {
    let given = |name: &String| (!name.is_empty()).then(|| name.clone());
    let labelled = !data.label.is_empty();
    let long = data.layout == SeriesLayout::Long || !data.id.is_empty() || labelled;
    if long && data.columns.len() > 1 {
        let reason = format!("names {} columns; a long table has one column of values", data.columns.len());
        let hint = "forecast them one after the other; without `--id` (`data.id`) columns are series";
        return Err(Error::config("data.columns", reason).with_hint(hint));
    }
    let frequency = given(&data.frequency).map(|text| text.parse()).transpose();
    Ok(ReadOptions {
        layout: match data.layout {
            // The columns of a wide table are series, and have no classes.
            SeriesLayout::Auto if labelled => TableLayout::Long,
            SeriesLayout::Auto => TableLayout::Auto,
            SeriesLayout::Wide => TableLayout::Wide,
            SeriesLayout::Long => TableLayout::Long,
        },
        date: given(&data.date),
        date_pattern: given(&data.date_format),
        frequency: frequency.map_err(|error: regard_data::Error| Error::config("data.frequency", error.to_string()))?,
        duplicates: match data.duplicates {
            SeriesDuplicates::Error => Duplicates::Error,
            SeriesDuplicates::Mean => Duplicates::Mean,
            SeriesDuplicates::Last => Duplicates::Last,
        },
        columns: (!data.columns.is_empty() && !long).then(|| data.columns.clone()),
        id: given(&data.id),
        target: data.columns.first().filter(|_| long).cloned(),
        label: given(&data.label),
        // What a model is to predict need not be there.
        label_optional: model.is_some(),
        covariates: data.future_covariates.clone(),
        statics: data.static_covariates.clone(),
        decimal: data.decimal.mark(),
        likely_decimal: model.and_then(|model| model.data.decimal.mark()),
        known_covariates: model.map(|model| model.data.future_covariates.clone()),
        known_statics: model.map(|model| model.data.static_covariates.clone()),
        ..ReadOptions::default()
    })
}

/// Reads the file of an experiment, or of another with the same columns.
///
/// # Errors
/// Those of reading the file.
pub fn read_panel(path: &Path, data: &SeriesData) -> Result<Read> {
    read_with(path, None, data, None)
}

/// As [`read_panel`], with the future values of covariates in a file of their own, and the features of a model where one
/// is given.
///
/// # Errors
/// Those of reading the files; rows of the future that do not go on where the series end.
pub fn read_with(
    path: &Path,
    future: Option<&Path>,
    data: &SeriesData,
    model: Option<&PatchTstConfig>,
) -> Result<Read> {
    read_by(path, future, &read_options(data, model)?)
}

/// Reads a file, with the future values of covariates in a file of their own where one is given.
pub(super) fn read_by(path: &Path, future: Option<&Path>, options: &ReadOptions) -> Result<Read> {
    Ok(match future {
        Some(future) => read_with_future(path, future, options)?,
        None => read(path, options)?,
    })
}

impl Source {
    /// The series of an experiment, and the network's settings with what was learnt of them.
    ///
    /// # Errors
    /// Those of reading the file; [`Error::Config`] for settings the series do not allow; series too short for a
    /// window.
    pub fn of(experiment: &SeriesExperiment) -> Result<(Self, PatchTstConfig)> {
        if experiment.data.generated_series > 0 {
            return Self::with_panel(experiment, Read::of(generated(experiment)?)?, None);
        }
        let read = read_panel(Path::new(&experiment.data.path), &experiment.data)?;
        Self::with_panel(experiment, read, None)
    }

    /// As [`Self::of`], of series that are known. Series and covariates are brought to the scale that a model `learnt`,
    /// or to that of their training rows.
    ///
    /// # Errors
    /// As there; [`Error::Data`] for other series than those of the model.
    pub fn with_panel(
        experiment: &SeriesExperiment,
        read: Read,
        learnt: Option<&SeriesPreparation>,
    ) -> Result<(Self, PatchTstConfig)> {
        let Read { mut panel, report } = read;
        let (experiment, notes) = &shortened(experiment, &panel);
        let (data, model) = (&experiment.data, &experiment.model);
        let is_generated = data.generated_series > 0;
        let parts = if is_generated { whole_series(data, &panel) } else { split(data)?.parts(&panel)? };
        // A model that is measured brings its scales and learns nothing more.
        let is_measured = learnt.is_some();
        let (scaler, known) = match learnt {
            Some(learnt) => (learnt.scaler()?, Known::of(learnt)),
            None => {
                let is_scaled = data.standardise && !is_generated;
                let scaler = if is_scaled { Scaler::fit(&panel, &parts)? } else { unscaled(&panel)? };
                let training = panel.series().iter().zip(&parts).map(|(one, parts)| (one, parts.training.clone()));
                (scaler, Known::learn(&panel, training))
            }
        };
        scaler.apply(&mut panel)?;
        let panel = scaled_known(panel, &known)?;
        let horizon = if model.task == SeriesTask::Forecast { model.horizon } else { 1 };
        let windows = |part: Part| Windows::new(&panel, &parts, part, model.look_back, horizon);
        // An empty part has no windows.
        let some = |part: Part| match parts.iter().all(|parts| parts.of(part).is_empty()) {
            true => Ok(None),
            false => windows(part).map(Some),
        };
        let training = match windows(Part::Training) {
            Err(error) if !is_measured => return Err(error.into()),
            training => training,
        };
        let (validation, test) = match is_measured {
            // Validation rows that are too few for a window are not needed either.
            true => (some(Part::Validation).unwrap_or_default(), some(Part::Test)?),
            false => (some(Part::Validation)?, some(Part::Test)?),
        };
        let training = match (training, &test) {
            // Windows to learn from are not needed, so that a file may be short.
            (Err(_), Some(test)) => test.clone(),
            (training, _) => training?,
        };
        // Neighbouring windows of one generated series teach less than those of another.
        let training = if is_generated { training.with_stride(model.horizon.div_ceil(2)) } else { training };
        let validation = validation.map(|windows| thinned(windows, experiment.eval.validation_windows));
        let all = [Some(&training), validation.as_ref(), test.as_ref()];
        let together = all.iter().flatten().all(|windows| windows.starts().is_some());
        let season = if data.season_length > 0 { data.season_length } else { panel.clock().season() };
        let source =
            Self { panel, parts, scaler, training, validation, test, together, season, report, notes: notes.clone() };
        let mut config = source.config(model, &known)?;
        if is_generated {
            // The network knows none by name.
            config.data = SeriesPreparation { frequency: config.data.frequency, ..SeriesPreparation::default() };
        }
        Ok((source, config))
    }

    /// Samples of windows: places with all series, or windows of single ones.
    pub fn samples(&self, windows: &Windows) -> usize {
        match windows.starts() {
            Some(starts) if self.together => starts,
            _ => windows.len(),
        }
    }

    /// Windows of a part; none where it has none.
    pub fn windows(&self, part: Part) -> Option<&Windows> {
        match part {
            Part::Training => Some(&self.training),
            Part::Validation => self.validation.as_ref(),
            Part::Test => self.test.as_ref(),
        }
    }

    /// The network's settings with what was learnt of the series.
    fn config(&self, model: &PatchTstConfig, known: &Known) -> Result<PatchTstConfig> {
        let own = model.affine || model.individual;
        if own && !self.together {
            let reason = "needs separate parameters for each series, but the series have different numbers of rows";
            return Err(Error::config(if model.affine { "model.affine" } else { "model.individual" }, reason));
        }
        let names = |all: &[String]| all.to_vec();
        let config = PatchTstConfig {
            channels: if own { self.panel.len() } else { 0 },
            future_covariates: self.panel.covariates().len(),
            static_covariates: self.panel.statics().len(),
            data: SeriesPreparation {
                names: names(self.scaler.names()),
                mean: self.scaler.mean().to_vec(),
                std: self.scaler.deviation().to_vec(),
                frequency: self.panel.clock().frequency().to_string(),
                season_length: self.season,
                future_covariates: names(self.panel.covariates()),
                future_covariate_mean: known.covariates.0.clone(),
                future_covariate_std: known.covariates.1.clone(),
                future_covariate_ranges: known.ranges[0].clone(),
                static_covariates: names(self.panel.statics()),
                static_covariate_mean: known.statics.0.clone(),
                static_covariate_std: known.statics.1.clone(),
                static_covariate_ranges: known.ranges[1].clone(),
                decimal: self.report.decimal.into(),
                ..SeriesPreparation::default()
            },
            ..model.clone()
        };
        Ok(config)
    }
}

/// Windows of the training rows that a shortened look-back leaves, at least.
const FEWEST_WINDOWS: usize = 8;

/// The experiment with held-out rows, a look-back and patches that half of the series have rows for, and notes on what
/// was changed.
pub(super) fn shortened(experiment: &SeriesExperiment, panel: &Panel) -> (SeriesExperiment, Vec<String>) {
    let (mut found, mut notes) = (experiment.clone(), Vec::new());
    // Generated series are as long as the look-back asks for.
    if !experiment.data.shorten || experiment.data.generated_series > 0 {
        return (found, notes);
    }
    found.data.shorten = false;
    let mut lengths: Vec<usize> = panel.series().iter().map(Series::len).collect();
    lengths.sort_unstable();
    let rows = lengths[(lengths.len() - 1) / 2];
    let (data, model) = (&mut found.data, &mut found.model);
    let horizon = if model.task == SeriesTask::Forecast { model.horizon } else { 1 };
    if data.split == SeriesSplit::Fractions {
        let of = |fraction: f64| (fraction * rows as f64) as usize;
        let held = [data.validation_fraction, data.test_fraction].map(|fraction| (fraction > 0.0, of(fraction)));
        if held.iter().any(|(held, rows)| *held && *rows < horizon) {
            let [validation, test] = held.map(|(held, rows)| if held { rows.max(horizon) } else { 0 });
            (data.split, data.validation_rows, data.test_rows) = (SeriesSplit::Rows, validation, test);
            notes.push(format!(
                "{validation} rows are held out for validation and {test} for the test, so that each has a whole \
                 horizon (`data.split`)"
            ));
        }
    }
    let held = match data.split {
        SeriesSplit::Rows => data.validation_rows + data.test_rows,
        SeriesSplit::Fractions => ((data.validation_fraction + data.test_fraction) * rows as f64).ceil() as usize,
        SeriesSplit::Dates | SeriesSplit::Etth | SeriesSplit::Ettm => return (found, notes),
    };
    let most = rows.saturating_sub(held + horizon + FEWEST_WINDOWS).max(1);
    if most < model.look_back {
        // Two thirds leave more windows to learn from than a look-back as long as can be.
        let look_back = (2 * most / 3).max(1);
        let patch_len = model.patch_len.min((look_back / 2).max(1));
        // Patches that are hidden as a whole do not overlap.
        let overlap = model.task != SeriesTask::Pretraining;
        let stride = if overlap { model.stride.min((patch_len / 2).max(1)) } else { patch_len };
        notes.push(format!(
            "the look-back is {look_back} instead of {} rows, in patches of {patch_len}: the training rows of half of \
             the series are at most {} (`model.look_back`)",
            model.look_back,
            rows.saturating_sub(held)
        ));
        (model.look_back, model.patch_len, model.stride) = (look_back, patch_len, stride);
    }
    (found, notes)
}

/// Generated series, of which some begin with missing values, as if they were short.
fn generated(experiment: &SeriesExperiment) -> Result<Panel> {
    let (rows, look_back, seed) = (experiment.generated_rows(), experiment.model.look_back, experiment.train.seed);
    let series = |at: usize| {
        let mut values = generate::series(seed, at as u64, rows);
        let mut draws = Draws::of_batch(!seed, at as u64);
        if draws.unit() < 0.4 {
            // Half of the known values is as likely as twice as many.
            let known = (look_back as f64).powf(draws.between(0.3, 1.0)) as usize;
            values[..look_back - known.min(look_back)].fill(f32::NAN);
        }
        Series::new(at.to_string(), 0, values)
    };
    let series = (0..experiment.data.generated_series).into_par_iter().map(series).collect();
    Ok(Panel::new(Clock::steps(), series)?)
}

/// The parts of series that are held out as a whole: the last ones.
fn whole_series(data: &SeriesData, panel: &Panel) -> Vec<Parts> {
    let count = panel.len();
    let of = |fraction: f64| (fraction * count as f64).ceil() as usize;
    let test = count - of(data.test_fraction);
    let validation = test.saturating_sub(of(data.validation_fraction)).max(1);
    let parts = |(at, one): (usize, &Series)| {
        let (none, all) = (one.len()..one.len(), 0..one.len());
        let of = |is: bool| if is { all.clone() } else { none.clone() };
        Parts {
            training: of(at < validation),
            validation: of((validation..test).contains(&at)),
            test: of(at >= test && at >= validation),
        }
    };
    panel.series().iter().enumerate().map(parts).collect()
}

fn split(data: &SeriesData) -> Result<Split> {
    Ok(match data.split {
        SeriesSplit::Etth => Split::EttHourly,
        SeriesSplit::Ettm => Split::EttMinutes,
        SeriesSplit::Fractions => {
            // A share given as 0.1 is not what 1 - 0.7 - 0.2 is.
            let training = ((1.0 - data.validation_fraction - data.test_fraction) * 1e9).round() / 1e9;
            Split::Fractions { training, test: data.test_fraction }
        }
        SeriesSplit::Rows => Split::Last { validation: data.validation_rows, test: data.test_rows },
        SeriesSplit::Dates => Split::Dates { validation: data.validation_from.clone(), test: data.test_from.clone() },
    })
}

/// At most so many windows, evenly spread; all where `most` is 0.
fn thinned(windows: Windows, most: usize) -> Windows {
    let stride = if most == 0 { 1 } else { windows.len().div_ceil(most).max(1) };
    windows.with_stride(stride)
}

fn unscaled(panel: &Panel) -> Result<Scaler> {
    let names: Vec<String> = panel.names().map(str::to_owned).collect();
    let count = names.len();
    Ok(Scaler::from_arrays(names, vec![UNSCALED.0; count], vec![UNSCALED.1; count])?)
}

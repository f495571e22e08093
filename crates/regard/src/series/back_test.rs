//! Rolling-origin back-tests: forecasts from several origins in the past of a file, each by a network that has not
//! seen the rows after it.

use std::path::Path;

use burn::tensor::Device;
use regard_data::series::formats::Read;
use regard_data::series::{Part, Series};
use serde::Serialize;

use super::SeriesLearner;
use super::base::{fitted_weights, test_errors};
use super::evaluate::{EvaluateOptions, evaluate};
use super::experiment::{SeriesExperiment, SeriesSplit};
use super::measure::{ErrorSummary, Measuring};
use super::predict::SeriesModel;
use super::source::{Source, read_panel, shortened};
use crate::{Error, Result};

/// An origin in the past, and the errors of the forecasts from it.
#[derive(Clone, Debug, Serialize)]
pub struct Origin {
    /// The first time stamp of the forecast.
    pub from: String,
    /// Rows before it.
    pub seen: usize,
    /// Errors of the network.
    pub network: ErrorSummary,
    /// Errors of base forecasters and of their blend with the network, with the weights of both; `None` where
    /// `eval.blend` is false or the validation rows are fewer than the horizon.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub blended: Option<Blended>,
    /// Errors of the last value.
    pub naive: ErrorSummary,
    /// Errors of the value a season before.
    pub seasonal_naive: ErrorSummary,
    /// Errors of the mean of the look-back.
    pub mean: ErrorSummary,
}

/// Errors of base forecasters beside a network.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Blended {
    /// Errors of the blend.
    pub blend: ErrorSummary,
    /// Errors of the base forecasters.
    pub base: ErrorSummary,
    /// Weights of network and base forecasters, fitted to validation rows.
    pub weights: [f64; 2],
}

/// Windows of a rolling-origin back-test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackTestOptions {
    /// Number of windows, at least 1.
    pub windows: usize,
    /// Number of rows from one window to the next, at least 1; the horizon if `None`.
    pub step_size: Option<usize>,
    /// If true, a network is trained for every window, else one before the first.
    pub refit: bool,
}

/// Progress of a back-test.
#[derive(Clone, Copy, Debug)]
pub enum BackTestProgress<'a> {
    /// A line of the report of the reader.
    Read(&'a str),
    /// A setting that was changed to fit the series, a sentence.
    Note(&'a str),
    /// Steps of the training for a window, counted from 0, that are done.
    Training {
        /// The window.
        window: usize,
        /// Steps that are done.
        step: usize,
        /// All steps.
        of: usize,
    },
    /// A window is done.
    Window(&'a Origin),
}

/// Rolling-origin back-test: forecasts one horizon from each window's origin; the last window ends with the file. It
/// ends after the windows that are done when `seen` gives false.
///
/// # Errors
/// Those of reading the data and of training; [`Error::Config`] for series that are too short.
pub fn back_test(
    experiment: &SeriesExperiment,
    options: &BackTestOptions,
    device: &Device,
    seen: &mut dyn FnMut(BackTestProgress<'_>) -> bool,
) -> Result<Vec<Origin>> {
    let read = read_panel(Path::new(&experiment.data.path), &experiment.data)?;
    let (experiment, notes) = &shortened(experiment, &read.panel);
    let report = read.report.to_string();
    let mut said =
        report.lines().map(BackTestProgress::Read).chain(notes.iter().map(|note| BackTestProgress::Note(note)));
    if !said.all(&mut *seen) {
        return Ok(vec![]);
    }
    let horizon = experiment.task.horizon;
    let shortest = read.panel.series().iter().map(Series::len).min().unwrap_or(0);
    let BackTestOptions { windows, step_size, refit } = *options;
    let step_size = step_size.unwrap_or(horizon);
    let held_out = match experiment.data.split {
        SeriesSplit::Rows => experiment.data.validation_rows,
        _ => horizon,
    };
    let needed = windows.saturating_sub(1) * step_size + experiment.model.look_back + 2 * horizon + held_out;
    if shortest < needed {
        let reason = format!(
            "is {windows}, and the shortest series has {shortest} rows; {windows} windows, {step_size} rows apart, \
             need at least {needed}"
        );
        return Err(Error::config("--windows", reason));
    }
    let mut all = vec![];
    let mut model: Option<SeriesModel> = None;
    let mut weights = None;
    for at in 0..windows {
        let read = before(&read, (windows - 1 - at) * step_size)?;
        let experiment = with_test(experiment, shortest, horizon);
        // The scales are those of the first network, so that errors of all windows are in the same unit.
        let learnt = model.as_ref().map(|model| &model.config.data);
        let (source, config) = Source::with_panel(&experiment, read, learnt)?;
        if model.is_none() || refit {
            let mut learner = SeriesLearner::with_data(&experiment, source.clone().into(), config, device)?;
            let of = learner.all_steps() as usize;
            let mut goes_on = true;
            learner.learn_while(|step| {
                goes_on = seen(BackTestProgress::Training { window: at, step: step as usize, of });
                goes_on
            })?;
            if !goes_on {
                break;
            }
            let network = learner.evaluated()?;
            let trained = SeriesModel::new(learner.config(), network, Some(experiment.clone()), device);
            if experiment.eval.blend {
                weights = fitted_weights(&trained, &source, experiment.data.season_length)?;
            }
            model = Some(trained);
        }
        let Some(model) = &model else { continue };
        let origin = origin(model, &source, &experiment, weights, device)?;
        let goes_on = seen(BackTestProgress::Window(&origin));
        all.push(origin);
        if !goes_on {
            break;
        }
    }
    Ok(all)
}

fn origin(
    model: &SeriesModel,
    source: &Source,
    experiment: &SeriesExperiment,
    weights: Option<[f64; 2]>,
    device: &Device,
) -> Result<Origin> {
    let options = EvaluateOptions { measuring: Measuring::of(experiment), paper_batch: None };
    let found = evaluate(&model.network, &model.config, source, Part::Test, options, device)?;
    let blended = match weights {
        Some(weights) => test_errors(model, source, experiment.data.season_length, weights)?,
        None => None,
    };
    let seen = source.parts[0].test.start;
    Ok(Origin {
        from: source.panel.stamp(0, seen)?,
        seen,
        network: found.errs,
        blended: blended.map(|found| Blended { blend: found.blend, base: found.base, weights: found.weights }),
        naive: found.naive,
        seasonal_naive: found.seasonal_naive,
        mean: found.mean,
    })
}

/// The experiment with the last horizon as its test rows, and before them its validation rows, or their share of all.
fn with_test(experiment: &SeriesExperiment, rows: usize, horizon: usize) -> SeriesExperiment {
    let mut experiment = experiment.clone();
    if experiment.data.split != SeriesSplit::Rows {
        let share = (experiment.data.validation_fraction * rows as f64) as usize;
        let is_held_out = experiment.data.validation_fraction > 0.0;
        experiment.data.validation_rows = if is_held_out { share.max(horizon) } else { 0 };
    }
    experiment.data.test_rows = horizon;
    experiment.data.split = SeriesSplit::Rows;
    experiment
}

/// A file without its last rows.
fn before(read: &Read, rows: usize) -> Result<Read> {
    Ok(Read { panel: read.panel.without_last(rows)?, report: read.report.clone() })
}

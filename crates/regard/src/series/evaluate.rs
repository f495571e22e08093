//! Evaluation of a network on windows it has not seen, over all windows and as published, with the errors of
//! forecasts that need no network.

use burn::tensor::Device;
use regard_data::metrics::forecast::ErrorMeans;
use regard_data::series::{Part, Windows};
use serde::Serialize;

use super::base::BlendErrors;
use super::batch::Batch;
use super::measure::{ErrorSummary, Errors, Measuring, Plain, WindowsOf, medians, predict};
use super::model::{PatchTst, PatchTstConfig};
use super::source::Source;
use super::task::SeriesTask;
use crate::{Error, Result};

/// Options of [`evaluate`].
#[derive(Clone, Copy, Debug)]
pub struct EvaluateOptions {
    /// Batches and loss.
    pub measuring: Measuring,
    /// Windows of a batch of the published numbers; `None` to take all windows.
    pub paper_batch: Option<usize>,
}

/// The errors of a network on the windows of a part.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesEvaluation {
    /// Errors over all windows, each counting the same.
    #[serde(flatten)]
    pub errs: ErrorSummary,
    /// Mean squared error as the authors' code has it: without the windows that do not fill a last batch.
    pub mse_paper: f64,
    /// Mean absolute error in the same way.
    pub mae_paper: f64,
    /// Windows that are left out there.
    pub paper_dropped: usize,
    /// The last value, again and again.
    pub naive: ErrorSummary,
    /// The value a season before.
    pub seasonal_naive: ErrorSummary,
    /// The mean of the look-back.
    pub mean: ErrorSummary,
    /// Windows, counting all series at one place as one where they have the same rows.
    pub windows: usize,
    /// Values of a season.
    pub season: usize,
    /// Step by step, at the network's scale.
    pub by_step: Vec<ErrorMeans>,
    /// Series by series, at the network's scale.
    pub by_series: Vec<OfSeries>,
    /// Coverage of the intervals, where the network predicts any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Coverage>,
    /// Errors of network, base forecasters and blend after the same origins, for a model with base forecasters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blend: Option<BlendErrors>,
}

/// Errors of one series.
#[derive(Clone, Debug, Serialize)]
pub struct OfSeries {
    /// Its name.
    pub name: String,
    /// Its errors, at the network's scale.
    #[serde(flatten)]
    pub errors: ErrorMeans,
}

/// The coverage of an interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Coverage {
    /// The level, in percent.
    pub level: f64,
    /// Share of the true values inside, in percent.
    pub coverage: f64,
    /// Its mean width, in deviations of the series.
    pub width: f64,
}

/// Evaluates a network on the windows of a part.
///
/// # Errors
/// [`Error::Config`] for a part without windows, or a network that does not forecast.
pub fn evaluate(
    network: &PatchTst,
    config: &PatchTstConfig,
    source: &Source,
    part: Part,
    options: EvaluateOptions,
    device: &Device,
) -> Result<SeriesEvaluation> {
    let EvaluateOptions { measuring, paper_batch } = options;
    if config.task != SeriesTask::Forecast {
        return Err(Error::config("task.kind", format!("is {}; this evaluation is for forecasts only", config.task)));
    }
    let Some(windows) = source.windows(part) else {
        return Err(Error::config("data.test_fraction", "leaves no test rows"));
    };
    let mut errors = Errors::new(source.panel.len(), config.horizon, paper_batch.unwrap_or(1));
    let mut of_plain = Plain::ALL.map(|_| Errors::new(source.panel.len(), config.horizon, 1));
    let mut held = Intervals::new(config);
    let mut watch = |batch: &Batch, numbers: &[f32]| {
        let forecasts = medians(config, numbers);
        held.add(config, batch, &forecasts, numbers);
        errors.add_batch(source, batch, &forecasts);
        for (method, errors) in Plain::ALL.into_iter().zip(&mut of_plain) {
            errors.add_batch(source, batch, &method.forecasts(batch, source.season));
        }
    };
    predict(network, config, WindowsOf { source, windows }, measuring, device, &mut watch);
    Ok(summary(source, windows, &errors, &of_plain, held.held()))
}

fn summary(
    source: &Source,
    windows: &Windows,
    errors: &Errors,
    of_plain: &[Errors; 3],
    intervals: Vec<Coverage>,
) -> SeriesEvaluation {
    let [naive, seasonal_naive, mean] = of_plain.each_ref().map(|errors| errors.errs(source));
    let of_series = |(name, errors): (&str, ErrorMeans)| OfSeries { name: name.to_owned(), errors };
    SeriesEvaluation {
        errs: errors.errs(source),
        mse_paper: errors.paper.mse(),
        mae_paper: errors.paper.mae(),
        paper_dropped: errors.paper.dropped(),
        naive,
        seasonal_naive,
        mean,
        windows: source.samples(windows),
        season: source.season,
        by_step: errors.scaled.by_step(),
        by_series: source.panel.names().zip(errors.scaled.by_series()).map(of_series).collect(),
        intervals,
        blend: None,
    }
}

/// Counts of the true values inside intervals.
struct Intervals {
    /// Level, values inside, sum of widths, values.
    all: Vec<(f64, u64, f64, u64)>,
}

impl Intervals {
    fn new(config: &PatchTstConfig) -> Self {
        let levels = match config.quantiles.is_empty() {
            true => config.data.interval_levels.clone(),
            false => config.quantile_intervals().into_iter().map(|(level, ..)| level).collect(),
        };
        Self { all: levels.into_iter().map(|level| (level, 0, 0.0, 0)).collect() }
    }

    fn add(&mut self, config: &PatchTstConfig, batch: &Batch, forecasts: &[f32], numbers: &[f32]) {
        let pairs = config.quantile_intervals();
        for (at, (_, inside, widths, count)) in self.all.iter_mut().enumerate() {
            for (place, (truth, middle)) in batch.targets.iter().zip(forecasts).enumerate() {
                if !batch.counted.get(place).copied().unwrap_or(true) {
                    continue;
                }
                let step = place % batch.horizon;
                let (low, high) = match pairs.get(at) {
                    Some((_, low, high)) => {
                        let of = place * config.levels();
                        (f64::from(numbers[of + low]), f64::from(numbers[of + high]))
                    }
                    None => {
                        let width = f64::from(config.data.interval_widths[at][step]);
                        (f64::from(*middle) - width, f64::from(*middle) + width)
                    }
                };
                *inside += u64::from((low..=high).contains(&f64::from(*truth)));
                *widths += high - low;
                *count += 1;
            }
        }
    }

    fn held(&self) -> Vec<Coverage> {
        let held = |&(level, inside, widths, count): &(f64, u64, f64, u64)| Coverage {
            level,
            coverage: 100.0 * inside as f64 / count.max(1) as f64,
            width: widths / count.max(1) as f64,
        };
        self.all.iter().map(held).collect()
    }
}

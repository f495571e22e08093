//! Errors of a network's forecasts, and of forecasts that need no network.

use std::cell::RefCell;

use burn::tensor::Device;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use regard_data::metrics::forecast::{BatchMeans, ErrorMeans, ForecastErrors, mase_scale};
use regard_data::series::{Windows, baseline};
use serde::Serialize;

use super::batch::Batch;
use super::experiment::SeriesExperiment;
use super::model::{PatchTst, PatchTstConfig};
use super::source::Source;
use super::task::{Masking, TaskBatch};
use crate::train::{Measure, Measures, NumberLoss, Ranks, Stream, ValidationMetrics, derived};

/// Windows of single series that are looked at together, at most.
const ROWS: usize = 4096;

/// Batches and loss of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Measuring {
    /// Samples that go through the network together.
    pub batch: usize,
    /// The loss of a number.
    pub loss: NumberLoss,
    /// Share of values that are masked for imputation.
    pub mask_ratio: f64,
    /// Seed of the mask.
    pub seed: u64,
}

impl Measuring {
    /// Those of an experiment.
    pub fn of(experiment: &SeriesExperiment) -> Self {
        let SeriesExperiment { train, eval, .. } = experiment;
        Self { batch: eval.batch_size, loss: train.loss, mask_ratio: train.family.mask_ratio, seed: train.seed }
    }
}

/// Errors of forecasts, at the network's scale and in the series' own units.
#[derive(Clone, Debug)]
pub struct Errors {
    /// At the network's scale.
    pub scaled: ForecastErrors,
    /// In the series' own units.
    pub own: ForecastErrors,
    /// As the authors' code measures: windows that do not fill a last batch are left out.
    pub paper: BatchMeans,
}

/// Errors over all series and steps.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ErrorSummary {
    /// Mean squared error at the network's scale.
    pub mse: f64,
    /// Mean absolute error at the network's scale.
    pub mae: f64,
    /// Mean squared error in the series' own units.
    pub mse_own: f64,
    /// Mean absolute error in the series' own units.
    pub mae_own: f64,
    /// Mean absolute scaled error: in units of the seasonal naive forecast's error one step ahead.
    pub mase: f64,
    /// Symmetric mean absolute percentage error, in the series' own units.
    pub smape: f64,
}

impl Errors {
    /// None yet; the published numbers are of batches of `batch` windows.
    pub fn new(series: usize, horizon: usize, batch: usize) -> Self {
        let none = ForecastErrors::new(series, horizon);
        Self { scaled: none.clone(), own: none, paper: BatchMeans::new(batch.max(1)) }
    }

    /// Adds the forecasts `[rows, horizon]` of a batch, at the network's scale.
    pub fn add_batch(&mut self, source: &Source, batch: &Batch, forecasts: &[f32]) {
        let [samples, channels] = batch.shape;
        let (horizon, size) = (batch.horizon, channels * batch.horizon);
        let all = vec![true; size];
        for row in 0..batch.rows() {
            self.add(source, batch, row, &forecasts[row * horizon..(row + 1) * horizon]);
        }
        for sample in 0..samples {
            let of = sample * size..(sample + 1) * size;
            let counted = if batch.counted.is_empty() { &all } else { &batch.counted[of.clone()] };
            self.paper.add(&forecasts[of.clone()], &batch.targets[of], counted);
        }
    }

    /// Adds the forecast of one row of a batch, at the network's scale.
    fn add(&mut self, source: &Source, batch: &Batch, row: usize, forecast: &[f32]) {
        let (series, horizon) = (batch.series[row], batch.horizon);
        let truth = &batch.targets[row * horizon..(row + 1) * horizon];
        let all = vec![true; horizon];
        let counted = if batch.counted.is_empty() { &all } else { &batch.counted[row * horizon..(row + 1) * horizon] };
        self.scaled.add(series, forecast, truth, counted);
        let (mut predicted, mut actual) = (forecast.to_vec(), truth.to_vec());
        source.scaler.unscale(series, &mut predicted);
        source.scaler.unscale(series, &mut actual);
        self.own.add(series, &predicted, &actual, counted);
    }

    /// The numbers.
    pub fn errs(&self, source: &Source) -> ErrorSummary {
        let (scaled, own): (ErrorMeans, ErrorMeans) = (self.scaled.total(), self.own.total());
        ErrorSummary {
            mse: scaled.mse,
            mae: scaled.mae,
            mse_own: own.mse,
            mae_own: own.mae,
            mase: self.scaled.mase(&scales(source)),
            smape: own.smape,
        }
    }
}

/// The scale of the errors of each series, at the network's scale.
pub fn scales(source: &Source) -> Vec<f64> {
    let series = source.panel.series().iter().zip(&source.parts);
    series.map(|(one, parts)| mase_scale(&one.values()[parts.training.clone()], source.season)).collect()
}

/// Forecasts that need no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// The last value.
    Naive,
    /// The value a season before.
    SeasonalNaive,
    /// The mean of the window.
    Mean,
}

impl Plain {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Naive, Self::SeasonalNaive, Self::Mean];

    /// The forecasts of the windows of a batch, `[rows, horizon]`.
    pub fn forecasts(self, batch: &Batch, season: usize) -> Vec<f32> {
        let mut forecasts = vec![0.0; batch.rows() * batch.horizon];
        let windows = batch.inputs.chunks_exact(batch.look_back);
        for (window, horizon) in windows.zip(forecasts.chunks_exact_mut(batch.horizon)) {
            match self {
                Self::Naive => baseline::naive(window, horizon),
                Self::SeasonalNaive => baseline::seasonal_naive(window, season, horizon),
                Self::Mean => baseline::mean(window, horizon),
            }
        }
        forecasts
    }
}

/// Samples that are looked at together, `batch` at most.
fn together(source: &Source, batch: usize) -> usize {
    let channels = if source.together { source.panel.len() } else { 1 };
    (ROWS / channels).clamp(1, batch.max(1))
}

/// Gets a batch, and the forecasts of its rows `[rows, horizon · levels]` at the network's scale.
pub type Watcher<'a> = &'a mut dyn FnMut(&Batch, &[f32]);

/// Windows of the series of a source.
#[derive(Clone, Copy, Debug)]
pub struct WindowsOf<'a> {
    /// The series.
    pub source: &'a Source,
    /// Their windows.
    pub windows: &'a Windows,
}

/// The mean loss of a network on windows; `watch` gets each batch with its predictions.
pub fn predict(
    network: &PatchTst,
    config: &PatchTstConfig,
    WindowsOf { source, windows }: WindowsOf<'_>,
    measuring: Measuring,
    device: &Device,
    watch: Watcher<'_>,
) -> f64 {
    let all: Vec<usize> = (0..source.samples(windows)).collect();
    let batches: Vec<&[usize]> = all.chunks(together(source, measuring.batch)).collect();
    // The batch that was computed last; where this rank computes all, it is the one that is watched next.
    let at_hand = RefCell::new(None);
    let of_batch = |at: usize| {
        let batch = Batch::gather(source, windows, batches[at]);
        let mut noise = Pcg64Mcg::seed_from_u64(derived(measuring.seed, Stream::Sampling, at as u64));
        let masking = Masking { ratio: measuring.mask_ratio, noise: &mut noise };
        let of_task = TaskBatch::of(&batch, network, config, masking, device);
        let answers = network.forward(of_task.input.clone());
        let loss = f64::from(of_task.loss(answers.clone(), config, measuring.loss).into_scalar::<f32>());
        at_hand.replace(Some((at, batch)));
        (loss, answers.into_data().iter::<f32>().collect::<Vec<f32>>())
    };
    let (mut sum, mut count) = (0.0, 0.0);
    Ranks::current().each(batches.len(), of_batch, |at, (loss, numbers)| {
        sum += loss * batches[at].len() as f64;
        count += batches[at].len() as f64;
        let computed = at_hand.take().filter(|(of, _)| *of == at);
        let batch = computed.map_or_else(|| Batch::gather(source, windows, batches[at]), |(_, batch)| batch);
        watch(&batch, &numbers);
    });
    sum / count
}

/// The median of each value of forecasts with several levels.
pub fn medians<'a>(config: &PatchTstConfig, numbers: &'a [f32]) -> std::borrow::Cow<'a, [f32]> {
    match config.quantiles.iter().position(|&level| level == 0.5) {
        Some(middle) => numbers.iter().skip(middle).step_by(config.levels()).copied().collect(),
        None => numbers.into(),
    }
}

/// The metrics of a validation: the loss, with the errors of a forecast.
pub fn validation_metrics(cost: f64, errs: Option<ErrorSummary>) -> ValidationMetrics {
    let measures = errs.map_or_else(Vec::new, |errs| {
        [("mse", errs.mse), ("mae", errs.mae), ("mase", errs.mase)]
            .map(|(name, value)| Measure::Last(name, value))
            .to_vec()
    });
    ValidationMetrics { cost, measures: Measures(measures), ..ValidationMetrics::default() }
}

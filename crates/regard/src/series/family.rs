//! The family of time series, as the supervised engine sees it.

use std::time::Instant;

use burn::tensor::Device;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use regard_data::series::formats::ReadReport;
use regard_data::series::{Part, Windows};

use super::base::{BASE_TIME, BaseBackTest};
use super::batch::Batch;
use super::classify::Labelled;
use super::experiment::{
    self, SeriesData, SeriesEval, SeriesExperiment, SeriesTaskSettings, SeriesTraining, Trainable,
};
use super::intervals::{LEVELS, Residuals};
use super::linear_skip::{fitted, supported};
use super::measure::{Errors, Measuring, WindowsOf, medians, predict, validation_metrics};
use super::model::{Drop, PatchTst, PatchTstConfig};
use super::source::Source;
use super::task::{Masking, SeriesTask, TaskBatch};
use crate::experiment::Given;
use crate::store::Weights;
use crate::supervised::base::BlendOptions;
use crate::supervised::{BatchPosition, Context, Family, Learner, Network, ShardLoss};
use crate::train::{DataFiles, Measure, Rounding, ValidationMetrics, cross_entropy};
use crate::{Error, Result};

/// The family of time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSeries;

/// The examples of a training.
#[derive(Clone, Debug)]
pub enum TrainingData {
    /// Windows of series.
    Windows(Box<Source>),
    /// Whole series of known classes.
    Classes(Box<Labelled>),
}

impl From<Source> for TrainingData {
    fn from(source: Source) -> Self {
        Self::Windows(Box::new(source))
    }
}

impl From<Labelled> for TrainingData {
    fn from(labelled: Labelled) -> Self {
        Self::Classes(Box::new(labelled))
    }
}

impl TrainingData {
    /// The windows of series; `None` for whole series.
    pub(super) fn windows(&self) -> Option<&Source> {
        match self {
            Self::Windows(source) => Some(source),
            Self::Classes(_) => None,
        }
    }

    fn report(&self) -> &ReadReport {
        match self {
            Self::Windows(source) => &source.report,
            Self::Classes(labelled) => labelled.report(),
        }
    }
}

impl Network for PatchTst {
    type Config = PatchTstConfig;

    fn new(config: &PatchTstConfig, device: &Device) -> Result<Self> {
        Self::new(config, device)
    }

    fn from_weights(config: &PatchTstConfig, weights: &Weights, device: &Device) -> Result<Self> {
        Self::from_weights(config, weights, device)
    }

    fn to_weights(&self, config: &PatchTstConfig) -> Weights {
        self.to_weights(config)
    }
}

impl Family for TimeSeries {
    const NAME: &'static str = "series";
    const ROUNDING: Rounding = Rounding::FactorsFirst;

    type Task = SeriesTaskSettings;
    type Data = SeriesData;
    type Train = SeriesTraining;
    type Eval = SeriesEval;
    type Config = PatchTstConfig;
    type Network = PatchTst;
    type TrainingData = TrainingData;
    type Base = BaseBackTest;
    /// Errors of forecasts on the validation windows.
    type Residuals = Option<Residuals>;
    /// Half widths of intervals of the first levels, `[levels][horizon]`; empty where none are learnt.
    type Calibration = Vec<Vec<f32>>;

    fn defaults(given: &Given) -> Result<SeriesExperiment> {
        experiment::defaults(given)
    }

    fn validate(experiment: &SeriesExperiment) -> Result<()> {
        experiment::validate(experiment)
    }

    fn load(experiment: &SeriesExperiment) -> Result<(TrainingData, PatchTstConfig)> {
        match experiment.task.kind {
            SeriesTask::Classification => Labelled::of(experiment).map(|(labelled, config)| (labelled.into(), config)),
            _ => Source::of(experiment).map(|(source, config)| (source.into(), config)),
        }
    }

    fn data_files(data: &SeriesData) -> Option<DataFiles> {
        let path = &data.path;
        (data.generated_series == 0).then(|| DataFiles::new("data.path", path, vec![path.into()]))
    }

    /// Places with all series, windows of single ones, or series.
    fn samples(data: &TrainingData) -> Option<usize> {
        Some(match data {
            TrainingData::Windows(source) => source.samples(&source.training),
            TrainingData::Classes(labelled) => labelled.samples(),
        })
    }

    /// The training windows validate where no others do.
    fn has_validation(_: &TrainingData) -> bool {
        true
    }

    fn holds_out(data: &TrainingData) -> bool {
        match data {
            TrainingData::Windows(source) => source.validation.is_some(),
            TrainingData::Classes(labelled) => !labelled.validation.is_empty(),
        }
    }

    fn warnings(Context { data, .. }: &Context<'_, Self>) -> Vec<String> {
        let notes = match data {
            TrainingData::Windows(source) => source.notes.as_slice(),
            TrainingData::Classes(_) => &[],
        };
        data.report().to_string().lines().map(str::to_owned).chain(notes.iter().cloned()).collect()
    }

    const NOT_INHERITED: &'static [&'static str] = &[
        "preset",
        "task",
        "look_back",
        "horizon",
        "channels",
        "classes",
        "window_norm",
        "affine",
        "linear_skip",
        "dropout",
        "dropout_twice",
        "attention_dropout",
        "head_dropout",
        "quantiles",
        "data",
    ];

    /// The linear skip is one too.
    fn is_of_head(name: &str) -> bool {
        name.contains(".readout.") || name.contains(".shortcut.")
    }

    fn initial(network: PatchTst, context: &Context<'_, Self>) -> Result<PatchTst> {
        let settings = &context.experiment.train.family;
        match context.data {
            TrainingData::Windows(source) => {
                fitted(network, context.config, source, settings.ridge_penalty, context.device)
            }
            TrainingData::Classes(_) => Ok(network),
        }
    }

    fn trains_head_only(experiment: &SeriesExperiment, epoch: u64) -> Option<bool> {
        let SeriesTraining { trainable, head_epochs, .. } = experiment.train.family;
        match trainable {
            Trainable::All if head_epochs == 0 => None,
            Trainable::All => Some(epoch < head_epochs as u64),
            Trainable::Head => Some(true),
        }
    }

    fn with_frozen_body(network: PatchTst, frozen: bool) -> PatchTst {
        network.with_frozen_body(frozen)
    }

    fn base(context: &Context<'_, Self>, options: &BlendOptions) -> Result<Option<BaseBackTest>> {
        let Context { experiment, config, data, .. } = context;
        match data.windows() {
            Some(source) if experiment.eval.blend && config.task == SeriesTask::Forecast => {
                let left = options.deadline.map(|end| end.saturating_duration_since(Instant::now()));
                let time = left.unwrap_or(options.base_time).min(BASE_TIME);
                let given = experiment.data.season_length;
                BaseBackTest::new(source, config, Part::Validation, given, time)
            }
            _ => Ok(None),
        }
    }

    fn loss(
        network: &PatchTst,
        context: &Context<'_, Self>,
        batch: BatchPosition<'_>,
        noise: &mut Pcg64Mcg,
    ) -> Result<Option<ShardLoss>> {
        let Context { experiment, config, data, device } = context;
        let train = &experiment.train;
        let BatchPosition { step, steps_per_epoch, order, shard } = batch;
        let samples = 0..Self::samples(data).unwrap_or(0);
        let batch = order.batch_of_epoch(samples, train.seed, [step, steps_per_epoch], train.batch_size);
        let Some((chosen, share)) = ShardLoss::examples(shard, &batch) else { return Ok(None) };
        let value = match data {
            TrainingData::Windows(source) => {
                let series = train.family.windows_batch_size / batch.len().max(1);
                let batch = windows(source, config, series, chosen, noise);
                let masking = Masking { ratio: train.family.mask_ratio, noise };
                let batch = TaskBatch::of(&batch, network, config, masking, device);
                let drop = Drop { seed: noise.random() };
                let answers = network.forward_with_dropout(batch.input.clone(), drop);
                batch.loss(answers, config, train.loss)
            }
            TrainingData::Classes(labelled) => {
                let (batch, classes) = labelled.batch(chosen);
                let drop = Drop { seed: noise.random() };
                let scores = network.forward_with_dropout(batch.input(device), drop);
                cross_entropy(scores.reshape([classes.len(), config.classes]), &classes, train.class_weights)
            }
        };
        Ok(Some(ShardLoss { value, share }))
    }

    fn adjusted(network: &PatchTst, context: &Context<'_, Self>) -> Result<Option<(PatchTst, Measure)>> {
        let Context { experiment, config, data, device } = context;
        match data {
            TrainingData::Windows(source) if experiment.train.family.shrink => {
                let found = supported(network, config, source, Measuring::of(experiment), device)?;
                Ok(found.map(|(network, share)| (network, Measure::Last("share", share))))
            }
            _ => Ok(None),
        }
    }

    fn validation(network: &PatchTst, context: &Context<'_, Self>) -> Result<(ValidationMetrics, Option<Residuals>)> {
        let Context { experiment, config, data, device } = context;
        Ok(match data {
            TrainingData::Windows(source) => measured(source, network, config, experiment, device),
            TrainingData::Classes(labelled) => (labelled.measured(network, config, device), None),
        })
    }

    fn calibrate(residuals: Option<Residuals>) -> Vec<Vec<f32>> {
        residuals.map(Residuals::widths).unwrap_or_default()
    }

    fn calibrated(config: &PatchTstConfig, widths: &Vec<Vec<f32>>) -> PatchTstConfig {
        let mut config = config.clone();
        if !widths.is_empty() {
            config.data.interval_levels = LEVELS[..widths.len().min(LEVELS.len())].to_vec();
            config.data.interval_widths = widths.clone();
        }
        config
    }
}

impl Learner<TimeSeries> {
    /// Probabilities of the classes for the test series, by the network that is kept.
    pub(super) fn test_probabilities(&self) -> Result<Vec<f64>> {
        let device = self.plain_device();
        let Context { config, data, .. } = self.evaluation(&device);
        match data {
            TrainingData::Classes(labelled) => Ok(labelled.test_probabilities(&self.evaluated()?, config, &device)),
            TrainingData::Windows(_) => Err(Error::config("task.kind", "is not `classification`")),
        }
    }
}

/// The windows of a shard of a step, of so many series at each place; 0 for all.
fn windows(source: &Source, config: &PatchTstConfig, series: usize, chosen: &[usize], noise: &mut Pcg64Mcg) -> Batch {
    let (windows, all) = (&source.training, source.panel.len());
    match series > 0 && series < all && source.together && config.channels == 0 {
        true => Batch::some(source, windows, chosen, series, noise),
        false => Batch::gather(source, windows, chosen),
    }
}

/// A network on the validation windows, or those learnt from where there are none.
fn measured(
    source: &Source,
    network: &PatchTst,
    config: &PatchTstConfig,
    experiment: &SeriesExperiment,
    device: &Device,
) -> (ValidationMetrics, Option<Residuals>) {
    let windows: &Windows = source.validation.as_ref().unwrap_or(&source.training);
    let forecast = config.task == SeriesTask::Forecast;
    let mut errors = Errors::new(source.panel.len(), config.horizon, experiment.train.batch_size);
    let wanted = forecast && experiment.eval.intervals && source.validation.is_some();
    let mut residuals = wanted.then(|| Residuals::new(config.horizon, windows.len()));
    let mut watch = |batch: &Batch, numbers: &[f32]| {
        if forecast {
            let medians = medians(config, numbers);
            errors.add_batch(source, batch, &medians);
            if let Some(residuals) = &mut residuals {
                residuals.add(batch, &medians);
            }
        }
    };
    let cost = predict(network, config, WindowsOf { source, windows }, Measuring::of(experiment), device, &mut watch);
    (validation_metrics(cost, forecast.then(|| errors.errs(source))), residuals)
}

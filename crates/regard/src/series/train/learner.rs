//! One learner: a network on time series, its optimiser, and the step that moves them.

use burn::module::Module;
use burn::tensor::Device;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use regard_data::series::Windows;
use serde::{Deserialize, Serialize};

use super::begin::{begun_from, shuffled};
use super::intervals::Residuals;
use super::rate::{Place, Rates};
use crate::series::asked::Asked;
use crate::series::batch::Batch;
use crate::series::experiment::{Moving, SeriesExperiment};
use crate::series::measure::{Errors, Measuring, checked, medians, told};
use crate::series::model::{Drop, PatchTst, PatchTstConfig};
use crate::series::source::Source;
use crate::series::task::SeriesTask;
use crate::store::{NetworkConfig, Weights};
use crate::train::{Checked, Learning, Measure, Measures, Optimizer, Stream, Trainee, derived, fresh, restore};
use crate::{Error, Result};

/// A network that learns from time series.
pub struct SeriesLearner {
    pub(super) experiment: SeriesExperiment,
    pub(super) config: PatchTstConfig,
    pub(super) device: Device,
    pub(super) source: Source,
    pub(super) trainee: Trainee<PatchTst>,
    /// The network with the lowest validation loss, where that is the one to keep.
    pub(super) best: Option<Weights>,
    pub(super) counters: Counters,
}

/// The numbers of a learner that are no weights.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub(super) step: u64,
    pub(super) best_loss: Option<f64>,
    /// Epochs since the lowest validation loss.
    pub(super) waited: usize,
    /// Half widths of intervals, `[levels][horizon]`, of the network that is kept.
    pub(super) widths: Vec<Vec<f32>>,
}

impl SeriesLearner {
    /// A learner at its first step, on `device` or, with gradients, on what is under it.
    ///
    /// # Errors
    /// What reading the data gives; [`Error::Config`] for settings that do not hold together.
    pub fn new(experiment: &SeriesExperiment, device: &Device) -> Result<Self> {
        let (source, config) = Source::of(experiment)?;
        Self::with_source(experiment, source, config, device)
    }

    /// A learner on series that are known.
    ///
    /// # Errors
    /// [`Error::Config`] for settings that do not hold together.
    pub fn with_source(
        experiment: &SeriesExperiment,
        source: Source,
        config: PatchTstConfig,
        device: &Device,
    ) -> Result<Self> {
        config.validate()?;
        let train = &experiment.train;
        let device = device.clone().autodiff();
        let seed = derived(train.seed, Stream::Weights, 0);
        let model = fresh(seed, &device, |device| PatchTst::new(&config, device))?;
        let model = if train.from.is_empty() { model } else { begun_from(model, &config, &train.from)? };
        let optimizer = Optimizer::with_weight_decay(train.clip_norm, train.weight_decay);
        let learner = Self {
            trainee: Trainee::new(model, optimizer, train.average),
            experiment: experiment.clone(),
            config,
            device,
            source,
            best: None,
            counters: Counters::default(),
        };
        match learner.of_epoch() {
            0 => {
                let (batch, windows) = (train.batch, learner.source.samples(&learner.source.training));
                let reason = format!("is {batch}, and there are {windows} windows to learn from, which fill no batch");
                Err(Error::config("train.batch", reason))
            }
            _ => Ok(learner),
        }
    }

    /// The network's settings, with what was learnt of the data.
    pub fn config(&self) -> PatchTstConfig {
        let mut config = self.config.clone();
        if !self.counters.widths.is_empty() {
            config.data.interval_levels = super::intervals::LEVELS.to_vec();
            config.data.interval_widths = self.counters.widths.clone();
        }
        config
    }

    /// The series and their windows.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The network that is kept, in evaluation.
    ///
    /// # Errors
    /// None that a learner of this crate can cause.
    pub fn evaluated(&self) -> Result<PatchTst> {
        match &self.best {
            Some(weights) => restore(self.trainee.model.valid(), weights),
            None => self.trainee.evaluated(),
        }
    }

    /// Steps of an epoch.
    pub(super) fn of_epoch(&self) -> u64 {
        let train = &self.experiment.train;
        let samples = self.source.samples(&self.source.training);
        let all = if train.drop_last { samples / train.batch } else { samples.div_ceil(train.batch) };
        if train.epoch_steps > 0 { all.min(train.epoch_steps) as u64 } else { all as u64 }
    }

    /// What is measured while learning: the validation windows, or those learnt from where there are none.
    fn windows(&self) -> &Windows {
        self.source.validation.as_ref().unwrap_or(&self.source.training)
    }

    /// A network on the validation windows, and its residuals there.
    pub(super) fn measured(&self, network: &PatchTst) -> (Checked, Option<Residuals>) {
        let (windows, device) = (self.windows(), self.device.clone().inner());
        let (config, source) = (&self.config, &self.source);
        let forecast = config.task == SeriesTask::Forecast;
        let mut errors = Errors::new(source.panel.len(), config.horizon, self.experiment.train.batch);
        let wanted = forecast && self.experiment.eval.intervals && source.validation.is_some();
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
        let cost = told(network, config, (source, windows), Measuring::of(&self.experiment), &device, &mut watch);
        (checked(cost, forecast.then(|| errors.errs(source))), residuals)
    }

    /// Learns until all epochs are done or the validation loss no longer falls.
    ///
    /// # Errors
    /// As [`Self::learn`].
    pub fn learn_all(&mut self, mut go_on: impl FnMut(u64) -> bool) -> Result<()> {
        let total = self.of_epoch() * self.experiment.train.epochs as u64;
        while self.counters.step < total && !Learning::done(self) && go_on(self.counters.step) {
            self.learn()?;
            if self.counters.step.is_multiple_of(self.of_epoch()) {
                self.finish_epoch()?;
            }
        }
        Ok(())
    }

    /// One step of the optimiser on the next windows: loss, norm of the gradient and rate.
    ///
    /// # Errors
    /// [`Error::Diverged`] for a loss or a gradient that is not finite; the learner is then as it was
    /// before the step.
    pub fn learn(&mut self) -> Result<Measures> {
        let (train, step, of_epoch) = (&self.experiment.train, self.counters.step, self.of_epoch());
        let windows = &self.source.training;
        let order = shuffled(self.source.samples(windows), train.seed, step / of_epoch);
        let first = (step % of_epoch) as usize * train.batch;
        let chosen = &order[first..(first + train.batch).min(order.len())];
        let mut noise = Pcg64Mcg::seed_from_u64(derived(train.seed, Stream::Sampling, step));
        let batch = match train.rows / chosen.len().max(1) {
            series
                if series > 0
                    && series < self.source.panel.len()
                    && self.source.together
                    && self.config.channels == 0 =>
            {
                Batch::some(&self.source, windows, chosen, (series, &mut noise))
            }
            _ => Batch::gather(&self.source, windows, chosen),
        };
        self.open_numbers(step, of_epoch);
        let hiding = (self.experiment.train.hidden, &mut noise);
        let asked = Asked::of(&batch, &self.trainee.model, &self.config, hiding, &self.device);
        let drop = Drop { seed: noise.random() };
        let answers = self.trainee.model.forward_with_dropout(asked.input.clone(), drop);
        let loss = asked.loss(answers, &self.config, self.experiment.train.loss);
        let place = Place { step, of_epoch, epochs: self.experiment.train.epochs as u64 };
        let rate = self.rates().at(place);
        self.trainee.set_beta(rate.beta);
        let (value, norm) = self.trainee.learn(step, rate.rate, loss)?;
        self.counters.step += 1;
        let rate = Measure::Last("rate", rate.rate);
        Ok(Measures(vec![Measure::Mean("loss", value), Measure::Mean("grad_norm", norm), rate]))
    }

    /// Closes or opens what does not always move.
    fn open_numbers(&mut self, step: u64, of_epoch: u64) {
        let train = &self.experiment.train;
        if train.moving == Moving::All && train.head_epochs == 0 {
            return;
        }
        let head = train.moving == Moving::Head || step < of_epoch * train.head_epochs as u64;
        self.trainee.model = self.trainee.model.clone().with_moving(head);
    }

    fn rates(&self) -> Rates {
        let train = &self.experiment.train;
        Rates {
            schedule: train.schedule,
            rate: train.rate,
            rising: train.rising,
            warm_epochs: train.warm_epochs,
            one_cycle_made: train.one_cycle_made,
        }
    }
}

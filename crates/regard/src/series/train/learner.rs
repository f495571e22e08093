//! One learner: a network on time series, its optimiser, and the step that moves them.

use burn::module::Module;
use burn::tensor::Device;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use super::begin::begun_from;
use super::lessons::Lessons;
use super::rate::{Place, Rates};
use crate::series::experiment::{Moving, SeriesExperiment};
use crate::series::model::{PatchTst, PatchTstConfig};
use crate::store::{NetworkConfig, Weights};
use crate::train::{Learning, Measure, Measures, Optimizer, Shuffled, Stream, Trainee, derived, fresh, restore};
use crate::{Error, Result};

/// A network that learns from time series.
pub struct SeriesLearner {
    pub(super) experiment: SeriesExperiment,
    pub(super) config: PatchTstConfig,
    pub(super) device: Device,
    pub(super) lessons: Lessons,
    pub(super) trainee: Trainee<PatchTst>,
    /// The network with the lowest validation loss, where that is the one to keep.
    pub(super) best: Option<Weights>,
    pub(super) counters: Counters,
    /// The windows of the epoch in their order.
    order: Shuffled,
    /// Whether only the read-out moves, once that is said to the network.
    pub(super) head_only: Option<bool>,
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
        let (lessons, config) = Lessons::of(experiment)?;
        Self::with_lessons(experiment, lessons, config, device)
    }

    /// A learner on lessons that are known.
    ///
    /// # Errors
    /// [`Error::Config`] for settings that do not hold together.
    pub fn with_lessons(
        experiment: &SeriesExperiment,
        lessons: Lessons,
        config: PatchTstConfig,
        device: &Device,
    ) -> Result<Self> {
        config.validate()?;
        let train = &experiment.train;
        let device = device.clone().autodiff();
        let seed = derived(train.seed, Stream::Weights, 0);
        let model = fresh(seed, &device, |device| PatchTst::new(&config, device))?;
        let model = lessons.prepared(model, &config, train, &device)?;
        let model = if train.init_from.is_empty() { model } else { begun_from(model, &config, &train.init_from)? };
        let optimizer = Optimizer::with_weight_decay(train.max_grad_norm, train.weight_decay);
        let learner = Self {
            trainee: Trainee::new(model, optimizer, train.ema_decay),
            experiment: experiment.clone(),
            config,
            device,
            lessons,
            best: None,
            counters: Counters::default(),
            order: Shuffled::default(),
            head_only: None,
        };
        match learner.of_epoch() {
            0 => {
                let (batch, samples) = (train.batch_size, learner.lessons.samples());
                let reason = format!("is {batch}, and there are {samples} windows to learn from, which fill no batch");
                Err(Error::config("train.batch_size", reason))
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
        let samples = self.lessons.samples();
        let all = if train.drop_last { samples / train.batch_size } else { samples.div_ceil(train.batch_size) };
        if train.steps_per_epoch > 0 { all.min(train.steps_per_epoch) as u64 } else { all as u64 }
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
        let order = self.order.of(0..self.lessons.samples(), train.seed, step / of_epoch);
        let first = (step % of_epoch) as usize * train.batch_size;
        let chosen = order[first..(first + train.batch_size).min(order.len())].to_vec();
        self.open_numbers(step, of_epoch);
        let mut noise = Pcg64Mcg::seed_from_u64(derived(self.experiment.train.seed, Stream::Sampling, step));
        let (model, train) = (&self.trainee.model, &self.experiment.train);
        let loss = self.lessons.loss(model, &self.config, train, (&chosen, &mut noise), &self.device);
        let place = Place { step, of_epoch, epochs: self.experiment.train.epochs as u64 };
        let rate = self.rates().at(place);
        self.trainee.set_beta(rate.beta);
        let (value, norm) = self.trainee.learn(step, rate.rate, loss)?;
        self.counters.step += 1;
        let rate = Measure::Last("learning_rate", rate.rate);
        Ok(Measures(vec![Measure::Mean("loss", value), Measure::Mean("grad_norm", norm), rate]))
    }

    /// Closes or opens what does not always move.
    fn open_numbers(&mut self, step: u64, of_epoch: u64) {
        let train = &self.experiment.train;
        if train.trainable == Moving::All && train.head_epochs == 0 {
            return;
        }
        let head = train.trainable == Moving::Head || step < of_epoch * train.head_epochs as u64;
        if self.head_only != Some(head) {
            self.trainee.model = self.trainee.model.clone().with_moving(head);
            self.head_only = Some(head);
        }
    }

    fn rates(&self) -> Rates {
        let train = &self.experiment.train;
        Rates {
            schedule: train.schedule,
            rate: train.learning_rate,
            rising: train.pct_start,
            warm_epochs: train.warmup_epochs,
            one_cycle_made: train.one_cycle_initial_state,
        }
    }
}

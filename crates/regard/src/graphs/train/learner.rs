//! One learner: a network on graphs, its optimiser, and the step that moves them.

use std::path::Path;

use burn::module::Module;
use burn::tensor::Device;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use super::consistency::consistency;
use super::rate::Plateau;
use crate::graphs::examples::Portion;
use crate::graphs::experiment::{GraphExperiment, Keep, RateSchedule};
use crate::graphs::measure::{in_own_measure, measure, tell};
use crate::graphs::model::{GraphTransformer, GraphTransformerConfig};
use crate::graphs::remarks::remarks;
use crate::graphs::source::Source;
use crate::graphs::task::{GraphTask, LossOptions, loss};
use crate::store::{Manifest, NetworkConfig, NetworkDir, Weights};
use crate::train::{
    Checked, Checkpoint, Learning, Measure, Measures, Optimizer, Shuffled, Stream, Trainee, collect, derived, fresh,
    restore,
};
use crate::{Error, Result};

/// A network that learns from graphs.
pub struct GraphLearner {
    experiment: GraphExperiment,
    config: GraphTransformerConfig,
    device: Device,
    source: Source,
    trainee: Trainee<GraphTransformer>,
    /// The network with the lowest validation loss, where that is the one to keep.
    best: Option<Weights>,
    counters: Counters,
    /// The graphs of the epoch in their order.
    order: Shuffled,
}

/// The numbers of a learner that are no weights.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Counters {
    step: u64,
    plateau: Plateau,
    best_loss: Option<f64>,
}

impl GraphLearner {
    /// A learner at its first step, on `device` or, with gradients, on what is under it.
    ///
    /// # Errors
    /// What reading the data gives; [`Error::Config`] for settings that do not hold together.
    pub fn new(experiment: &GraphExperiment, device: &Device) -> Result<Self> {
        let (source, config) = Source::of(experiment)?;
        Self::with_source(experiment, source, config, device)
    }

    /// A learner on graphs that are known.
    ///
    /// # Errors
    /// [`Error::Config`] for settings that do not hold together, or nothing to learn from.
    pub fn with_source(
        experiment: &GraphExperiment,
        source: Source,
        config: GraphTransformerConfig,
        device: &Device,
    ) -> Result<Self> {
        config.validate()?;
        if experiment.train.consistency > 0.0 && config.task != GraphTask::Classification {
            return Err(Error::config(
                "train.consistency",
                "is about probabilities of classes, and none are asked for",
            ));
        }
        if source.training.graphs.is_empty() {
            return Err(Error::config("data.path", "holds no graph to learn from"));
        }
        let train = &experiment.train;
        let device = device.clone().autodiff();
        let seed = derived(train.seed, Stream::Weights, 0);
        let model = fresh(seed, &device, |device| GraphTransformer::new(&config, device))?;
        let optimizer = Optimizer::with_weight_decay(train.max_grad_norm, train.weight_decay);
        Ok(Self {
            trainee: Trainee::new(model, optimizer, train.ema_decay),
            experiment: experiment.clone(),
            config,
            device,
            source,
            best: None,
            counters: Counters { step: 0, plateau: Plateau::default(), best_loss: None },
            order: Shuffled::default(),
        })
    }

    /// The network's settings, with what was learnt of the data.
    pub fn config(&self) -> &GraphTransformerConfig {
        &self.config
    }

    /// The graphs, in their portions.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The network that is kept, in evaluation.
    ///
    /// # Errors
    /// None that a learner of this crate can cause.
    pub fn evaluated(&self) -> Result<GraphTransformer> {
        match &self.best {
            Some(weights) => restore(self.trainee.model.valid(), weights),
            None => self.trainee.evaluated(),
        }
    }

    /// A network measured on a portion.
    ///
    /// # Errors
    /// As [`measure`].
    pub fn measured(&self, model: &GraphTransformer, portion: &Portion) -> Result<Checked> {
        let device = self.device.clone().inner();
        let batch = self.experiment.eval.batch_size;
        measure(model, &self.config, &self.source.examples, portion, (self.options(), batch), &device)
    }

    /// What the network that is kept says of a portion, `[rows, outputs]`; numbers in their own measure.
    ///
    /// # Errors
    /// None that a learner of this crate can cause.
    pub(crate) fn told(&self, portion: &Portion) -> Result<Vec<f64>> {
        let device = self.device.clone().inner();
        let options = (self.options(), self.experiment.eval.batch_size);
        let told = tell(&self.evaluated()?, &self.config, &self.source.examples, portion, options, &device);
        Ok(match self.config.task {
            GraphTask::Regression => in_own_measure(&self.config, &told.numbers),
            GraphTask::Classification | GraphTask::Labels => told.numbers,
        })
    }

    fn options(&self) -> LossOptions {
        let train = &self.experiment.train;
        LossOptions { task: self.config.task, number: train.loss, class_weights: train.class_weights }
    }

    /// What is measured while learning: the validation graphs, or those learnt from where there are none.
    fn portion(&self) -> &Portion {
        let Source { training, validation, .. } = &self.source;
        if validation.graphs.is_empty() { training } else { validation }
    }

    /// Learns until all epochs are done, or the rate has fallen to its end.
    ///
    /// # Errors
    /// As [`Self::learn`].
    pub fn learn_all(&mut self) -> Result<()> {
        let train = &self.experiment.train;
        let watched = !self.source.validation.graphs.is_empty() || train.schedule == RateSchedule::Plateau;
        let (steps, epochs) = (self.source.steps(train.batch_size), train.epochs as u64);
        while self.counters.step < steps * epochs && !self.done() {
            self.learn()?;
            // Without graphs to choose by, the last network is the one to keep.
            if watched && self.counters.step.is_multiple_of(steps) {
                self.finish_epoch()?;
            }
        }
        Ok(())
    }

    /// One step of the optimiser on the next graphs: loss, norm of the gradient and rate.
    ///
    /// # Errors
    /// [`Error::Diverged`] for a loss or a gradient that is not finite; the learner is then as it was
    /// before the step.
    pub fn learn(&mut self) -> Result<Measures> {
        let (train, step) = (&self.experiment.train, self.counters.step);
        let graphs =
            self.source.step(&mut self.order, train.seed, step, train.batch_size).repeat(train.augmented_views);
        let mut noise = Pcg64Mcg::seed_from_u64(derived(train.seed, Stream::Sampling, step));
        let examples = &self.source.examples;
        let mut input = examples.input(&self.config, &graphs, Some((train.sign_flip, &mut noise)));
        input.leave_out(train.feature_dropout, &mut noise);
        let targets = examples.targets(self.config.level, &self.source.training, &graphs);
        let answers = self.trainee.model.forward_with_dropout(&input, &self.device, &mut noise);
        let mut loss = loss(answers.clone(), &targets, self.options());
        if train.consistency > 0.0 {
            loss = loss
                + consistency(answers, train.augmented_views, train.consistency_temperature)
                    .mul_scalar(train.consistency);
        }
        let rate = self.counters.plateau.rate(train, step, self.source.steps(train.batch_size));
        let (value, norm) = self.trainee.learn(step, rate, loss)?;
        self.counters.step += 1;
        Ok(Measures(vec![
            Measure::Mean("loss", value),
            Measure::Mean("grad_norm", norm),
            Measure::Last("learning_rate", rate),
        ]))
    }
}

impl Learning for GraphLearner {
    type Experiment = GraphExperiment;
    type State = Counters;

    fn begin(experiment: &GraphExperiment, device: &Device) -> Result<Self> {
        Self::new(experiment, device)
    }

    fn restored(mut self, mut checkpoint: Checkpoint, counters: Counters) -> Result<Self> {
        self.trainee = self.trainee.restored(&mut checkpoint)?;
        if counters.best_loss.is_some() {
            self.best = Some(checkpoint.weights("best")?.clone());
        }
        self.counters = counters;
        Ok(self)
    }

    fn parameters(&self) -> usize {
        self.config.trainable()
    }

    fn steps(&self) -> u64 {
        self.counters.step
    }

    fn steps_per_epoch(&self) -> Option<u64> {
        Some(self.source.steps(self.experiment.train.batch_size))
    }

    fn remarks(&self) -> Vec<String> {
        remarks(&self.source.examples)
    }

    fn done(&self) -> bool {
        self.counters.plateau.ended(&self.experiment.train)
    }

    fn step(&mut self) -> Result<Measures> {
        self.learn()
    }

    /// Measures the network, keeps it where it is the best so far, and moves the rate.
    fn finish_epoch(&mut self) -> Result<Checked> {
        let current = self.trainee.evaluated()?;
        let checked = self.measured(&current, self.portion())?;
        if self.experiment.train.select == Keep::Best && self.counters.best_loss.is_none_or(|best| checked.cost < best)
        {
            self.best = Some(collect(&current));
            self.counters.best_loss = Some(checked.cost);
        }
        self.counters.plateau.observe(checked.cost, &self.experiment.train);
        Ok(checked)
    }

    fn check(&self) -> Result<Checked> {
        self.measured(&self.evaluated()?, self.portion())
    }

    /// Losses of small data sets rise when a network learns them by heart.
    fn may_diverge(&self) -> bool {
        false
    }

    fn checkpoint(&self) -> Result<Checkpoint> {
        let mut checkpoint = self.trainee.checkpoint(self.counters.step)?;
        checkpoint.weights.extend(self.best.clone().map(|best| ("best".to_owned(), best)));
        Ok(checkpoint)
    }

    fn state(&self) -> Counters {
        self.counters.clone()
    }

    fn save_model(&self, folder: &Path, manifest: Manifest) -> Result<()> {
        let weights = self.evaluated()?.to_weights(&self.config);
        NetworkDir::save_into(folder, &self.config, &weights, &manifest)?;
        Ok(())
    }
}

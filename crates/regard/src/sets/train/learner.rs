//! One learner: a network on sets, its optimiser, and the step that moves them.

use std::path::Path;
use std::sync::OnceLock;

use burn::tensor::Device;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::sets::examples::Examples;
use crate::sets::experiment::{RateSchedule, SetExperiment};
use crate::sets::measure::measure;
use crate::sets::model::{SetTransformer, SetTransformerConfig};
use crate::sets::source::Source;
use crate::sets::task::loss;
use crate::store::{Manifest, NetworkConfig, NetworkDir};
use crate::train::{
    Checked, Checkpoint, Learning, Measure, Measures, Optimizer, Shuffled, Stream, Trainee, derived, fresh,
    half_cosine, rise,
};

/// A network that learns from sets.
pub struct SetLearner {
    experiment: SetExperiment,
    config: SetTransformerConfig,
    device: Device,
    source: Source,
    /// Drawn or taken when it is first asked for: folds of a cross-validation never do.
    measured: OnceLock<Examples>,
    trainee: Trainee<SetTransformer>,
    step: u64,
    /// The sets of the round in their order.
    order: Shuffled,
}

/// The numbers of a learner that are no weights.
#[derive(Serialize, Deserialize)]
pub(crate) struct Counters {
    step: u64,
}

impl SetLearner {
    /// A learner at its first step, on `device` or, with gradients, on what is under it.
    ///
    /// # Errors
    /// What reading the data gives; [`Error::Config`](crate::Error::Config) for settings that do not hold together.
    pub fn new(experiment: &SetExperiment, device: &Device) -> Result<Self> {
        let (source, config) = Source::of(experiment)?;
        Self::with_source(experiment, source, config, device)
    }

    /// A learner on sets that are known.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for settings that do not hold together.
    pub fn with_source(
        experiment: &SetExperiment,
        source: Source,
        config: SetTransformerConfig,
        device: &Device,
    ) -> Result<Self> {
        config.validate()?;
        let train = &experiment.train;
        let device = device.clone().autodiff();
        let seed = derived(train.seed, Stream::Weights, 0);
        let model = fresh(seed, &device, |device| SetTransformer::new(&config, device))?;
        let optimizer = Optimizer::with_weight_decay(train.max_grad_norm, train.weight_decay);
        Ok(Self {
            trainee: Trainee::new(model, optimizer, train.ema_decay),
            measured: OnceLock::new(),
            experiment: experiment.clone(),
            config,
            device,
            source,
            step: 0,
            order: Shuffled::default(),
        })
    }

    /// The network's settings, with what was learnt of the data.
    pub fn config(&self) -> &SetTransformerConfig {
        &self.config
    }

    /// Steps done.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// The network that is measured and saved: the running average where there is one, in evaluation.
    ///
    /// # Errors
    /// None that a learner of this crate can cause.
    pub fn evaluated(&self) -> Result<SetTransformer> {
        self.trainee.evaluated()
    }

    fn rate(&self) -> f64 {
        let train = &self.experiment.train;
        let share = self.step as f64 / self.experiment.steps().max(1) as f64;
        let fall = match train.schedule {
            RateSchedule::Constant => 1.0,
            RateSchedule::Step => {
                if share < train.learning_rate_drop_at {
                    1.0
                } else {
                    0.1
                }
            }
            RateSchedule::Cosine => half_cosine(share),
        };
        train.learning_rate * rise(self.step, train.warmup_epochs * train.steps_per_epoch as f64) * fall
    }

    /// One step of the optimiser on the next sets: loss, norm of the gradient and rate.
    ///
    /// # Errors
    /// [`Error::Diverged`](crate::Error::Diverged) for a loss or a gradient that is not finite; the learner
    /// is then as it was before the step.
    pub fn learn(&mut self) -> Result<Measures> {
        let train = &self.experiment.train;
        let examples = self.source.step(&mut self.order, train.seed, self.step, train.batch_size);
        let batch = examples.batch(&self.device);
        let mut noise = Pcg64Mcg::seed_from_u64(derived(train.seed, Stream::Sampling, self.step));
        let answers = self.trainee.model.forward_with_dropout(batch.sets.clone(), &mut noise);
        let loss = loss(answers, &batch, &self.config, train.loss);
        let rate = self.rate();
        let (value, norm) = self.trainee.learn(self.step, rate, loss)?;
        self.step += 1;
        Ok(Measures(vec![
            Measure::Mean("loss", value),
            Measure::Mean("grad_norm", norm),
            Measure::Last("learning_rate", rate),
        ]))
    }
}

impl Learning for SetLearner {
    type Experiment = SetExperiment;
    type State = Counters;

    fn begin(experiment: &SetExperiment, device: &Device) -> Result<Self> {
        Self::new(experiment, device)
    }

    fn restored(mut self, mut checkpoint: Checkpoint, counters: Counters) -> Result<Self> {
        self.trainee = self.trainee.restored(&mut checkpoint)?;
        self.step = counters.step;
        Ok(self)
    }

    fn parameters(&self) -> usize {
        self.config.trainable()
    }

    fn steps(&self) -> u64 {
        self.step
    }

    fn step(&mut self) -> Result<Measures> {
        self.learn()
    }

    fn finish_epoch(&mut self) -> Result<Checked> {
        self.check()
    }

    fn check(&self) -> Result<Checked> {
        let measured = self.measured.get_or_init(|| self.source.measured(&self.experiment));
        let device = self.device.clone().inner();
        measure(&self.evaluated()?, &self.config, measured, self.experiment.train.loss, &device)
    }

    /// Losses of small data sets rise when a network learns them by heart.
    fn may_diverge(&self) -> bool {
        false
    }

    fn checkpoint(&self) -> Result<Checkpoint> {
        self.trainee.checkpoint(self.step)
    }

    fn state(&self) -> Counters {
        Counters { step: self.step }
    }

    fn save_model(&self, folder: &Path, manifest: Manifest) -> Result<()> {
        let weights = self.evaluated()?.to_weights(&self.config);
        NetworkDir::save_into(folder, &self.config, &weights, &manifest)?;
        Ok(())
    }
}

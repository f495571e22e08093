//! A training of a policy, with its folder.

use std::path::Path;

use burn::tensor::Device;

use super::learner::{Counters, Learner, Measured, PolicyLearner};
use super::source::{InstanceSource, files};
use super::validation::Validation;
use crate::routes::environment::{Environment, ProblemEnvironment};
use crate::routes::experiment::RouteExperiment;
use crate::routes::model::ModelDir;
use crate::store::Manifest;
use crate::train::{
    Checkpoint, DataFiles, Learning, Measure, Measures, Observer, Pace, RunLength, Settings, Trained,
    ValidationMetrics, train_from,
};
use crate::{Error, Result};
use regard_routing::registry::{ProblemVisitor, with_problem};
use regard_routing::{Problem, SolverInstance};

/// Configuration of a training and its limits.
pub type Training = crate::train::Training<RouteExperiment>;

/// Trains until all epochs are done or a limit is reached; the folder then holds the model as it
/// stands, and a checkpoint to go on from.
///
/// # Errors
/// [`Error::Unsupported`] when the folder holds a run and `resume` is not set, or none and it is;
/// [`Error::Config`] when that run had other settings; [`Error::Diverged`]; [`Error::Io`].
pub fn train(training: &Training, device: &Device, observer: &mut dyn Observer) -> Result<Trained> {
    training.experiment.validate()?;
    struct Train<'a>(&'a Training, &'a Device, &'a mut dyn Observer);
    impl ProblemVisitor for Train<'_> {
        type Output = Result<Trained>;

        fn run<I: SolverInstance>(self) -> Result<Trained> {
            let Self(training, device, observer) = self;
            train_from(training, device, observer, training.experiment.data_files(), |experiment, device, _| {
                Trainer::<ProblemEnvironment<I::Problem>>::new(experiment, device)
            })
        }
    }
    let problem = &training.experiment.task.problem;
    let trained = with_problem(problem, Train(training, device, observer));
    trained.unwrap_or_else(|| Err(Error::config("task.problem", format!("`{problem}` is not supported"))))
}

/// As [`train`], of a policy for the problem of an environment, which is registered.
///
/// # Errors
/// As there, and those of the environment.
pub fn train_in<E: Environment>(
    training: &Training,
    environment: E,
    device: &Device,
    observer: &mut dyn Observer,
) -> Result<Trained> {
    training.experiment.validate()?;
    train_from(training, device, observer, None, |experiment, device, _| {
        let source = InstanceSource::in_environment(environment, experiment)?;
        Trainer::of(experiment, PolicyLearner::with_source(experiment, source, device)?)
    })
}

impl Settings for RouteExperiment {
    fn parse(text: &str, path: &Path) -> Result<Self> {
        RouteExperiment::parse(text, path, &[])
    }

    fn to_toml(&self) -> Result<String> {
        RouteExperiment::to_toml(self)
    }

    fn run_length(&self) -> RunLength {
        RunLength {
            steps_per_epoch: self.steps_per_epoch() as u64,
            epochs: self.train.epochs as u64,
            batch: self.train.batch_size as u64,
            log_steps: self.train.log_steps as u64,
            checkpoint_minutes: self.train.checkpoint_minutes,
            seed: self.train.seed,
        }
    }

    fn shards(&self) -> usize {
        self.train.shards
    }

    fn set_shards(&mut self, shards: usize) {
        self.train.shards = shards;
    }

    fn continuing(&self, before: &Self) -> Self {
        let mut settings = self.clone();
        settings.train.epochs = before.train.epochs;
        settings.train.checkpoint_minutes = before.train.checkpoint_minutes;
        settings
    }

    /// The learning rate decays by epochs, whatever their number.
    fn may_change_epochs(&self) -> bool {
        true
    }

    fn data_files(&self) -> Option<DataFiles> {
        let folder = &self.data.folder;
        let files = if folder.is_empty() { vec![] } else { files(Path::new(folder)).ok()? };
        (!files.is_empty()).then(|| DataFiles::new("data.folder", folder, files))
    }

    fn init_from(&mut self) -> &mut String {
        &mut self.train.init_from
    }
}

/// A learner and the set on which it is measured.
pub(super) struct Trainer<E: Environment> {
    pub(super) learner: PolicyLearner<E>,
    validation: Validation<E>,
}

impl<E: Environment> Trainer<E> {
    fn of(experiment: &RouteExperiment, learner: PolicyLearner<E>) -> Result<Self> {
        let validation = Validation::new(experiment, learner.source())?;
        Ok(Self { learner, validation })
    }
}

impl<P: Problem> Trainer<ProblemEnvironment<P>> {
    /// The trainer before its first step.
    pub(super) fn new(experiment: &RouteExperiment, device: &Device) -> Result<Self> {
        Self::of(experiment, Learner::new(experiment, device)?)
    }
}

impl<E: Environment> Learning for Trainer<E> {
    type Experiment = RouteExperiment;
    type State = Counters;

    fn restored(self, checkpoint: Checkpoint, counters: Counters) -> Result<Self> {
        Ok(Self { learner: self.learner.restored(checkpoint, counters)?, ..self })
    }

    fn parameters(&self) -> usize {
        self.learner.experiment().model.parameters()
    }

    fn steps(&self) -> u64 {
        self.learner.steps()
    }

    fn warnings(&self) -> Vec<String> {
        self.learner.source().notes().to_vec()
    }

    fn data_digest(&self) -> Result<String> {
        self.learner.source().digest()
    }

    fn step(&mut self) -> Result<Measures> {
        self.learner.step().map(Measures::from)
    }

    /// Challenges the frozen policy, and measures the network.
    fn finish_epoch(&mut self) -> Result<ValidationMetrics> {
        let challenge = self.learner.challenge()?;
        Ok(ValidationMetrics { comparison: challenge.map(|challenge| challenge.comparison), ..self.validate()? })
    }

    fn validate(&self) -> Result<ValidationMetrics> {
        Ok(ValidationMetrics {
            cost: self.validation.cost(&self.learner.evaluated()?)?,
            ..ValidationMetrics::default()
        })
    }

    fn schedule(&self) -> Option<String> {
        self.learner.schedule()
    }

    fn set_pace(&mut self, pace: Pace) {
        self.learner.set_pace(pace);
    }

    fn may_diverge(&self) -> bool {
        true
    }

    fn checkpoint(&self) -> Result<Checkpoint> {
        self.learner.checkpoint()
    }

    fn state(&self) -> Counters {
        self.learner.counters()
    }

    fn save_model(&self, folder: &Path, manifest: Manifest) -> Result<()> {
        let weights = self.learner.evaluated()?.to_weights();
        ModelDir::save_into(folder, &self.learner.experiment().model, &weights, &manifest)?;
        Ok(())
    }
}

impl From<Measured> for Measures {
    fn from(measured: Measured) -> Self {
        let Measured { nodes, cost, baseline, loss, log_likelihood, gradient_norm, rate } = measured;
        Self(vec![
            Measure::Count("nodes", nodes as u64),
            Measure::Mean("cost", cost),
            Measure::Mean("baseline", baseline),
            Measure::Mean("loss", loss),
            Measure::Mean("log_likelihood", log_likelihood),
            Measure::Mean("grad_norm", gradient_norm),
            Measure::Last("learning_rate", rate),
        ])
    }
}

//! A training from its first step to its last, with its folder.

mod refusals;
mod window;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::baseline::Challenge;
use super::learner::{Counters, Learner};
use super::validation::Validation;
use crate::experiment::Experiment;
use crate::routes::problem::Problem;
use crate::routes::registry::{ForProblem, with_problem};
use crate::store::{Manifest, ModelDir};
use crate::train::{Ended, Event, Limits, Observer, RunFolder, Valid, Written};
use crate::{Error, Result};
use refusals::{comparable, nothing_to_resume, occupied};
use window::Window;

/// What is to be trained, and how far.
#[derive(Clone, Debug)]
pub struct Training {
    /// The settings.
    pub experiment: Experiment,
    /// The run's folder; the model stands in it.
    pub out: PathBuf,
    /// Whether to go on with the run in the folder.
    pub resume: bool,
    /// When to end early.
    pub limits: Limits,
    /// The command, for the manifest.
    pub command: String,
}

/// How a training ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trained {
    /// Steps done in all.
    pub steps: u64,
    /// Instances seen in all.
    pub instances: u64,
    /// Seconds of training in all.
    pub seconds: f64,
    /// Why it ended.
    pub ended: Ended,
    /// Mean cost on the validation set at the end.
    pub valid_cost: f64,
    /// Parameters of the network.
    pub parameters: usize,
}

/// A validation cost so many times the best one means that the policy fell apart.
const DIVERGED: f64 = 1.5;

#[derive(Serialize, Deserialize)]
struct State {
    learner: Counters,
    window: Window,
    written: Written,
}

/// Trains until all epochs are done or a limit is reached; the folder then holds the model as it
/// stands, and a checkpoint to go on from.
///
/// # Errors
/// [`Error::Unsupported`] when the folder holds a run and `resume` is not set, or none and it is;
/// [`Error::Config`] when that run had other settings; [`Error::Diverged`]; [`Error::Io`].
pub fn train(training: &Training, device: &Device, observer: &mut dyn Observer) -> Result<Trained> {
    training.experiment.validate()?;
    struct Train<'a>(&'a Training, &'a Device, &'a mut dyn Observer);
    impl ForProblem for Train<'_> {
        type Output = Result<Trained>;

        fn run<P: Problem>(self) -> Result<Trained> {
            train_on::<P>(self.0, self.1, self.2)
        }
    }
    let problem = &training.experiment.task.problem;
    let trained = with_problem(problem, Train(training, device, observer));
    trained.unwrap_or_else(|| Err(Error::config("task.problem", format!("`{problem}` is not supported"))))
}

fn train_on<P: Problem>(training: &Training, device: &Device, observer: &mut dyn Observer) -> Result<Trained> {
    let mut run = Run::<P>::open(training, device)?;
    let experiment = &training.experiment;
    let total = (experiment.steps_per_epoch() * experiment.train.epochs) as u64;
    observer.event(&Event::Started {
        first_step: run.learner.steps(),
        steps: total.min(training.limits.steps.unwrap_or(u64::MAX)),
        steps_per_epoch: experiment.steps_per_epoch() as u64,
        parameters: experiment.model.parameters(),
    });
    let begun = Instant::now();
    let between = Duration::from_secs_f64(60.0 * experiment.train.checkpoint_minutes);
    let mut saved = Instant::now();
    let mut last_valid = None;
    let ended = loop {
        let step = run.learner.steps();
        if step >= total {
            break Ended::Complete;
        }
        if let Some(ended) = training.limits.reached(begun, step) {
            break ended;
        }
        run.step(observer)?;
        let epoch_done = run.learner.steps().is_multiple_of(experiment.steps_per_epoch() as u64);
        if epoch_done {
            last_valid = Some((run.learner.steps(), run.finish_epoch(observer)?));
        }
        if epoch_done || saved.elapsed() >= between {
            run.save(observer)?;
            saved = Instant::now();
        }
    };
    let steps = run.learner.steps();
    let valid_cost = match last_valid {
        Some((step, cost)) if step == steps => cost,
        _ => run.validation.cost(&run.learner.evaluated()?)?,
    };
    run.save(observer)?;
    run.save_model(valid_cost)?;
    Ok(Trained {
        steps,
        instances: steps * experiment.train.batch as u64,
        seconds: run.folder.seconds(),
        ended,
        valid_cost,
        parameters: experiment.model.parameters(),
    })
}

struct Run<'a, P> {
    training: &'a Training,
    learner: Learner<P>,
    window: Window,
    folder: RunFolder,
    validation: Validation<P>,
}

impl<'a, P: Problem> Run<'a, P> {
    fn open(training: &'a Training, device: &Device) -> Result<Self> {
        let (experiment, out) = (&training.experiment, &training.out);
        let before = RunFolder::experiment(out)?;
        match (&before, training.resume) {
            (Some(_), false) => return Err(occupied(out)),
            (None, true) => return Err(nothing_to_resume(out)),
            (Some(before), true) => comparable(before, experiment).map_err(|error| error.in_file(out))?,
            (None, false) => {}
        }
        let mut learner = Learner::new(experiment, device)?;
        let validation = Validation::new(experiment, learner.source())?;
        let (mut window, mut written) = (Window::default(), Written::default());
        let checkpoint = if training.resume { RunFolder::checkpoint(out)? } else { None };
        if let Some(checkpoint) = checkpoint {
            let state: State =
                serde_json::from_value(checkpoint.state.clone()).map_err(|error| Error::state("checkpoint", error))?;
            learner = learner.restored(checkpoint, state.learner)?;
            (window, written) = (state.window, state.written);
        }
        let folder = RunFolder::open(out, experiment, written)?;
        Ok(Self { training, learner, window, folder, validation })
    }

    fn step(&mut self, observer: &mut dyn Observer) -> Result<()> {
        let measured = self.learner.step().map_err(|error| self.broken(error))?;
        let step = self.window.line(&measured, self.position());
        observer.event(&Event::Step(step.clone()));
        if self.learner.steps().is_multiple_of(self.training.experiment.train.log_steps as u64) {
            self.folder.step(&step)?;
            self.window = self.window.next();
        }
        Ok(())
    }

    /// An error that ends the run, with its folder and what to do.
    fn broken(&self, error: Error) -> Error {
        let hint = "the last checkpoint is kept; try a lower `train.rate` or another seed";
        error.in_file(self.folder.path()).with_hint(hint)
    }

    /// Steps, epochs before the last of them, instances.
    fn position(&self) -> [u64; 3] {
        let experiment = &self.training.experiment;
        let steps = self.learner.steps();
        let epoch = steps.saturating_sub(1) / experiment.steps_per_epoch() as u64;
        [steps, epoch, steps * experiment.train.batch as u64]
    }

    /// Challenges the frozen policy, and measures the network.
    fn finish_epoch(&mut self, observer: &mut dyn Observer) -> Result<f64> {
        let alpha = self.training.experiment.train.alpha;
        let policy = self.learner.policy();
        let challenge: Option<Challenge> =
            self.learner.frozen.as_mut().map(|frozen| frozen.challenge(&policy, alpha)).transpose()?;
        let cost = self.validation.cost(&self.learner.evaluated()?)?;
        let [step, epoch, instances] = self.position();
        let valid = Valid {
            step,
            epoch: epoch + 1,
            instances,
            cost,
            baseline_updated: challenge.map(|challenge| challenge.updated),
            p_value: challenge.and_then(|challenge| challenge.p_value),
        };
        let best = self.window.best.unwrap_or(cost);
        if !cost.is_finite() || cost > DIVERGED * best {
            let reason = format!("the validation cost is {cost:.4}, the best was {best:.4}");
            return Err(self.broken(Error::Diverged { step, reason }));
        }
        self.window.best = Some(best.min(cost));
        self.folder.valid(&valid)?;
        observer.event(&Event::Valid(valid));
        self.save_model(cost)?;
        Ok(cost)
    }

    fn save(&mut self, observer: &mut dyn Observer) -> Result<()> {
        let mut checkpoint = self.learner.checkpoint()?;
        if let Some((name, _)) =
            checkpoint.weights("model")?.iter().find(|(_, array)| array.first_not_finite().is_some())
        {
            let reason = format!("`{name}` holds a number that is not finite");
            return Err(self.broken(Error::Diverged { step: checkpoint.step, reason }));
        }
        let state = State { learner: self.learner.counters(), window: self.window, written: self.folder.written()? };
        checkpoint.state = serde_json::to_value(state).map_err(|error| Error::state("checkpoint", error))?;
        self.folder.save(&checkpoint)?;
        observer.event(&Event::Saved { step: checkpoint.step });
        Ok(())
    }

    /// Writes the network that is measured, with its manifest.
    fn save_model(&self, valid_cost: f64) -> Result<()> {
        let experiment = &self.training.experiment;
        let mut manifest = Manifest::now(self.training.command.clone());
        manifest.experiment = Some(serde_json::to_value(experiment).map_err(|error| Error::state("manifest", error))?);
        manifest.seed = Some(experiment.train.seed);
        manifest.wall_seconds = Some(self.folder.seconds());
        let [steps, _, instances] = self.position();
        manifest.metrics.insert("steps".into(), steps as f64);
        manifest.metrics.insert("instances".into(), instances as f64);
        manifest.metrics.insert("valid_cost".into(), valid_cost);
        let weights = self.learner.evaluated()?.to_weights();
        ModelDir::save_into(self.folder.path(), &experiment.model, &weights, &manifest)?;
        Ok(())
    }
}

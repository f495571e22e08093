//! A training from its first step to its last, with its folder, whatever is trained.

mod learning;
mod refusals;
mod window;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::{Ended, Event, Limits, Observer, RunFolder, Valid, Written};
use crate::store::Manifest;
use crate::{Error, Result};
pub use learning::Checked;
pub(crate) use learning::{Learning, Schedule, Settings};
use refusals::{comparable, nothing_to_resume, occupied};
use window::Window;

/// What is to be trained, and how far.
#[derive(Clone, Debug)]
pub struct Training<E> {
    /// The settings.
    pub experiment: E,
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
    pub validation_cost: f64,
    /// Parameters of the network.
    pub parameters: usize,
}

/// A validation cost above the best one by so much of it means that the network fell apart.
const DIVERGED: f64 = 0.5;

#[derive(Serialize, Deserialize)]
struct State<S> {
    learner: S,
    window: Window,
    written: Written,
}

/// Trains until all epochs are done or a limit is reached; the folder then holds the model as it
/// stands, and a checkpoint to go on from.
pub(crate) fn train_with<L: Learning>(
    training: &Training<L::Experiment>,
    device: &Device,
    observer: &mut dyn Observer,
) -> Result<Trained> {
    let mut run = Run::<L>::open(training, device)?;
    run.learner.remarks().into_iter().for_each(|remark| observer.event(&Event::Remark(remark)));
    let schedule = run.schedule;
    let total = schedule.steps_per_epoch * schedule.epochs;
    observer.event(&Event::Started {
        first_step: run.learner.steps(),
        steps: total.min(training.limits.steps.unwrap_or(u64::MAX)),
        steps_per_epoch: schedule.steps_per_epoch,
        parameters: run.learner.parameters(),
    });
    let begun = Instant::now();
    let between = Duration::from_secs_f64(60.0 * schedule.checkpoint_minutes);
    let (mut saved, mut saved_step) = (Instant::now(), None);
    let mut last_checked = None;
    let ended = loop {
        let step = run.learner.steps();
        if step >= total || run.learner.done() {
            break Ended::Complete;
        }
        if let Some(ended) = training.limits.reached(begun, step) {
            break ended;
        }
        run.step(observer)?;
        let epoch_done = run.learner.steps().is_multiple_of(schedule.steps_per_epoch);
        if epoch_done {
            last_checked = Some((run.learner.steps(), run.finish_epoch(observer)?));
        }
        if epoch_done || saved.elapsed() >= between {
            run.save(observer)?;
            (saved, saved_step) = (Instant::now(), Some(run.learner.steps()));
        }
    };
    let steps = run.learner.steps();
    if saved_step != Some(steps) {
        run.save(observer)?;
    }
    let checked = match last_checked {
        // The model stands in the folder since the end of the epoch.
        Some((step, checked)) if step == steps => checked,
        _ => {
            let checked = run.learner.check()?;
            run.save_model(&checked)?;
            checked
        }
    };
    Ok(Trained {
        steps,
        instances: steps * schedule.batch,
        seconds: run.folder.seconds(),
        ended,
        validation_cost: checked.cost,
        parameters: run.learner.parameters(),
    })
}

struct Run<'a, L: Learning> {
    training: &'a Training<L::Experiment>,
    schedule: Schedule,
    learner: L,
    window: Window,
    folder: RunFolder,
}

impl<'a, L: Learning> Run<'a, L> {
    fn open(training: &'a Training<L::Experiment>, device: &Device) -> Result<Self> {
        let (experiment, out) = (&training.experiment, &training.out);
        let before: Option<L::Experiment> = RunFolder::experiment(out)?;
        match (&before, training.resume) {
            (Some(_), false) => return Err(occupied(out)),
            (None, true) => return Err(nothing_to_resume(out)),
            (Some(before), true) => comparable(before, experiment).map_err(|error| error.in_file(out))?,
            (None, false) => {}
        }
        let mut learner = L::begin(experiment, device)?;
        let (mut window, mut written) = (Window::default(), Written::default());
        let checkpoint = if training.resume { RunFolder::checkpoint(out)? } else { None };
        if let Some(checkpoint) = checkpoint {
            let state: State<L::State> =
                serde_json::from_value(checkpoint.state.clone()).map_err(|error| Error::state("checkpoint", error))?;
            learner = learner.restored(checkpoint, state.learner)?;
            (window, written) = (state.window, state.written);
        }
        let folder = RunFolder::open(out, &experiment.to_toml()?, written)?;
        let mut schedule = experiment.schedule();
        schedule.steps_per_epoch = learner.steps_per_epoch().unwrap_or(schedule.steps_per_epoch);
        Ok(Self { training, schedule, learner, window, folder })
    }

    fn step(&mut self, observer: &mut dyn Observer) -> Result<()> {
        let measured = self.learner.step().map_err(|error| self.broken(error))?;
        let step = self.window.line(measured, self.position());
        observer.event(&Event::Step(step.clone()));
        if self.learner.steps().is_multiple_of(self.schedule.log_steps) {
            self.folder.step(&step)?;
            self.window = self.window.next();
        }
        Ok(())
    }

    /// An error that ends the run, with its folder and what to do.
    fn broken(&self, error: Error) -> Error {
        let hint = "the last checkpoint is kept; try a lower `train.learning_rate` or another seed";
        error.in_file(self.folder.path()).with_hint(hint)
    }

    /// Steps, epochs before the last of them, instances.
    fn position(&self) -> [u64; 3] {
        let steps = self.learner.steps();
        let epoch = steps.saturating_sub(1) / self.schedule.steps_per_epoch;
        [steps, epoch, steps * self.schedule.batch]
    }

    /// What the learner does between epochs, and what it then measures.
    fn finish_epoch(&mut self, observer: &mut dyn Observer) -> Result<Checked> {
        let checked = self.learner.finish_epoch()?;
        let cost = checked.cost;
        let [step, epoch, instances] = self.position();
        let best = self.window.best.unwrap_or(cost);
        // Costs may be negative, where a prize is sought.
        if !cost.is_finite() || cost - best > DIVERGED * best.abs() && self.learner.may_diverge() {
            let reason = format!("the validation cost is {cost:.4}, the best was {best:.4}");
            return Err(self.broken(Error::Diverged { step, reason }));
        }
        self.window.best = Some(best.min(cost));
        let valid = Valid { step, epoch: epoch + 1, instances, checked: checked.clone() };
        self.folder.valid(&valid)?;
        observer.event(&Event::Valid(valid));
        self.save_model(&checked)?;
        Ok(checked)
    }

    fn save(&mut self, observer: &mut dyn Observer) -> Result<()> {
        let mut checkpoint = self.learner.checkpoint()?;
        if let Some((name, _)) =
            checkpoint.weights("model")?.iter().find(|(_, array)| array.first_not_finite().is_some())
        {
            let reason = format!("`{name}` holds a number that is not finite");
            return Err(self.broken(Error::Diverged { step: checkpoint.step, reason }));
        }
        let state =
            State { learner: self.learner.state(), window: self.window.clone(), written: self.folder.written()? };
        checkpoint.state = serde_json::to_value(state).map_err(|error| Error::state("checkpoint", error))?;
        self.folder.save(&checkpoint)?;
        observer.event(&Event::Saved { step: checkpoint.step });
        Ok(())
    }

    /// Writes the network that is measured, with its manifest.
    fn save_model(&self, checked: &Checked) -> Result<()> {
        let experiment = &self.training.experiment;
        let mut manifest = Manifest::now(self.training.command.clone());
        manifest.experiment = Some(serde_json::to_value(experiment).map_err(|error| Error::state("manifest", error))?);
        manifest.seed = Some(self.schedule.seed);
        manifest.wall_seconds = Some(self.folder.seconds());
        let [steps, _, instances] = self.position();
        manifest.metrics.insert("steps".into(), steps as f64);
        manifest.metrics.insert("instances".into(), instances as f64);
        manifest.metrics.insert("validation_cost".into(), checked.cost);
        manifest.metrics.extend(checked.measures.0.iter().map(|measure| (measure.name().to_owned(), measure.value())));
        self.learner.save_model(self.folder.path(), manifest)
    }
}

//! A training from its first step to its last, with its folder, for all families.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use regard_kernels::precision::precision;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::pace::{Pace, Pacing, shortened};
use super::ranks::program;
use super::run_folder::occupied;
use super::{
    Checkpoint, DataFiles, Ended, Event, Limits, Measure, Measures, Observer, Ranks, RunFolder, Step, Valid, Written,
};
use crate::store::manifest::sha256;
use crate::store::{EarlierTraining, Manifest};
use crate::{Error, Result};

/// The settings of a training.
pub(crate) trait Settings: Clone + PartialEq + Serialize + Sized {
    /// Reads settings; `path` is for errors.
    fn parse(text: &str, path: &Path) -> Result<Self>;
    /// Every setting written out.
    fn to_toml(&self) -> Result<String>;
    /// The length of the run, and how often metrics and checkpoints are written.
    fn run_length(&self) -> RunLength;
    /// Number of shards of a batch; 0 where it is not given.
    fn shards(&self) -> usize;
    /// Sets the number of shards of a batch.
    fn set_shards(&mut self, shards: usize);
    /// The same with those settings of `before` that may change when a run is resumed.
    fn continuing(&self, before: &Self) -> Self;
    /// If true, the number of epochs may change when a run is resumed: no step depends on it.
    fn may_change_epochs(&self) -> bool;
    /// The files from which the data is read; `None` where it is generated.
    fn data_files(&self) -> Option<DataFiles>;
    /// The folder of the model that the network begins with; empty for none.
    fn init_from(&mut self) -> &mut String;
}

/// The length of a run, and how often metrics and checkpoints are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLength {
    pub(crate) steps_per_epoch: u64,
    pub(crate) epochs: u64,
    /// Instances of a step, where all have as many.
    pub(crate) batch: u64,
    /// Steps between two lines of metrics.
    pub(crate) log_steps: u64,
    pub(crate) checkpoint_minutes: f64,
    pub(crate) seed: u64,
}

/// The longest time to the first checkpoint of a call: a run that ends early has something to go on from.
const FIRST_CHECKPOINT: Duration = Duration::from_secs(60);

impl RunLength {
    /// The time from one checkpoint to the next; `is_first` if this call has not saved one.
    fn time_to_checkpoint(&self, is_first: bool) -> Duration {
        let between = Duration::try_from_secs_f64(60.0 * self.checkpoint_minutes).unwrap_or(Duration::MAX);
        if is_first { between.min(FIRST_CHECKPOINT) } else { between }
    }
}

/// Loss and metrics of a validation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValidationMetrics {
    /// The number that training minimises, on the validation set.
    pub cost: f64,
    /// The metrics.
    pub measures: Measures,
    /// The network against the rollout baseline; `None` without that baseline.
    pub comparison: Option<BaselineComparison>,
}

/// The outcome of the comparison of a policy with the one of the rollout baseline (Kool et al. 2019, §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BaselineComparison {
    /// If true, the baseline took over the policy.
    pub baseline_updated: bool,
    /// Mean cost of the policy less that of the baseline, on the same instances.
    pub mean_difference: f64,
    /// The statistic of the paired t-test; `None` where all differences are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_statistic: Option<f64>,
    /// One-sided p-value of that test: probability of a statistic at most as large, were the means equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
}

/// A network, its optimiser, and the training step.
///
/// A step's random numbers follow from the seed and the number of the step alone.
pub(crate) trait Learning: Sized {
    /// Its settings.
    type Experiment: Settings;
    /// Its numbers that are not weights.
    type State: Serialize + DeserializeOwned;

    /// The learner as it was when `checkpoint` and `state` were made.
    fn restored(self, checkpoint: Checkpoint, state: Self::State) -> Result<Self>;
    /// Trainable numbers of the network.
    fn parameters(&self) -> usize;
    /// Steps done.
    fn steps(&self) -> u64;
    /// Steps of an epoch, where they follow from the data.
    fn steps_per_epoch(&self) -> Option<u64> {
        None
    }
    /// Examples of the first `steps` steps, where they follow from the data.
    fn examples(&self, _steps: u64) -> Option<u64> {
        None
    }
    /// Number of epochs, where it follows from the data.
    fn epochs(&self) -> Option<u64> {
        None
    }
    /// Warnings about the data, a sentence each.
    fn warnings(&self) -> Vec<String> {
        vec![]
    }
    /// A digest of the examples, by which ranks compare theirs.
    fn data_digest(&self) -> Result<String>;
    /// Notes before the first step, a sentence each.
    fn notes(&self) -> Vec<String> {
        vec![]
    }
    /// Notes on the model that was saved in `folder`, a sentence each.
    ///
    /// # Errors
    /// Those of reading the folder.
    fn closing_notes(&self, _folder: &Path) -> Result<Vec<String>> {
        Ok(vec![])
    }
    /// If true, a validation measures examples that are not learnt from.
    fn holds_out(&self) -> bool {
        true
    }
    /// The schedule of the learning rate, for a note; `None` where no rate follows from the number of the step.
    fn schedule(&self) -> Option<String>;
    /// Brings the end of the schedule forward.
    fn set_pace(&mut self, pace: Pace);
    /// If true, training ends before all epochs are done.
    fn done(&self) -> bool {
        false
    }
    /// One step, and what it measured.
    fn step(&mut self) -> Result<Measures>;
    /// Ends an epoch and validates the network.
    fn finish_epoch(&mut self) -> Result<ValidationMetrics>;
    /// The network on the validation set.
    fn validate(&self) -> Result<ValidationMetrics>;
    /// If true, the network that is saved is the one that was validated last.
    fn saves_validated(&self) -> bool {
        true
    }
    /// If true, a validation cost far above the best one means that training diverged.
    fn may_diverge(&self) -> bool;
    /// Networks and optimisers.
    fn checkpoint(&self) -> Result<Checkpoint>;
    /// The numbers that belong to [`Self::checkpoint`].
    fn state(&self) -> Self::State;
    /// Writes the network that is measured into the run's folder.
    fn save_model(&self, folder: &Path, manifest: Manifest) -> Result<()>;
}

/// A training: its settings, its folder and its limits.
#[derive(Clone, Debug)]
pub struct Training<E> {
    /// The settings.
    pub experiment: E,
    /// The run's folder; the model stands in it.
    pub out: PathBuf,
    /// If true, the run in the folder is resumed.
    pub resume: bool,
    /// When to end early.
    pub limits: Limits,
    /// The command, for the manifest; a run that is resumed keeps the one that began it.
    pub command: String,
}

/// The result of a training.
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
    /// Mean cost on the validation set at the end; on the training set where nothing is held out.
    pub validation_cost: f64,
    /// If true, `validation_cost` is that of examples which were not learnt from.
    pub held_out: bool,
    /// Parameters of the network.
    pub parameters: usize,
}

/// A validation cost above the best one by this share of it means that training diverged.
const DIVERGED: f64 = 0.5;

#[derive(Serialize, Deserialize)]
struct State<S> {
    learner: S,
    window: Window,
    written: Written,
    /// The schedule, where a time limit shortened it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pace: Option<Pace>,
    /// The precision of its products; none in checkpoints of versions that had one.
    #[serde(default)]
    precision: Option<String>,
    /// The command that began the run; none in checkpoints of versions that did not keep it.
    #[serde(default)]
    command: Option<String>,
    /// SHA-256 of the files of data; none where there are no files, and in checkpoints of versions that did not keep it.
    #[serde(default)]
    data_sha256: Option<String>,
    /// The trainings of the model that the run began with; none in checkpoints of versions that did not keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<EarlierTraining>,
}

impl<S: DeserializeOwned> State<S> {
    fn of(checkpoint: &Checkpoint) -> Result<Self> {
        serde_json::from_value(checkpoint.state.clone()).map_err(|error| Error::state("checkpoint", error))
    }
}

/// The same experiment without the model that a run began with: the weights are those of a checkpoint, and that model may
/// be gone or another one by now.
fn from_checkpoint<E: Settings>(experiment: &E) -> E {
    let mut experiment = experiment.clone();
    experiment.init_from().clear();
    experiment
}

/// The learner as the last checkpoint of the run in `folder` left it; the folder is only read, and `begin` makes the
/// learner of an experiment before its first step.
///
/// # Errors
/// [`Error::Unsupported`] for a folder without a checkpoint; those of `begin` and [`Learning::restored`].
pub(crate) fn at_checkpoint<L: Learning>(
    folder: &Path,
    experiment: &L::Experiment,
    begin: impl FnOnce(&L::Experiment) -> Result<L>,
) -> Result<L> {
    let Some(checkpoint) = RunFolder::checkpoint(folder)? else {
        return Err(Error::Unsupported { what: folder.display().to_string(), reason: "has no checkpoint".into() }
            .with_hint("`regard train` saves one after each epoch, and within the first minute"));
    };
    let state = State::<L::State>::of(&checkpoint)?;
    begin(&from_checkpoint(experiment))?.restored(checkpoint, state.learner)
}

/// Trains until all epochs are done or a limit is reached; the folder then holds the model as it
/// stands, and a checkpoint to go on from. `begin` makes the learner of the data of `files`, `None` for data in memory; it
/// is given when a time limit ends the training.
pub(crate) fn train_from<L: Learning>(
    training: &Training<L::Experiment>,
    device: &Device,
    observer: &mut dyn Observer,
    files: Option<DataFiles>,
    begin: impl FnOnce(&L::Experiment, &Device, Option<Instant>) -> Result<L>,
) -> Result<Trained> {
    // Reading the data and fitting base learners are a part of the time.
    let begun = Instant::now();
    let end = training.limits.time.and_then(|time| begun.checked_add(time));
    let begin = |experiment: &L::Experiment| begin(experiment, device, end);
    let mut run = Run::<L>::open(training, files, begin)?;
    run.learner.warnings().into_iter().for_each(|warning| observer.event(&Event::Warning(warning)));
    run.learner.notes().into_iter().for_each(|note| observer.event(&Event::Note(note)));
    if training.resume && run.learner.steps() == 0 {
        let text = format!("{}: no checkpoint was saved; training starts again at step 1", training.out.display());
        observer.event(&Event::Warning(text));
    }
    if let Some(before) = run.precision_before.take().filter(|before| before != precision().name()) {
        let now = precision().name();
        let text =
            format!("the run was trained in {before} and goes on in {now}; `--precision {before}` goes on as before");
        observer.event(&Event::Warning(text));
    }
    let length = run.length;
    let total = length.steps_per_epoch.saturating_mul(length.epochs);
    observer.event(&Event::Started {
        first_step: run.learner.steps(),
        steps: total.min(training.limits.steps.unwrap_or(u64::MAX)),
        steps_per_epoch: length.steps_per_epoch,
        parameters: run.learner.parameters(),
        held_out: run.learner.holds_out(),
    });
    let stepping = Instant::now();
    let (mut saved, mut saved_step) = (Instant::now(), None);
    let mut last_checked = None;
    // An end that was decided before stays.
    let time = training.limits.time.filter(|_| run.pace.is_none());
    let mut pacing = time.map(|time| Pacing::new(time.saturating_sub(begun.elapsed()), run.learner.steps()));
    if let Some(pace) = run.pace {
        let undone = match training.experiment.may_change_epochs() {
            true => "another `train.epochs` undoes that",
            false => "a training anew with another folder (`--out`) goes through all of them",
        };
        observer.event(&Event::Note(format!(
            "the training was shortened by --time: it ends at step {} of {total}; {undone}",
            pace.length
        )));
    }
    let ended = loop {
        let step = run.learner.steps();
        if step >= run.pace.map_or(total, |pace| pace.length) || run.learner.done() {
            break Ended::Complete;
        }
        match run.next([begun, stepping], pacing.as_mut())? {
            Next::End(ended) => break ended,
            Next::Shorten(fitting) => run.shorten(fitting, total, observer),
            Next::Step => {}
        }
        run.step(observer)?;
        let is_last = run.pace.is_some_and(|pace| pace.length == run.learner.steps());
        let epoch_done = is_last || run.learner.steps().is_multiple_of(length.steps_per_epoch);
        if epoch_done {
            last_checked = Some((run.learner.steps(), run.finish_epoch(observer)?));
        }
        if epoch_done || saved.elapsed() >= length.time_to_checkpoint(saved_step.is_none()) {
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
            let checked = run.learner.validate().map_err(|error| run.explained(error))?;
            run.check_cost(checked.cost, run.learner.steps())?;
            run.save_model(&checked)?;
            checked
        }
    };
    if let Some(folder) = &run.folder {
        let notes = run.learner.closing_notes(folder.path())?;
        notes.into_iter().for_each(|note| observer.event(&Event::Note(note)));
    }
    Ok(Trained {
        steps,
        instances: run.position().instances,
        seconds: run.seconds(),
        ended,
        validation_cost: checked.cost,
        held_out: run.learner.holds_out(),
        parameters: run.learner.parameters(),
    })
}

struct Run<'a, L: Learning> {
    training: &'a Training<L::Experiment>,
    /// The settings, with the number of shards.
    experiment: L::Experiment,
    ranks: Ranks,
    length: RunLength,
    learner: L,
    window: Window,
    /// The folder, on the rank that writes.
    folder: Option<RunFolder>,
    pace: Option<Pace>,
    /// The precision of the products in the steps before this call.
    precision_before: Option<String>,
    /// The command that began the run, for the manifest.
    command: String,
    /// SHA-256 of the files of data, on the rank that writes.
    data_sha256: Option<String>,
    /// The trainings of the model that the run began with, the first one first.
    earlier: Vec<EarlierTraining>,
    /// If true, the note about the time limit was made.
    is_short: bool,
}

/// The run in a folder before this call, as the rank that writes has found it.
struct Found {
    /// The lock of the folder of a run that is resumed.
    lock: Option<File>,
    /// Number of epochs that the run had.
    epochs_before: Option<u64>,
}

impl<'a, L: Learning> Run<'a, L> {
    fn open(
        training: &'a Training<L::Experiment>,
        files: Option<DataFiles>,
        begin: impl FnOnce(&L::Experiment) -> Result<L>,
    ) -> Result<Self> {
        let ranks = Ranks::current();
        let mut experiment = training.experiment.clone();
        if ranks.are_several() {
            // Before the first rank changes the folder, which others may read for their settings.
            ranks.check_same(&facts(training, &experiment)?)?;
        }
        let found = if ranks.is_first() { Some(Self::look(training, &mut experiment)?) } else { None };
        let shards = ranks.broadcast(|| (experiment.shards() as u64).to_le_bytes().to_vec());
        experiment.set_shards(shards.try_into().map_or(1, |bytes| u64::from_le_bytes(bytes) as usize));
        ranks.shards(experiment.shards())?;

        let checkpoint = if training.resume { Self::checkpoint_of_first(&ranks, &training.out)? } else { None };
        let checkpoint =
            checkpoint.map(|found| State::<L::State>::of(&found).map(|state| (found, state))).transpose()?;
        // Ranks compare what they have read.
        let files = files.filter(|_| ranks.is_first());
        let data_sha256 = files.as_ref().and_then(DataFiles::sha256);
        if let (Some(files), Some((_, state))) = (&files, &checkpoint) {
            // Before the data is read: scales, splits and base learners of other data do not fit the weights.
            files
                .check(data_sha256.as_deref(), state.data_sha256.as_deref(), "the run", OTHER_DATA)
                .map_err(|error| error.in_file(&training.out))?;
        }
        let (mut learner, earlier) = match &checkpoint {
            Some((_, state)) => (begin(&from_checkpoint(&experiment))?, state.earlier.clone()),
            None => {
                let learner = begin(&experiment)?;
                let before = match experiment.init_from().as_str() {
                    "" => None,
                    folder => Manifest::of_model(Path::new(folder))?,
                };
                (learner, before.map(|manifest| manifest.trainings()).unwrap_or_default())
            }
        };
        if ranks.are_several() {
            ranks.check_same(&[("data", learner.data_digest()?)])?;
        }
        let (mut window, mut written) = (Window::default(), Written::default());
        let (mut pace, mut precision_before, mut command) = (None, None, None);
        if let Some((checkpoint, state)) = checkpoint {
            learner = learner.restored(checkpoint, state.learner)?;
            (window, written, pace) = (state.window, state.written, state.pace);
            (precision_before, command) = (state.precision, state.command);
        }
        let epochs = found.as_ref().and_then(|found| found.epochs_before);
        let kept = ranks.broadcast(|| vec![u8::from(epochs == Some(experiment.run_length().epochs))]);
        pace = pace.filter(|_| kept == [1]);
        pace.into_iter().for_each(|pace| learner.set_pace(pace));
        let folder = match found {
            Some(Found { lock, .. }) => {
                let lock = lock.map_or_else(|| RunFolder::create(&training.out), Ok)?;
                Some(RunFolder::open(&training.out, lock, &experiment.to_toml()?, written)?)
            }
            None => None,
        };
        let mut length = experiment.run_length();
        length.steps_per_epoch = learner.steps_per_epoch().unwrap_or(length.steps_per_epoch);
        length.epochs = learner.epochs().unwrap_or(length.epochs);
        let command = command.unwrap_or_else(|| training.command.clone());
        Ok(Self {
            training,
            experiment,
            ranks,
            length,
            learner,
            window,
            folder,
            pace,
            precision_before,
            command,
            data_sha256,
            earlier,
            is_short: false,
        })
    }

    /// Looks at the folder on the rank that writes, and decides the number of shards.
    fn look(training: &Training<L::Experiment>, experiment: &mut L::Experiment) -> Result<Found> {
        let (ranks, out) = (Ranks::current(), &training.out);
        // A new run takes the folder only when its data is read and its settings are known to be right.
        let exists = RunFolder::exists(out);
        // The run there may be one of another family, whose settings cannot be read here.
        if exists && !training.resume {
            return Err(occupied(out));
        }
        let lock = if exists { Some(RunFolder::lock(out)?) } else { None };
        let before: Option<L::Experiment> = RunFolder::experiment(out)?;
        let epochs_before = before.as_ref().map(|before| before.run_length().epochs);
        match (before, training.resume) {
            (Some(_), false) => return Err(occupied(out)),
            (None, true) => return Err(nothing_to_resume(out)),
            (Some(mut before), true) => {
                // A run of a version without shards had one.
                before.set_shards(before.shards().max(1));
                if experiment.shards() == 0 {
                    experiment.set_shards(before.shards());
                }
                comparable(&before, experiment).map_err(|error| error.in_file(out))?;
            }
            (None, false) => experiment.set_shards(ranks.shards_of(experiment.shards())),
        }
        Ok(Found { lock, epochs_before })
    }

    /// The last checkpoint of the run, which the rank that writes reads and hands to the others.
    fn checkpoint_of_first(ranks: &Ranks, out: &Path) -> Result<Option<Checkpoint>> {
        let found = if ranks.is_first() { RunFolder::checkpoint(out)? } else { None };
        if !ranks.are_several() {
            return Ok(found);
        }
        let bytes = found.as_ref().map(Checkpoint::to_bytes).transpose()?;
        let bytes = ranks.broadcast(|| bytes.unwrap_or_default());
        if bytes.is_empty() { Ok(None) } else { Checkpoint::from_bytes(&bytes).map(Some) }
    }

    /// The next thing to do in a call that began at the first of two times, and with its steps at the second.
    ///
    /// The same decision on all ranks: clocks differ, and an interrupt may reach one of them first.
    fn next(&self, [begun, stepping]: [Instant; 2], pacing: Option<&mut Pacing>) -> Result<Next> {
        let (limits, step) = (&self.training.limits, self.learner.steps());
        let decide = |limits: &Limits| match limits.reached(begun, step) {
            Some(ended) => Next::End(ended),
            None => match pacing.and_then(|pacing| pacing.fitting(stepping.elapsed(), step)) {
                Some(fitting) => Next::Shorten(fitting),
                None => Next::Step,
            },
        };
        if !self.ranks.are_several() {
            return Ok(decide(limits));
        }
        let text = self.ranks.decision(limits.interrupt.load(Ordering::Relaxed), |interrupted| {
            let next = if interrupted { Next::End(Ended::Interrupted) } else { decide(limits) };
            serde_json::to_vec(&next).unwrap_or_default()
        });
        serde_json::from_slice(&text).map_err(|error| Error::state("ranks", error))
    }

    /// Seconds of training so far.
    fn seconds(&self) -> f64 {
        self.folder.as_ref().map_or(0.0, RunFolder::seconds)
    }

    /// Brings the end of the schedule forward, where only `fitting` of `total` steps fit into the time.
    fn shorten(&mut self, fitting: u64, total: u64, observer: &mut dyn Observer) {
        let Some(pace) = shortened(self.pace, self.learner.steps(), fitting, total) else { return };
        let schedule = self.learner.schedule();
        if !self.is_short {
            let what = match &schedule {
                Some(schedule) => format!("the learning rate ({schedule}) goes through its whole schedule in them"),
                None => "the learning rate has no schedule that would be shortened".to_owned(),
            };
            observer.event(&Event::Note(format!("about {} of {total} steps fit into --time; {what}", pace.length)));
            self.is_short = true;
        }
        if schedule.is_some() {
            self.learner.set_pace(pace);
            self.pace = Some(pace);
        }
    }

    fn step(&mut self, observer: &mut dyn Observer) -> Result<()> {
        let measured = self.learner.step().map_err(|error| self.broken(error))?;
        let step = self.window.line(measured, self.position());
        observer.event(&Event::Step(step.clone()));
        if self.learner.steps().is_multiple_of(self.length.log_steps) {
            self.folder.as_mut().map_or(Ok(()), |folder| folder.step(&step))?;
            self.window = self.window.next();
        }
        Ok(())
    }

    /// An error that ends the run, with its folder and what to do.
    fn broken(&self, error: Error) -> Error {
        if !matches!(error.root(), Error::Diverged { .. } | Error::NotFinite { .. }) {
            return error;
        }
        let Some(folder) = &self.folder else { return error };
        let kept = if folder.has_checkpoint() { "the last checkpoint is kept; " } else { "" };
        let hint = "try a lower `train.learning_rate`, a limit by `train.max_grad_norm` or another seed";
        error.in_file(folder.path()).with_hint(format!("{kept}{hint}"))
    }

    /// An error of a validation; one of a network that overflows ends the run as a loss does that is not finite.
    fn explained(&self, error: Error) -> Error {
        match error.root() {
            Error::NotFinite { .. } => {
                self.broken(Error::Diverged { step: self.learner.steps(), reason: error.to_string() })
            }
            _ => error,
        }
    }

    /// Refuses a validation cost that is not a finite number, before anything of it is written.
    fn check_cost(&self, cost: f64, step: u64) -> Result<()> {
        if cost.is_finite() {
            return Ok(());
        }
        let reason = format!("the validation cost is {cost}, not a finite number");
        Err(self.broken(Error::Diverged { step, reason }))
    }

    fn position(&self) -> RunPosition {
        let step = self.learner.steps();
        let epoch = step.saturating_sub(1) / self.length.steps_per_epoch;
        let instances = self.learner.examples(step).unwrap_or_else(|| step.saturating_mul(self.length.batch));
        RunPosition { step, epoch, instances }
    }

    /// Ends an epoch: validates, reports and saves the model.
    fn finish_epoch(&mut self, observer: &mut dyn Observer) -> Result<ValidationMetrics> {
        let checked = self.learner.finish_epoch().map_err(|error| self.explained(error))?;
        if self.ranks.are_several() {
            // Optimisers write their state in any order.
            let weights = Checkpoint { records: BTreeMap::new(), ..self.learner.checkpoint()? };
            let weights = sha256(&weights.to_bytes()?);
            self.ranks.check_same(&[("digest of all weights", weights)])?;
        }
        let cost = checked.cost;
        let RunPosition { step, epoch, instances } = self.position();
        let best = self.window.best.unwrap_or(cost);
        // Costs may be negative, where a prize is sought.
        self.check_cost(cost, step)?;
        if cost - best > DIVERGED * best.abs() && self.learner.may_diverge() {
            let reason = format!("the validation cost is {cost:.4}, the best was {best:.4}");
            return Err(self.broken(Error::Diverged { step, reason }));
        }
        self.window.best = Some(best.min(cost));
        let valid = Valid { step, epoch: epoch + 1, instances, metrics: checked.clone() };
        self.folder.as_mut().map_or(Ok(()), |folder| folder.valid(&valid))?;
        observer.event(&Event::Valid(valid));
        // Otherwise the folder holds a better network, with the metrics of that one.
        if self.learner.saves_validated() {
            self.save_model(&checked)?;
        }
        Ok(checked)
    }

    /// Saves a checkpoint, on the rank that writes.
    fn save(&mut self, observer: &mut dyn Observer) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let mut checkpoint = self.learner.checkpoint()?;
        if let Some((name, _)) =
            checkpoint.weights("model")?.iter().find(|(_, array)| array.first_not_finite().is_some())
        {
            let reason = format!("`{name}` contains a number that is not finite");
            return Err(self.broken(Error::Diverged { step: checkpoint.step, reason }));
        }
        let (learner, window, written) = (self.learner.state(), self.window.clone(), folder.written()?);
        let (precision, command) = (Some(precision().name().to_owned()), Some(self.command.clone()));
        let (pace, data_sha256, earlier) = (self.pace, self.data_sha256.clone(), self.earlier.clone());
        let state = State { learner, window, written, pace, precision, command, data_sha256, earlier };
        checkpoint.state = serde_json::to_value(state).map_err(|error| Error::state("checkpoint", error))?;
        folder.save(&checkpoint)?;
        observer.event(&Event::Saved { step: checkpoint.step });
        Ok(())
    }

    /// Writes the network that is measured, with its manifest, on the rank that writes.
    fn save_model(&self, checked: &ValidationMetrics) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let experiment = &self.experiment;
        let mut manifest = Manifest::now(self.command.clone());
        manifest.experiment = Some(serde_json::to_value(experiment).map_err(|error| Error::state("manifest", error))?);
        manifest.seed = Some(self.length.seed);
        manifest.data_sha256.clone_from(&self.data_sha256);
        manifest.wall_seconds = Some(folder.seconds());
        manifest.threads = Some(self.ranks.size() * rayon::current_num_threads());
        manifest.earlier.clone_from(&self.earlier);
        let RunPosition { step: steps, instances, .. } = self.position();
        manifest.metrics.insert("steps".into(), steps as f64);
        manifest.metrics.insert("instances".into(), instances as f64);
        manifest.metrics.insert("validation_cost".into(), checked.cost);
        manifest.metrics.extend(checked.measures.0.iter().map(|measure| (measure.name().to_owned(), measure.value())));
        Ranks::alone(|| self.learner.save_model(folder.path(), manifest))
    }
}

/// The way out of a run whose data was changed.
const OTHER_DATA: &str = "put the old data back, or train anew on this one with another folder (`--out`)";

/// The next thing to do.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Next {
    /// A step.
    Step,
    /// To let the schedule end at so many steps, and a step.
    Shorten(u64),
    /// To end.
    End(Ended),
}

/// Facts that all ranks must have in common, by name.
fn facts<E: Settings>(training: &Training<E>, experiment: &E) -> Result<Vec<(&'static str, String)>> {
    let Training { resume, limits, .. } = training;
    Ok(vec![
        ("program", program()),
        ("settings", experiment.to_toml()?),
        ("options", format!("resume: {resume}, steps: {:?}, time: {:?}", limits.steps, limits.time)),
        ("number of threads", rayon::current_num_threads().to_string()),
        ("instruction set", regard_kernels::simd::level().to_string()),
        ("precision", precision().name().to_owned()),
    ])
}

/// The position of a run.
#[derive(Clone, Copy, Debug)]
struct RunPosition {
    /// Steps done.
    step: u64,
    /// Epochs completed before the last of them.
    epoch: u64,
    /// Examples of all steps, counted as often as they were shown.
    instances: u64,
}

/// Means over the steps between two lines of metrics.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Window {
    /// Steps since the last line of metrics, and sums of what they measured.
    since: u64,
    #[serde(default)]
    sums: BTreeMap<String, f64>,
    /// Lowest validation cost so far.
    best: Option<f64>,
}

impl Window {
    /// The window that begins after a line.
    fn next(&self) -> Self {
        Self { best: self.best, ..Self::default() }
    }

    /// Takes in a step; means since the last line.
    fn line(&mut self, measured: Measures, position: RunPosition) -> Step {
        let RunPosition { step, epoch, instances } = position;
        // Sums of a run begun by a version that kept them elsewhere are lost; its line is then that of fewer steps.
        self.since = if self.sums.is_empty() { 1 } else { self.since + 1 };
        let count = self.since as f64;
        let mut mean = |measure: Measure| match measure {
            Measure::Mean(name, value) => {
                let sum = self.sums.entry(name.to_owned()).or_default();
                *sum += value;
                Measure::Mean(name, *sum / count)
            }
            last => last,
        };
        Step { step, epoch, instances, measures: Measures(measured.0.into_iter().map(&mut mean).collect()) }
    }
}

fn nothing_to_resume(out: &Path) -> Error {
    Error::Unsupported { what: out.display().to_string(), reason: "contains no run to resume".into() }
        .with_hint("omit `--resume` to start a new run")
}

/// Checks that a run with the settings `before` can be resumed with `now`: what does not change any number
/// computed so far may differ.
fn comparable<E: Settings>(before: &E, now: &E) -> Result<()> {
    let allowed = now.continuing(before);
    if allowed == *before {
        return Ok(());
    }
    let flat = |experiment: &E| {
        let value = serde_json::to_value(experiment).unwrap_or_default();
        let sections = value.as_object().cloned().unwrap_or_default();
        sections.into_iter().flat_map(|(section, keys)| {
            let keys = keys.as_object().cloned().unwrap_or_default();
            keys.into_iter().map(move |(key, value)| (format!("{section}.{key}"), value))
        })
    };
    let differs = flat(before).zip(flat(&allowed)).find(|(a, b)| a != b);
    let Some(((key, old), (_, new))) = differs else { return Ok(()) };
    let hint = match before.may_change_epochs() {
        true => "only `train.epochs` and `train.checkpoint_minutes` may change when a run is resumed",
        false => {
            "only `train.checkpoint_minutes` may change when a run is resumed: with this `train.schedule` the learning \
             rate of every step depends on `train.epochs`"
        }
    };
    Err(Error::config(key, format!("is {new}, but the run has {old}")).with_hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_checkpoint_comes_within_a_minute() {
        let length = |checkpoint_minutes| RunLength {
            steps_per_epoch: 1,
            epochs: 1,
            batch: 1,
            log_steps: 1,
            checkpoint_minutes,
            seed: 0,
        };
        assert_eq!(length(5.0).time_to_checkpoint(true), Duration::from_secs(60));
        assert_eq!(length(5.0).time_to_checkpoint(false), Duration::from_secs(300));
        assert_eq!(length(0.5).time_to_checkpoint(true), Duration::from_secs(30));
        assert_eq!(length(4e18).time_to_checkpoint(false), Duration::MAX);
    }
}

//! `regard train`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use regard::Device;
use regard::data::cancel::{CancellationToken, Cancelled};
use regard::data::progress::{self, Stage};
use regard::train::{Ended, Event, Limits, Measure, Measures, Ranks, Trained, ValidationMetrics};
use serde::Serialize;

use super::Outcome;
use super::families::{self, TrainingOptions};
use crate::args::TrainJob;
use crate::failure::{self, Failure};
use crate::ranks;
use crate::report::progress::{Done, StageProgress};
use crate::report::tensorboard::EventFile;
use crate::report::train::{Started, Step, TrainProgress, Valid};
use crate::report::{Printer, number};

/// The result for programs.
#[derive(Serialize)]
struct TrainResult<'a> {
    out: String,
    #[serde(flatten)]
    trained: &'a Trained,
    /// Several ranks that trained together.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<RanksResult>,
}

/// The ranks of a training, for programs.
#[derive(Serialize)]
struct RanksResult {
    count: usize,
    /// The share of its time that the first rank spent on messages and waiting for them.
    waiting: f64,
}

/// Trains, with the other ranks where `mpirun` started several.
pub(super) fn run(job: TrainJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    ranks::together(|ranks| match ranks.is_first() {
        true => train(job, ranks, device, printer),
        // The first rank writes and speaks for all.
        false => follow(job, device),
    })
}

fn train(job: TrainJob, ranks: &Ranks, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let board = job.tensorboard.then(|| job.out.join("tensorboard"));
    let (interrupted, preparing) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    let (seen, unsaved, mut signals) = (interrupted.clone(), preparing.clone(), Signals::default());
    on_interrupt(move || {
        signals.stop_after(&seen, "this step");
        end_if_still(unsaved.clone());
    })?;
    let limits = Limits { steps: job.steps, time: job.time, interrupt: interrupted.clone() };
    let experiment = families::load(&job.experiment, &job.sets)?;
    let sizes = [experiment.batch_size(), experiment.log_steps()];
    let mut watch = Watch::new(printer, &job.name, device, sizes, board);
    watch.time = limits.time.map(|time| time.as_secs_f64());
    let options = TrainingOptions { out: job.out.clone(), resume: job.resume, limits, command: command() };
    let begun = Instant::now();
    let trained = stages_shown(printer, interrupted, || {
        experiment.train(options, device, &mut |event: &Event| {
            if matches!(event, Event::Started { .. }) {
                preparing.store(false, Ordering::Relaxed);
            }
            watch.see(event);
        })
    })?;
    drop(watch);
    let waiting = ranks.waited().as_secs_f64() / begun.elapsed().as_secs_f64().max(1e-9);
    let ranks = ranks.are_several().then(|| RanksResult { count: ranks.size(), waiting });
    let out = job.out.display().to_string();
    if printer.json() {
        printer.object(&TrainResult { out, trained: &trained, ranks })?;
    } else {
        printer.result(&sentence(&trained, &out))?;
        if let Some(RanksResult { count, waiting }) = ranks {
            printer.note(&format!(
                "{count} ranks; messages and waiting for them took {:.1} % of the time",
                100.0 * waiting
            ));
        }
        if trained.ended != Ended::Complete {
            printer.note(&format!("to continue: regard train --out {out} --resume"));
        }
    }
    Ok(Outcome::Done)
}

/// Trains, and shows before how much of a large file was read and how many base learners were fitted. An interruption
/// meanwhile ends the command.
fn stages_shown<T, E: Into<anyhow::Error>>(
    printer: &Printer,
    interrupted: Arc<AtomicBool>,
    train: impl FnOnce() -> Result<T, E>,
) -> anyhow::Result<T> {
    const MIB: u64 = 1 << 20;
    let token = CancellationToken::default();
    let (shown, preparing) = (StageProgress::new(printer), token.clone());
    let see = move |stage: Stage<'_>| {
        if interrupted.load(Ordering::Relaxed) {
            preparing.cancel();
            return;
        }
        let (stage, done, of, what) = match stage {
            Stage::Reading { path, done, size } => {
                (format!("reading {}", path.display()), (done / MIB) as usize, (size / MIB) as usize, "MiB")
            }
            Stage::Fitting { done, of } => ("base learners".to_owned(), done, of, "fitted"),
        };
        match done == of {
            true => shown.clear(),
            false => shown.show(Done { stage: &stage, done, of, what, limit: None }),
        }
    };
    match token.run(|| progress::watched(see, train)) {
        Ok(trained) => trained.map_err(Into::into),
        Err(Cancelled) => Err(before_the_first_step()),
    }
}

fn before_the_first_step() -> anyhow::Error {
    Failure::new("interrupted before the first step").hint("the same command starts again").into()
}

/// Ends the process where a training is still being prepared after a moment: some parts of base learners cannot end early,
/// and nothing is lost yet.
fn end_if_still(preparing: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        std::thread::sleep(MOMENT);
        if preparing.load(Ordering::Relaxed) {
            failure::print(&before_the_first_step());
            std::process::exit(2);
        }
    });
}

/// The time in which most parts of a preparation can end.
const MOMENT: Duration = Duration::from_secs(2);

/// Trains as one of several ranks, without a word.
fn follow(job: TrainJob, device: &Device) -> anyhow::Result<Outcome> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let seen = interrupted.clone();
    on_interrupt(move || seen.store(true, Ordering::Relaxed))?;
    let limits = Limits { steps: job.steps, time: job.time, interrupt: interrupted };
    let experiment = families::load(&job.experiment, &job.sets)?;
    let options = TrainingOptions { out: job.out, resume: job.resume, limits, command: command() };
    experiment.train(options, device, &mut |_: &Event| {})?;
    Ok(Outcome::Done)
}

/// True after the first Ctrl-C; the second one ends the process at once. `last` is what is still done.
pub(super) fn interrupt(last: &'static str) -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    interrupt_by(interrupted.clone(), last)?;
    Ok(interrupted)
}

/// As [`interrupt`], by a switch that exists.
pub(super) fn interrupt_by(seen: Arc<AtomicBool>, last: &'static str) -> anyhow::Result<()> {
    let mut signals = Signals::default();
    on_interrupt(move || signals.stop_after(&seen, last))
}

/// The signals that came so far.
#[derive(Default)]
struct Signals {
    first: Option<Instant>,
}

/// One request to end may come as two signals within this time: `timeout` sends one to the process and one to its group.
const SAME_REQUEST: Duration = Duration::from_millis(200);

impl Signals {
    /// Sets `seen` and says what is still done, `last`; ends the process where the user asks again.
    fn stop_after(&mut self, seen: &AtomicBool, last: &str) {
        let is_first = self.first.is_none();
        if self.asks_again(Instant::now()) {
            std::process::exit(130);
        }
        seen.store(true, Ordering::Relaxed);
        if is_first {
            // A closed standard error is no reason to fail.
            let message = format!("\nstopping after {last}; press Ctrl-C again to stop immediately\n");
            let _ = io::Write::write_all(&mut io::stderr(), message.as_bytes());
        }
    }

    /// Takes a signal at this time; true for one that is not of the same request as the first.
    fn asks_again(&mut self, now: Instant) -> bool {
        let first = *self.first.get_or_insert(now);
        now.duration_since(first) >= SAME_REQUEST
    }
}

fn on_interrupt(handler: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
    ctrlc::set_handler(handler).map_err(|error| Failure::new(format!("cannot handle Ctrl-C: {error}")))?;
    Ok(())
}

/// This call, as one would write it.
fn command() -> String {
    let words = std::env::args().skip(1).map(|word| {
        let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./:,".contains(c));
        if plain && !word.is_empty() { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    });
    std::iter::once("regard".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn sentence(trained: &Trained, out: &str) -> String {
    let why = match trained.ended {
        Ended::Complete => "trained",
        Ended::Steps => "stopped by --steps",
        Ended::Time => "stopped by --time",
        Ended::Interrupted => "stopped",
    };
    format!(
        "{why} after {} steps, {} instances, {}: {} {:.4}; wrote {out}",
        number::count(trained.steps as usize),
        number::count(trained.instances as usize),
        number::seconds(trained.seconds),
        if trained.held_out { "validation" } else { "training" },
        trained.validation_cost,
    )
}

/// Hands the events of a training to the progress shown.
struct Watch<'a> {
    printer: &'a Printer,
    name: &'a str,
    device: String,
    batch: usize,
    log_steps: u64,
    /// Folder for event files, until the training has begun.
    events: Option<PathBuf>,
    board: Option<EventFile>,
    begun: Instant,
    /// Instances of the steps before this call.
    first_instances: Option<u64>,
    progress: Option<TrainProgress>,
    valid: Option<f64>,
    /// Seconds after which the training ends.
    time: Option<f64>,
}

impl<'a> Watch<'a> {
    fn new(
        printer: &'a Printer,
        name: &'a str,
        device: &Device,
        [batch, log_steps]: [usize; 2],
        events: Option<PathBuf>,
    ) -> Self {
        Self {
            printer,
            name,
            device: crate::device::name(device),
            batch,
            log_steps: log_steps as u64,
            events,
            board: None,
            begun: Instant::now(),
            first_instances: None,
            progress: None,
            valid: None,
            time: None,
        }
    }

    /// Adds scalars to the event file; when that fails once, it is let be.
    fn record(&mut self, step: u64, when: &str, measures: &Measures) {
        let Some(board) = &mut self.board else { return };
        let mut write = || {
            for measure in &measures.0 {
                board.scalar(&format!("{when}/{}", measure.name()), step, measure.value() as f32)?;
            }
            board.flush()
        };
        if let Err(error) = write() {
            self.printer.note(&format!("stopped writing TensorBoard events: {error}"));
            self.board = None;
        }
    }

    fn open_board(&mut self) {
        let Some(events) = self.events.take() else { return };
        match EventFile::create(&events) {
            Ok(board) => self.board = Some(board),
            Err(error) => self.printer.note(&format!("cannot write TensorBoard events: {}: {error}", events.display())),
        }
    }

    fn see(&mut self, event: &Event) {
        match event {
            Event::Started { first_step, steps, steps_per_epoch, parameters, held_out } => {
                self.open_board();
                let before = self.begun.elapsed().as_secs_f64();
                self.begun = Instant::now();
                self.progress = Some(TrainProgress::new(
                    self.printer,
                    &Started {
                        experiment: self.name,
                        steps: *steps,
                        steps_per_epoch: *steps_per_epoch,
                        first_step: *first_step,
                        parameters: *parameters,
                        device: &self.device,
                        threads: rayon::current_num_threads(),
                        time: self.time.map(|time| (time - before).max(0.0)),
                        held_out: *held_out,
                    },
                ));
            }
            Event::Warning(text) | Event::Note(text) => self.printer.note(text),
            Event::Step(step) => {
                let seconds = self.begun.elapsed().as_secs_f64();
                let before = || step.instances.saturating_sub(self.batch as u64);
                let instances = (step.instances - *self.first_instances.get_or_insert_with(before)) as f64;
                if step.step.is_multiple_of(self.log_steps) {
                    self.record(step.step, "train", &step.measures);
                }
                if let Some(progress) = &mut self.progress {
                    let step = Step {
                        step: step.step,
                        epoch: step.epoch,
                        measures: step.measures.clone(),
                        instances_per_second: instances / seconds.max(1e-9),
                        seconds,
                    };
                    progress.step(&step);
                }
            }
            Event::Valid(valid) => {
                let ValidationMetrics { cost, measures, comparison } = valid.metrics.clone();
                let test = comparison.iter().flat_map(|test| {
                    let mean = Measure::Last("mean_difference", test.mean_difference);
                    let t = test.t_statistic.map(|t| Measure::Last("t_statistic", t));
                    let p = test.p_value.map(|p| Measure::Last("p_value", p));
                    [Some(mean), t, p].into_iter().flatten()
                });
                let scalars =
                    std::iter::once(Measure::Last("cost", cost)).chain(measures.0.iter().copied()).chain(test);
                self.record(valid.step, "valid", &Measures(scalars.collect()));
                if let Some(progress) = &mut self.progress {
                    let previous = self.valid.replace(cost);
                    progress.valid(&Valid { epoch: valid.epoch, cost, previous, gap: None, measures, comparison });
                }
            }
            Event::Saved { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_right_after_the_first_is_of_the_same_request() {
        let (begun, mut signals) = (Instant::now(), Signals::default());
        let mut after = |milliseconds| signals.asks_again(begun + Duration::from_millis(milliseconds));
        assert!(!after(1000), "the first one");
        assert!(!after(1000) && !after(1100), "`timeout` signals the process, and then its group");
        assert!(after(1200) && after(60_000), "the user asks again");
    }
}

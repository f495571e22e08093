//! `regard train`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use regard::Device;
use regard::graphs::train as graphs;
use regard::routes::train::{Training, train};
use regard::series::train as series;
use regard::sets::train as sets;
use regard::train::{Checked, Ended, Event, Limits, Measure, Measures, Trained};
use serde::Serialize;

use super::Outcome;
use crate::args::{AnyExperiment, TrainJob};
use crate::failure::Failure;
use crate::report::tensorboard::EventFile;
use crate::report::train::{Started, Step, TrainProgress, Valid};
use crate::report::{Printer, number};

/// The result for programs.
#[derive(Serialize)]
struct TrainResult<'a> {
    out: String,
    #[serde(flatten)]
    trained: &'a Trained,
}

/// Trains.
pub(super) fn run(job: TrainJob, device: &Device, printer: &mut Printer) -> anyhow::Result<Outcome> {
    let board = job.tensorboard.then(|| job.out.join("tensorboard"));
    let (out, resume) = (job.out.clone(), job.resume);
    let limits = Limits { steps: job.steps, time: job.time, interrupt: interrupt()? };
    let [batch, log_steps] = match &job.experiment {
        AnyExperiment::Routes(experiment) => [experiment.train.batch_size, experiment.train.log_steps],
        AnyExperiment::Sets(experiment) => [experiment.train.batch_size, experiment.train.log_steps],
        AnyExperiment::Graphs(experiment) => [experiment.train.batch_size, experiment.train.log_steps],
        AnyExperiment::Series(experiment) => [experiment.train.batch_size, experiment.train.log_steps],
    };
    let mut watch = Watch::new(printer, &job.name, device, [batch, log_steps], board);
    let mut see = |event: &Event| watch.see(event);
    let trained = match job.experiment {
        AnyExperiment::Routes(experiment) => {
            train(&Training { experiment: *experiment, out, resume, limits, command: command() }, device, &mut see)?
        }
        AnyExperiment::Sets(experiment) => {
            let training = sets::Training { experiment: *experiment, out, resume, limits, command: command() };
            sets::train(&training, device, &mut see)?
        }
        AnyExperiment::Graphs(experiment) => {
            let training = graphs::Training { experiment: *experiment, out, resume, limits, command: command() };
            graphs::train(&training, device, &mut see)?
        }
        AnyExperiment::Series(experiment) => {
            let training = series::Training { experiment: *experiment, out, resume, limits, command: command() };
            series::train(&training, device, &mut see)?
        }
    };
    drop(watch);
    let out = job.out.display().to_string();
    if printer.json() {
        printer.object(&TrainResult { out, trained: &trained })?;
    } else {
        printer.result(&sentence(&trained, &out))?;
        if trained.ended != Ended::Complete {
            printer.note(&format!("go on with: regard train --out {out} --resume"));
        }
    }
    Ok(Outcome::Done)
}

/// True after the first Ctrl-C; the second one ends the process at once.
pub(super) fn interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let seen = asked.clone();
    let handler = move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        // Nobody is left to tell when standard error is closed.
        let _ = io::Write::write_all(&mut io::stderr(), b"\nstopping after this step; once more to stop at once\n");
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::new(format!("Ctrl-C cannot be watched: {error}")))?;
    Ok(asked)
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
        Ended::Steps => "stopped at the number of steps asked for,",
        Ended::Time => "time is up",
        Ended::Interrupted => "stopped",
    };
    format!(
        "{why} after {} steps, {} instances, {}: valid {:.4}; written {out}",
        number::count(trained.steps as usize),
        number::count(trained.instances as usize),
        number::seconds(trained.seconds),
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
    first_step: u64,
    progress: Option<TrainProgress>,
    valid: Option<f64>,
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
            first_step: 0,
            progress: None,
            valid: None,
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
            self.printer.note(&format!("no more events for TensorBoard: {error}"));
            self.board = None;
        }
    }

    fn open_board(&mut self) {
        let Some(events) = self.events.take() else { return };
        match EventFile::create(&events) {
            Ok(board) => self.board = Some(board),
            Err(error) => self.printer.note(&format!("no events for TensorBoard: {}: {error}", events.display())),
        }
    }

    fn see(&mut self, event: &Event) {
        match event {
            Event::Started { first_step, steps, steps_per_epoch, parameters } => {
                self.open_board();
                self.first_step = *first_step;
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
                    },
                ));
            }
            Event::Remark(remark) => self.printer.note(remark),
            Event::Step(step) => {
                let seconds = self.begun.elapsed().as_secs_f64();
                let instances = (step.step - self.first_step) as f64 * self.batch as f64;
                if step.step.is_multiple_of(self.log_steps) {
                    self.record(step.step, "train", &step.measures);
                }
                if let Some(progress) = &mut self.progress {
                    progress.step(&Step {
                        step: step.step,
                        epoch: step.epoch,
                        measures: step.measures.clone(),
                        instances_per_second: instances / seconds.max(1e-9),
                        seconds,
                    });
                }
            }
            Event::Valid(valid) => {
                let Checked { cost, measures, baseline_updated, .. } = valid.checked.clone();
                let told = std::iter::once(Measure::Last("cost", cost)).chain(measures.0.iter().copied());
                self.record(valid.step, "valid", &Measures(told.collect()));
                if let Some(progress) = &mut self.progress {
                    let previous = self.valid.replace(cost);
                    progress.valid(&Valid {
                        epoch: valid.epoch,
                        cost,
                        previous,
                        gap: None,
                        measures,
                        baseline_updated,
                    });
                }
            }
            Event::Saved { .. } => {}
        }
    }
}

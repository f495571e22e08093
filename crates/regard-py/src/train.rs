//! Trainings, whose events go to a Python function.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use regard::experiment::{family, find};
use regard::graphs::{GraphExperiment, Graphs};
use regard::routes::{self, RouteExperiment};
use regard::series::{SeriesExperiment, TimeSeries};
use regard::sets::{SetExperiment, Sets};
use regard::supervised;
use regard::train::{Ended, Event, Limits, Measures, Observer, Trained, Training};
use regard::{Device, Result};

use crate::compute::{OnInterrupt, long};
use crate::failure::{OrRaise, invalid};

/// The limits of a training, and who watches it; Python names the parts.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RunOptions {
    out: PathBuf,
    resume: bool,
    steps: Option<u64>,
    seconds: Option<f64>,
    /// The call, for the manifest.
    command: String,
    /// Takes each event as a dictionary, and gives true to end the training.
    watch: Option<Py<PyAny>>,
}

/// A training that can be begun: its options, and the way back to Python.
pub(crate) struct Run {
    options: RunOptions,
    interrupt: Arc<AtomicBool>,
    /// The first exception of the watching function.
    error: Arc<Mutex<Option<PyErr>>>,
}

impl Run {
    pub(crate) fn new(options: RunOptions) -> Self {
        Self { options, interrupt: Arc::default(), error: Arc::default() }
    }

    /// The training of an experiment.
    fn training<E>(&self, experiment: E) -> PyResult<Training<E>> {
        let time = self.options.seconds.map(|seconds| match Duration::try_from_secs_f64(seconds) {
            Ok(time) if seconds > 0.0 => Ok(time),
            _ => Err(invalid("time_limit", &format!("is {seconds}, expected seconds above 0"), None)),
        });
        let limits = Limits { steps: self.options.steps, time: time.transpose()?, interrupt: self.interrupt.clone() };
        let RunOptions { out, resume, command, .. } = &self.options;
        Ok(Training { experiment, out: out.clone(), resume: *resume, limits, command: command.clone() })
    }

    /// Trains in a thread of its own; Ctrl-C ends the training after its step, with a checkpoint.
    pub(crate) fn run<E: Send + 'static>(
        self,
        py: Python<'_>,
        experiment: E,
        train: impl FnOnce(&Training<E>, &Device, &mut dyn Observer) -> Result<Trained> + Send + 'static,
    ) -> PyResult<Py<PyDict>> {
        let training = self.training(experiment)?;
        let Self { options, interrupt, error } = self;
        let mut watcher = Watcher { watch: options.watch, interrupt: interrupt.clone(), error: error.clone() };
        let trained = long(py, OnInterrupt::Wait(interrupt), move || train(&training, &Device::flex(), &mut watcher))?;
        if let Some(error) = error.lock().ok().and_then(|mut error| error.take()) {
            return Err(error);
        }
        let Trained { steps, instances, seconds, ended, validation_cost, parameters, .. } = trained.or_raise()?;
        let result = PyDict::new(py);
        result.set_item("steps", steps)?;
        result.set_item("instances", instances)?;
        result.set_item("seconds", seconds)?;
        let ended = match ended {
            Ended::Complete => "complete",
            Ended::Steps => "steps",
            Ended::Time => "time",
            Ended::Interrupted => "interrupted",
        };
        result.set_item("ended", ended)?;
        result.set_item("validation_cost", validation_cost)?;
        result.set_item("parameters", parameters)?;
        Ok(result.unbind())
    }
}

/// Hands events to a Python function.
struct Watcher {
    watch: Option<Py<PyAny>>,
    interrupt: Arc<AtomicBool>,
    error: Arc<Mutex<Option<PyErr>>>,
}

impl Observer for Watcher {
    fn event(&mut self, event: &Event) {
        let Some(watch) = &self.watch else { return };
        let go_on = Python::attach(|py| watch.call1(py, (event_of(py, event)?,))?.extract::<bool>(py));
        match go_on {
            Ok(false) => {}
            Ok(true) => self.interrupt.store(true, Ordering::Relaxed),
            Err(error) => {
                self.interrupt.store(true, Ordering::Relaxed);
                self.watch = None;
                if let Ok(mut first) = self.error.lock() {
                    first.get_or_insert(error);
                }
            }
        }
    }
}

fn measures_of<'py>(py: Python<'py>, measures: &Measures) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    measures.0.iter().try_for_each(|measure| found.set_item(measure.name(), measure.value()))?;
    Ok(found)
}

fn event_of<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    match event {
        Event::Started { first_step, steps, steps_per_epoch, parameters, .. } => {
            found.set_item("kind", "started")?;
            found.set_item("step", first_step)?;
            found.set_item("steps", steps)?;
            found.set_item("steps_per_epoch", steps_per_epoch)?;
            found.set_item("parameters", parameters)?;
        }
        Event::Warning(text) | Event::Note(text) => {
            found.set_item("kind", if matches!(event, Event::Note(_)) { "note" } else { "warning" })?;
            found.set_item("text", text)?;
        }
        Event::Step(step) => {
            found.set_item("kind", "step")?;
            found.set_item("step", step.step)?;
            found.set_item("epoch", step.epoch)?;
            found.set_item("instances", step.instances)?;
            found.set_item("metrics", measures_of(py, &step.measures)?)?;
        }
        Event::Valid(valid) => {
            found.set_item("kind", "valid")?;
            found.set_item("step", valid.step)?;
            found.set_item("epoch", valid.epoch)?;
            found.set_item("instances", valid.instances)?;
            let metrics = measures_of(py, &valid.metrics.measures)?;
            metrics.set_item("cost", valid.metrics.cost)?;
            if let Some(comparison) = &valid.metrics.comparison {
                metrics.set_item("baseline_updated", f64::from(u8::from(comparison.baseline_updated)))?;
                metrics.set_item("mean_difference", comparison.mean_difference)?;
            }
            found.set_item("metrics", metrics)?;
        }
        Event::Saved { step } => {
            found.set_item("kind", "saved")?;
            found.set_item("step", step)?;
        }
    }
    Ok(found)
}

/// Trains a built-in experiment or that of a file.
#[pyfunction]
pub(crate) fn train(
    py: Python<'_>,
    experiment: &str,
    settings: Vec<String>,
    options: RunOptions,
) -> PyResult<Py<PyDict>> {
    let (text, path) = find(experiment).or_raise()?;
    let run = Run::new(options);
    match family(&text, &path).or_raise()? {
        "sets" => run.run(py, SetExperiment::parse(&text, &path, &settings).or_raise()?, supervised::train::<Sets>),
        "graphs" => {
            run.run(py, GraphExperiment::parse(&text, &path, &settings).or_raise()?, supervised::train::<Graphs>)
        }
        "series" => {
            run.run(py, SeriesExperiment::parse(&text, &path, &settings).or_raise()?, supervised::train::<TimeSeries>)
        }
        _ => run.run(py, RouteExperiment::parse(&text, &path, &settings).or_raise()?, routes::train::train),
    }
}

/// Names of the built-in experiments, with a sentence for each.
#[pyfunction]
pub(crate) fn experiments() -> Vec<(String, String)> {
    let all = regard::experiment::built_in().iter();
    all.map(|(name, text)| ((*name).to_owned(), regard::experiment::description(text))).collect()
}

/// The family of a built-in experiment or that of a file.
#[pyfunction]
pub(crate) fn experiment_family(experiment: &str) -> PyResult<&'static str> {
    let (text, path) = find(experiment).or_raise()?;
    family(&text, &path).or_raise()
}

//! The folder of a run: experiment, metrics, times, checkpoints, and the model as it stands.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use regard_data::file::write_atomic;
use serde::Serialize;

use super::checkpoint::Checkpoint;
use super::metrics::{Line, Lines};
use super::{Settings, Step, Valid};
use crate::{Error, Result};

const EXPERIMENT: &str = "experiment.toml";
const METRICS: &str = "metrics.jsonl";
const TIMES: &str = "timings.jsonl";
const RESUME: &str = "resume";

/// A run's folder, open for writing.
pub(crate) struct RunFolder {
    path: PathBuf,
    metrics: Lines,
    times: Lines,
    /// Seconds of training before this call.
    seconds_before: f64,
    begun: Instant,
}

/// The lengths of the files when a checkpoint was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, serde::Deserialize)]
pub(crate) struct Written {
    metrics: u64,
    times: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct Time {
    step: u64,
    seconds: f64,
}

impl RunFolder {
    /// The experiment of the run in `path`, if there is one.
    pub(crate) fn experiment<E: Settings>(path: &Path) -> Result<Option<E>> {
        let path = path.join(EXPERIMENT);
        if !path.exists() {
            return Ok(None);
        }
        E::parse(&crate::store::file::read_text(&path)?, &path).map(Some)
    }

    /// The last checkpoint of the run in `path`.
    pub(crate) fn checkpoint(path: &Path) -> Result<Option<Checkpoint>> {
        Checkpoint::latest(&path.join(RESUME))
    }

    /// Opens the folder to go on from `written`, the start for a new run; `experiment` is TOML.
    pub(crate) fn open(path: &Path, experiment: &str, written: Written) -> Result<Self> {
        let resume = path.join(RESUME);
        fs::create_dir_all(&resume).map_err(|error| Error::io(&resume, error))?;
        write_atomic(path.join(EXPERIMENT), |out| out.write_all(experiment.as_bytes()))?;
        Ok(Self {
            metrics: Lines::open(&path.join(METRICS), written.metrics)?,
            times: Lines::open(&path.join(TIMES), written.times)?,
            path: path.to_owned(),
            seconds_before: written.seconds,
            begun: Instant::now(),
        })
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Seconds of training so far, those of interrupted calls up to their last checkpoint included.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds_before + self.begun.elapsed().as_secs_f64()
    }

    pub(crate) fn step(&mut self, step: &Step) -> Result<()> {
        self.metrics.append(&Line::from(step))?;
        self.time(step.step)
    }

    pub(crate) fn valid(&mut self, valid: &Valid) -> Result<()> {
        self.metrics.append(&Line::from(valid))?;
        self.time(valid.step)
    }

    fn time(&mut self, step: u64) -> Result<()> {
        let seconds = (self.seconds() * 1e3).round() / 1e3;
        self.times.append(&Time { step, seconds })
    }

    /// The lengths of the files, flushed to the disk.
    pub(crate) fn written(&self) -> Result<Written> {
        let (metrics, times) = (self.metrics.synced_length()?, self.times.synced_length()?);
        Ok(Written { metrics, times, seconds: self.seconds() })
    }

    /// Saves a checkpoint.
    pub(crate) fn save(&self, checkpoint: &Checkpoint) -> Result<()> {
        checkpoint.save(&self.path.join(RESUME))
    }
}

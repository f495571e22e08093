//! The folder of a run: experiment, metrics, times, checkpoints, and the model as it stands.

use std::fs::{self, File, TryLockError};
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
const LOCK: &str = "lock";
/// The end of names of files and folders that are not finished.
const PARTIAL: &str = ".partial";

/// A run's folder, open for writing.
pub(crate) struct RunFolder {
    path: PathBuf,
    metrics: Lines,
    times: Lines,
    /// Seconds of training before this call.
    seconds_before: f64,
    begun: Instant,
    /// Keeps other trainings out of the folder until it is closed.
    _lock: File,
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

    /// If true, there is a run in `path`.
    pub(crate) fn exists(path: &Path) -> bool {
        path.join(EXPERIMENT).exists()
    }

    /// The last checkpoint of the run in `path`.
    pub(crate) fn checkpoint(path: &Path) -> Result<Option<Checkpoint>> {
        Checkpoint::latest(&path.join(RESUME))
    }

    /// Creates the folder of a new run and locks it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where another training began in it meanwhile.
    pub(crate) fn create(path: &Path) -> Result<File> {
        let lock = Self::lock(path)?;
        if Self::exists(path) { Err(occupied(path)) } else { Ok(lock) }
    }

    /// Locks the folder: only one training writes into it. The lock ends with the process, however that ends.
    ///
    /// # Errors
    /// [`Error::Unsupported`] while another training has the lock.
    pub(crate) fn lock(path: &Path) -> Result<File> {
        let resume = path.join(RESUME);
        fs::create_dir_all(&resume).map_err(|error| Error::io(&resume, error))?;
        let path_of_lock = resume.join(LOCK);
        let io = |error| Error::io(&path_of_lock, error);
        let file = File::options().create(true).append(true).open(&path_of_lock).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {
                // No process is writing them any more.
                [path, &resume].into_iter().try_for_each(remove_partial)?;
                remove_staged(path)?;
                Ok(file)
            }
            Err(TryLockError::WouldBlock) => {
                let reason = "another training writes into it".into();
                Err(Error::Unsupported { what: path.display().to_string(), reason }
                    .with_hint("wait for its end, or give another folder with --out"))
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => Ok(file),
            Err(TryLockError::Error(error)) => Err(io(error)),
        }
    }

    /// Opens the folder, which is locked, to go on from `written`, the start for a new run; `experiment` is TOML.
    pub(crate) fn open(path: &Path, lock: File, experiment: &str, written: Written) -> Result<Self> {
        write_atomic(path.join(EXPERIMENT), |out| out.write_all(experiment.as_bytes()))?;
        Ok(Self {
            metrics: Lines::open(&path.join(METRICS), written.metrics)?,
            times: Lines::open(&path.join(TIMES), written.times)?,
            path: path.to_owned(),
            seconds_before: written.seconds,
            begun: Instant::now(),
            _lock: lock,
        })
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// If true, the folder has a checkpoint from which the run goes on.
    pub(crate) fn has_checkpoint(&self) -> bool {
        Checkpoint::latest(&self.path.join(RESUME)).is_ok_and(|found| found.is_some())
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

/// Removes what a killed process left unfinished in a folder.
fn remove_partial(folder: &Path) -> Result<()> {
    remove_entries(folder, |name| name.ends_with(PARTIAL))
}

/// Removes the models that a killed process left unfinished beside the folder of a run.
fn remove_staged(path: &Path) -> Result<()> {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else { return Ok(()) };
    let begin = format!("{}.", name.to_string_lossy());
    let process = |name: &str| name.strip_prefix(&begin)?.strip_suffix(PARTIAL)?.parse::<u32>().ok();
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    remove_entries(parent, |name| process(name).is_some())
}

fn remove_entries(folder: &Path, unfinished: impl Fn(&str) -> bool) -> Result<()> {
    let io = |error| Error::io(folder, error);
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        if !unfinished(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let path = entry.path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| Error::io(path, error))?;
    }
    Ok(())
}

/// The error for a new run in the folder of another one.
pub(crate) fn occupied(out: &Path) -> Error {
    Error::Unsupported { what: out.display().to_string(), reason: "already contains a run".into() }
        .with_hint("continue it with `--resume`, or give another folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let run = parent.path().join("run");
        let left = [
            run.join(".config.json-x1.partial"),
            run.join("resume/step-000000000007.partial"),
            parent.path().join("run.123.partial"),
        ];
        let kept =
            [run.join("notes.txt"), parent.path().join("run.old.partial"), parent.path().join("runs.123.partial")];
        left.iter().chain(&kept).for_each(|path| fs::create_dir_all(path).unwrap());
        let _lock = RunFolder::lock(&run).unwrap();
        assert!(left.iter().all(|path| !path.exists()) && kept.iter().all(|path| path.exists()));
    }

    #[test]
    fn a_folder_belongs_to_one_training_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let lock = RunFolder::create(folder.path()).unwrap();
        let error = RunFolder::lock(folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("another training writes into it"), "{error}");
        assert!(RunFolder::create(folder.path()).is_err());
        drop(lock);
        let first = RunFolder::create(folder.path()).unwrap();
        RunFolder::open(folder.path(), first, "[train]", Written::default()).unwrap();
        let error = RunFolder::create(folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("already contains a run"), "{error}");
        assert!(RunFolder::lock(folder.path()).is_ok());
    }
}

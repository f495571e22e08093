//! `metrics.jsonl`: what a run measured, one JSON object a line.
//!
//! It holds nothing that depends on the clock, so that a run that was resumed writes the same
//! bytes as one that was not.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{BaselineComparison, Measures, Step, Valid, ValidationMetrics};
use crate::{Error, Result};

/// A file of lines that can be cut back to where a checkpoint was made.
pub(crate) struct Lines {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Lines {
    /// Opens the file and drops what is beyond `length` bytes.
    pub(crate) fn open(path: &Path, length: u64) -> Result<Self> {
        let open = || -> std::io::Result<(File, u64)> {
            let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(path)?;
            let length = length.min(file.metadata()?.len());
            file.set_len(length)?;
            file.seek(SeekFrom::End(0))?;
            Ok((file, length))
        };
        let (file, length) = open().map_err(|error| Error::io(path, error))?;
        Ok(Self { path: path.to_owned(), file, length })
    }

    /// Appends one object.
    pub(crate) fn append(&mut self, object: &impl Serialize) -> Result<()> {
        let io = |error| Error::io(&self.path, error);
        let mut line = serde_json::to_vec(object).map_err(|error| io(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(io)?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Bytes written, safely on the disk.
    pub(crate) fn synced_length(&self) -> Result<u64> {
        self.file.sync_data().map_err(|error| Error::io(&self.path, error))?;
        Ok(self.length)
    }
}

/// A line of metrics.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Line<'a> {
    Step {
        step: u64,
        epoch: u64,
        instances: u64,
        #[serde(flatten)]
        measures: &'a Measures,
    },
    Valid {
        step: u64,
        epoch: u64,
        instances: u64,
        cost: f64,
        #[serde(flatten)]
        measures: &'a Measures,
        #[serde(flatten)]
        comparison: Option<BaselineComparison>,
    },
}

impl<'a> From<&'a Step> for Line<'a> {
    fn from(step: &'a Step) -> Self {
        let Step { step, epoch, instances, ref measures } = *step;
        Line::Step { step, epoch, instances, measures }
    }
}

impl<'a> From<&'a Valid> for Line<'a> {
    fn from(valid: &'a Valid) -> Self {
        let Valid { step, epoch, instances, metrics: ref checked } = *valid;
        let ValidationMetrics { cost, ref measures, comparison } = *checked;
        Line::Valid { step, epoch, instances, cost, measures, comparison }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_a_checkpoint_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut lines = Lines::open(&path, 0).unwrap();
        lines.append(&1).unwrap();
        let length = lines.synced_length().unwrap();
        lines.append(&2).unwrap();
        std::fs::write(&path, b"1\n2\n{\"half").unwrap();
        let mut lines = Lines::open(&path, length).unwrap();
        lines.append(&3).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n3\n");
    }
}

//! Checkpoints: the whole state of a run in a folder that is complete or absent.
//!
//! A checkpoint is written under a temporary name, flushed to the disk and renamed; the one before
//! it goes only then. Killed at any moment, a run finds its last complete checkpoint.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::store::manifest::sha256;
use crate::store::{Array, Weights, file, safetensors};
use crate::{Error, Result};

const STATE: &str = "state.json";
/// SHA-256 of every other file, so that a damaged one is not taken for a state.
const CHECKSUMS: &str = "checksums.json";
const WEIGHTS: &str = "safetensors";
const RECORD: &str = "burnpack";
const PREFIX: &str = "step-";
const PARTIAL: &str = ".partial";

/// Everything a run needs to go on.
#[derive(Debug, Default)]
pub(crate) struct Checkpoint {
    /// Steps done.
    pub(crate) step: u64,
    /// Counters.
    pub(crate) state: Value,
    /// Networks and averages, by name.
    pub(crate) weights: BTreeMap<String, Weights>,
    /// States of optimisers, by name.
    pub(crate) records: BTreeMap<String, Vec<u8>>,
}

impl Checkpoint {
    /// Writes the checkpoint into `folder`, and removes older ones.
    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        let name = format!("{PREFIX}{:012}", self.step);
        let staged = folder.join(format!("{name}{PARTIAL}"));
        let io = |path: &Path, error| Error::io(path, error);
        if staged.exists() {
            fs::remove_dir_all(&staged).map_err(|error| io(&staged, error))?;
        }
        fs::create_dir_all(&staged).map_err(|error| io(&staged, error))?;
        if let Err(error) = self.write_into(&staged) {
            // On a full disk it would only take space; the error that matters is on its way.
            let _ = fs::remove_dir_all(&staged);
            return Err(error);
        }
        let done = folder.join(&name);
        if done.exists() {
            // The same step was saved before, by a run that was resumed: its state is the same.
            fs::remove_dir_all(&staged).map_err(|error| io(&staged, error))?;
        } else {
            fs::rename(&staged, &done).map_err(|error| io(&done, error))?;
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| io(folder, error))?;
        }
        for (step, path) in list(folder)? {
            if step < self.step {
                fs::remove_dir_all(&path).map_err(|error| io(&path, error))?;
            }
        }
        Ok(())
    }

    fn write_into(&self, folder: &Path) -> Result<()> {
        for (name, weights) in &self.weights {
            safetensors::write(&folder.join(format!("{name}.{WEIGHTS}")), weights, &BTreeMap::new())?;
        }
        for (name, bytes) in &self.records {
            let path = folder.join(format!("{name}.{RECORD}"));
            fs::write(&path, bytes).map_err(|error| Error::io(&path, error))?;
        }
        let path = folder.join(STATE);
        fs::write(&path, self.state.to_string()).map_err(|error| Error::io(&path, error))?;
        let sums: BTreeMap<String, String> =
            contents(folder)?.into_iter().map(|(name, bytes)| (name, sha256(&bytes))).collect();
        let path = folder.join(CHECKSUMS);
        fs::write(&path, serde_json::json!(sums).to_string()).map_err(|error| Error::io(&path, error))?;
        sync(folder).map_err(|error| Error::io(folder, error))
    }

    /// The last complete checkpoint of `folder`, if there is one.
    pub(crate) fn latest(folder: &Path) -> Result<Option<Self>> {
        let Some((step, path)) = list(folder)?.into_iter().next_back() else { return Ok(None) };
        let (mut found, mut state) = (Self { step, ..Self::default() }, None);
        for (name, bytes) in verified(&path)? {
            let file = path.join(&name);
            match name.rsplit_once('.') {
                Some((name, WEIGHTS)) => {
                    drop(found.weights.insert(name.to_owned(), safetensors::parse(&bytes, &file)?))
                }
                Some((name, RECORD)) => drop(found.records.insert(name.to_owned(), bytes)),
                _ if name == STATE => state = Some(file::json(&file::text(bytes, &file)?, &file)?),
                _ => {}
            }
        }
        found.state = state.ok_or_else(|| absent(STATE))?;
        Ok(Some(found))
    }

    /// The checkpoint as a message to other ranks.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let shapes = self.weights.iter().map(|(name, weights)| {
            (name, weights.iter().map(|(name, array)| (name, &array.shape)).collect::<BTreeMap<_, _>>())
        });
        let header = serde_json::json!({
            "step": self.step,
            "state": self.state,
            "weights": shapes.collect::<BTreeMap<_, _>>(),
            "records": self.records,
        });
        let header = serde_json::to_vec(&header).map_err(|error| Error::state("checkpoint", error))?;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        let arrays = self.weights.values().flat_map(Weights::values);
        bytes.extend(arrays.flat_map(|array| &array.data).flat_map(|value| value.to_le_bytes()));
        Ok(bytes)
    }

    /// The checkpoint that [`Self::to_bytes`] wrote.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        #[derive(serde::Deserialize)]
        struct Header {
            step: u64,
            state: Value,
            weights: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
            records: BTreeMap<String, Vec<u8>>,
        }
        let broken = || Error::state("checkpoint", "the message of rank 0 is cut off");
        let (length, rest) = bytes.split_first_chunk().ok_or_else(broken)?;
        let (header, numbers) = rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(broken)?;
        let header: Header = serde_json::from_slice(header).map_err(|error| Error::state("checkpoint", error))?;
        let mut numbers = numbers.chunks_exact(4).map(|bytes| bytes.try_into().map_or(f32::NAN, f32::from_le_bytes));
        let mut array = |(name, shape): (String, Vec<usize>)| {
            let data: Vec<f32> = numbers.by_ref().take(shape.iter().product()).collect();
            if data.len() == shape.iter().product::<usize>() {
                Ok((name, Array { shape, data }))
            } else {
                Err(broken())
            }
        };
        let mut weights = BTreeMap::new();
        for (name, shapes) in header.weights {
            weights.insert(name, shapes.into_iter().map(&mut array).collect::<Result<Weights>>()?);
        }
        Ok(Self { step: header.step, state: header.state, weights, records: header.records })
    }

    /// The weights of that name.
    pub(crate) fn weights(&self, name: &str) -> Result<&Weights> {
        self.weights.get(name).ok_or_else(|| absent(&format!("{name}.{WEIGHTS}")))
    }

    /// Takes the record of that name out.
    pub(crate) fn record(&mut self, name: &str) -> Result<Vec<u8>> {
        self.records.remove(name).ok_or_else(|| absent(&format!("{name}.{RECORD}")))
    }
}

/// The files of a checkpoint by name, with the checksums that were written with them. One of an older version has none.
fn verified(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut contents = contents(folder)?;
    let Some(sums) = contents.remove(CHECKSUMS) else { return Ok(contents) };
    let path = folder.join(CHECKSUMS);
    let sums: BTreeMap<String, String> = file::json(&file::text(sums, &path)?, &path)?;
    let wrong = |name: &str, what: &str| Error::state("checkpoint", format!("{} {what}", folder.join(name).display()));
    if let Some(name) = sums.keys().find(|name| !contents.contains_key(*name)) {
        return Err(wrong(name, "is missing"));
    }
    match contents.iter().find(|(name, bytes)| sums.get(*name) != Some(&sha256(bytes))) {
        Some((name, _)) => Err(wrong(name, "is damaged: it has another checksum")),
        None => Ok(contents),
    }
}

/// The files of a folder, by name.
fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let io = |error| Error::io(folder, error);
    let read = |entry: io::Result<fs::DirEntry>| {
        let path = entry.map_err(io)?.path();
        let limit =
            if path.extension().is_some_and(|it| it == "json") { file::JSON_LIMIT } else { file::WEIGHTS_LIMIT };
        Ok((file_name(&path), file::read(&path, limit)?))
    };
    fs::read_dir(folder).map_err(io)?.map(read).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn absent(file: &str) -> Error {
    Error::state("checkpoint", format!("`{file}` is missing"))
}

/// Flushes every file of a folder, and the folder.
fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        File::open(entry?.path())?.sync_all()?;
    }
    File::open(folder)?.sync_all()
}

/// Complete checkpoints, oldest first.
fn list(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries.map_err(|error| Error::io(folder, error))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Error::io(folder, error))?.path();
        if let Some(step) = file_name(&path).strip_prefix(PREFIX).and_then(|step| step.parse().ok()) {
            found.push((step, path));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(step: u64) -> Checkpoint {
        let weights = Weights::from([("x".into(), Array { shape: vec![2], data: vec![step as f32, 0.5] })]);
        Checkpoint {
            step,
            state: serde_json::json!({ "cost": 3.1 + step as f64 / 7.0 }),
            weights: BTreeMap::from([("model".into(), weights)]),
            records: BTreeMap::from([("adam".into(), vec![1, 2, 3])]),
        }
    }

    #[test]
    fn a_checkpoint_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        checkpoint(3).save(folder.path()).unwrap();
        let mut wrong = checkpoint(5);
        wrong
            .weights
            .insert("broken".into(), Weights::from([("x".into(), Array { shape: vec![1], data: vec![f32::NAN] })]));
        assert!(wrong.save(folder.path()).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(Checkpoint::latest(folder.path()).unwrap().unwrap().step, 3);
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        checkpoint(3).save(folder.path()).unwrap();
        let (_, inside) = list(folder.path()).unwrap().remove(0);
        let names: Vec<String> = contents(&inside).unwrap().into_keys().filter(|name| name != CHECKSUMS).collect();
        assert_eq!(names, ["adam.burnpack", "model.safetensors", "state.json"]);
        for name in names {
            let path = inside.join(&name);
            let whole = fs::read(&path).unwrap();
            let mut damaged = whole.clone();
            damaged[whole.len() / 2] ^= 1;
            fs::write(&path, damaged).unwrap();
            let error = Checkpoint::latest(folder.path()).unwrap_err().to_string();
            assert!(error.contains(&name) && error.contains("is damaged"), "{error}");
            fs::remove_file(&path).unwrap();
            let error = Checkpoint::latest(folder.path()).unwrap_err().to_string();
            assert!(error.contains(&name) && error.contains("is missing"), "{error}");
            fs::write(&path, whole).unwrap();
        }
        // An older version wrote no checksums.
        fs::remove_file(inside.join(CHECKSUMS)).unwrap();
        assert_eq!(Checkpoint::latest(folder.path()).unwrap().unwrap().step, 3);
    }

    #[test]
    fn the_last_complete_one_counts_and_comes_back_exactly() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Checkpoint::latest(folder.path()).unwrap().is_none());
        checkpoint(3).save(folder.path()).unwrap();
        checkpoint(11).save(folder.path()).unwrap();
        // A later one that was never finished.
        fs::create_dir(folder.path().join("step-000000000020.partial")).unwrap();
        let mut found = Checkpoint::latest(folder.path()).unwrap().unwrap();
        let written = checkpoint(11);
        assert_eq!((found.step, &found.state, &found.weights), (11, &written.state, &written.weights));
        assert_eq!(found.record("adam").unwrap(), [1, 2, 3]);
        let mut sent = Checkpoint::from_bytes(&written.to_bytes().unwrap()).unwrap();
        assert_eq!((sent.step, &sent.state, &sent.weights), (11, &written.state, &written.weights));
        assert_eq!(sent.record("adam").unwrap(), [1, 2, 3]);
        assert!(Checkpoint::from_bytes(&written.to_bytes().unwrap()[..100]).is_err());
        assert!(found.record("adam").is_err() && found.weights("other").is_err());
        assert_eq!(list(folder.path()).unwrap().len(), 1, "older ones are gone");
    }
}

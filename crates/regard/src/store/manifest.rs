//! The origin of a model: `manifest.json`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::file;
use crate::Result;

/// Name of a manifest in the folder of its model.
pub(super) const MANIFEST: &str = "manifest.json";

/// The origin of a model. Nothing of it is needed to load the model; unknown fields are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// When it was written, UTC, `2026-01-31T12:00:00Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The command that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The model and its training data, in a sentence or two for the card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The resolved experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Value>,
    /// Seed of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Commit of the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// Version of this crate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regard: Option<String>,
    /// Version of Burn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burn: Option<String>,
    /// Version of the compiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rustc: Option<String>,
    /// SHA-256 of the training data, where it is a file. Of several files it is that of the lines that `sha256sum` prints
    /// for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_sha256: Option<String>,
    /// Wall time of the run, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_seconds: Option<f64>,
    /// Number of threads that computed, those of all ranks together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// The trainings whose weights this one began with, the first one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierTraining>,
    /// SHA-256 of the settings of the network, to which the weights belong; see [`architecture_sha256`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture_sha256: Option<String>,
    /// Measured numbers, by name; those that are not finite are left out.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "write_finite",
        deserialize_with = "read_finite"
    )]
    pub metrics: BTreeMap<String, f64>,
    /// Licence of the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// The source of imported weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// A training whose weights a later one began with (`train.init_from`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierTraining {
    /// When its model was written, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The command that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Seed of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// SHA-256 of the training data, where it is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_sha256: Option<String>,
    /// Wall time of the run, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_seconds: Option<f64>,
    /// Number of threads that computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Instances that were learnt from, counted as often as they were shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<u64>,
}

/// The source of imported weights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// Description of the file.
    pub origin: String,
    /// Repository of the code that trained the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Name of the file that was imported.
    pub file: String,
    /// SHA-256 of that file.
    pub sha256: String,
    /// Licence of the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// Settings of the original training run, as far as its `args.json` has them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub training: BTreeMap<String, Value>,
}

impl Manifest {
    /// A manifest of the present: the command, the time, and the version of this crate.
    pub fn now(command: impl Into<String>) -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        Self {
            created: Some(utc(seconds)),
            command: Some(command.into()),
            regard: Some(env!("CARGO_PKG_VERSION").into()),
            ..Self::default()
        }
    }

    /// The trainings of a model's weights, the first one first: those before it, and its own.
    pub fn trainings(&self) -> Vec<EarlierTraining> {
        let own = EarlierTraining {
            created: self.created.clone(),
            command: self.command.clone(),
            seed: self.seed,
            data_sha256: self.data_sha256.clone(),
            wall_seconds: self.wall_seconds,
            threads: self.threads,
            instances: self.metrics.get("instances").map(|instances| *instances as u64),
        };
        self.earlier.iter().cloned().chain([own]).collect()
    }

    /// Wall time of all trainings of the model's weights, seconds; `None` where that of one is unknown.
    pub fn wall_seconds_of_all(&self) -> Option<f64> {
        self.trainings().iter().map(|training| training.wall_seconds).sum()
    }

    /// Reads the manifest of the model in `folder`, or of a built-in model; `None` where it has none.
    ///
    /// # Errors
    /// [`crate::Error::Io`], [`crate::Error::Parse`].
    pub(crate) fn of_model(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MANIFEST);
        if file::is_file(&path) { Self::read(&path).map(Some) } else { Ok(None) }
    }

    /// Reads a `manifest.json`; keys of later versions are passed over.
    ///
    /// # Errors
    /// [`crate::Error::Io`], [`crate::Error::Parse`].
    pub fn read(path: &Path) -> Result<Self> {
        file::read_json(path)
    }
}

fn write_finite<S: Serializer>(metrics: &BTreeMap<String, f64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(metrics.iter().filter(|(_, value)| value.is_finite()))
}

/// Metrics without those that are `null`: earlier versions wrote what is not finite so.
fn read_finite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let metrics = BTreeMap::<String, Option<f64>>::deserialize(deserializer)?;
    Ok(metrics.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

/// SHA-256 of the settings in a `config.json` without `data`, which is what was learnt beside weights: compact JSON, keys
/// in their order.
pub fn architecture_sha256(config: &Value) -> String {
    let settings = config.as_object().into_iter().flatten().filter(|(key, _)| *key != "data");
    let settings: BTreeMap<&String, &Value> = settings.collect();
    // Values of JSON are always written.
    sha256(serde_json::to_string(&settings).unwrap_or_default().as_bytes())
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Seconds since 1970 as `YYYY-MM-DDThh:mm:ssZ` (Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms").
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months are counted from March, so that the leap day comes last.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(utc(4_102_444_800), "2100-01-01T00:00:00Z");
    }

    #[test]
    fn metrics_that_are_not_finite_are_left_out() {
        let metrics = [("a".to_owned(), f64::NAN), ("b".to_owned(), 2.0), ("c".to_owned(), f64::INFINITY)].into();
        let text = serde_json::to_string(&Manifest { metrics, ..Manifest::default() }).unwrap();
        assert_eq!(text, r#"{"metrics":{"b":2.0}}"#);
        let read: Manifest = serde_json::from_str(r#"{"metrics":{"a":null,"b":2.0}}"#).unwrap();
        assert_eq!(read.metrics, [("b".to_owned(), 2.0)].into());
    }

    #[test]
    fn the_digest_is_that_of_the_standard() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn what_is_unknown_is_left_out_and_later_keys_are_passed_over() {
        let text = serde_json::to_string(&Manifest { seed: Some(7), ..Manifest::default() }).unwrap();
        assert_eq!(text, r#"{"seed":7}"#);
        let read: Manifest = serde_json::from_str(r#"{"seed":7,"later":true}"#).unwrap();
        assert_eq!(read.seed, Some(7));
    }
}

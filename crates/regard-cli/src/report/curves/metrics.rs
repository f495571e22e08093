//! Metrics of a training run: `metrics.jsonl`, one JSON object a line.

use std::io::ErrorKind;
use std::path::Path;

use regard::data::{Error, file::read_text};
use serde::Deserialize;

use crate::failure::Failure;

/// Name of the file in the folder of a run.
const FILE: &str = "metrics.jsonl";

/// The records of a run in the order of its steps.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Metrics {
    pub(super) steps: Vec<Step>,
    pub(super) valids: Vec<Valid>,
}

/// Metrics of one step; a number that was not finite is absent.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Step {
    pub(super) step: u64,
    pub(super) instances: u64,
    pub(super) cost: Option<f64>,
    pub(super) baseline: Option<f64>,
    pub(super) grad_norm: Option<f64>,
    pub(super) learning_rate: Option<f64>,
}

/// One validation.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Valid {
    pub(super) step: u64,
    pub(super) instances: u64,
    pub(super) cost: Option<f64>,
    pub(super) baseline_updated: Option<bool>,
}

/// One line.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Record {
    Step(Step),
    Valid(Valid),
    #[serde(other)]
    Other,
}

impl Metrics {
    /// Reads the records in the folder of a run.
    pub(crate) fn read(run: &Path) -> anyhow::Result<Self> {
        let path = run.join(FILE);
        let text = read_text(&path).map_err(|error| explained(error, run, &path))?;
        let metrics = Self::parse(&text, &path)?;
        if metrics.steps.is_empty() && metrics.valids.is_empty() {
            return Err(Failure::new(format!("{}: has no step and no validation records", path.display()))
                .hint("a run that has just begun writes its first record soon; try again")
                .into());
        }
        Ok(metrics)
    }

    /// Reads records; a damaged last line is what a run leaves that was ended while writing.
    fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let mut metrics = Self::default();
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
        while let Some((index, line)) = lines.next() {
            match serde_json::from_str(line) {
                Ok(record) => metrics.add(record),
                Err(_) if lines.peek().is_none() => {}
                Err(error) => return Err(damaged(path, index + 1, &error)),
            }
        }
        Ok(metrics)
    }

    /// Adds a record. A run that goes on from an earlier step repeats what came after it: the
    /// repetition counts.
    fn add(&mut self, record: Record) {
        match record {
            Record::Step(step) => {
                self.steps.truncate(self.steps.partition_point(|known| known.step < step.step));
                self.valids.truncate(self.valids.partition_point(|known| known.step <= step.step));
                self.steps.push(step);
            }
            Record::Valid(valid) => {
                self.steps.truncate(self.steps.partition_point(|known| known.step <= valid.step));
                self.valids.truncate(self.valids.partition_point(|known| known.step < valid.step));
                self.valids.push(valid);
            }
            Record::Other => {}
        }
    }

    /// The last step that is known.
    pub(super) fn last_step(&self) -> u64 {
        let step = self.steps.last().map_or(0, |step| step.step);
        self.valids.last().map_or(0, |valid| valid.step).max(step)
    }

    /// Instances seen at the first and the last record.
    pub(super) fn instances(&self) -> (u64, u64) {
        let steps = self.steps.iter().map(|step| step.instances);
        let all = || steps.clone().chain(self.valids.iter().map(|valid| valid.instances));
        (all().min().unwrap_or(0), all().max().unwrap_or(0))
    }

    /// Costs of the validations, in their order.
    pub(super) fn valid_costs(&self) -> impl DoubleEndedIterator<Item = f64> {
        self.valids.iter().filter_map(|valid| valid.cost)
    }
}

fn explained(error: Error, run: &Path, path: &Path) -> anyhow::Error {
    let Error::Io { source, .. } = &error else { return error.into() };
    let what = match source.kind() {
        ErrorKind::NotFound if run.is_dir() => format!("{}: the file does not exist", path.display()),
        ErrorKind::NotFound => format!("{}: the folder does not exist", run.display()),
        ErrorKind::NotADirectory => format!("{}: is a file; expected the folder of a training run", run.display()),
        _ => return error.into(),
    };
    Failure::new(what).hint(format!("`regard train … --out DIR` writes DIR/{FILE}; give that DIR")).into()
}

fn damaged(path: &Path, line: usize, error: &serde_json::Error) -> Error {
    let reason = error.to_string();
    // The line is always 1 here.
    let reason = reason.split(" at line ").next().unwrap_or_default();
    Error::parse(path, line, format!("is not a record of a training run: {reason}"))
        .with_hint("correct or remove this line; the other lines do not depend on it")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str =
        r#"{"kind":"step","step":50,"epoch":0,"instances":3200,"cost":4.91,"learning_rate":0.0001,"new":[1]}"#;
    const VALID: &str = r#"{"kind":"valid","step":60,"epoch":1,"instances":3840,"cost":3.91,"p_value":0.01}"#;

    fn parse(text: &str) -> Result<Metrics, Error> {
        Metrics::parse(text, Path::new("run/metrics.jsonl"))
    }

    #[test]
    fn records_are_read_and_what_is_unknown_is_passed_over() {
        let metrics = parse(&format!("{STEP}\n\n{{\"kind\":\"note\",\"text\":[1]}}\n{VALID}\n")).unwrap();
        assert_eq!((metrics.steps.len(), metrics.valids.len()), (1, 1));
        assert_eq!((metrics.steps[0].learning_rate, metrics.steps[0].grad_norm), (Some(0.0001), None));
        assert_eq!((metrics.last_step(), metrics.instances()), (60, (3200, 3840)));
        assert_eq!(parse(&STEP.replace("4.91", "null")).unwrap().steps[0].cost, None);
    }

    #[test]
    fn a_damaged_line_is_named_unless_it_is_the_last() {
        let error = parse(&format!("{STEP}\n{{\"kind\":\"st\n{VALID}\n")).unwrap_err();
        assert!(error.to_string().starts_with("run/metrics.jsonl:2: is not a record"), "{error}");
        assert!(!error.to_string().contains("line 1") && error.hint().is_some(), "{error}");
        for last in [&VALID[..20], "{\"kind\":\"st\n", "[]", "\u{fffd}"] {
            assert_eq!(parse(&format!("{STEP}\n{last}")).unwrap().steps.len(), 1);
        }
        let error = parse(&format!("{STEP}\n{}\n{VALID}", STEP.replace("3200", "-1"))).unwrap_err().to_string();
        assert!(error.contains("jsonl:2"), "{error}");
    }

    #[test]
    fn a_resumed_run_replaces_what_it_repeats() {
        let at = |step: u64| STEP.replace(":50", &format!(":{step}"));
        let valid = |step: u64| VALID.replace(":60", &format!(":{step}"));
        let lines = [at(50), valid(50), at(100), valid(100), at(150), at(100), valid(100), at(150)];
        let metrics = parse(&lines.join("\n")).unwrap();
        let steps: Vec<u64> = metrics.steps.iter().map(|step| step.step).collect();
        let valids: Vec<u64> = metrics.valids.iter().map(|valid| valid.step).collect();
        assert_eq!((steps, valids), (vec![50, 100, 150], vec![50, 100]));
    }

    #[test]
    fn a_folder_without_records_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Metrics::read(folder.path()).unwrap_err();
        assert!(missing.to_string().contains(FILE), "{missing}");
        assert!(missing.downcast_ref::<Failure>().is_some());
        let none = Metrics::read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(none.contains("the folder does not exist"), "{none}");
        std::fs::write(folder.path().join(FILE), "\n").unwrap();
        let empty = Metrics::read(folder.path()).unwrap_err().to_string();
        assert!(empty.contains("has no step"), "{empty}");
        let file = Metrics::read(&folder.path().join(FILE)).unwrap_err().to_string();
        assert!(file.contains("is a file"), "{file}");
    }
}

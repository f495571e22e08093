//! The curves of training runs: the lines of their metrics as they are written.

use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::error::ApiError;

const EXPERIMENT: &str = "experiment.toml";
const METRICS: &str = "metrics.jsonl";
/// Lines that one answer holds at most.
const MOST_LINES: usize = 10_000;

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Run {
    /// Name of its folder.
    name: String,
    /// The family of its experiment.
    family: Option<String>,
    /// The preset of its experiment.
    experiment: Option<String>,
    /// The last step that it wrote.
    steps: Option<u64>,
    #[serde(skip)]
    folder: PathBuf,
}

/// Lines of metrics.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Lines {
    /// Objects of `metrics.jsonl`, from the line that was asked for.
    lines: Vec<Value>,
    /// The line to ask for next time.
    next: usize,
}

/// The runs of folders, each a run or a folder of runs, by name. Folders are looked at each time, since runs begin while
/// the service runs.
pub(super) fn list(folders: &[PathBuf]) -> Vec<Run> {
    let mut found: Vec<Run> = folders.iter().flat_map(|folder| inside(folder)).filter_map(|path| run(&path)).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.folder.cmp(&b.folder)));
    found.dedup_by(|a, b| a.folder == b.folder);
    // Runs of one name in several folders are told apart by a number.
    for at in 1..found.len() {
        let same = found[..at].iter().filter(|other| other.folder.file_name() == found[at].folder.file_name()).count();
        if same > 0 {
            found[at].name = format!("{} ({})", found[at].name, same + 1);
        }
    }
    found
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    if folder.join(EXPERIMENT).is_file() {
        return vec![folder.to_owned()];
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn run(folder: &Path) -> Option<Run> {
    let text = std::fs::read_to_string(folder.join(EXPERIMENT)).ok()?;
    let family = regard::experiment::family(&text, folder).ok().map(str::to_owned);
    let last = std::fs::read_to_string(folder.join(METRICS)).ok().and_then(|text| {
        let line = text.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok())?;
        line.get("step")?.as_u64()
    });
    let name = folder.file_name()?.to_string_lossy().into_owned();
    Some(Run { name, family, experiment: preset(&text), steps: last, folder: folder.to_owned() })
}

/// The preset that the settings of a run name first.
fn preset(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix("preset = "))?;
    Some(value.trim_matches('"').to_owned()).filter(|name| !name.is_empty())
}

/// The whole lines of a run's metrics from line `from` on, counted from 0. A run that was cut back to a checkpoint begins
/// again at the first line.
///
/// # Errors
/// 404 for a run that is none of the list.
pub(super) fn metrics(folders: &[PathBuf], name: &str, from: usize) -> Result<Lines, ApiError> {
    let runs = list(folders);
    let Some(run) = runs.iter().find(|run| run.name == name) else {
        return Err(ApiError::new(StatusCode::NOT_FOUND, format!("there is no run `{}`", regard::data::shown(name)))
            .expected("a name of /v1/runs")
            .hint("runs are folders of `regard serve --runs DIR`"));
    };
    let text = std::fs::read_to_string(run.folder.join(METRICS)).unwrap_or_default();
    // The last line may be half written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let all: Vec<&str> = whole.lines().collect();
    let from = if from > all.len() { 0 } else { from };
    let lines: Vec<Value> =
        all[from..].iter().take(MOST_LINES).map(|line| serde_json::from_str(line).unwrap_or(Value::Null)).collect();
    Ok(Lines { next: from + lines.len(), lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_and_their_lines_read_as_they_come() {
        let folder = tempfile::tempdir().unwrap();
        let (first, other) = (folder.path().join("runs/a"), folder.path().join("more/a"));
        for path in [&first, &other] {
            std::fs::create_dir_all(path).unwrap();
            std::fs::write(path.join(EXPERIMENT), "# one\n[task]\nfamily = \"routes\"\n").unwrap();
        }
        std::fs::create_dir(folder.path().join("runs/no-run")).unwrap();
        std::fs::write(first.join(METRICS), "{\"step\": 1}\n{\"step\": 2}\n{\"st").unwrap();
        let folders = [folder.path().join("runs"), other.clone(), folder.path().join("none")];
        let found = list(&folders);
        let names: Vec<&str> = found.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(names, ["a", "a (2)"]);
        let of_first = if found[0].folder == first { "a" } else { "a (2)" };
        let lines = metrics(&folders, of_first, 0).unwrap();
        assert_eq!((lines.lines.len(), lines.next), (2, 2));
        assert_eq!(metrics(&folders, of_first, 2).unwrap().lines.len(), 0);
        assert_eq!(metrics(&folders, of_first, 9).unwrap().next, 2);
        for name in ["no-run", "../runs/a", "none", ""] {
            assert_eq!(metrics(&folders, name, 0).unwrap_err().status, StatusCode::NOT_FOUND, "{name}");
        }
    }
}

//! `--shard I/N` and `regard merge`: a command over many files or examples, cut into parts that run anywhere.
//!
//! The output of a part ends with a line that says which part it is and how much it holds, so that a part that was cut
//! off, changed or forgotten is found before anything is merged.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

/// One of several neighbouring parts of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Counted from 1.
    index: usize,
    count: usize,
}

/// Parts at most.
const MOST_PARTS: usize = 1_000_000;

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = text.split_once('/').and_then(|(index, count)| {
            let (index, count) = (index.parse().ok()?, count.parse().ok()?);
            (index >= 1 && index <= count && count <= MOST_PARTS).then_some(Self { index, count })
        });
        found.ok_or_else(|| {
            format!("expected I/N, part I of N with I from 1 to N (at most {MOST_PARTS}), for example 2/8")
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl Part {
    /// The places of this part in a list of so many entries, which are called `what`; `command` makes the list.
    ///
    /// # Errors
    /// [`Failure`] for a list with fewer entries than parts.
    fn places(self, command: &'static str, total: usize, what: &str) -> anyhow::Result<Places> {
        if total < self.count {
            let (count, kept) = (self.count, total.max(1));
            let what = format!("--shard {self}: there are only {total} {what} for {count} parts");
            return Err(Failure::new(what).hint(format!("use at most {kept} parts")).into());
        }
        let range = (self.index - 1) * total / self.count..self.index * total / self.count;
        Ok(Places { part: self, command, range, total })
    }
}

/// The places of a part in a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Places {
    part: Part,
    command: &'static str,
    pub(crate) range: Range<usize>,
    /// Entries of all parts.
    total: usize,
}

impl Places {
    /// The last line of the part, whose output before it has this check sum.
    pub(crate) fn footer(&self, crc32c: u32, is_json: bool) -> String {
        let footer = Footer {
            shard: self.part.to_string(),
            command: self.command.to_owned(),
            first: self.range.start,
            entries: self.range.len(),
            total: self.total,
            crc32c,
        };
        let line = serde_json::to_string(&footer).unwrap_or_default();
        if is_json { line } else { format!("{COMMENT}{line}") }
    }
}

/// The option of commands over many files or examples.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ShardArgs {
    /// Compute part I of N, as one of N processes; `regard merge` joins their outputs
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Part>,
}

impl ShardArgs {
    /// The places of the part in a list, where one is asked for.
    ///
    /// # Errors
    /// [`Failure`] for more parts than entries.
    pub(crate) fn places(self, command: &'static str, total: usize, what: &str) -> anyhow::Result<Option<Places>> {
        self.shard.map(|part| part.places(command, total, what)).transpose()
    }

    /// Refuses text for people, which is not merged.
    ///
    /// # Errors
    /// [`Failure`] with the way out.
    pub(crate) fn needs_json(self, json: bool) -> anyhow::Result<()> {
        match self.shard {
            Some(part) if !json => {
                Err(Failure::new(format!("--shard {part} needs --json: tables for people are not merged"))
                    .hint("add --json, and merge the outputs with `regard merge`")
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses options that write what is not merged.
    ///
    /// # Errors
    /// [`Failure`] with the first of them.
    pub(crate) fn refuse(self, given: &[(&str, bool)]) -> anyhow::Result<()> {
        let (Some(part), Some((flag, _))) = (self.shard, given.iter().find(|(_, given)| *given)) else { return Ok(()) };
        Err(Failure::new(format!("{flag} does not apply with --shard {part}: `regard merge` joins standard output"))
            .hint("redirect standard output to a file")
            .into())
    }
}

/// The last line of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Footer {
    /// `I/N`.
    shard: String,
    command: String,
    /// The place of the first entry, from 0.
    first: usize,
    entries: usize,
    /// Entries of all parts.
    total: usize,
    /// CRC-32C of everything before this line.
    crc32c: u32,
}

/// Before the last line of a part that is a table.
const COMMENT: &str = "# ";

/// A part that was read and is complete.
struct Read {
    path: PathBuf,
    part: Part,
    footer: Footer,
    /// Everything before the last line.
    text: String,
}

impl Read {
    fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        let cut_off = |reason: &str| {
            let what = format!("{}: {reason}", path.display());
            Failure::new(what).hint("run its command again, with the same --shard")
        };
        let whole = text.strip_suffix('\n').ok_or_else(|| cut_off("is half-written: its last line has no end"))?;
        let at = whole.rfind('\n').map_or(0, |at| at + 1);
        let (text, line) = whole.split_at(at);
        let line = line.strip_prefix(COMMENT).unwrap_or(line);
        let footer: Footer = serde_json::from_str(line)
            .map_err(|_| cut_off("is half-written, or no output of --shard: its last line does not end a part"))?;
        if crc32c::crc32c(text.as_bytes()) != footer.crc32c {
            return Err(cut_off("was changed or cut off: its check sum is not that of its last line").into());
        }
        let part = footer.shard.parse::<Part>().map_err(|error| cut_off(&format!("`{}`: {error}", footer.shard)))?;
        Ok(Self { path: path.to_owned(), part, footer, text: text.to_owned() })
    }
}

/// The outputs of all parts as the output of the whole command.
///
/// # Errors
/// [`Failure`] with the file at fault, or the parts that are missing.
pub(crate) fn merge(paths: &[PathBuf]) -> anyhow::Result<String> {
    let mut parts = Vec::with_capacity(paths.len());
    for path in paths {
        let text = std::fs::read_to_string(path).map_err(|error| regard::Error::io(path, error))?;
        parts.push(Read::parse(path, &text)?);
    }
    parts.sort_by_key(|part| part.part.index);
    let Some(first) = parts.first() else { return Ok(String::new()) };
    let (count, command, total) = (first.part.count, &first.footer.command, first.footer.total);
    for part in &parts {
        let Footer { command: theirs, total: of, .. } = &part.footer;
        if (part.part.count, theirs, *of) != (count, command, total) {
            let what = format!(
                "{}: is part {} of `{theirs}` over {of} entries, but {} is part {} of `{command}` over {total}",
                part.path.display(),
                part.part,
                first.path.display(),
                first.part
            );
            return Err(Failure::new(what).hint("merge the parts of one command").into());
        }
    }
    if let Some(pair) = parts.windows(2).find(|pair| pair[0].part == pair[1].part) {
        let what = format!("part {} is in {} and in {}", pair[0].part, pair[0].path.display(), pair[1].path.display());
        return Err(Failure::new(what).hint("name each part once").into());
    }
    let present: Vec<usize> = parts.iter().map(|part| part.part.index).collect();
    let missing: Vec<String> =
        (1..=count).filter(|index| !present.contains(index)).map(|index| format!("{index}/{count}")).collect();
    if !missing.is_empty() {
        let plural = if missing.len() == 1 { "part is" } else { "parts are" };
        let what = format!("the {plural} missing: {}", missing.join(", "));
        return Err(Failure::new(what)
            .hint("run the command with these values of --shard, and name their files")
            .into());
    }
    joined(&parts)
}

/// Tables under one header, lists as one list, results as one result, and lines one after the other.
fn joined(parts: &[Read]) -> anyhow::Result<String> {
    let first = &parts[0];
    if !first.text.starts_with(['{', '[']) {
        let header = first.text.lines().next().unwrap_or_default();
        let mut text = format!("{header}\n");
        for part in parts {
            let (theirs, rows) = part.text.split_once('\n').unwrap_or((&part.text, ""));
            if theirs != header {
                let what = format!("{}: has the columns `{theirs}`; expected `{header}`", part.path.display());
                return Err(Failure::new(what).hint("run all parts with the same options").into());
            }
            text.push_str(rows);
        }
        return Ok(text);
    }
    if first.footer.command == "solve" {
        return Ok(parts.iter().map(|part| part.text.as_str()).collect());
    }
    let values = parts.iter().map(|part| {
        serde_json::from_str::<Value>(&part.text).map_err(|error| {
            let what = format!("{}: is not JSON: {error}", part.path.display());
            Failure::new(what).hint("run its command again")
        })
    });
    let values = values.collect::<Result<Vec<Value>, Failure>>()?;
    let merged = match first.footer.command.as_str() {
        "eval" => means(&values),
        "bench lib" => library(values),
        _ => lists(values),
    };
    Ok(merged.to_string() + "\n")
}

/// Lists as one; of objects those lists that differ, and the first of everything else.
fn lists(values: Vec<Value>) -> Value {
    let mut values = values.into_iter();
    let Some(mut all) = values.next() else { return Value::Null };
    for value in values {
        match (&mut all, value) {
            (Value::Array(all), Value::Array(more)) => all.extend(more),
            (Value::Object(all), Value::Object(more)) => {
                if let (Some(Value::Array(all)), Some(Value::Array(more))) =
                    (all.get_mut("forecast"), more.get("forecast"))
                {
                    all.extend(more.iter().cloned());
                }
            }
            _ => {}
        }
    }
    all
}

fn number(value: &Value, key: &str) -> Option<f64> {
    value.get(key).and_then(Value::as_f64)
}

/// Means over all instances from those of the parts.
fn means(values: &[Value]) -> Value {
    let weights: Vec<f64> = values.iter().map(|value| number(value, "instances").unwrap_or(0.0)).collect();
    let count: f64 = weights.iter().sum();
    let mean = |key: &str| {
        let sum: Option<f64> = values.iter().zip(&weights).map(|(value, n)| Some(number(value, key)? * n)).sum();
        sum.map(|sum| sum / count)
    };
    let total = |key: &str| values.iter().filter_map(|value| number(value, key)).sum::<f64>();
    let mut merged = values[0].clone();
    let mean_cost = mean("mean_cost").unwrap_or(f64::NAN);
    // Sums of squares around the common mean, from the standard errors of the parts.
    let squares = values.iter().zip(&weights).map(|(value, n)| {
        let (error, own) = (number(value, "std_error").unwrap_or(0.0), number(value, "mean_cost").unwrap_or(0.0));
        error.powi(2) * n * (n - 1.0).max(0.0) + n * (own - mean_cost).powi(2)
    });
    let variance = squares.sum::<f64>() / (count - 1.0).max(1.0);
    let seconds = total("seconds");
    merged["mean_cost"] = mean_cost.into();
    merged["std_error"] = (count > 1.0).then(|| (variance / count).sqrt()).into();
    merged["instances"] = (count as u64).into();
    merged["seconds"] = seconds.into();
    merged["instances_per_second"] = (count / seconds.max(1e-9)).into();
    merged["gap"] = mean("gap").into();
    merged["mean_cost_network"] = mean("mean_cost_network").into();
    merged
}

/// The instances of all parts, with the gaps over all of them.
fn library(values: Vec<Value>) -> Value {
    let mut merged = values[0].clone();
    let seconds: f64 = values.iter().filter_map(|value| number(value, "seconds")).sum();
    let instances: Vec<Value> = values
        .into_iter()
        .flat_map(|mut value| value["instances"].take().as_array().cloned().unwrap_or_default())
        .collect();
    let gaps: Vec<f64> = instances.iter().filter_map(|one| number(one, "gap")).collect();
    merged["mean_gap"] = (!gaps.is_empty()).then(|| regard::data::stats::mean(&gaps)).into();
    merged["worst_gap"] = gaps.iter().copied().reduce(f64::max).into();
    merged["seconds"] = seconds.into();
    merged["instances"] = instances.into();
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_cover_a_list() {
        for wrong in ["3/2", "0/2", "1/0", "1", "a/b", "-1/2", "1/2/3", ""] {
            let error = wrong.parse::<Part>().expect_err(wrong);
            assert!(error.contains("I from 1 to N"), "{error}");
        }
        let places = |index: usize, count: usize, total: usize| {
            Part { index, count }.places("solve", total, "files").map(|places| places.range)
        };
        for (count, total) in [(1, 1), (2, 5), (3, 10), (7, 7)] {
            let all: Vec<usize> = (1..=count).flat_map(|index| places(index, count, total).unwrap()).collect();
            assert_eq!(all, (0..total).collect::<Vec<_>>());
        }
        let error = places(1, 3, 2).unwrap_err().to_string();
        assert_eq!(error, "--shard 1/3: there are only 2 files for 3 parts");
    }

    /// The output of a part, in a file.
    fn part(folder: &Path, name: &str, [index, count]: [usize; 2], command: &'static str, text: &str) -> PathBuf {
        let places = Part { index, count }.places(command, 6, "files").unwrap();
        let path = folder.join(name);
        let footer = places.footer(crc32c::crc32c(text.as_bytes()), text.starts_with(['{', '[']));
        std::fs::write(&path, format!("{text}{footer}\n")).unwrap();
        path
    }

    #[test]
    fn whole_parts_are_merged_and_others_named() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let one = part(folder, "one.csv", [1, 3], "predict", "id,y\na,1\nb,2\n");
        let two = part(folder, "two.csv", [2, 3], "predict", "id,y\nc,3\n");
        let three = part(folder, "three.csv", [3, 3], "predict", "id,y\nd,4\n");
        let merged = merge(&[three.clone(), one.clone(), two.clone()]).unwrap();
        assert_eq!(merged, "id,y\na,1\nb,2\nc,3\nd,4\n");
        let refused = |paths: &[&PathBuf], words: &[&str]| {
            let paths: Vec<PathBuf> = paths.iter().map(|&path| path.clone()).collect();
            let error = merge(&paths).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        };
        refused(&[&one, &three], &["the part is missing: 2/3"]);
        refused(&[&two], &["the parts are missing: 1/3, 3/3"]);
        refused(&[&one, &two, &two, &three], &["part 2/3 is in", "two.csv"]);
        let other = part(folder, "other.csv", [2, 3], "predict", "id,z\nc,3\n");
        refused(&[&one, &other, &three], &["other.csv: has the columns `id,z`; expected `id,y`"]);
        let of_another = part(folder, "another.json", [2, 3], "solve", "{}\n");
        refused(&[&one, &of_another, &three], &["another.json", "`solve`", "`predict`"]);
        // Cut off at any byte.
        let text = std::fs::read_to_string(&two).unwrap();
        for length in 0..text.len() {
            std::fs::write(&two, &text[..length]).unwrap();
            refused(&[&one, &two, &three], &["two.csv", "half-written"]);
        }
        std::fs::write(&two, text.replace("c,3", "c,8")).unwrap();
        refused(&[&one, &two, &three], &["two.csv: was changed or cut off"]);
    }

    #[test]
    fn means_of_parts_are_those_of_all() {
        let costs = [3.0, 5.0, 4.0, 9.0, 1.0, 2.5];
        let result = |costs: &[f64]| {
            let (n, mean) = (costs.len() as f64, regard::data::stats::mean(costs));
            let variance = costs.iter().map(|cost| (cost - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
            serde_json::json!({
                "mean_cost": mean, "std_error": (variance / n).sqrt(), "instances": costs.len(), "seconds": n,
                "gap": (mean - 2.0) / 2.0, "mean_cost_network": null, "model": "m",
            })
        };
        let (merged, whole) =
            (means(&[result(&costs[..1]), result(&costs[1..3]), result(&costs[3..])]), result(&costs));
        for key in ["mean_cost", "std_error", "instances", "seconds", "gap"] {
            let [found, expected] = [&merged, &whole].map(|value| number(value, key).unwrap());
            assert!((found - expected).abs() < 1e-12, "{key}: {found} {expected}");
        }
        assert!(merged["mean_cost_network"].is_null() && merged["model"] == "m");
    }
}

//! Standard input, and files that are read part by part: the answers are those of the whole file.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Said, command, regard, said};

/// More than one part of text: each row is padded with a column that no model reads.
const ROWS: usize = 18_000;

fn padding() -> String {
    "x".repeat(1000)
}

/// Runs a command whose standard input is a file, as a shell does with a pipe.
fn piped(folder: &Path, arguments: &[&str], input: &str) -> Said {
    let mut cat = std::process::Command::new("cat").arg(folder.join(input)).stdout(Stdio::piped()).spawn().unwrap();
    let output = command(folder, arguments).stdin(cat.stdout.take().unwrap()).output().unwrap();
    cat.wait().unwrap();
    said(output)
}

/// Checks that numbers are equal but for their last digits: sums over other batches are rounded otherwise.
fn close(found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Number(found), Value::Number(expected)) => {
            let [found, expected] = [found, expected].map(|number| number.as_f64().unwrap());
            assert!((found - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{found} {expected}");
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len());
            found.iter().zip(expected).for_each(|(found, expected)| close(found, expected));
        }
        (Value::Object(found), Value::Object(expected)) => {
            assert!(found.keys().eq(expected.keys()));
            found.values().zip(expected.values()).for_each(|(found, expected)| close(found, expected));
        }
        _ => assert_eq!(found, expected),
    }
}

/// A number or a word of a table.
fn cell(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Sets of points of which the network takes the largest, six rows each.
fn bags(name: impl Fn(usize) -> usize) -> String {
    let mut text = "bag,value,note\n".to_owned();
    let padding = padding();
    for row in 0..ROWS {
        writeln!(text, "{},{},{padding}", name(row), row * 7919 % 101).unwrap();
    }
    text
}

/// Checks that the metrics of a model for a file are those for a pipe.
fn evaluated_alike(folder: &Path, file: &str, model: &[&str]) {
    let eval = |file| [&["eval", "--data", file, "--json"], model].concat();
    let whole = regard(folder, &eval(file)).done();
    let parts = piped(folder, &eval("-"), file).done();
    assert!(parts.err.contains("read part by part: 18,000 rows in") && !whole.err.contains("part by part"));
    let metrics = |said: &Said| {
        let mut found = said.json();
        // `mae_paper` is a mean over batches, which end with each part.
        found.as_object_mut().unwrap().retain(|name, _| name != "data" && name != "mae_paper");
        assert!(found["mae"].as_f64().unwrap() > 0.0, "{found}");
        found
    };
    close(&metrics(&parts), &metrics(&whole));
}

#[test]
fn sets_from_a_pipe_are_predicted_part_by_part() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("bags.csv"), bags(|row| row / 6)).unwrap();
    for form in ["--no-progress", "--json"] {
        let predict = |file| ["predict", "--model", "regard-max", "--group-by", "bag", file, form];
        let whole = regard(folder, &predict("bags.csv")).done();
        let parts = piped(folder, &predict("-"), "bags.csv").done();
        assert!(parts.err.contains("read part by part: 18,000 rows in"), "{}", parts.err);
        let read = |said: &Said| match form {
            "--json" => said.json(),
            _ => said.out.lines().map(|line| line.split(',').map(cell).collect::<Value>()).collect(),
        };
        close(&read(&parts), &read(&whole));
        // A remark on the table is made once.
        assert_eq!(parts.err.matches("note").count(), whole.err.matches("note").count(), "{}", parts.err);
    }
    let labelled = |(row, line): (usize, &str)| match row {
        0 => line.replace("note", "largest,note"),
        row => line.replacen(",x", &format!(",{},x", 90 + (row - 1) / 6 % 10), 1),
    };
    let lines: Vec<String> = bags(|row| row / 6).lines().enumerate().map(labelled).collect();
    fs::write(folder.join("labelled.csv"), lines.join("\n") + "\n").unwrap();
    evaluated_alike(folder, "labelled.csv", &["--model", "regard-max", "--group-by", "bag", "--target", "largest"]);
}

#[test]
fn sets_that_are_scattered_over_a_pipe_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("bags.csv"), bags(|row| row % 3000)).unwrap();
    let arguments = ["predict", "--model", "regard-max", "--group-by", "bag", "-"];
    let refused = piped(folder, &arguments, "bags.csv");
    let expected = "-:3002: field `bag`: has `0` again, apart from its other rows";
    assert!(refused.code == Some(2) && refused.err.contains(expected), "{}", refused.err);
    assert!(refused.err.contains("sort the rows by `bag`"), "{}", refused.err);
    // A file may have any order, and so may a pipe that is short.
    regard(folder, &["predict", "--model", "regard-max", "--group-by", "bag", "bags.csv", "-q"]).done();
    fs::write(folder.join("few.csv"), "bag,value\na,1\nb,2\na,3\n").unwrap();
    let few = piped(folder, &arguments, "few.csv").done();
    assert_eq!(
        few.out,
        regard(folder, &["predict", "--model", "regard-max", "--group-by", "bag", "few.csv"]).done().out
    );
}

#[test]
fn molecules_from_a_pipe_are_predicted_part_by_part() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let padding = padding();
    let mut text = "smiles,y,note\n".to_owned();
    for row in 0..ROWS {
        writeln!(text, "{},{},{padding}", ["C", "CO", "CCN", "c1ccccc1"][row % 4], row % 3).unwrap();
    }
    fs::write(folder.join("molecules.csv"), text).unwrap();
    let predict = |file| ["predict", "--model", "regard-solubility", "--smiles", "smiles", file];
    let whole = regard(folder, &predict("molecules.csv")).done();
    let parts = piped(folder, &predict("-"), "molecules.csv").done();
    assert!(parts.err.contains("read part by part"), "{}", parts.err);
    assert!(parts.out == whole.out, "the answers differ");
    // Rows without an id are numbered through all parts.
    assert!(parts.out.lines().last().unwrap().starts_with("18000,"), "{:?}", parts.out.lines().last());
    evaluated_alike(folder, "molecules.csv", &["--model", "regard-solubility", "--smiles", "smiles", "--target", "y"]);
}

#[test]
fn series_from_a_pipe_are_classified_part_by_part() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let padding = padding();
    let series = |rows: usize, padding: &str| {
        let mut text = "unique_id,ds,y,class,note\n".to_owned();
        for row in 0..rows {
            // The clock of the file is that of all parts; one series in ten lacks a day.
            let (one, day) = (row / 12, row % 12 + usize::from(row / 12 % 10 == 3 && row % 12 > 5));
            let (y, class) = [(day as f64, "up"), (-(day as f64), "down")][one % 2];
            writeln!(text, "s{one},2026-03-{:02},{y},{class},{padding}", day + 1 + one % 9).unwrap();
        }
        text
    };
    fs::write(folder.join("train.csv"), series(720, "")).unwrap();
    fs::write(folder.join("all.csv"), series(ROWS, &padding)).unwrap();
    let sets = ["data.path=train.csv", "model.look_back=12", "model.patch_len=4", "model.stride=4", "train.epochs=20"];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    regard(folder, &[&["train", "series/classify", "--out", "run", "-q"][..], &sets].concat()).done();
    let predict = |file| ["predict", "--model", "run", file];
    let whole = regard(folder, &predict("all.csv")).done();
    let parts = piped(folder, &predict("-"), "all.csv").done();
    assert!(parts.err.contains("read part by part: 18,000 rows in"), "{}", parts.err);
    let rows =
        |said: &Said| -> Value { said.out.lines().map(|line| line.split(',').map(cell).collect::<Value>()).collect() };
    close(&rows(&parts), &rows(&whole));
    assert_eq!(whole.out.lines().count(), 1 + ROWS / 12);
    let eval = |file| ["eval", "--model", "run", "--json", "--data", file];
    let [of_file, of_pipe] = [regard(folder, &eval("all.csv")), piped(folder, &eval("-"), "all.csv")].map(Said::done);
    let accuracy = |said: &Said| said.json()["accuracy"].as_f64().unwrap();
    assert!(accuracy(&of_file) > 0.9 && (accuracy(&of_file) - accuracy(&of_pipe)).abs() < 1e-9, "{}", of_pipe.out);
    for part in ["1/3", "2/3", "3/3"] {
        let found = regard(folder, &[&predict("all.csv")[..], &["--shard", part, "-q"]].concat()).done();
        fs::write(folder.join(part.replace('/', "of")), found.out).unwrap();
    }
    close(&rows(&regard(folder, &["merge", "1of3", "2of3", "3of3"]).done()), &rows(&whole));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_the_stream_quietly() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bags.csv"), bags(|row| row / 6)).unwrap();
    let input = File::open(folder.path().join("bags.csv")).unwrap();
    let mut cat = std::process::Command::new("cat").stdin(input).stdout(Stdio::piped()).spawn().unwrap();
    let mut running = command(folder.path(), &["predict", "--model", "regard-max", "--group-by", "bag", "-"]);
    let running = running.stdin(cat.stdout.take().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = running.spawn().unwrap();
    drop(running.stdout.take());
    let output = running.wait_with_output().unwrap();
    cat.kill().unwrap();
    cat.wait().unwrap();
    assert!(output.stderr.windows(6).all(|word| word != b"error:"), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_command_on_a_file_reads_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let places = "id,x,y\na,0,0\nb,0,1\nc,1,1\nd,1,0\n";
    fs::write(folder.join("places.csv"), places).unwrap();
    let solved = piped(folder, &["solve", "-", "--time", "200ms", "--json"], "places.csv").done();
    assert_eq!(solved.json()["cost"], 4.0);
    let explained = piped(folder, &["explain", "-", "--json"], "places.csv").done();
    assert!(explained.json().is_object());
    let mut series = "date,x\n".to_owned();
    (1..=28).for_each(|day| writeln!(series, "2026-02-{day:02},{}", day % 7).unwrap());
    fs::write(folder.join("series.csv"), &series).unwrap();
    let forecast = piped(folder, &["forecast", "-", "--horizon", "3", "--only", "base", "-q"], "series.csv").done();
    let of_file = regard(folder, &["forecast", "series.csv", "--horizon", "3", "--only", "base", "-q"]).done();
    assert_eq!(forecast.out, of_file.out);
    // A network alone keeps the end of what comes through a pipe, and says of how many rows.
    let station = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/station.csv")).unwrap();
    fs::write(folder.join("station.csv"), &station).unwrap();
    let model = ["--model", "regard-etth1", "--horizon", "12"];
    let forecast = piped(folder, &[&["forecast", "-"][..], &model].concat(), "station.csv").done();
    let of_file = regard(folder, &[&["forecast", "station.csv"][..], &model].concat()).done();
    assert_eq!(forecast.out, of_file.out);
    assert!(forecast.err.contains(&format!("{} rows", station.lines().count() - 1)), "{}", forecast.err);
}

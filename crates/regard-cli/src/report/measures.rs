//! Metrics of an evaluation as text and as JSON.

use std::path::Path;

use regard::supervised::base::ModelMetrics;
use regard::train::Measures;
use serde_json::{Map, Value, json};

use super::{Align, Printer, Table};

/// The note on predicted classes where a class is rare.
pub(crate) const BALANCED: &str = "a class is rare: the predicted class is the one whose probability is highest \
                                   relative to its share of the training examples";

/// The note on attention where the answer is that of the base learners.
pub(crate) const NO_WEIGHT: &str = "the network has no weight in the prediction, so its attention says nothing about it; \
                                    --only network predicts with the network alone";

/// Writes the metrics of the model in `folder` on the data `on`.
pub(crate) fn write(folder: &Path, on: &str, found: &ModelMetrics, printer: &mut Printer) -> anyhow::Result<()> {
    if printer.json() {
        let mut object = numbers(&found.measures);
        if !found.members.is_empty() {
            object.insert("members".into(), members(&found.members));
        }
        object.insert("model".into(), json!(folder.display().to_string()));
        object.insert("data".into(), json!(on));
        printer.object(&object)?;
        return Ok(());
    }
    let metrics = match found.members.as_slice() {
        [] => table(&found.measures, None),
        members => parts(&found.measures, &[], members),
    };
    printer.result(&format!("{} on {on}\n{metrics}", folder.display()))?;
    if found.balanced_decisions {
        printer.note(BALANCED);
    }
    Ok(())
}

/// Metrics by name.
pub(crate) fn numbers(measures: &Measures) -> Map<String, Value> {
    measures.0.iter().map(|measure| (measure.name().to_owned(), json!(measure.value()))).collect()
}

/// Metrics of the parts of a blend, by part and name.
pub(crate) fn members(members: &[(&'static str, Measures)]) -> Value {
    Value::Object(members.iter().map(|(name, found)| ((*name).to_owned(), Value::Object(numbers(found)))).collect())
}

/// Metrics by name, with their standard deviations if given.
pub(crate) fn table(measures: &Measures, deviation: Option<&Measures>) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    for measure in &measures.0 {
        let spread = deviation.and_then(|all| all.get(measure.name())).map(|value| format!("± {value:.4}"));
        table.row([measure.name().to_owned(), format!("{:.4}", measure.value()), spread.unwrap_or_default()]);
    }
    table.render(0, 2)
}

/// A table of a blend with its intervals, the network and the base learners, a row for each metric. A single member is
/// the answer itself.
pub(crate) fn parts(
    answer: &Measures,
    intervals: &[(&'static str, [f64; 2])],
    members: &[(&'static str, Measures)],
) -> String {
    let both = members.len() == 2;
    let mut head = vec![if both { "blend" } else { members.first().map_or("", |(name, _)| *name) }];
    head.extend((!intervals.is_empty()).then_some("95 % interval"));
    if both {
        head.extend(members.iter().map(|(name, _)| *name));
    }
    let mut rows = vec![std::iter::once("").chain(head).map(str::to_owned).collect::<Vec<_>>()];
    for measure in &answer.0 {
        let mut row = vec![measure.name().to_owned(), format!("{:.4}", measure.value())];
        if !intervals.is_empty() {
            let interval = intervals.iter().find(|(name, _)| *name == measure.name());
            row.push(interval.map(|(_, [low, high])| format!("{low:.3} to {high:.3}")).unwrap_or_default());
        }
        if both {
            let of = |measures: &Measures| measures.get(measure.name()).map(|value| format!("{value:.4}"));
            row.extend(members.iter().map(|(_, measures)| of(measures).unwrap_or_default()));
        }
        rows.push(row);
    }
    columns(&rows)
}

/// Rows with their columns below each other.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|at| width(at).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cell = |(at, (cell, width)): (usize, (&String, &usize))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("  {cell:>width$}"),
        };
        format!("{}\n", cells.map(cell).collect::<String>().trim_end())
    };
    rows.iter().map(line).collect()
}

//! Metrics of an evaluation as text and as JSON.

use std::path::Path;

use regard::train::Measures;
use serde_json::{Map, Value, json};

use super::{Align, Printer, Table};

/// Writes the metrics of the model in `folder` on the data `on`.
pub(crate) fn write(folder: &Path, on: &str, measures: &Measures, printer: &mut Printer) -> anyhow::Result<()> {
    if printer.json() {
        let mut object = numbers(measures);
        object.insert("model".into(), json!(folder.display().to_string()));
        object.insert("data".into(), json!(on));
        printer.object(&object)?;
    } else {
        printer.result(&format!("{} on {on}\n{}", folder.display(), table(measures, None)))?;
    }
    Ok(())
}

/// Metrics by name.
pub(crate) fn numbers(measures: &Measures) -> Map<String, Value> {
    measures.0.iter().map(|measure| (measure.name().to_owned(), json!(measure.value()))).collect()
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

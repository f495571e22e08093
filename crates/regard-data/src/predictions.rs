//! Predictions of a network: numbers of one or more tasks, or probabilities of classes, and their columns in tables.

use serde_json::{Map, Value, json};

use crate::stats::largest;
use crate::table::write::Cell;
use crate::{Error, Result};

/// The predictions for each row: each set, graph, node or series.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicted {
    /// Numbers of one or more tasks.
    Numbers {
        /// Names of the tasks.
        tasks: Vec<String>,
        /// `[rows, tasks]`, row-major.
        values: Vec<f64>,
    },
    /// A probability for each class.
    Classes {
        /// Names of the classes.
        names: Vec<String>,
        /// `[rows, classes]`, row-major.
        probabilities: Vec<f64>,
    },
}

impl Predicted {
    /// Numbers of one task, which is called `prediction`.
    #[must_use]
    pub fn numbers(values: Vec<f64>) -> Self {
        Self::Numbers { tasks: vec!["prediction".into()], values }
    }

    /// Refuses another number of values than that of the rows, and predictions without tasks or classes.
    pub(crate) fn check(&self, rows: usize, what: &str) -> Result<()> {
        let (found, width) = match self {
            Self::Numbers { tasks, values } => (values.len(), tasks.len()),
            Self::Classes { names, probabilities } => (probabilities.len(), names.len()),
        };
        if width == 0 || rows.checked_mul(width) != Some(found) {
            let reason = format!("has {found} values, expected {width} for each of {rows} {what}");
            return Err(Error::invalid("predictions", reason));
        }
        Ok(())
    }

    /// The columns of a table: the tasks, or `prediction` and the probability `p(NAME)` of each class.
    pub(crate) fn columns(&self) -> Vec<String> {
        match self {
            Self::Numbers { tasks, .. } => tasks.clone(),
            Self::Classes { names, .. } => {
                let probabilities = names.iter().map(|name| format!("p({name})"));
                std::iter::once("prediction".to_owned()).chain(probabilities).collect()
            }
        }
    }

    /// Adds the fields of a row: the numbers, or the most likely class and the probabilities, which are rounded to this
    /// number of decimals where it is given.
    pub(crate) fn fill_cells<'p>(&'p self, row: usize, decimals: Option<i32>, cells: &mut Vec<Cell<'p>>) {
        match self {
            Self::Numbers { tasks, values } => {
                cells.extend(values[row * tasks.len()..(row + 1) * tasks.len()].iter().copied().map(Cell::Number));
            }
            Self::Classes { names, probabilities } => {
                let of_row = &probabilities[row * names.len()..(row + 1) * names.len()];
                let rounded = |value: f64| match decimals {
                    Some(decimals) => (value * 10f64.powi(decimals)).round() / 10f64.powi(decimals),
                    None => value,
                };
                cells.push(Cell::Text(&names[largest(of_row)]));
                cells.extend(of_row.iter().map(|value| Cell::Number(rounded(*value))));
            }
        }
    }

    /// Adds what is predicted for a row to a JSON object: `prediction` (or `predictions` by task), for classes also
    /// `probabilities` by class. A number that is not finite is `null`.
    pub(crate) fn fill_object(&self, row: usize, object: &mut Map<String, Value>) {
        let by_name = |names: &[String], values: &[f64]| {
            Value::Object(names.iter().zip(values).map(|(name, value)| (name.clone(), json!(value))).collect())
        };
        match self {
            Self::Numbers { tasks, values } if tasks.len() == 1 => {
                object.insert("prediction".into(), json!(values[row]));
            }
            Self::Numbers { tasks, values } => {
                let of_row = &values[row * tasks.len()..(row + 1) * tasks.len()];
                object.insert("predictions".into(), by_name(tasks, of_row));
            }
            Self::Classes { names, probabilities } => {
                let of_row = &probabilities[row * names.len()..(row + 1) * names.len()];
                object.insert("prediction".into(), json!(names[largest(of_row)]));
                object.insert("probabilities".into(), by_name(names, of_row));
            }
        }
    }
}
